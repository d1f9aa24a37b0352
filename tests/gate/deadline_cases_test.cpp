// Work that was done for nobody, and waits that ended wrongly, in other people's servers: what was
// reported, scaled down, and what must come out.
//
// Where each case is held:
//
//   deadline headers that overflow or are negative           the hosts' parsers
//   expired in the queue, yet run and answered               here, OfFiveAtOnce...
//   after an outage the server works through dead requests   the simulator's scenarios
//   an empty reply for a queue timeout; which reason it was  here, AQueueTimeoutAndAFullQueue...
//   a filter drains its allowance on good requests           here, OneThatComesTooLate...
//   fifo makes all late, lifo starves, some wait for ever    here, UnderOverloadEverybody...;
//                                                            the order itself: order_test.cpp
#include <gtest/gtest.h>

#include <deque>
#include <map>

#include "gate_box.h"
#include "shop.h"

namespace loadline::test {
namespace {

using enum Offer::Kind;

Request due_in(GateBox& box, Duration time) {
  Request request = of_class(kCritical);
  request.deadline = box.now + time;
  return request;
}

// One slot, work of 100 ms, and answers that are worthless after 150 ms.
TEST(DeadlineCases, OfFiveAtOnceOnlyTheOneThatCanFinishIsRunAndTheOthersAreToldAtOnce) {
  GateBox box(policy_of(1));
  const Participant me = box.attach();
  for (int i = 0; i < 20; ++i) {
    Offer answer = box.gate.offer(me, of_class(kCritical), box.now);
    box.pass(Duration::millis(100));
    box.gate.release(me, answer.permit, Outcome::success, box.now);
    box.gate.tick(box.now);
  }
  ASSERT_EQ(box.gate.offer(me, due_in(box, Duration::millis(150)), box.now).kind, admit);
  for (int i = 0; i < 4; ++i) {
    const Offer answer = box.gate.offer(me, due_in(box, Duration::millis(150)), box.now);
    EXPECT_EQ(answer.kind, reject);
    EXPECT_TRUE(is_deadline(answer.reason));  // 504
  }
}

// Ten slots, work of 10 ms and 100 ms of patience; then the server stands still for ten seconds
// with all slots taken. What those ten took is no more than a second's reason to refuse, and the
// first that come after it are not averaged with them.
TEST(DeadlineCases, AStandstillIsForgottenASecondAfterIt) {
  GateBox box(policy_of(10));
  const Participant me = box.attach();
  const auto serve = [&](Duration work) {
    std::vector<Offer> all;
    for (int i = 0; i < 10; ++i) {
      all.push_back(box.gate.offer(me, of_class(kCritical), box.now));
    }
    box.pass(work);
    for (Offer& one : all) {
      ASSERT_EQ(one.kind, admit);
      box.gate.release(me, one.permit, Outcome::success, box.now);
    }
    box.gate.tick(box.now);
  };
  for (int i = 0; i < 100; ++i) {
    serve(Duration::millis(10));
  }
  serve(Duration::seconds(10));
  const Instant over = box.now;
  Instant last_refusal{};
  while (box.now < over + Duration::seconds(10)) {
    Offer answer = box.gate.offer(me, due_in(box, Duration::millis(100)), box.now);
    last_refusal = answer.kind == admit ? last_refusal : box.now;
    box.pass(Duration::millis(10));
    if (answer.kind == admit) {
      box.gate.release(me, answer.permit, Outcome::success, box.now);
    }
    box.gate.tick(box.now);
  }
  // Ten more of 10 ms until twenty are known, the window that they close, and the second.
  EXPECT_LE(last_refusal - over, Duration::millis(1300));
}

// The same before anything has been measured: they may hope, but none is run too late.
TEST(DeadlineCases, OfFiveAtOnceNoneIsRunTooLateEvenIfTheServiceTimeIsUnknown) {
  GateBox box(policy_of(1));
  const Participant me = box.attach();
  Offer first = box.gate.offer(me, due_in(box, Duration::millis(150)), box.now);
  ASSERT_EQ(first.kind, admit);
  for (int i = 0; i < 4; ++i) {
    ASSERT_EQ(box.gate.offer(me, due_in(box, Duration::millis(150)), box.now).kind, wait);
  }
  box.pass(Duration::millis(100));
  box.gate.release(me, first.permit, Outcome::success, box.now);
  const auto others = box.collect(me);
  ASSERT_EQ(others.size(), 4U);
  for (const Settled& other : others) {
    EXPECT_EQ(other.kind, Settled::Kind::reject);
  }
  EXPECT_EQ(box.gate.in_flight(), 0U);
}

TEST(DeadlineCases, AQueueTimeoutAndAFullQueueAreDifferentReasonsAndSayWhenToComeBack) {
  GateBox box(policy_of(1, QueueSize::at_most(1), Duration::seconds(1)));
  const Participant me = box.attach();
  ASSERT_EQ(box.gate.offer(me, of_class(kCritical), box.now).kind, admit);
  const Offer second = box.gate.offer(me, of_class(kCritical), box.now);
  ASSERT_EQ(second.kind, wait);
  const Offer third = box.gate.offer(me, of_class(kCritical), box.now);
  EXPECT_EQ(third.reason, Reason::queue_full);
  EXPECT_GE(third.retry_after, 1U);
  box.pass(Duration::millis(999));
  box.gate.tick(box.now);
  EXPECT_TRUE(box.collect(me).empty());
  box.pass(Duration::millis(1));
  Signals signals;
  const Settled ended = box.gate.settle(me, second.ticket, box.now, signals);
  EXPECT_EQ(ended.reason, Reason::queue_timeout);
  EXPECT_EQ(ended.waited, Duration::seconds(1));
  EXPECT_GE(ended.retry_after, 1U);
}

// What is counted per key is taken before the deadline is looked at, and given back.
TEST(DeadlineCases, OneThatComesTooLateUsesNothingUpAndTheLateOnesAreRefused) {
  Policy policy = policy_of(100, QueueSize::none());
  policy.quota = {.requests = 1, .per = Duration::seconds(3600), .burst = 20, .keys = 10};
  GateBox box(policy);
  const Participant me = box.attach();
  const auto offer = [&](Duration due) {
    Request request = due_in(box, due);
    request.quota = hash_key("peer");
    Offer answer = box.gate.offer(me, request, box.now);
    if (answer.kind == admit) {
      box.gate.release(me, answer.permit, Outcome::success, box.now);
    }
    return answer.reason;
  };
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(offer(Duration::seconds(1)), Reason::none);
  }
  for (int i = 0; i < 1'000; ++i) {
    ASSERT_EQ(offer(Duration{}), Reason::deadline_expired);
  }
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(offer(Duration::seconds(1)), Reason::none);
  }
  EXPECT_EQ(offer(Duration::seconds(1)), Reason::quota);
}

