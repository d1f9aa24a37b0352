// Slots that got lost, were given back twice or were taken once too often in other people's
// servers: what was reported, scaled down, and what must come out. The numbers are those of the
// reports.
//
// Where each case is held:
//
//   a waiter that gave up is handed a permit, which nobody returns     here, GivenUpWaiters...
//   a permit is not returned when its caller cancels                   here, ACancelledRequest...
//   a permit is returned twice                                         here, APermit...
//   a step between acquire and handler throws                          the hosts, whose permits are
//   RAII one request too many, `>` for `>=`                                 here,
//   ExactlyTheLimit... check and increment are two steps                                  here,
//   SixtyFourThreads...;
//                                                                      every interleaving:
//                                                                      explorer/
//   a count wraps below zero because two filters stand in a row        here,
//   ARequestThatAnEarlier... a worker dies with what it holds death_test.cpp, crash/ after a load
//   test the limit stays reached                          here, AfterALoadTest... a cancelled heavy
//   head blocks a small one behind it                here, ACancelledHeavyHead... aborted queued
//   work still takes a slot                             here, AbortedQueuedWork... idle connections
//   hold permits; clones over-admit                   here, WithoutARequest... a slot is tied to
//   the life of the response object                  here, TheSlotIsFree... open connections are
//   counted with running requests                 the nginx host's end-to-end tests streams eat all
//   slots and poison the estimate                      here, StreamsHaveAPool... open-then-reset
//   floods                                             the nginx host's end-to-end tests the
//   waiting queue grows without bound                              here,
//   ABurstOfAHundredThousand...;
//                                                                      memory: allocation/
#include <gtest/gtest.h>

#include <barrier>
#include <chrono>
#include <deque>
#include <map>
#include <thread>

#include "gate_box.h"

