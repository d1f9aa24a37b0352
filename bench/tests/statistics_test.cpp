#include "statistics.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace loadline::bench {
namespace {

TEST(Spread, OfOneSampleIsThatSample) {
  const Spread spread = spread_of(std::vector<double>{3.5});
  EXPECT_EQ(spread.count, 1U);
  for (const double value : {spread.median, spread.median_low, spread.median_high, spread.min,
                             spread.q1, spread.q3, spread.max}) {
    EXPECT_DOUBLE_EQ(value, 3.5);
  }
}

TEST(Spread, DoesNotDependOnTheOrder) {
  const Spread spread = spread_of(std::vector<double>{5, 1, 4, 2, 3});
  EXPECT_DOUBLE_EQ(spread.median, 3);
  EXPECT_DOUBLE_EQ(spread.q1, 2);
  EXPECT_DOUBLE_EQ(spread.q3, 4);
  EXPECT_DOUBLE_EQ(spread.min, 1);
  EXPECT_DOUBLE_EQ(spread.max, 5);
}

TEST(Spread, TakesTheMiddleOfTwo) {
  EXPECT_DOUBLE_EQ(spread_of(std::vector<double>{1, 2}).median, 1.5);
}

// From the tables of the sign test: how many order statistics may be left out at each end.
TEST(Spread, EnclosesTheMedianWith95PercentConfidence) {
  struct Row {
    int samples;
    int left_out;
  };
  for (const Row row : {Row{5, 0}, Row{6, 0}, Row{8, 0}, Row{9, 1}, Row{12, 2}, Row{15, 3},
                        Row{20, 5}, Row{30, 9}}) {
    std::vector<double> samples;
    for (int i = 0; i < row.samples; ++i) {
      samples.push_back(i);
    }
    const Spread spread = spread_of(samples);
    EXPECT_EQ(spread.has_interval(), row.samples >= 6);
    EXPECT_DOUBLE_EQ(spread.median_low, row.left_out) << row.samples;
    EXPECT_DOUBLE_EQ(spread.median_high, row.samples - 1 - row.left_out) << row.samples;
  }
}

TEST(Spread, OfNothingIsRefused) {
  EXPECT_THROW(spread_of(std::vector<double>{}), std::invalid_argument);
}

}  // namespace
}  // namespace loadline::bench
