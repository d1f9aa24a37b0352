#include "loadline/gate.h"

#include <gtest/gtest.h>

#include <array>

#include "gate_box.h"

namespace loadline::test {
namespace {

using enum Offer::Kind;

// ---- The limit --------------------------------------------------------------------------------

TEST(Limit, LoweredBelowOneWhoWaitsStillLetsItAndThoseBehindStart) {
  GateBox box(policy_of(4));
  const Participant me = box.attach();
  Offer first = box.gate.offer(me, of_class(kCritical, 4), box.now);
  ASSERT_EQ(first.kind, admit);
  ASSERT_EQ(box.gate.offer(me, of_class(kCritical, 3), box.now).kind, wait);
  ASSERT_EQ(box.gate.offer(me, of_class(kCritical), box.now).kind, wait);
  Signals signals;
  ASSERT_TRUE(box.gate.set_limit(2, box.now, signals));
  box.gate.release(me, first.permit, Outcome::success, box.now);
  std::vector<Settled> heavy = box.collect(me);
  ASSERT_EQ(heavy.size(), 1U);
  EXPECT_EQ(heavy[0].kind, Settled::Kind::admit);
  EXPECT_EQ(heavy[0].permit.cost(), 2U);
  box.gate.release(me, heavy[0].permit, Outcome::success, box.now);
  EXPECT_EQ(box.collect(me).size(), 1U);
  EXPECT_EQ(box.gate.in_flight(), 1U);
}

TEST(Limit, AdmitsExactlyTheLimitAndNotOneMore) {
  GateBox box(policy_of(10, QueueSize::none()));
  const Participant me = box.attach();
  std::vector<Permit> permits;
  for (int i = 0; i < 10; ++i) {
    Offer answer = box.gate.offer(me, of_class(kCriticalPlus), box.now);
    ASSERT_EQ(answer.kind, admit);
    permits.push_back(std::move(answer.permit));
  }
  const Offer eleventh = box.gate.offer(me, of_class(kCriticalPlus), box.now);
  EXPECT_EQ(eleventh.kind, reject);
  EXPECT_EQ(eleventh.reason, Reason::limit);
  EXPECT_EQ(box.gate.in_flight(), 10U);
}

TEST(Limit, OfOneAdmitsExactlyOne) {
  GateBox box(policy_of(1, QueueSize::none()));
  const Participant me = box.attach();
  EXPECT_EQ(box.gate.offer(me, of_class(kSheddable), box.now).kind, admit);
  EXPECT_EQ(box.gate.offer(me, of_class(kCriticalPlus), box.now).kind, reject);
}

TEST(Limit, ReleasedTwiceCountsOnceAndIsToldOfOnce) {
  GateBox box(policy_of(2, QueueSize::none()));
  const Participant me = box.attach();
  Offer a = box.gate.offer(me, of_class(kCritical), box.now);
  Offer b = box.gate.offer(me, of_class(kCritical), box.now);
  box.gate.release(me, a.permit, Outcome::success, box.now);
  box.gate.release(me, a.permit, Outcome::success, box.now);
  EXPECT_EQ(box.gate.in_flight(), 1U);
  EXPECT_EQ(box.gate.snapshot().released_twice, 1U);
  EXPECT_EQ(box.gate.offer(me, of_class(kCritical), box.now).kind, admit);
  EXPECT_EQ(box.gate.offer(me, of_class(kCritical), box.now).kind, reject);
  EXPECT_TRUE(b.permit.held());
}

TEST(Limit, LoweredUnderLoadRevokesNothingAndAdmitsNobodyAboveIt) {
  GateBox box(policy_of(4, QueueSize::none()));
  const Participant me = box.attach();
  std::array<Offer, 4> running;
  for (Offer& answer : running) {
    answer = box.gate.offer(me, of_class(kCriticalPlus), box.now);
    ASSERT_EQ(answer.kind, admit);
  }
  Signals signals;
  ASSERT_TRUE(box.gate.set_limit(2, box.now, signals));
  EXPECT_EQ(box.gate.in_flight(), 4U);
  for (int i = 0; i < 2; ++i) {
    box.gate.release(me, running[i].permit, Outcome::success, box.now);
    EXPECT_EQ(box.gate.offer(me, of_class(kCriticalPlus), box.now).kind, reject);
  }
  box.gate.release(me, running[2].permit, Outcome::success, box.now);
  EXPECT_EQ(box.gate.offer(me, of_class(kCriticalPlus), box.now).kind, admit);
}

TEST(Limit, RaisedUnderLoadStartsThoseWhoWaitAtOnce) {
  GateBox box(policy_of(1));
  const Participant me = box.attach();
  ASSERT_EQ(box.gate.offer(me, of_class(kCritical), box.now).kind, admit);
  ASSERT_EQ(box.gate.offer(me, of_class(kCritical), box.now).kind, wait);
  ASSERT_EQ(box.gate.offer(me, of_class(kCritical), box.now).kind, wait);
  Signals signals;
  ASSERT_TRUE(box.gate.set_limit(3, box.now, signals));
  EXPECT_EQ(signals.participants, 1U);
  EXPECT_EQ(box.collect(me).size(), 2U);
  EXPECT_EQ(box.gate.in_flight(), 3U);
}

TEST(Limit, OutOfRangeIsRefusedAndChangesNothing) {
  GateBox box(policy_of(7));
  Signals signals;
  EXPECT_FALSE(box.gate.set_limit(0, box.now, signals));
  EXPECT_FALSE(box.gate.set_limit(kMaxLimit + 1, box.now, signals));
  EXPECT_EQ(box.gate.limit(), 7U);
}

// ---- The queue ---------------------------------------------------------------------------------

TEST(Queue, OfTwoBehindTwoServesFourOfTenAndRefusesSixAtOnce) {
  GateBox box(policy_of(2, QueueSize::at_most(2), Duration::seconds(1)));
  const Participant me = box.attach();
  int started = 0;
  int waiting = 0;
  int refused = 0;
  for (int i = 0; i < 10; ++i) {
    const Offer answer = box.gate.offer(me, of_class(kCritical), box.now);
    started += answer.kind == admit;
    waiting += answer.kind == wait;
    refused += answer.kind == reject && answer.reason == Reason::queue_full;
  }
  EXPECT_EQ(started, 2);
  EXPECT_EQ(waiting, 2);
  EXPECT_EQ(refused, 6);
}

TEST(Queue, IsFirstInFirstOutWithinAClass) {
  GateBox box(policy_of(1));
  const Participant me = box.attach();
  Offer first = box.gate.offer(me, of_class(kCritical), box.now);
  std::vector<Ticket> order;
  for (int i = 0; i < 5; ++i) {
    order.push_back(box.gate.offer(me, of_class(kCritical), box.now).ticket);
  }
  Permit running = std::move(first.permit);
  for (const Ticket& expected : order) {
    box.gate.release(me, running, Outcome::success, box.now);
    auto started = box.collect(me);
    ASSERT_EQ(started.size(), 1U);
    EXPECT_EQ(started[0].ticket, expected);
    running = std::move(started[0].permit);
  }
}

TEST(Queue, StartsTheMoreImportantFirst) {
  GateBox box(policy_of(1));
  const Participant me = box.attach();
  Offer running = box.gate.offer(me, of_class(kCritical), box.now);
  box.gate.offer(me, of_class(kSheddable), box.now);
  box.gate.offer(me, of_class(kCritical), box.now);
  const Ticket top = box.gate.offer(me, of_class(kCriticalPlus), box.now).ticket;
  box.gate.release(me, running.permit, Outcome::success, box.now);
  const auto started = box.collect(me);
  ASSERT_EQ(started.size(), 1U);
  EXPECT_EQ(started[0].ticket, top);
}

TEST(Queue, AFreedSlotDoesNotGoToALesserArrivalWhileSomeoneWaits) {
  GateBox box(policy_of(2));
  const Participant me = box.attach();
  Offer a = box.gate.offer(me, of_class(kCritical), box.now);
  Offer b = box.gate.offer(me, of_class(kCritical), box.now);
  // Weight 2 waits for both slots; one is free.
  ASSERT_EQ(box.gate.offer(me, of_class(kCritical, 2), box.now).kind, wait);
  box.gate.release(me, a.permit, Outcome::success, box.now);
  EXPECT_EQ(box.gate.offer(me, of_class(kCritical), box.now).kind, wait);
  EXPECT_EQ(box.gate.offer(me, of_class(kSheddable), box.now).kind, wait);
  EXPECT_EQ(box.gate.in_flight(), 1U);
  box.gate.release(me, b.permit, Outcome::success, box.now);
  EXPECT_EQ(box.collect(me).size(), 1U);
  EXPECT_EQ(box.gate.in_flight(), 2U);
}

TEST(Queue, AMoreImportantArrivalPassesThoseWhoWaitBelow) {
  GateBox box(policy_of(2));
  const Participant me = box.attach();
  Offer a = box.gate.offer(me, of_class(kCritical), box.now);
  box.gate.offer(me, of_class(kCritical), box.now);
  ASSERT_EQ(box.gate.offer(me, of_class(kSheddable, 2), box.now).kind, wait);
  box.gate.release(me, a.permit, Outcome::success, box.now);
  EXPECT_EQ(box.gate.offer(me, of_class(kCriticalPlus), box.now).kind, admit);
}

TEST(Queue, CancellingAHeavyHeadLetsTheNextStartWithoutARelease) {
  GateBox box(policy_of(2));
  const Participant me = box.attach();
  ASSERT_EQ(box.gate.offer(me, of_class(kCritical), box.now).kind, admit);
  const Offer heavy = box.gate.offer(me, of_class(kCritical, 2), box.now);
  const Offer light = box.gate.offer(me, of_class(kCritical), box.now);
  ASSERT_EQ(heavy.kind, wait);
  ASSERT_EQ(light.kind, wait);
  const Signals signals = box.gate.cancel(me, heavy.ticket, box.now);
  EXPECT_EQ(signals.participants, 1U);
  const auto started = box.collect(me);
  ASSERT_EQ(started.size(), 1U);
  EXPECT_EQ(started[0].ticket, light.ticket);
}

TEST(Queue, ACallerWhoLeavesNeverStartsAndFreesItsPlace) {
  GateBox box(policy_of(1, QueueSize::at_most(2)));
  const Participant me = box.attach();
  Offer a = box.gate.offer(me, of_class(kCritical), box.now);
  const Offer b = box.gate.offer(me, of_class(kCritical), box.now);
  const Offer c = box.gate.offer(me, of_class(kCritical), box.now);
  box.gate.cancel(me, b.ticket, box.now);
  EXPECT_EQ(box.gate.offer(me, of_class(kCritical), box.now).kind, wait);
  box.gate.release(me, a.permit, Outcome::success, box.now);
  const auto started = box.collect(me);
  ASSERT_EQ(started.size(), 1U);
  EXPECT_EQ(started[0].ticket, c.ticket);
  EXPECT_EQ(sums_of(box.gate.snapshot()).cancelled, 1U);
}

TEST(Queue, CancellingWhatHasBeenGrantedGivesTheSlotToTheNext) {
  GateBox box(policy_of(1));
  const Participant me = box.attach();
  Offer a = box.gate.offer(me, of_class(kCritical), box.now);
  const Offer b = box.gate.offer(me, of_class(kCritical), box.now);
  const Offer c = box.gate.offer(me, of_class(kCritical), box.now);
  box.gate.release(me, a.permit, Outcome::success, box.now);
  box.gate.cancel(me, b.ticket, box.now);
  const auto started = box.collect(me);
  ASSERT_EQ(started.size(), 1U);
  EXPECT_EQ(started[0].ticket, c.ticket);
  EXPECT_EQ(box.gate.in_flight(), 1U);
}

TEST(Queue, CancelledTwiceIsCountedOnce) {
  GateBox box(policy_of(1));
  const Participant me = box.attach();
  box.gate.offer(me, of_class(kCritical), box.now);
  const Offer b = box.gate.offer(me, of_class(kCritical), box.now);
  box.gate.cancel(me, b.ticket, box.now);
  box.gate.cancel(me, b.ticket, box.now);
  EXPECT_EQ(sums_of(box.gate.snapshot()).cancelled, 1U);
  EXPECT_EQ(box.gate.snapshot().waiting, 0U);
}

TEST(Queue, NobodyGivesWayToOneWhoFindsNoTicket) {
  GateBox box(policy_of(1, QueueSize::at_most(1)), 2, Capacity::kSpareTickets + 1);
  const Participant me = box.attach();
  box.gate.offer(me, of_class(kCritical), box.now);
  for (std::uint32_t i = 0; i < Capacity::kSpareTickets; ++i) {  // displaced and never collected
    ASSERT_EQ(box.gate.offer(me, of_class(kSheddable), box.now).kind, wait);
    const Offer above = box.gate.offer(me, of_class(kCritical), box.now);
    ASSERT_EQ(above.kind, wait);
    box.gate.cancel(me, above.ticket, box.now);
  }
  ASSERT_EQ(box.gate.offer(me, of_class(kSheddable), box.now).kind, wait);  // the last ticket
  EXPECT_EQ(box.gate.offer(me, of_class(kCritical), box.now).reason, Reason::queue_full);
  EXPECT_EQ(box.gate.snapshot().waiting, 1U);
}

TEST(Queue, WhenFullTheLeastImportantGivesWay) {
  GateBox box(policy_of(1, QueueSize::at_most(2)));
  const Participant me = box.attach();
  box.gate.offer(me, of_class(kCritical), box.now);
  box.gate.offer(me, of_class(kSheddablePlus), box.now);
  const Offer least = box.gate.offer(me, of_class(kSheddable), box.now);
  EXPECT_EQ(box.gate.offer(me, of_class(kSheddable), box.now).reason, Reason::queue_full);
  EXPECT_EQ(box.gate.offer(me, of_class(kCritical), box.now).kind, wait);
  const auto gone = box.collect(me);
  ASSERT_EQ(gone.size(), 1U);
  EXPECT_EQ(gone[0].ticket, least.ticket);
  EXPECT_EQ(gone[0].reason, Reason::displaced);
  EXPECT_GE(gone[0].retry_after, 1U);
  EXPECT_EQ(box.gate.snapshot().waiting, 2U);
}

TEST(Queue, ARequestThatMayNotWaitIsToldAtOnce) {
  GateBox box(policy_of(1));
  const Participant me = box.attach();
  box.gate.offer(me, of_class(kCritical), box.now);
  Request request = of_class(kCritical);
  request.may_wait = false;
  EXPECT_EQ(box.gate.offer(me, request, box.now).reason, Reason::limit);
}

TEST(Queue, TicketsThatNobodyCollectsDoNotOutgrowTheTable) {
  GateBox box(policy_of(1, QueueSize::at_most(1)), 2, Capacity::kSpareTickets + 1);
  const Participant me = box.attach();
  box.gate.offer(me, of_class(kCritical), box.now);
  std::uint32_t full = 0;
  for (std::uint32_t i = 0; i < 2 * Capacity::kSpareTickets; ++i) {
    box.pass(Duration::millis(200));
    box.gate.tick(box.now);  // refuses the one who waits; its ticket stays with its owner
    full += box.gate.offer(me, of_class(kCritical), box.now).reason == Reason::queue_full;
  }
  EXPECT_EQ(full, Capacity::kSpareTickets - 1);
  EXPECT_EQ(box.collect(me).size(), Capacity::kSpareTickets + 1);
}

TEST(Queue, AutomaticSizeIsBudgetTimesLimitOverServiceTime) {
  GateBox box(policy_of(10, QueueSize::sized_by_budget(), Duration::millis(100)), 4, 4096);
  const Participant me = box.attach();
  EXPECT_EQ(box.gate.snapshot().queue_limit, 100U);  // unmeasured: ten to a slot
  for (int i = 0; i < 20; ++i) {
    Offer answer = box.gate.offer(me, of_class(kCritical), box.now);
    box.pass(Duration::millis(20));
    box.gate.release(me, answer.permit, Outcome::success, box.now);
  }
  box.gate.tick(box.now);
  EXPECT_EQ(box.gate.snapshot().service_mean, Duration::millis(20));
  EXPECT_EQ(box.gate.snapshot().queue_limit, 50U);  // 100 ms * 10 / 20 ms
}

// ---- Budgets and deadlines
// -----------------------------------------------------------------------

TEST(Budget, AWaitEndsWithTheBudgetAndSaysSo) {
  GateBox box(policy_of(1));
  const Participant me = box.attach();
  box.gate.offer(me, of_class(kCritical), box.now);
  const Offer waiting = box.gate.offer(me, of_class(kCritical), box.now);
  EXPECT_EQ(waiting.start_by, box.now + Duration::millis(100));
  Signals signals;
  box.pass(Duration::millis(99));
  EXPECT_EQ(box.gate.settle(me, waiting.ticket, box.now, signals).kind, Settled::Kind::waiting);
  box.pass(Duration::millis(1));
  const Settled ended = box.gate.settle(me, waiting.ticket, box.now, signals);
  EXPECT_EQ(ended.kind, Settled::Kind::reject);
  EXPECT_EQ(ended.reason, Reason::queue_timeout);
  EXPECT_EQ(ended.waited, Duration::millis(100));
  EXPECT_EQ(box.gate.settle(me, waiting.ticket, box.now, signals).kind, Settled::Kind::unknown);
}

TEST(Budget, HoldsWithoutAnyTick) {
  GateBox box(policy_of(1));
  const Participant me = box.attach();
  Offer running = box.gate.offer(me, of_class(kCritical), box.now);
  box.gate.offer(me, of_class(kCritical), box.now);
  box.pass(Duration::millis(101));
  box.gate.release(me, running.permit, Outcome::success, box.now);
  const auto ended = box.collect(me);
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0].reason, Reason::queue_timeout);
  EXPECT_EQ(box.gate.in_flight(), 0U);
}