TEST(DeadlineCases, UnderOverloadEverybodyIsAnsweredByTheirLimitAndNobodyIsKept) {
  for (const Discipline discipline : {Discipline::adaptive, Discipline::fifo, Discipline::lifo}) {
    Policy policy = policy_of(2, QueueSize::at_most(50));
    policy.discipline = discipline;
    GateBox box(policy);
    const Participant me = box.attach();
    std::deque<std::pair<Permit, Instant>> running;
    std::map<std::uint32_t, Instant> waiting;  // start_by, of each ticket
    int unanswered_in_time = 0;
    for (int i = 0; i < 20'000; ++i) {  // 2,000 a second for 200
      box.pass(Duration::micros(500));
      while (!running.empty() && running.front().second <= box.now) {
        box.gate.release(me, running.front().first, Outcome::success, box.now);
        running.pop_front();
      }
      box.gate.tick(box.now);
      Offer answer = box.gate.offer(me, of_class(kCritical), box.now);
      if (answer.kind == admit) {
        running.emplace_back(std::move(answer.permit), box.now + Duration::millis(10));
      } else if (answer.kind == wait) {
        waiting[answer.ticket.index] = answer.start_by;
      }
      for (Settled& settled : box.collect(me)) {
        waiting.erase(settled.ticket.index);
        if (settled.kind == Settled::Kind::admit) {
          running.emplace_back(std::move(settled.permit), box.now + Duration::millis(10));
        }
      }
      for (const auto& [index, start_by] : waiting) {  // the tick comes every 10 ms
        unanswered_in_time += box.now > start_by + Duration::millis(10);
      }
    }
    EXPECT_EQ(unanswered_in_time, 0);
  }
}

}  // namespace
}  // namespace loadline::test
