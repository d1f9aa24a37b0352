// When those who are turned away shall come back, and the estimate of room that it is taken from.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "gate_box.h"
#include "loadline/gate/spare.h"

namespace loadline::test {
namespace {

using enum Offer::Kind;

Policy full_of_one(std::uint16_t soonest = 1, std::uint16_t latest = 32) {
  Policy policy = policy_of(1, QueueSize::none());
  policy.retry_after_min = soonest;
  policy.retry_after_max = latest;
  return policy;
}

std::vector<int> seconds_drawn(GateBox& box, Participant me, int rejections) {
  std::vector<int> drawn(kMaxRetryAfter + 1);
  for (int i = 0; i < rejections; ++i) {
    const Offer answer = box.gate.offer(me, of_class(kCritical), box.now);
    EXPECT_EQ(answer.kind, reject);
    ++drawn.at(answer.retry_after);
  }
  return drawn;
}

TEST(Returns, ABurstThatIsTooLargeForTheRoomComesBackInEqualShares) {
  GateBox box(full_of_one());
  const Participant me = box.attach();
  ASSERT_EQ(box.gate.offer(me, of_class(kCritical), box.now).kind, admit);
  const std::vector<int> drawn = seconds_drawn(box, me, 3'200);
  EXPECT_EQ(drawn[0], 0);
  for (int s = 1; s <= 32; ++s) {
    EXPECT_NEAR(drawn[s], 100, 1) << s << " s";
  }
  EXPECT_EQ(std::count_if(drawn.begin() + 33, drawn.end(), [](int n) { return n != 0; }), 0);
}

// Ten slots of 10 ms are 1,000 a second; three quarters are taken to come anyway and a tenth is not
// touched, which leaves 150: 3.75 in each fortieth of a second.
class WithRoom : public ::testing::Test {
 protected:
  void SetUp() override {
    for (int i = 0; i < 30; ++i) {
      Offer answer = box.gate.offer(me, of_class(kCritical), box.now);
      box.pass(Duration::millis(10));
      box.gate.release(me, answer.permit, Outcome::success, box.now);
    }
    box.gate.tick(box.now);
    ASSERT_EQ(box.gate.snapshot().service_mean, Duration::millis(10));
    for (int i = 0; i < 10; ++i) {
      ASSERT_EQ(box.gate.offer(me, of_class(kCritical), box.now).kind, admit);
    }
  }
  GateBox box{policy_of(10, QueueSize::none())};
  Participant me = box.attach();
};

TEST_F(WithRoom, AFewComeBackAsSoonAsTheyMay) {
  const std::vector<int> drawn = seconds_drawn(box, me, 3);
  EXPECT_EQ(drawn[1], 3);
}

TEST_F(WithRoom, EachSecondGetsAsManyAsItHasRoomFor) {
  const std::vector<int> drawn = seconds_drawn(box, me, 37);  // at one instant
  for (int s = 1; s <= 9; ++s) {
    EXPECT_NEAR(drawn[s], 3.75, 1.25) << s << " s";
  }
  EXPECT_EQ(std::accumulate(drawn.begin() + 1, drawn.begin() + 11, 0), 37);
}

TEST_F(WithRoom, ThoseSpreadOverASecondFindTheRoomOfAllItsParts) {
  std::vector<int> drawn(40);
  for (int i = 0; i < 120; ++i) {  // 3 in each fortieth
    const Offer answer = box.gate.offer(me, of_class(kCritical), box.now);
    ++drawn.at(answer.retry_after);
    if (i % 3 == 2) {
      box.pass(Duration::millis(25));
    }
  }
  EXPECT_EQ(drawn[1], 120);
}

TEST_F(WithRoom, ABurstThatIsTooLargeComesBackInEqualShares) {
  const std::vector<int> drawn = seconds_drawn(box, me, 3'200);
  for (int s = 1; s <= 32; ++s) {
    EXPECT_NEAR(drawn[s], 100, 1) << s << " s";
  }
}

TEST(Returns, AreNeverBelowTheLeastOrAboveTheMost) {
  for (const auto& [soonest, latest] :
       {std::pair{1, 1}, {1, 2}, {5, 5}, {3, 13}, {7, 20}, {1, 91}, {10, 230}, {3600, 3600}}) {
    GateBox box(
        full_of_one(static_cast<std::uint16_t>(soonest), static_cast<std::uint16_t>(latest)));
    const Participant me = box.attach();
    ASSERT_EQ(box.gate.offer(me, of_class(kCritical), box.now).kind, admit);
    const int span = latest - soonest + 1;
    const std::vector<int> drawn = seconds_drawn(box, me, span * 10);
    for (int s = 0; s <= static_cast<int>(kMaxRetryAfter); ++s) {
      EXPECT_EQ(drawn[s], s >= soonest && s <= latest ? 10 : 0) << soonest << " to " << latest;
    }
  }
}

TEST(Returns, StayInTheirRangeWhenItIsChanged) {
  GateBox box(full_of_one(1, 100));
  const Participant me = box.attach();
  ASSERT_EQ(box.gate.offer(me, of_class(kCritical), box.now).kind, admit);
  seconds_drawn(box, me, 57);
  Signals signals;
  ASSERT_TRUE(box.gate.reconfigure(full_of_one(2, 4), box.now, signals));
  const std::vector<int> drawn = seconds_drawn(box, me, 300);
  EXPECT_EQ(drawn[2] + drawn[3] + drawn[4], 300);
}

// Workers that turn somebody away at the same instant do not all name the same second.
TEST(Returns, OfDifferentParticipantsBeginAtDifferentSeconds) {
  constexpr std::uint32_t kWorkers = 60;  // ThreadSanitizer follows 64 mutexes of a thread
  GateBox box(full_of_one(), kWorkers);
  std::set<int> first;
  const Participant holder = box.attach(0);
  ASSERT_EQ(box.gate.offer(holder, of_class(kCritical), box.now).kind, admit);
  first.insert(box.gate.offer(holder, of_class(kCritical), box.now).retry_after);
  for (std::uint32_t i = 1; i < kWorkers; ++i) {
    first.insert(box.gate.offer(box.attach(i), of_class(kCritical), box.now).retry_after);
  }
  // 60 throws at 32 seconds leave four or five of them out; at least twenty are hit.
  EXPECT_GE(first.size(), 20U);
}

TEST(Returns, ADeadlineDoesNotComeBack) {
  GateBox box(full_of_one());
  const Participant me = box.attach();
  Request late = of_class(kCritical);
  late.deadline = box.now;
  EXPECT_EQ(box.gate.offer(me, late, box.now).retry_after, 0U);
}

// ---- The estimate of room, worked out by hand
// ----------------------------------------------------

class Spare : public ::testing::Test {
 protected:
  void SetUp() override { estimate.take_second(0, 0, now); }  // from here on it counts

  void second(std::uint64_t offers, std::uint64_t done, bool full) {
    offers_ += offers;
    done_ += done;
    now = now + Duration::seconds(1);
    estimate.look(full);
    estimate.take_second(offers_, done_, now);
  }
  SpareEstimate estimate;
  Instant now{Duration::seconds(1000).ns};

 private:
  std::uint64_t offers_ = 0;
  std::uint64_t done_ = 0;
};

TEST_F(Spare, NothingIsKnownAtFirst) {
  EXPECT_EQ(estimate.spare(0), 0U);
}

TEST_F(Spare, OfWhatIsPromisedThreeQuartersAreTakenToComeAnyway) {
  EXPECT_EQ(estimate.spare(1000), 150U);  // 900 - 750
}

TEST_F(Spare, WhatComesAnywayIsTheMedianSoThatABurstDoesNotMoveIt) {
  for (int i = 0; i < 9; ++i) {
    second(300, 300, false);
  }
  EXPECT_EQ(estimate.spare(1000), 600U);  // 900 - 300
  second(50'000, 900, false);
  EXPECT_EQ(estimate.spare(1000), 600U);
}

TEST_F(Spare, ALastingOverloadLeavesATwentieth) {
  for (int i = 0; i < 32; ++i) {
    second(2000, 1000, true);
  }
  EXPECT_EQ(estimate.spare(0), 50U);
}

TEST_F(Spare, ASecondInWhichNoSlotWasIdleShowsTheCapacityWhateverIsPromised) {
  second(100, 400, true);
  EXPECT_EQ(estimate.spare(5000), 260U);  // 360 - 100
}

TEST_F(Spare, ThatCapacityMovesByAQuarterOfWhatIsNew) {
  second(100, 400, true);
  second(100, 800, true);
  // 400 + 400 / 4 = 500; but the second's own 800 less 2 * 28 are 744, and that was done.
  EXPECT_EQ(estimate.spare(0), 744U * 9 / 10 - 100);
  for (int i = 0; i < 8; ++i) {
    second(100, 0, false);  // until that second is forgotten
  }
  EXPECT_EQ(estimate.spare(0), 450U - 100);
}

TEST_F(Spare, WithoutAFullSecondAPromiseIsCorrectedUpwardsByWhatWasDone) {
  second(100, 900, false);
  EXPECT_EQ(estimate.spare(100), 840U * 9 / 10 - 100);  // 900 - 2 * 30
}

TEST_F(Spare, ASecondThatTookTwoCountsHalf) {
  now = now + Duration::seconds(1);
  second(600, 600, false);
  EXPECT_EQ(estimate.spare(1000), 600U);  // 900 - 600 / 2
}

TEST_F(Spare, AClockThatWentBackEndsTheSecondAndCountsNothing) {
  second(300, 300, false);
  const Instant earlier = now - Duration::seconds(10);
  EXPECT_TRUE(estimate.second_is_over(earlier));
  estimate.take_second(1'000'000, 1'000'000, earlier);
  EXPECT_EQ(estimate.spare(1000), 600U);
}

TEST(IntegerRoot, IsTheLargestNumberWhoseSquareFits) {
  for (const std::uint64_t n : {0ULL, 1ULL, 2ULL, 3ULL, 4ULL, 15ULL, 16ULL, 17ULL, 999'999ULL,
                                1'000'000ULL, 18'446'744'073'709'551'615ULL}) {
    const std::uint64_t root = integer_root(n);
    EXPECT_LE(root * root, n);
    EXPECT_TRUE(root == 0xffff'ffff || (root + 1) * (root + 1) > n);
  }
}

}  // namespace
}  // namespace loadline::test