TEST(Budget, IsAtMostHalfOfTheDeadline) {
  GateBox box(policy_of(1));
  const Participant me = box.attach();
  box.gate.offer(me, of_class(kCritical), box.now);
  Request request = of_class(kCritical);
  request.deadline = box.now + Duration::millis(60);
  EXPECT_EQ(box.gate.offer(me, request, box.now).start_by, box.now + Duration::millis(30));
}

TEST(Budget, WaitersThatHaveAllGoneAreClearedByOneTick) {
  GateBox box(policy_of(1, QueueSize::at_most(200)));
  const Participant me = box.attach();
  box.gate.offer(me, of_class(kCritical), box.now);
  for (int i = 0; i < 200; ++i) {
    ASSERT_EQ(box.gate.offer(me, of_class(kCritical), box.now).kind, wait);
  }
  box.pass(Duration::millis(150));
  box.gate.tick(box.now);
  EXPECT_EQ(box.gate.snapshot().waiting, 0U);
  EXPECT_EQ(box.collect(me).size(), 200U);
  EXPECT_EQ(rejected_for(box.gate.snapshot(), Reason::queue_timeout), 200U);
}

TEST(Deadline, ThatHasPassedIsRefusedOnArrivalEvenWithFreeSlots) {
  GateBox box(policy_of(5));
  const Participant me = box.attach();
  Request request = of_class(kCritical);
  request.deadline = box.now;
  const Offer answer = box.gate.offer(me, request, box.now);
  EXPECT_EQ(answer.reason, Reason::deadline_expired);
  EXPECT_EQ(answer.retry_after, 0U);
}

