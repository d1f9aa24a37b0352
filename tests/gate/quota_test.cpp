// Quotas: how often one key may ask. Expected values are those of GCRA as a bucket of `burst` that
// gets one back every interval.
#include <gtest/gtest.h>

#include <set>

#include "gate_box.h"

namespace loadline::test {
namespace {

using enum Offer::Kind;

constexpr std::uint32_t kManyKeys = 100;

// 10 a second each, `burst` at once, and room for everybody.
Policy ten_a_second(std::uint32_t burst, std::uint32_t limit = 100'000) {
  Policy policy = policy_of(limit, QueueSize::none());
  policy.quota = {.requests = 10, .per = Duration::seconds(1), .burst = burst, .keys = kManyKeys};
  return policy;
}

Request of_key(std::uint64_t key) {
  Request request = of_class(kCritical);
  request.quota = key;
  return request;
}

int admitted_of(GateBox& box, Participant me, std::uint64_t key, int offers) {
  int admitted = 0;
  for (int i = 0; i < offers; ++i) {
    admitted += box.gate.offer(me, of_key(key), box.now).kind == admit;
  }
  return admitted;
}

TEST(Quota, AdmitsTheBurstAtOnceAndThenOneEachInterval) {
  GateBox box(ten_a_second(5));
  const Participant me = box.attach();
  const std::uint64_t key = hash_key("a");
  EXPECT_EQ(admitted_of(box, me, key, 20), 5);
  box.pass(Duration::millis(99));
  EXPECT_EQ(admitted_of(box, me, key, 20), 0);
  box.pass(Duration::millis(1));
  EXPECT_EQ(admitted_of(box, me, key, 20), 1);
  box.pass(Duration::millis(300));
  EXPECT_EQ(admitted_of(box, me, key, 20), 3);
  box.pass(Duration::seconds(60));
  EXPECT_EQ(admitted_of(box, me, key, 20), 5);  // never more than the burst
}

TEST(Quota, CountsEachKeyByItselfAndLeavesThoseWithoutOneAlone) {
  GateBox box(ten_a_second(2));
  const Participant me = box.attach();
  EXPECT_EQ(admitted_of(box, me, hash_key("a"), 10), 2);
  EXPECT_EQ(admitted_of(box, me, hash_key("b"), 10), 2);
  EXPECT_EQ(admitted_of(box, me, 0, 10), 10);
}

TEST(Quota, SaysQuotaAndWhenTheNextWillBeAdmittedRoundedUpToSeconds) {
  Policy policy = ten_a_second(1);
  policy.quota.requests = 2;
  policy.quota.per = Duration::seconds(5);  // one each 2.5 s
  GateBox box(policy);
  const Participant me = box.attach();
  ASSERT_EQ(admitted_of(box, me, 7, 1), 1);
  const Offer at_once = box.gate.offer(me, of_key(7), box.now);
  EXPECT_EQ(at_once.reason, Reason::quota);
  EXPECT_EQ(at_once.retry_after, 3U);
  box.pass(Duration::millis(500));
  EXPECT_EQ(box.gate.offer(me, of_key(7), box.now).retry_after, 2U);
  box.pass(Duration::millis(1));
  EXPECT_EQ(box.gate.offer(me, of_key(7), box.now).retry_after, 2U);
  box.pass(Duration::millis(1'998));
  EXPECT_EQ(box.gate.offer(me, of_key(7), box.now).retry_after, 1U);
  box.pass(Duration::millis(1));
  EXPECT_EQ(box.gate.offer(me, of_key(7), box.now).kind, admit);
}

TEST(Quota, GivesBackWhatARejectionForWantOfCapacityDidNotUse) {
  GateBox box(ten_a_second(3, 1));
  const Participant me = box.attach();
  Offer running = box.gate.offer(me, of_class(kCritical), box.now);
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(box.gate.offer(me, of_key(7), box.now).reason, Reason::limit);
  }
  for (int i = 0; i < 3; ++i) {
    box.gate.release(me, running.permit, Outcome::success, box.now);
    running = box.gate.offer(me, of_key(7), box.now);
    ASSERT_EQ(running.kind, admit);
  }
  EXPECT_EQ(box.gate.offer(me, of_key(7), box.now).reason, Reason::quota);
}

TEST(Quota, IsNeitherAskedNorGivenBackByAGateThatDrains) {
  GateBox box(ten_a_second(3));
  const Participant me = box.attach();
  ASSERT_EQ(admitted_of(box, me, 7, 3), 3);
  box.gate.set_draining(true, box.now);
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(box.gate.offer(me, of_key(7), box.now).reason, Reason::draining);
  }
  box.gate.set_draining(false, box.now);
  EXPECT_EQ(admitted_of(box, me, 7, 10), 0);
}

TEST(Quota, IsJudgedButNotEnforcedByAGateThatOnlyObserves) {
  GateBox box(ten_a_second(3));
  const Participant me = box.attach();
  box.gate.set_mode(Mode::observe, box.now);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(box.gate.offer(me, of_key(7), box.now).reason, Reason::none);
  }
  const Offer fourth = box.gate.offer(me, of_key(7), box.now);
  EXPECT_EQ(fourth.kind, admit);
  EXPECT_EQ(fourth.reason, Reason::quota);
  const auto quota = static_cast<std::size_t>(Reason::quota);
  EXPECT_EQ(box.gate.snapshot().classes[kCritical].observed[quota], 1U);
  box.gate.set_mode(Mode::off, box.now);
  EXPECT_EQ(box.gate.offer(me, of_key(7), box.now).reason, Reason::none);
}

// Eight places to a set. Keys that differ above their lowest bits fall into one.
TEST(Quota, LetsTheNinthKeyOfAFullSetThrough) {
  GateBox box(ten_a_second(1));
  const Participant me = box.attach();
  const auto key = [](std::uint64_t i) { return (i << 40) + 0x1000; };
  for (std::uint64_t i = 1; i <= 8; ++i) {
    ASSERT_EQ(admitted_of(box, me, key(i), 2), 1);
  }
  EXPECT_EQ(admitted_of(box, me, key(9), 10), 10);
  EXPECT_EQ(admitted_of(box, me, key(3), 1), 0);  // the eight are still counted
  box.pass(Duration::millis(101));                // their time has passed: a place is free
  EXPECT_EQ(admitted_of(box, me, key(9), 10), 1);
}

// Times are kept in a circle of 12.7 days. Whoever was quiet for a part of that, however large, has
// its whole burst again, and no more.
TEST(Quota, HoldsForAKeyThatWasQuietForDays) {
  for (const std::int64_t hours : {1, 24, 100, 152, 153, 160, 200, 250, 300, 305, 306, 400, 700}) {
    GateBox box(ten_a_second(5));
    const Participant me = box.attach();
    ASSERT_EQ(admitted_of(box, me, 7, 10), 5);
    for (std::int64_t hour = 0; hour < hours; ++hour) {
      box.pass(Duration::seconds(3600));
      box.gate.tick(box.now);
    }
    EXPECT_EQ(admitted_of(box, me, 7, 10), 5) << hours << " h later";
  }
}

TEST(Quota, HoldsWithoutAnyTickForAKeyThatWasQuietForAWeek) {
  GateBox box(ten_a_second(5));
  const Participant me = box.attach();
  ASSERT_EQ(admitted_of(box, me, 7, 10), 5);
  box.pass(Duration::seconds(7 * 86'400));
  EXPECT_EQ(admitted_of(box, me, 7, 10), 5);
}

TEST(Quota, OfTheSlowestRateHoldsOverTheThreeDaysItTakesToComeBack) {
  Policy policy = ten_a_second(3);
  policy.quota.requests = 1;
  policy.quota.per = Duration::seconds(86'400);
  GateBox box(policy);
  const Participant me = box.attach();
  ASSERT_EQ(admitted_of(box, me, 7, 10), 3);
  EXPECT_EQ(box.gate.offer(me, of_key(7), box.now).retry_after, kMaxRetryAfter);
  int admitted = 0;
  for (int hour = 1; hour <= 72; ++hour) {
    box.pass(Duration::seconds(3600));
    box.gate.tick(box.now);
    admitted += admitted_of(box, me, 7, 1);
  }
  EXPECT_EQ(admitted, 3);
}

TEST(Quota, OfALargerBurstCanBeSetUnderLoad) {
  GateBox box(ten_a_second(1));
  const Participant me = box.attach();
  ASSERT_EQ(admitted_of(box, me, 7, 10), 1);
  Signals signals;
  ASSERT_TRUE(box.gate.reconfigure(ten_a_second(4), box.now, signals));
  EXPECT_EQ(admitted_of(box, me, 7, 10), 3);  // one of the four is used
}

}  // namespace
}  // namespace loadline::test
