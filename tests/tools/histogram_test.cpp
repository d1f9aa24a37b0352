// The histogram against exact percentiles, and against HdrHistogram's own published figures.
#include "histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace loadline::tools {
namespace {

using namespace std::chrono_literals;
using Time = Histogram::Time;

double ms(Time time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

void expect_within(Time actual, Time expected, double share) {
  EXPECT_NEAR(ms(actual), ms(expected), share * ms(expected));
}

TEST(Histogram, EmptyIsZeroEverywhere) {
  const Histogram empty;
  EXPECT_EQ(empty.count(), 0u);
  EXPECT_EQ(empty.min(), 0ns);
  EXPECT_EQ(empty.max(), 0ns);
  EXPECT_EQ(empty.mean(), 0ns);
  EXPECT_EQ(empty.percentile(50), 0ns);
  EXPECT_EQ(empty.percentile(100), 0ns);
  EXPECT_EQ(empty.count_at_most(1h), 0u);
  EXPECT_EQ(empty.corrected(10ms).count(), 0u);
}

TEST(Histogram, OneValueIsEveryPercentile) {
  Histogram one;
  one.record(12345us);
  for (const double percent : {0.0, 1.0, 50.0, 99.9, 100.0}) {
    EXPECT_EQ(one.percentile(percent), 12345us) << percent;
  }
  EXPECT_EQ(one.mean(), 12345us);
}

TEST(Histogram, AnyValueIsKnownToOnePercent) {
  // A second, far larger value, so that the first is not simply the exact maximum.
  for (double us = 1; us < 3.5e9; us *= 1.037) {
    const auto value = std::chrono::microseconds{std::llround(us)};
    Histogram histogram;
    histogram.record(value);
    histogram.record(1h);
    expect_within(histogram.percentile(50), value, 0.01);
    EXPECT_GE(histogram.percentile(50), value);
  }
}

TEST(Histogram, BucketEdgesCountOnce) {
  for (int bits = 1; bits < 31; ++bits) {
    for (const int off : {-1, 0, 1}) {
      const auto value = std::chrono::microseconds{(1LL << bits) + off};
      Histogram histogram;
      histogram.record(value);
      EXPECT_EQ(histogram.count_at_most(value), 1u) << value.count();
      EXPECT_EQ(histogram.count_at_most(value - std::max<Time>(value / 100, 1us)), 0u)
          << value.count();
    }
  }
}

TEST(Histogram, ValuesBeyondTheRangeCountAsItsEnds) {
  Histogram histogram;
  histogram.record(-1s);
  histogram.record(0ns);
  histogram.record(1ns);
  histogram.record(Time::max());
  EXPECT_EQ(histogram.count(), 4u);
  EXPECT_EQ(histogram.min(), 1us);
  EXPECT_EQ(histogram.max(), 1h);
  EXPECT_EQ(histogram.count_at_most(1us), 3u);
}

TEST(Histogram, PercentilesMatchSortedValues) {
  std::mt19937_64 random{42};
  std::exponential_distribution<double> draw{1.0 / 20'000};
  std::vector<Time> values;
  Histogram histogram;
  for (int i = 0; i < 50'000; ++i) {
    values.push_back(std::chrono::microseconds{1 + std::llround(draw(random))});
    histogram.record(values.back());
  }
  std::sort(values.begin(), values.end());
  for (const double percent : {1.0, 25.0, 50.0, 90.0, 99.0, 99.9, 99.99}) {
    const auto rank = static_cast<std::size_t>(std::ceil(percent / 100 * 50'000 - 1e-6));
    expect_within(histogram.percentile(percent), values[rank - 1], 0.01);
  }
  EXPECT_EQ(histogram.percentile(0), values.front());
  EXPECT_EQ(histogram.percentile(100), values.back());
}

TEST(Histogram, MergedIsAsIfRecordedTogether) {
  Histogram one;
  Histogram two;
  Histogram both;
  for (int i = 1; i <= 1000; ++i) {
    auto& half = i % 3 == 0 ? one : two;
    half.record(i * 137us);
    both.record(i * 137us);
  }
  one.merge(two);
  one.merge(Histogram{});
  EXPECT_EQ(one.count(), both.count());
  EXPECT_EQ(one.min(), both.min());
  EXPECT_EQ(one.max(), both.max());
  EXPECT_EQ(one.mean(), both.mean());
  for (double percent = 0; percent <= 100; percent += 0.5) {
    EXPECT_EQ(one.percentile(percent), both.percentile(percent)) << percent;
  }
  Histogram empty;
  empty.merge(both);
  EXPECT_EQ(empty.min(), both.min());
}

// HdrHistogram's own test: 10,000 values of 1 ms, one of 100 s, sent every 10 ms.
class StalledServer : public ::testing::Test {
 protected:
  static void expect_raw(const Histogram& raw) {
    EXPECT_EQ(raw.count(), 10'001u);
    expect_within(raw.percentile(30), 1ms, 0.01);
    expect_within(raw.percentile(99), 1ms, 0.01);
    expect_within(raw.percentile(99.99), 1ms, 0.01);
    expect_within(raw.percentile(99.999), 100s, 0.001);
    expect_within(raw.mean(), 10'998'900ns, 0.001);
    expect_within(raw.max(), 100s, 0.001);
  }

  static void expect_corrected(const Histogram& corrected) {
    EXPECT_EQ(corrected.count(), 20'000u);
    expect_within(corrected.percentile(50), 1ms, 0.01);
    expect_within(corrected.percentile(75), 50s, 0.01);
    expect_within(corrected.percentile(90), 80s, 0.01);
    expect_within(corrected.percentile(99), 98s, 0.01);
    expect_within(corrected.max(), 100s, 0.001);
    expect_within(corrected.mean(), 25'003ms, 0.001);
  }
};

TEST_F(StalledServer, RawHidesTheStall) {
  Histogram raw;
  raw.record(1ms, 10'000);
  raw.record(100s);
  expect_raw(raw);
}

TEST_F(StalledServer, CorrectedWhileRecordingShowsIt) {
  Histogram corrected;
  for (int i = 0; i < 10'000; ++i) {
    corrected.record_corrected(1ms, 10ms);
  }
  corrected.record_corrected(100s, 10ms);
  expect_corrected(corrected);
}

TEST_F(StalledServer, CorrectedAfterwardsShowsIt) {
  Histogram raw;
  raw.record(1ms, 10'000);
  raw.record(100s);
  expect_corrected(raw.corrected(10ms));
}

TEST(Histogram, CorrectionWithoutAnIntervalAddsNothing) {
  Histogram histogram;
  histogram.record_corrected(1s, 0ns);
  EXPECT_EQ(histogram.count(), 1u);
  EXPECT_EQ(histogram.corrected(0ns).count(), 1u);
}

}  // namespace
}  // namespace loadline::tools
