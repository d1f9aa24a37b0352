// Who starts next among those who wait, and who gives way: disciplines, guarantees, displacement.
#include <gtest/gtest.h>

#include "gate_box.h"
#include "shop.h"

namespace loadline::test {
namespace {

using enum Offer::Kind;

Policy of_one(Discipline discipline, std::uint32_t queue = 3) {
  Policy policy = policy_of(1, QueueSize::at_most(queue), Duration::seconds(1));
  policy.discipline = discipline;
  return policy;
}

// The tickets in the order in which they start, one slot coming free after the other.
std::vector<Ticket> order_of_starts(GateBox& box, Participant me, Permit running) {
  std::vector<Ticket> order;
  while (running.held()) {
    box.gate.release(me, running, Outcome::success, box.now);
    for (Settled& settled : box.collect(me)) {
      order.push_back(settled.ticket);
      running = std::move(settled.permit);
    }
  }
  return order;
}

struct Line {
  Permit running;
  std::vector<Ticket> waiting;
};

Line three_in_line(GateBox& box, Participant me) {
  Line line{box.gate.offer(me, of_class(kCritical), box.now).permit, {}};
  for (int i = 0; i < 3; ++i) {
    line.waiting.push_back(box.gate.offer(me, of_class(kCritical), box.now).ticket);
    box.pass(Duration::millis(1));
  }
  return line;
}

// ---- Disciplines
// ---------------------------------------------------------------------------------

TEST(Discipline, FifoServesThoseWhoCameFirstHoweverLongTheQueueStands) {
  GateBox box(of_one(Discipline::fifo));
  const Participant me = box.attach();
  Line line = three_in_line(box, me);
  box.pass(Duration::millis(500));
  ASSERT_EQ(box.gate.offer(me, of_class(kCritical), box.now).reason, Reason::queue_full);
  EXPECT_EQ(order_of_starts(box, me, std::move(line.running)), line.waiting);
}

TEST(Discipline, LifoServesTheNewestAlways) {
  GateBox box(of_one(Discipline::lifo));
  const Participant me = box.attach();
  Line line = three_in_line(box, me);
  std::reverse(line.waiting.begin(), line.waiting.end());
  EXPECT_EQ(order_of_starts(box, me, std::move(line.running)), line.waiting);
}

TEST(Discipline, AdaptiveIsFifoWhileNobodyIsRefused) {
  GateBox box(of_one(Discipline::adaptive));
  const Participant me = box.attach();
  Line line = three_in_line(box, me);
  box.pass(Duration::millis(500));  // it is long, but nobody was turned away for it
  EXPECT_EQ(order_of_starts(box, me, std::move(line.running)), line.waiting);
}

TEST(Discipline, AdaptiveStaysFifoWhenABurstIsRefusedBesideAFreshQueue) {
  GateBox box(of_one(Discipline::adaptive));
  const Participant me = box.attach();
  Line line = three_in_line(box, me);
  ASSERT_EQ(box.gate.offer(me, of_class(kCritical), box.now).reason, Reason::queue_full);
  box.pass(Duration::millis(47));  // 50 ms since the first of them came: not longer
  ASSERT_EQ(box.gate.offer(me, of_class(kCritical), box.now).reason, Reason::queue_full);
  EXPECT_EQ(order_of_starts(box, me, std::move(line.running)), line.waiting);
}

TEST(Discipline, AdaptiveServesTheNewestOnceARefusalMeetsAStandingQueue) {
  GateBox box(of_one(Discipline::adaptive));
  const Participant me = box.attach();
  Line line = three_in_line(box, me);
  box.pass(Duration::millis(48));
  ASSERT_EQ(box.gate.offer(me, of_class(kCritical), box.now).reason, Reason::queue_full);
  EXPECT_TRUE(box.gate.snapshot().classes[kCritical].newest_first);
  std::reverse(line.waiting.begin(), line.waiting.end());
  EXPECT_EQ(order_of_starts(box, me, std::move(line.running)), line.waiting);
  EXPECT_FALSE(box.gate.snapshot().classes[kCritical].newest_first);  // it has emptied
}

TEST(Discipline, AdaptiveTakesATimeoutForARefusalToo) {
  GateBox box(of_one(Discipline::adaptive));
  const Participant me = box.attach();
  Line line = three_in_line(box, me);
  box.pass(Duration::millis(997));  // of the first alone the second has passed
  box.gate.tick(box.now);
  ASSERT_EQ(box.collect(me).size(), 1U);
  EXPECT_TRUE(box.gate.snapshot().classes[kCritical].newest_first);
}

TEST(Discipline, EachClassStandsByItself) {
  GateBox box(of_one(Discipline::adaptive, 4));
  const Participant me = box.attach();
  Line line = three_in_line(box, me);
  box.pass(Duration::millis(60));
  ASSERT_EQ(box.gate.offer(me, of_class(kCriticalPlus), box.now).kind, wait);
  ASSERT_EQ(box.gate.offer(me, of_class(kSheddable), box.now).reason, Reason::queue_full);
  const Snapshot all = box.gate.snapshot();
  EXPECT_FALSE(all.classes[kCriticalPlus].newest_first);
  EXPECT_FALSE(all.classes[kCritical].newest_first);
  EXPECT_FALSE(all.classes[kSheddable].newest_first);
}

TEST(Discipline, NewestFirstLeavesAQuarterOfTheDeadlineForTheWait) {
  GateBox box(of_one(Discipline::lifo));
  const Participant me = box.attach();
  ASSERT_EQ(box.gate.offer(me, of_class(kCritical), box.now).kind, admit);
  Request request = of_class(kCritical);
  request.deadline = box.now + Duration::millis(80);
  EXPECT_EQ(box.gate.offer(me, request, box.now).start_by, box.now + Duration::millis(20));
}

// Work of 12 ms. As they came, the last of three starts after 36 ms, which is in time with 80 ms to
// go; but the queue is full, and who is less important keeps its place. The refusal turns the
// order, and by the new one it is the wait that is too long: 24 ms after the one who is more
// important, of a quarter of the 80.
TEST(Discipline, WhoTurnsTheOrderIsJudgedByTheNewOne) {
  Policy policy = of_one(Discipline::adaptive);
  policy.classes[kSheddable].guarantee = 200;
  GateBox box(policy);
  const Participant me = box.attach();
  for (int i = 0; i < 30; ++i) {
    Offer answer = box.gate.offer(me, of_class(kCritical), box.now);
    box.pass(Duration::millis(12));
    box.gate.release(me, answer.permit, Outcome::success, box.now);
    box.gate.tick(box.now);
  }
  ASSERT_EQ(box.gate.snapshot().service_mean, Duration::millis(12));
  ASSERT_EQ(box.gate.offer(me, of_class(kCritical), box.now).kind, admit);
  for (const std::uint8_t importance : {kCriticalPlus, kCritical, kSheddable}) {
    ASSERT_EQ(box.gate.offer(me, of_class(importance), box.now).kind, wait);
  }
  box.pass(Duration::millis(51));
  for (int i = 0; i < 2; ++i) {
    Request request = of_class(kCritical);
    request.deadline = box.now + Duration::millis(80);
    EXPECT_EQ(box.gate.offer(me, request, box.now).reason, Reason::wait_budget) << i;
    EXPECT_TRUE(box.gate.snapshot().classes[kCritical].newest_first);
  }
}

TEST(Discipline, ThatChangesUnderLoadTakesThoseWhoWaitAlong) {
  GateBox box(of_one(Discipline::lifo));
  const Participant me = box.attach();
  Line line = three_in_line(box, me);
  Signals signals;
  ASSERT_TRUE(box.gate.reconfigure(of_one(Discipline::adaptive), box.now, signals));
  box.pass(Duration::millis(50));
  ASSERT_EQ(box.gate.offer(me, of_class(kCritical), box.now).reason, Reason::queue_full);
  EXPECT_FALSE(box.gate.snapshot().classes[kCritical].newest_first);
  box.pass(Duration::millis(1));  // it has stood for longer than 50 ms under the new rule
  ASSERT_EQ(box.gate.offer(me, of_class(kCritical), box.now).reason, Reason::queue_full);
  EXPECT_TRUE(box.gate.snapshot().classes[kCritical].newest_first);
}

// ---- Guarantees
// ----------------------------------------------------------------------------------

struct Shares {
  double critical;
  double sheddable;
};

// 1,000 a second for 2,000: what each class has of the starts.
Shares shares_of_starts(std::uint16_t guarantee) {
  Policy policy = policy_of(10, QueueSize::at_most(40));
  policy.classes[kSheddable].guarantee = guarantee;
  Shop shop(policy);
  const auto critical = shop.expect(
      {.per_second = 1500, .service = Duration::millis(10), .request = of_class(kCritical)});
  const auto sheddable = shop.expect(
      {.per_second = 500, .service = Duration::millis(10), .request = of_class(kSheddable)});
  shop.run(Duration::seconds(2));
  shop.forget_outcomes();
  shop.run(Duration::seconds(60));
  const auto one = static_cast<double>(shop.outcome(critical).served);
  const auto other = static_cast<double>(shop.outcome(sheddable).served);
  EXPECT_GT(one + other, 59'000);  // no slot is kept idle for it
  return {one / (one + other), other / (one + other)};
}

TEST(Guarantee, OfOneInTwentyIsOneStartInTwentyAtSaturation) {
  const double share = shares_of_starts(50).sheddable;
  EXPECT_GE(share, 0.045);
  EXPECT_LE(share, 0.055);
}

TEST(Guarantee, OfThirtyPercentIsThirtyPercent) {
  EXPECT_NEAR(shares_of_starts(300).sheddable, 0.30, 0.01);
}

TEST(Guarantee, WithoutOneTheLeastImportantStarve) {
  EXPECT_LT(shares_of_starts(0).sheddable, 0.001);
}

// Whoever had nobody waiting has at most four starts coming.
TEST(Guarantee, IsNotSavedUpForLongerThanFourStarts) {
  Policy policy = of_one(Discipline::fifo, 100);
  policy.classes[kSheddable].guarantee = 500;
  GateBox box(policy);
  const Participant me = box.attach();
  Permit running = box.gate.offer(me, of_class(kCritical), box.now).permit;
  for (int i = 0; i < 40; ++i) {  // twenty starts' worth
    ASSERT_EQ(box.gate.offer(me, of_class(kCritical), box.now).kind, wait);
    box.gate.release(me, running, Outcome::success, box.now);
    running = std::move(box.collect(me).at(0).permit);
  }
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(box.gate.offer(me, of_class(kCritical), box.now).kind, wait);
    ASSERT_EQ(box.gate.offer(me, of_class(kSheddable), box.now).kind, wait);
  }
  int in_a_row = 0;
  for (int i = 0; i < 20; ++i) {
    box.gate.release(me, running, Outcome::success, box.now);
    running = std::move(box.collect(me).at(0).permit);
    if (running.importance() != kSheddable) {
      break;
    }
    ++in_a_row;
  }
  // At most 4 of credit, half of one more with each start, and one less: it starts at 4, 3, 2.5, 2,
  // 1.5 and 1, and at 0.5 it does not.
  EXPECT_EQ(in_a_row, 6);
}

// ---- Displacement
// --------------------------------------------------------------------------------

TEST(Displacement, TakesTheLeastImportantAndOfThoseWhoeverWouldStartLast) {
  for (const Discipline discipline : {Discipline::fifo, Discipline::lifo}) {
    GateBox box(of_one(discipline, 4));
    const Participant me = box.attach();
    ASSERT_EQ(box.gate.offer(me, of_class(kCritical), box.now).kind, admit);
    ASSERT_EQ(box.gate.offer(me, of_class(kSheddablePlus), box.now).kind, wait);
    std::vector<Ticket> least;
    for (int i = 0; i < 3; ++i) {
      least.push_back(box.gate.offer(me, of_class(kSheddable), box.now).ticket);
    }
    ASSERT_EQ(box.gate.offer(me, of_class(kCritical), box.now).kind, wait);
    const auto gone = box.collect(me);
    ASSERT_EQ(gone.size(), 1U);
    EXPECT_EQ(gone[0].ticket, discipline == Discipline::fifo ? least.back() : least.front());
    EXPECT_EQ(gone[0].reason, Reason::displaced);
    EXPECT_GE(gone[0].retry_after, 1U);
  }
}

// A guarantee of a tenth keeps a tenth of the places, rounded up.
TEST(Displacement, LeavesAGuaranteedClassItsPlaces) {
  Policy policy = of_one(Discipline::fifo, 11);
  policy.classes[kSheddable].guarantee = 100;
  GateBox box(policy);
  const Participant me = box.attach();
  ASSERT_EQ(box.gate.offer(me, of_class(kCritical), box.now).kind, admit);
  for (int i = 0; i < 11; ++i) {
    ASSERT_EQ(box.gate.offer(me, of_class(kSheddable), box.now).kind, wait);
  }
  for (int i = 0; i < 9; ++i) {
    ASSERT_EQ(box.gate.offer(me, of_class(kCritical), box.now).kind, wait) << i;
  }
  EXPECT_EQ(box.gate.offer(me, of_class(kCritical), box.now).reason, Reason::queue_full);
  EXPECT_EQ(box.gate.snapshot().classes[kSheddable].waiting, 2U);
}

TEST(Displacement, AsksTheNextClassUpWhereTheLeastKeepsItsPlaces) {
  Policy policy = of_one(Discipline::fifo, 4);
  policy.classes[kSheddable].guarantee = 500;
  GateBox box(policy);
  const Participant me = box.attach();
  ASSERT_EQ(box.gate.offer(me, of_class(kCritical), box.now).kind, admit);
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(box.gate.offer(me, of_class(kSheddable), box.now).kind, wait);
    ASSERT_EQ(box.gate.offer(me, of_class(kSheddablePlus), box.now).kind, wait);
  }
  ASSERT_EQ(box.gate.offer(me, of_class(kCritical), box.now).kind, wait);
  EXPECT_EQ(box.gate.snapshot().classes[kSheddable].waiting, 2U);
  EXPECT_EQ(box.gate.snapshot().classes[kSheddablePlus].waiting, 1U);
}

// ---- Grants that nobody comes for
// ----------------------------------------------------------------

TEST(TakeBack, AGrantThatIsNotCollectedWithin50MsGoesToTheNext) {
  GateBox box(of_one(Discipline::fifo));
  const Participant busy = box.attach(0);
  const Participant stuck = box.attach(1);
  Offer running = box.gate.offer(busy, of_class(kCritical), box.now);
  const Offer granted = box.gate.offer(stuck, of_class(kCritical), box.now);
  const Offer next = box.gate.offer(busy, of_class(kCritical), box.now);
  box.gate.release(busy, running.permit, Outcome::success, box.now);
  box.pass(Duration::millis(50));
  box.gate.tick(box.now);
  EXPECT_TRUE(box.collect(busy).empty());
  box.pass(Duration::millis(11));
  const Signals signals = box.gate.tick(box.now);
  EXPECT_EQ(signals.participants, 3U);  // one has got something, the other has lost it
  const auto started = box.collect(busy);
  ASSERT_EQ(started.size(), 1U);
  EXPECT_EQ(started[0].ticket, next.ticket);
  const auto lost = box.collect(stuck);
  ASSERT_EQ(lost.size(), 1U);
  EXPECT_EQ(lost[0].ticket, granted.ticket);
  EXPECT_EQ(lost[0].reason, Reason::queue_timeout);
  EXPECT_GE(lost[0].retry_after, 1U);
  EXPECT_EQ(box.gate.snapshot().taken_back, 1U);
  EXPECT_EQ(box.gate.in_flight(), 1U);
}

TEST(TakeBack, WhoComesBeforeTheTickHasIt) {
  GateBox box(of_one(Discipline::fifo));
  const Participant me = box.attach();
  Offer running = box.gate.offer(me, of_class(kCritical), box.now);
  ASSERT_EQ(box.gate.offer(me, of_class(kCritical), box.now).kind, wait);
  box.gate.release(me, running.permit, Outcome::success, box.now);
  box.pass(Duration::seconds(10));
  const auto started = box.collect(me);
  ASSERT_EQ(started.size(), 1U);
  EXPECT_EQ(started[0].kind, Settled::Kind::admit);
  box.gate.tick(box.now);
  EXPECT_EQ(box.gate.in_flight(), 1U);
  EXPECT_EQ(box.gate.snapshot().taken_back, 0U);
}

TEST(TakeBack, TakesNothingFromThoseWhoWork) {
  GateBox box(policy_of(2));
  const Participant me = box.attach();
  ASSERT_EQ(box.gate.offer(me, of_class(kCritical), box.now).kind, admit);
  for (int i = 0; i < 100; ++i) {
    box.pass(Duration::seconds(1));
    box.gate.tick(box.now);
  }
  EXPECT_EQ(box.gate.in_flight(), 1U);
}

}  // namespace
}  // namespace loadline::test
