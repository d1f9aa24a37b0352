#include "loadline/limit/times.h"

#include <gtest/gtest.h>

namespace loadline::test {
namespace {

TEST(Times, TheNthOfEqualsIsWhatTheyAre) {
  Times times;
  for (int i = 0; i < 51; ++i) {
    times.add(Duration{12'345'679});
  }
  EXPECT_EQ(times.nth(1), 12'345'679);
  EXPECT_EQ(times.nth(26), 12'345'679);
  EXPECT_EQ(times.nth(51), 12'345'679);
}

TEST(Times, TheNthIsWithinASixteenthOfTheTrueOne) {
  Times times;
  for (std::int64_t i = 1; i <= 1000; ++i) {
    times.add(Duration::micros(10 * i));
  }
  for (std::uint32_t n = 1; n <= 1000; ++n) {
    EXPECT_NEAR(times.nth(n), 10'000.0 * n, 10'000.0 * n / 16 + 1);
  }
}

TEST(Times, TheirMeanIsExact) {
  Times times;
  EXPECT_EQ(times.mean_ns(), 0);
  for (std::int64_t i = 1; i <= 1000; ++i) {
    times.add(Duration::micros(10 * i));
  }
  EXPECT_DOUBLE_EQ(times.mean_ns(), 5'005'000);  // 10 us times 1001 / 2
}

}  // namespace
}  // namespace loadline::test