class Measured : public ::testing::Test {
 protected:
  // Thirty completions of 50 ms.
  void SetUp() override {
    for (int i = 0; i < 30; ++i) {
      Offer answer = box.gate.offer(me, of_class(kCritical), box.now);
      box.pass(Duration::millis(50));
      box.gate.release(me, answer.permit, Outcome::success, box.now);
    }
    box.gate.tick(box.now);
    ASSERT_EQ(box.gate.snapshot().service_mean, Duration::millis(50));
  }
  GateBox box{policy_of(1, QueueSize::at_most(100), Duration::seconds(1))};
  Participant me = box.attach();
};

TEST_F(Measured, ADeadlineNearerThanTheServiceTimeIsRefusedOnArrival) {
  Request request = of_class(kCritical);
  request.deadline = box.now + Duration::millis(49);
  EXPECT_EQ(box.gate.offer(me, request, box.now).reason, Reason::deadline_unmeetable);
  request.deadline = box.now + Duration::millis(50);
  EXPECT_EQ(box.gate.offer(me, request, box.now).kind, admit);
}

TEST_F(Measured, AWaiterMustStartWhileItCanStillFinish) {
  box.gate.offer(me, of_class(kCritical), box.now);
  Request request = of_class(kCritical);
  request.deadline = box.now + Duration::millis(120);
  const Offer answer = box.gate.offer(me, request, box.now);
  ASSERT_EQ(answer.kind, wait);
  EXPECT_EQ(answer.start_by, box.now + Duration::millis(60));  // half of 120, before 120 - 50
}

