// Requests of a weight above 1: what they are charged, the share of the limit that they have
// together, and whom they let pass.
#include <gtest/gtest.h>

#include "gate_box.h"

namespace loadline::test {
namespace {

using enum Offer::Kind;

// A limit of 10, of which the heavy ones may hold 5.
Policy half_for_the_heavy() {
  Policy policy = policy_of(10);
  policy.heavy_share = 500;
  policy.discipline = Discipline::fifo;
  return policy;
}

TEST(Heavies, HoldAtMostTheirShareOfTheLimitTogether) {
  GateBox box(half_for_the_heavy());
  const Participant me = box.attach();
  Offer first = box.gate.offer(me, of_class(kCritical, 3), box.now);
  ASSERT_EQ(first.kind, admit);
  ASSERT_EQ(box.gate.offer(me, of_class(kCritical, 2), box.now).kind, admit);
  const Offer third = box.gate.offer(me, of_class(kCritical, 2), box.now);
  EXPECT_EQ(third.kind, wait);  // 5 of the 10 are free
  EXPECT_EQ(box.gate.snapshot().heavy_in_flight, 5U);
  box.gate.release(me, first.permit, Outcome::success, box.now);
  const auto started = box.collect(me);
  ASSERT_EQ(started.size(), 1U);
  EXPECT_EQ(started[0].ticket, third.ticket);
  EXPECT_EQ(box.gate.snapshot().heavy_in_flight, 4U);
}

TEST(Heavies, OneAloneIsChargedNoMoreThanTheirShare) {
  GateBox box(half_for_the_heavy());
  const Participant me = box.attach();
  const Offer answer = box.gate.offer(me, of_class(kCritical, 100), box.now);
  ASSERT_EQ(answer.kind, admit);
  EXPECT_EQ(answer.permit.cost(), 5U);
}

TEST(Heavies, ThatWaitForTheirShareLetLightOnesPass) {
  GateBox box(half_for_the_heavy());
  const Participant me = box.attach();
  ASSERT_EQ(box.gate.offer(me, of_class(kCritical, 5), box.now).kind, admit);
  ASSERT_EQ(box.gate.offer(me, of_class(kCritical, 2), box.now).kind, wait);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(box.gate.offer(me, of_class(i % 2 == 0 ? kCritical : kSheddable), box.now).kind,
              admit);
  }
  EXPECT_EQ(box.gate.in_flight(), 10U);
}

TEST(Heavies, ThatWaitForRoomLetNobodyPass) {
  GateBox box(half_for_the_heavy());
  const Participant me = box.attach();
  std::vector<Offer> running;
  for (int i = 0; i < 9; ++i) {
    running.push_back(box.gate.offer(me, of_class(kCritical), box.now));
  }
  const Offer heavy = box.gate.offer(me, of_class(kCritical, 2), box.now);
  ASSERT_EQ(heavy.kind, wait);
  EXPECT_EQ(box.gate.offer(me, of_class(kCritical), box.now).kind, wait);
  EXPECT_EQ(box.gate.offer(me, of_class(kSheddable), box.now).kind, wait);
  box.gate.release(me, running[0].permit, Outcome::success, box.now);
  const auto started = box.collect(me);
  ASSERT_EQ(started.size(), 1U);
  EXPECT_EQ(started[0].ticket, heavy.ticket);
}

TEST(Heavies, ThatWaitForTheirShareGiveWayWhenTheQueueIsFull) {
  Policy policy = half_for_the_heavy();
  policy.queue = QueueSize::at_most(1);
  GateBox box(policy);
  const Participant me = box.attach();
  ASSERT_EQ(box.gate.offer(me, of_class(kCritical, 5), box.now).kind, admit);
  const Offer lesser = box.gate.offer(me, of_class(kSheddable, 2), box.now);
  ASSERT_EQ(lesser.kind, wait);
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(box.gate.offer(me, of_class(kCritical), box.now).kind, admit);
  }
  EXPECT_EQ(box.gate.offer(me, of_class(kCritical), box.now).kind, wait);
  const auto gone = box.collect(me);
  ASSERT_EQ(gone.size(), 1U);
  EXPECT_EQ(gone[0].ticket, lesser.ticket);
  EXPECT_EQ(gone[0].reason, Reason::displaced);
}

TEST(Heavies, ThatWaitForTheirShareLetNoSmallerOnePass) {
  GateBox box(half_for_the_heavy());
  const Participant me = box.attach();
  Offer running = box.gate.offer(me, of_class(kCritical, 4), box.now);
  ASSERT_EQ(running.kind, admit);
  const Offer large = box.gate.offer(me, of_class(kCritical, 5), box.now);
  ASSERT_EQ(large.kind, wait);
  // Two would find room beside the four, and the five never would again.
  Signals signals;
  ASSERT_TRUE(box.gate.set_limit(12, box.now, signals));
  EXPECT_EQ(box.gate.offer(me, of_class(kCritical, 2), box.now).kind, wait);
  EXPECT_EQ(box.gate.offer(me, of_class(kSheddable, 2), box.now).kind, wait);
  EXPECT_TRUE(box.collect(me).empty());
  // A more important one may.
  EXPECT_EQ(box.gate.offer(me, of_class(kCriticalPlus, 2), box.now).kind, admit);
  box.gate.release(me, running.permit, Outcome::success, box.now);
  EXPECT_TRUE(box.collect(me).empty());  // 2 and 5 are more than their 6
  ASSERT_TRUE(box.gate.set_limit(14, box.now, signals));
  const auto started = box.collect(me);
  ASSERT_EQ(started.size(), 1U);
  EXPECT_EQ(started[0].ticket, large.ticket);
}