namespace loadline::test {
namespace {

using enum Offer::Kind;

Offer offer(GateBox& box, Participant who, std::uint32_t cost = 1) {
  return box.gate.offer(who, of_class(kCritical, cost), box.now);
}

void release(GateBox& box, Participant who, Permit& permit, Outcome ended = Outcome::success) {
  box.gate.release(who, permit, ended, box.now);
}

TEST(SlotCases, GivenUpWaitersAreHandedNothingAndCapacityComesBackWhole) {
  GateBox box(policy_of(8, QueueSize::at_most(8), Duration::millis(50)));
  const Participant me = box.attach();
  std::vector<Offer> holders;
  for (int i = 0; i < 8; ++i) {
    holders.push_back(offer(box, me));
    ASSERT_EQ(holders.back().kind, admit);
  }
  for (int i = 0; i < 8; ++i) {
    ASSERT_EQ(offer(box, me).kind, wait);
  }
  box.pass(Duration::millis(50));
  box.gate.tick(box.now);
  const auto given_up = box.collect(me);
  ASSERT_EQ(given_up.size(), 8U);
  for (const Settled& settled : given_up) {
    EXPECT_EQ(settled.reason, Reason::queue_timeout);
  }
  box.pass(Duration::millis(950));
  for (Offer& holder : holders) {
    release(box, me, holder.permit);
  }
  for (Offer& holder : holders) {
    holder = offer(box, me);
    EXPECT_EQ(holder.kind, admit);
  }
  EXPECT_EQ(box.gate.snapshot().waiting, 0U);
  for (Offer& holder : holders) {
    release(box, me, holder.permit);
  }
  EXPECT_EQ(box.gate.in_flight(), 0U);
}

TEST(SlotCases, ACancelledRequestFreesItsSlotAtOnce) {
  GateBox box(policy_of(1, QueueSize::none()));
  const Participant me = box.attach();
  Offer first = offer(box, me);
  ASSERT_EQ(first.kind, admit);
  box.pass(Duration::millis(3));  // the first item is there, and its caller has seen enough
  release(box, me, first.permit, Outcome::ignored);
  EXPECT_EQ(box.gate.in_flight(), 0U);
  EXPECT_EQ(offer(box, me).kind, admit);
}

TEST(SlotCases, APermitThatIsReturnedTwiceIsReturnedOnce) {
  GateBox box(policy_of(2, QueueSize::none()));
  const Participant me = box.attach();
  Offer a = offer(box, me);
  ASSERT_EQ(offer(box, me).kind, admit);
  release(box, me, a.permit);                    // the completion callback, which throws
  release(box, me, a.permit, Outcome::failure);  // the error hook
  EXPECT_EQ(offer(box, me).kind, admit);
  EXPECT_EQ(offer(box, me).kind, reject);
  EXPECT_EQ(box.gate.in_flight(), 2U);
  EXPECT_EQ(box.gate.snapshot().released_twice, 1U);
}

TEST(SlotCases, ExactlyTheLimitRuns) {
  for (const std::uint32_t limit : {1U, 10U}) {
    GateBox box(policy_of(limit, QueueSize::none()));
    const Participant me = box.attach();
    std::uint32_t run = 0;
    for (std::uint32_t i = 0; i <= limit; ++i) {
      run += offer(box, me).kind == admit ? 1 : 0;
    }
    EXPECT_EQ(run, limit);
  }
}

TEST(SlotCases, SixtyFourThreadsAtOnceAreTenAtATime) {
  GateBox box(policy_of(10, QueueSize::none()), 64);
  constexpr int kRounds = 50;
  std::atomic<int> admitted{0};
  std::atomic<int> running{0};
  std::atomic<int> peak{0};
  std::vector<int> in_round(kRounds);
  int round = 0;
  std::barrier all_offered(64, [&]() noexcept { in_round[round++] = admitted.exchange(0); });
  std::barrier all_released(64);
  const auto work = [&](std::uint32_t seat) {
    const Participant me = box.gate.attach(seat, box.now);
    for (int i = 0; i < kRounds; ++i) {
      Offer answer = offer(box, me);
      if (answer.kind == admit) {
        ++admitted;
        const int now_running = ++running;
        int before = peak.load();
        while (before < now_running && !peak.compare_exchange_weak(before, now_running)) {
        }
      }
      all_offered.arrive_and_wait();
      if (answer.kind == admit) {
        --running;
        release(box, me, answer.permit);
      }
      all_released.arrive_and_wait();
    }
    box.gate.detach(me, box.now);
  };
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < 64; ++i) {
    threads.emplace_back(work, i);
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(in_round, std::vector<int>(kRounds, 10));
  EXPECT_EQ(peak.load(), 10);
  EXPECT_EQ(box.gate.in_flight(), 0U);
}

// Two gates in a row: the first refuses three, and they leave. The second has never seen them.
TEST(SlotCases, ARequestThatAnEarlierGateRefusedIsNotTakenOffALaterOne) {
  Policy by_rate = policy_of(1000, QueueSize::none());
  by_rate.quota = {.requests = 1, .per = Duration::seconds(3600), .burst = 5, .keys = 10};
  GateBox first(by_rate);
  GateBox second(policy_of(5, QueueSize::none()));
  const Participant in_first = first.attach();
  const Participant in_second = second.attach();
  Request request = of_class(kCritical);
  request.quota = hash_key("peer");
  int passed = 0;
  int refused = 0;
  for (int i = 0; i < 8; ++i) {
    if (first.gate.offer(in_first, request, first.now).kind == admit) {
      ++passed;
    } else {
      ++refused;
      Permit none;
      second.gate.release(in_second, none, Outcome::ignored, second.now);  // it closes
    }
  }
  EXPECT_EQ(passed, 5);
  EXPECT_EQ(refused, 3);
  EXPECT_EQ(second.gate.in_flight(), 0U);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(offer(second, in_second).kind, admit);
  }
  EXPECT_EQ(offer(second, in_second).kind, reject);
  EXPECT_EQ(second.gate.snapshot().released_twice, 3U);
}

TEST(SlotCases, AfterALoadTestWithDisconnectsAndExceptionsTheLimitIsFree) {
  GateBox box(policy_of(50, QueueSize::at_most(50)));
  const Participant me = box.attach();
  struct Running {
    Permit permit;
    Instant until;
  };
  std::deque<Running> running;
  std::map<std::uint32_t, Ticket> waiting;
  constexpr Duration kService = Duration::millis(20);
  const auto collect = [&] {
    for (Settled& settled : box.collect(me)) {
      waiting.erase(settled.ticket.index);
      if (settled.kind == Settled::Kind::admit) {
        running.push_back({std::move(settled.permit), box.now + kService});
      }
    }
  };
  for (int i = 0; i < 100'000; ++i) {
    box.pass(Duration::micros(300));  // 3,333 a second for 2,500
    while (!running.empty() && running.front().until <= box.now) {
      const Outcome ended = i % 10 == 3 ? Outcome::failure : Outcome::success;
      release(box, me, running.front().permit, ended);
      running.pop_front();
      collect();
    }
    Offer answer = offer(box, me);
    if (answer.kind == admit) {
      running.push_back({std::move(answer.permit), box.now + kService});
    } else if (answer.kind == wait) {
      waiting[answer.ticket.index] = answer.ticket;
    }
    if (i % 10 == 7) {  // a client goes: one who waits, or one who is being served
      if (!waiting.empty()) {
        box.gate.cancel(me, waiting.begin()->second, box.now);
        waiting.erase(waiting.begin());
      } else if (!running.empty()) {
        release(box, me, running.back().permit, Outcome::ignored);
        running.pop_back();
      }
    }
    if (i % 30 == 0) {
      box.gate.tick(box.now);
    }
    collect();
  }
  // Silence: those who wait start as those who run end.
  for (int i = 0; i < 40; ++i) {
    box.pass(Duration::millis(1));
    while (!running.empty() && running.front().until <= box.now) {
      release(box, me, running.front().permit);
      running.pop_front();
    }
    collect();
  }
  EXPECT_EQ(box.gate.in_flight(), 0U);
  EXPECT_EQ(box.gate.snapshot().waiting, 0U);
  EXPECT_EQ(offer(box, me).kind, admit);
}

TEST(SlotCases, ACancelledHeavyHeadDoesNotBlockTheSmallOneBehindIt) {
  GateBox box(policy_of(2));
  const Participant me = box.attach();
  ASSERT_EQ(offer(box, me).kind, admit);
  const Offer x = offer(box, me, 2);
  const Offer y = offer(box, me);
  ASSERT_EQ(y.kind, wait);
  box.gate.cancel(me, x.ticket, box.now);
  const auto granted = box.collect(me);
  ASSERT_EQ(granted.size(), 1U);
  EXPECT_EQ(granted[0].ticket, y.ticket);
  EXPECT_EQ(granted[0].kind, Settled::Kind::admit);
}

TEST(SlotCases, AbortedQueuedWorkNeverRunsAndTheNextStartsWhenTheRunningOneEnds) {
  GateBox box(policy_of(1, QueueSize::at_most(2)));
  const Participant me = box.attach();
  Offer a = offer(box, me);
  const Offer b = offer(box, me);
  box.gate.cancel(me, b.ticket, box.now);
  const Offer c = offer(box, me);
  ASSERT_EQ(c.kind, wait);
  release(box, me, a.permit);
  auto started = box.collect(me);
  ASSERT_EQ(started.size(), 1U);
  EXPECT_EQ(started[0].ticket, c.ticket);
  release(box, me, started[0].permit);
  EXPECT_TRUE(box.collect(me).empty());
}

// Those who are merely connected have a seat, and hold nothing.
TEST(SlotCases, WithoutARequestNothingIsHeldAndSixtyFourAskersAreStillTheLimit) {
  constexpr std::uint32_t kSeats = 60;  // ThreadSanitizer follows 64 mutexes of a thread
  GateBox box(policy_of(4, QueueSize::none()), kSeats);
  std::vector<Participant> connected;
  for (std::uint32_t i = 0; i < kSeats; ++i) {
    connected.push_back(box.attach(i));
  }
  EXPECT_EQ(box.gate.in_flight(), 0U);
  EXPECT_EQ(offer(box, connected[5]).kind, admit);
  EXPECT_EQ(box.gate.in_flight(), 1U);
  int admitted = 1;
  for (std::uint32_t asker = 0; asker < 64; ++asker) {
    admitted += offer(box, connected[asker % kSeats]).kind == admit;
  }
  EXPECT_EQ(admitted, 4);
}

TEST(SlotCases, TheSlotIsFreeWhenTheResponseIsCompleteHoweverLongItsObjectIsKept) {
  GateBox box(policy_of(1, QueueSize::none()));
  const Participant me = box.attach();
  const auto response = std::make_unique<Offer>(offer(box, me));
  box.pass(Duration::millis(10));
  release(box, me, response->permit);
  EXPECT_EQ(offer(box, me).kind, admit);  // the response is still there
}

TEST(SlotCases, StreamsHaveAPoolOfTheirOwnAndLeaveTheServiceTimeAlone) {
  GateBox requests(policy_of(50));
  GateBox streams(policy_of(50, QueueSize::none()));
  const Participant in_requests = requests.attach();
  const Participant in_streams = streams.attach();
  std::vector<Offer> open;
  for (int i = 0; i < 50; ++i) {
    open.push_back(offer(streams, in_streams));
    ASSERT_EQ(open.back().kind, admit);
  }
  EXPECT_EQ(offer(streams, in_streams).kind, reject);
  int served = 0;
  for (int i = 0; i < 36'000; ++i) {  // an hour at ten a second
    Offer answer = offer(requests, in_requests);
    ASSERT_EQ(answer.kind, admit);
    requests.pass(Duration::millis(20));
    release(requests, in_requests, answer.permit);
    requests.pass(Duration::millis(80));
    requests.gate.tick(requests.now);
    ++served;
  }
  EXPECT_EQ(served, 36'000);
  streams.now = requests.now;
  for (Offer& stream : open) {  // they say nothing about how long a request takes
    release(streams, in_streams, stream.permit, Outcome::ignored);
  }
  streams.gate.tick(streams.now);
  EXPECT_EQ(requests.gate.snapshot().service_mean, Duration::millis(20));
  EXPECT_EQ(streams.gate.snapshot().service_mean, Duration{});
}

TEST(SlotCases, ABurstOfAHundredThousandRunsTenLetsAHundredWaitAndRefusesTheRestAtOnce) {
  GateBox box(policy_of(10, QueueSize::at_most(100)));
  const Participant me = box.attach();
  int run = 0;
  int waiting = 0;
  int refused = 0;
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 100'000; ++i) {
    const Offer answer = offer(box, me);
    run += answer.kind == admit;
    waiting += answer.kind == wait;
    refused += answer.reason == Reason::queue_full;
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  EXPECT_EQ(run, 10);
  EXPECT_EQ(waiting, 100);
  EXPECT_EQ(refused, 99'890);
  EXPECT_LT(took.count() / 100'000, 0.001);
}

}  // namespace
}  // namespace loadline::test