TEST_F(Measured, AWaitThatWouldNotFitItsBudgetIsRefusedOnArrival) {
  box.gate.offer(me, of_class(kCritical), box.now);
  int waiting = 0;
  Offer answer;
  while ((answer = box.gate.offer(me, of_class(kCritical), box.now)).kind == wait) {
    ++waiting;
  }
  EXPECT_EQ(answer.reason, Reason::wait_budget);
  EXPECT_EQ(waiting, 20);  // 1 s / 50 ms
}

TEST_F(Measured, TheServiceTimeOfABadMinuteDoesNotOutliveIt) {
  Request request = of_class(kCritical);
  request.deadline = box.now + Duration::millis(10);
  ASSERT_EQ(box.gate.offer(me, request, box.now).reason, Reason::deadline_unmeetable);
  box.pass(Duration::millis(1'001));
  request.deadline = box.now + Duration::millis(10);
  EXPECT_EQ(box.gate.offer(me, request, box.now).kind, admit);
}

TEST(Deadline, NothingIsPredictedBeforeTwentyCompletions) {
  GateBox box(policy_of(1, QueueSize::at_most(100), Duration::seconds(1)));
  const Participant me = box.attach();
  for (int i = 0; i < 19; ++i) {
    Offer answer = box.gate.offer(me, of_class(kCritical), box.now);
    box.pass(Duration::seconds(1));
    box.gate.release(me, answer.permit, Outcome::success, box.now);
  }
  box.gate.tick(box.now);
  Request request = of_class(kCritical);
  request.deadline = box.now + Duration::millis(5);
  EXPECT_EQ(box.gate.offer(me, request, box.now).kind, admit);
}

TEST(Deadline, FailuresAndStreamsSayNothingAboutServiceTime) {
  GateBox box(policy_of(1));
  const Participant me = box.attach();
  for (int i = 0; i < 50; ++i) {
    Offer answer = box.gate.offer(me, of_class(kCritical), box.now);
    box.pass(Duration::millis(300));
    box.gate.release(me, answer.permit, i % 2 == 0 ? Outcome::failure : Outcome::ignored, box.now);
  }
  box.gate.tick(box.now);
  EXPECT_EQ(box.gate.snapshot().service_mean, Duration{});
  EXPECT_EQ(box.gate.snapshot().service.total(), 0U);
}

// ---- Classes
// -------------------------------------------------------------------------------------

TEST(Classes, WithoutAQueueTheLesserOnesMayFillLess) {
  GateBox box(policy_of(11, QueueSize::none()));
  const Snapshot all = box.gate.snapshot();
  EXPECT_EQ(all.classes[kCriticalPlus].threshold, 11U);
  EXPECT_EQ(all.classes[kCritical].threshold, 11U);
  EXPECT_EQ(all.classes[kSheddablePlus].threshold, 10U);  // 9.9, rounded up
  EXPECT_EQ(all.classes[kSheddable].threshold, 9U);       // 8.8, rounded up
}

TEST(Classes, WithAQueueAllMayFillTheLimit) {
  GateBox box(policy_of(11));
  for (std::uint8_t c = 0; c < 4; ++c) {
    EXPECT_EQ(box.gate.snapshot().classes[c].threshold, 11U);
  }
}

TEST(Classes, AWeightAboveWhatItsClassMayFillIsChargedThat) {
  GateBox box(policy_of(10, QueueSize::none()));
  const Participant me = box.attach();
  Offer answer = box.gate.offer(me, of_class(kSheddable, 1000), box.now);
  ASSERT_EQ(answer.kind, admit);
  EXPECT_EQ(answer.permit.cost(), 8U);
  Signals signals;
  ASSERT_TRUE(box.gate.set_limit(5, box.now, signals));
  box.gate.release(me, answer.permit, Outcome::success, box.now);
  EXPECT_EQ(box.gate.in_flight(), 0U);  // what was charged, not what would be charged now
}

// ---- Modes
// ---------------------------------------------------------------------------------------

TEST(Draining, TakesNoMoreButFinishesThoseWhoWait) {
  GateBox box(policy_of(1));
  const Participant me = box.attach();
  Offer running = box.gate.offer(me, of_class(kCritical), box.now);
  box.gate.offer(me, of_class(kCritical), box.now);
  box.gate.set_draining(true, box.now);
  EXPECT_EQ(box.gate.offer(me, of_class(kCriticalPlus), box.now).reason, Reason::draining);
  box.gate.release(me, running.permit, Outcome::success, box.now);
  EXPECT_EQ(box.collect(me).size(), 1U);
  box.gate.set_draining(false, box.now);
  EXPECT_EQ(box.gate.offer(me, of_class(kCriticalPlus), box.now).kind, wait);
}

TEST(Observe, AdmitsAllAndCountsWhatItWouldHaveTurnedAway) {
  GateBox box(policy_of(2, QueueSize::at_most(2)));
  const Participant me = box.attach();
  box.gate.set_mode(Mode::observe, box.now);
  std::vector<Offer> answers;
  for (int i = 0; i < 10; ++i) {
    answers.push_back(box.gate.offer(me, of_class(kCritical), box.now));
    ASSERT_EQ(answers.back().kind, admit);
  }
  EXPECT_EQ(answers[3].reason, Reason::none);
  EXPECT_EQ(answers[4].reason, Reason::queue_full);
  const Snapshot all = box.gate.snapshot();
  EXPECT_EQ(all.classes[kCritical].admitted, 10U);
  EXPECT_EQ(all.classes[kCritical].observed[static_cast<int>(Reason::queue_full)], 6U);
  EXPECT_EQ(sums_of(all).rejected, 0U);
  for (Offer& answer : answers) {
    box.gate.release(me, answer.permit, Outcome::success, box.now);
  }
  EXPECT_EQ(box.gate.in_flight(), 0U);
}

TEST(Observe, OfOneRequestLeavesTheOthersJudged) {
  GateBox box(policy_of(1, QueueSize::none()));
  const Participant me = box.attach();
  box.gate.offer(me, of_class(kCritical), box.now);
  Request looked_at = of_class(kCritical);
  looked_at.observe = true;
  EXPECT_EQ(box.gate.offer(me, looked_at, box.now).kind, admit);
  EXPECT_EQ(box.gate.offer(me, of_class(kCritical), box.now).kind, reject);
}

TEST(Off, LetsThoseWhoWaitStartAtOnceAndStillKnowsWhatIsInFlight) {
  GateBox box(policy_of(1));
  const Participant me = box.attach();
  box.gate.offer(me, of_class(kCritical), box.now);
  box.gate.offer(me, of_class(kCritical), box.now);
  box.gate.set_mode(Mode::off, box.now);
  EXPECT_EQ(box.collect(me).size(), 1U);
  EXPECT_EQ(box.gate.offer(me, of_class(kSheddable), box.now).kind, admit);
  EXPECT_EQ(box.gate.in_flight(), 3U);
  box.gate.set_mode(Mode::on, box.now);
  EXPECT_EQ(box.gate.offer(me, of_class(kCritical), box.now).kind, wait);
}

// ---- Rejections
// -----------------------------------------------------------------------------------

TEST(RetryAfter, IsDrawnFromTheWholeRangeAndNeverBelowIt) {
  Policy policy = policy_of(1, QueueSize::none());
  policy.retry_after_min = 2;
  policy.retry_after_max = 5;
  GateBox box(policy);
  const Participant me = box.attach();
  box.gate.offer(me, of_class(kCritical), box.now);
  std::array<int, 8> drawn{};
  for (int i = 0; i < 4000; ++i) {
    const std::uint16_t seconds = box.gate.offer(me, of_class(kCritical), box.now).retry_after;
    ASSERT_GE(seconds, 2);
    ASSERT_LE(seconds, 5);
    ++drawn[seconds];
  }
  for (int s = 2; s <= 5; ++s) {
    // 1,000 expected of each; five standard deviations of a binomial(4000, 1/4) are 137.
    EXPECT_NEAR(drawn[s], 1000, 137);
  }
}

TEST(Reasons, HaveTheNamesThatStandInMetrics) {
  EXPECT_EQ(name(Reason::limit), "limit");
  EXPECT_EQ(name(Reason::queue_full), "queue_full");
  EXPECT_EQ(name(Reason::wait_budget), "wait_budget");
  EXPECT_EQ(name(Reason::queue_timeout), "queue_timeout");
  EXPECT_EQ(name(Reason::deadline_unmeetable), "deadline_unmeetable");
  EXPECT_EQ(name(Reason::deadline_expired), "deadline_expired");
  EXPECT_EQ(name(Reason::displaced), "displaced");
  EXPECT_EQ(name(Reason::draining), "draining");
  EXPECT_EQ(name(Reason::busy), "busy");
}

TEST(Time, ThatRunsBackwardsHurtsNobody) {
  GateBox box(policy_of(1));
  const Participant me = box.attach();
  Offer running = box.gate.offer(me, of_class(kCritical), box.now);
  const Offer waiting = box.gate.offer(me, of_class(kCritical), box.now);
  const Instant earlier = box.now - Duration::seconds(3600);
  box.gate.tick(earlier);
  box.gate.release(me, running.permit, Outcome::success, earlier);
  Signals signals;
  const Settled started = box.gate.settle(me, waiting.ticket, earlier, signals);
  EXPECT_EQ(started.kind, Settled::Kind::admit);
  EXPECT_EQ(started.waited, Duration{});
  EXPECT_EQ(box.gate.snapshot().service.total(), 0U);
}

}  // namespace
}  // namespace loadline::test
