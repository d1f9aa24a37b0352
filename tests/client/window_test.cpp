// Counts over a sliding window.
#include "loadline/client/window.h"

#include <gtest/gtest.h>

#include "at.h"

namespace loadline::client::test {
namespace {

using Sum = SlidingCounts::Sum;

TEST(SlidingCounts, ForgetWhatIsOlderThanTheWindow) {
  SlidingCounts counts(Duration::seconds(1), kBegin);
  counts.add(1, 0, at_ms(0));
  counts.add(1, 1, at_ms(99));
  counts.add(3, 2, at_ms(500));
  EXPECT_EQ(counts.sum(at_ms(500)), (Sum{5, 3}));
  EXPECT_EQ(counts.sum(at_ms(999)), (Sum{5, 3}));
  EXPECT_EQ(counts.sum(at_ms(1000)), (Sum{3, 2}));
  EXPECT_EQ(counts.sum(at_ms(1499)), (Sum{3, 2}));
  EXPECT_EQ(counts.sum(at_ms(1500)), (Sum{0, 0}));
}

TEST(SlidingCounts, BeginASliceAnewWhenItsTimeComesAgain) {
  SlidingCounts counts(Duration::seconds(1), kBegin);
  for (std::int64_t second = 0; second < 5; ++second) {
    for (std::int64_t tenth = 0; tenth < 10; ++tenth) {
      counts.add(2, 1, at_ms(second * 1000 + tenth * 100));
    }
    EXPECT_EQ(counts.sum(at_ms(second * 1000 + 950)), (Sum{20, 10}));
  }
}

TEST(SlidingCounts, HalveInPlaceOfOverflowing) {
  SlidingCounts counts(Duration::seconds(10), kBegin);
  for (int i = 0; i < 200'000; ++i) {
    counts.add(1, i % 4 == 0 ? 1 : 0, kBegin);
  }
  const Sum sum = counts.sum(kBegin);
  EXPECT_GT(sum.all, 30'000U);
  EXPECT_LE(sum.all, 0xffffU);
  EXPECT_NEAR(static_cast<double>(sum.marked) / sum.all, 0.25, 0.001);
}

TEST(SlidingCounts, OfAnotherGenerationAreNotSeen) {
  SlidingCounts counts(Duration::seconds(1), kBegin);
  counts.add(5, 5, at_ms(0), 1);
  counts.add(1, 0, at_ms(100), 2);
  EXPECT_EQ(counts.sum(at_ms(100), 2), (Sum{1, 0}));
  EXPECT_EQ(counts.sum(at_ms(100), 1), (Sum{5, 5}));
  counts.add(1, 1, at_ms(0), 2);
  EXPECT_EQ(counts.sum(at_ms(100), 1), (Sum{0, 0}));
}

TEST(SlidingCounts, SurviveAClockThatGoesBack) {
  SlidingCounts counts(Duration::seconds(1), kBegin);
  counts.add(1, 1, at_ms(5000));
  counts.add(1, 1, at_ms(-86'400'000));
  counts.add(1, 1, at_ms(4900));
  EXPECT_EQ(counts.sum(at_ms(5000)).all, 3U);  // the slice of "a day ago" went on counting
  EXPECT_EQ(counts.sum(at_ms(7000)), (Sum{0, 0}));
}

}  // namespace
}  // namespace loadline::client::test
