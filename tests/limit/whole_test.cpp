// Numbers that a law finds where it lies may be anything.
#include "loadline/limit/whole.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace loadline::test {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr double kEndless = std::numeric_limits<double>::infinity();

TEST(Whole, IsTheNumberBelowWithinWhatItCanBe) {
  EXPECT_EQ(whole(7.99), 7U);
  EXPECT_EQ(whole(4294967294.5), 4294967294U);
  EXPECT_EQ(whole(0), 0U);
  for (const double less : {-0.5, -1e300, -kEndless, kNone}) {
    EXPECT_EQ(whole(less), 0U) << less;
  }
  for (const double more : {4294967295.0, 4294967296.0, 1e300, kEndless}) {
    EXPECT_EQ(whole(more), 4294967295U) << more;
  }
}

TEST(Whole, NanosecondsAreATimeWhateverTheyAre) {
  EXPECT_EQ(nanoseconds(20e6), Duration::millis(20));
  for (const double less : {0.0, -1.0, -1e300, -kEndless, kNone}) {
    EXPECT_EQ(nanoseconds(less), Duration{}) << less;
  }
  for (const double more : {9e18, 1e19, 5.9e24, kEndless}) {
    EXPECT_EQ(nanoseconds(more), Duration{9'000'000'000'000'000'000}) << more;
  }
}

TEST(Whole, LimitsKeepToTheirBounds) {
  constexpr LimitBounds kBounds{3, 9};
  EXPECT_EQ(whole_within(5.9, kBounds), 5U);
  for (const double less : {2.9, 0.0, -1e300, kNone}) {
    EXPECT_EQ(whole_within(less, kBounds), 3U) << less;
  }
  for (const double more : {9.0, 9.5, 1e300, kEndless}) {
    EXPECT_EQ(whole_within(more, kBounds), 9U) << more;
  }
}

}  // namespace
}  // namespace loadline::test