TEST(Heavies, ALesserClassGetsItsGuaranteeThoughAMoreImportantOneWaitsForTheShare) {
  Policy policy = half_for_the_heavy();
  policy.classes[kSheddable].guarantee = 900;
  GateBox box(policy);
  const Participant me = box.attach();
  // Light ones through the queue earn it a start.
  std::vector<Offer> running;
  for (int i = 0; i < 6; ++i) {
    running.push_back(box.gate.offer(me, of_class(kCritical), box.now));
  }
  running.push_back(box.gate.offer(me, of_class(kCritical, 4), box.now));
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(box.gate.offer(me, of_class(kCritical), box.now).kind, wait);
    box.gate.release(me, running[i].permit, Outcome::success, box.now);
  }
  ASSERT_EQ(box.collect(me).size(), 2U);
  Signals signals;
  ASSERT_TRUE(box.gate.set_limit(12, box.now, signals));  // 6 for the heavy: 2 more
  ASSERT_EQ(box.gate.offer(me, of_class(kCritical, 5), box.now).kind, wait);
  const Offer lesser = box.gate.offer(me, of_class(kSheddable, 2), box.now);
  ASSERT_EQ(lesser.kind, wait);
  const auto started = box.collect(me);
  ASSERT_EQ(started.size(), 1U);
  EXPECT_EQ(started[0].ticket, lesser.ticket);
}

TEST(Heavies, ThatWaitForTheirShareStartWhenTheGateIsSwitchedOff) {
  for (const Mode mode : {Mode::off, Mode::observe}) {
    GateBox box(half_for_the_heavy());
    const Participant me = box.attach();
    ASSERT_EQ(box.gate.offer(me, of_class(kCritical, 5), box.now).kind, admit);
    ASSERT_EQ(box.gate.offer(me, of_class(kCritical, 5), box.now).kind, wait);
    box.gate.set_mode(mode, box.now);
    EXPECT_EQ(box.collect(me).size(), 1U);
    EXPECT_EQ(box.gate.in_flight(), 10U);
  }
}

TEST(Heavies, OneThatIsOnlyObservedTakesOfTheirShare) {
  GateBox box(half_for_the_heavy());
  const Participant me = box.attach();
  std::vector<Offer> running;
  for (int i = 0; i < 9; ++i) {
    running.push_back(box.gate.offer(me, of_class(kCritical), box.now));
  }
  ASSERT_EQ(box.gate.offer(me, of_class(kCritical, 3), box.now).kind, wait);  // for room
  Request observed = of_class(kCritical, 3);
  observed.observe = true;
  ASSERT_EQ(box.gate.offer(me, observed, box.now).kind, admit);
  for (int i = 0; i < 3; ++i) {
    box.gate.release(me, running[i].permit, Outcome::success, box.now);
  }
  // Now it waits for the share, and may be passed.
  EXPECT_EQ(box.gate.offer(me, of_class(kCritical), box.now).kind, admit);
}

// The oldest of two would fit into the share and the newest, whose turn it is, would not.
TEST(Heavies, NewestFirstTheNewestWaitsForTheirShareAndNothingBreaks) {
  Policy policy = half_for_the_heavy();
  policy.discipline = Discipline::lifo;
  GateBox box(policy);
  const Participant me = box.attach();
  Offer running = box.gate.offer(me, of_class(kCritical, 5), box.now);
  ASSERT_EQ(running.kind, admit);
  Offer second = box.gate.offer(me, of_class(kCritical, 2), box.now);
  ASSERT_EQ(second.kind, wait);
  const Offer newest = box.gate.offer(me, of_class(kCritical, 5), box.now);
  ASSERT_EQ(newest.kind, wait);
  Signals signals;
  ASSERT_TRUE(box.gate.set_limit(20, box.now, signals));  // a share of 10: 5 more
  const auto started = box.collect(me);
  ASSERT_EQ(started.size(), 1U);
  EXPECT_EQ(started[0].ticket, newest.ticket);
  EXPECT_EQ(box.gate.snapshot().repairs, 0U);
  ASSERT_TRUE(box.gate.set_limit(18, box.now, signals));  // 9: less than what they hold
  ASSERT_EQ(box.gate.offer(me, of_class(kCritical, 9), box.now).kind, wait);
  ASSERT_TRUE(box.gate.set_limit(24, box.now, signals));  // 12: 2 more, and 9 are asked first
  EXPECT_TRUE(box.collect(me).empty());
  EXPECT_EQ(box.gate.snapshot().repairs, 0U);
  EXPECT_EQ(box.gate.snapshot().waiting, 2U);
}

// As they came, one of 2 is next, waits for room and lets nobody pass. A light one beside the queue
// that stands turns the order: now one of 3 is next, waits for the share, and lets it pass.
TEST(Heavies, ThatAreNextOnceTheOrderTurnsLetLightOnesPassAtOnce) {
  Policy policy = half_for_the_heavy();
  policy.discipline = Discipline::adaptive;
  policy.queue = QueueSize::at_most(2);
  GateBox box(policy);
  const Participant me = box.attach();
  ASSERT_EQ(box.gate.offer(me, of_class(kCritical, 3), box.now).kind, admit);
  for (int i = 0; i < 6; ++i) {
    ASSERT_EQ(box.gate.offer(me, of_class(kCritical), box.now).kind, admit);
  }
  ASSERT_EQ(box.gate.offer(me, of_class(kCritical, 2), box.now).kind, wait);
  ASSERT_EQ(box.gate.offer(me, of_class(kCritical, 3), box.now).kind, wait);
  box.pass(Duration::millis(51));
  const Offer answer = box.gate.offer(me, of_class(kCritical), box.now);
  EXPECT_EQ(answer.kind, admit) << name(answer.reason);
  EXPECT_EQ(box.gate.in_flight(), 10U);
}

}  // namespace
}  // namespace loadline::test
