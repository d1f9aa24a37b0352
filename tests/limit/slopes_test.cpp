// What two levels tell, where queueing theory says what it must be.
#include "loadline/limit/slopes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace loadline::test {
namespace {

constexpr AutoTuning kTuning{};
constexpr double kWorkNs = 20e6;

// `workers` who each take kWorkNs, first come, first served: who comes as the last of `limit` waits
// until all before have gone on (Little's law).
Level queueing(std::uint32_t limit, double workers) {
  const double time_ns = kWorkNs * std::max(1.0, limit / workers);
  return {.limit = limit,
          .time_ns = time_ns,
          .spread = 0.5,
          .rate = limit / time_ns * 1e9,
          .in_time = 1,
          .samples = 100};
}

TEST(Slopes, IsNothingBelowTheKneeAndAllAboveIt) {
  const Slopes slopes;
  for (const std::uint32_t high : {11U, 14U, 20U, 40U}) {
    EXPECT_NEAR(slopes.compare(queueing(10, 50), queueing(high, 50)).slope, 0, 1e-9) << high;
    EXPECT_NEAR(slopes.compare(queueing(10, 5), queueing(high, 5)).slope, 1, 1e-9) << high;
  }
}

TEST(Slopes, PutsTheKneeWhereNoWaitAndNothingButWaitCross) {
  const Comparison found = Slopes{}.compare(queueing(10, 12), queueing(14, 12));
  EXPECT_NEAR(found.slope, 0.5, 1e-9);
  EXPECT_NEAR(found.knee(), 12, 1e-9);
  EXPECT_NEAR(found.by_rates, 0.5, 1e-9);
}

TEST(Slopes, IsOneWhereTheTwoAreOne) {
  const Comparison found = Slopes{}.compare(queueing(10, 50), queueing(10, 50));
  EXPECT_EQ(found.slope, 1);
  EXPECT_EQ(found.doubt, 0);
}

// Twice as long and half of them late is worse than twice as long.
TEST(Slopes, WhatComesTooLateIsNoGain) {
  Level high = queueing(20, 50);
  high.in_time = 0.5;
  EXPECT_NEAR(Slopes{}.compare(queueing(10, 50), high).slope, 0.5, 1e-9);
}

// The standard deviation of a difference of two means.
TEST(Slopes, DoubtIsThatOfTwoMeans) {
  Level low = queueing(10, 50);
  Level high = queueing(20, 50);
  low.samples = 25;
  high.samples = 100;
  const double wanted = 0.5 * std::sqrt(1.0 / 25 + 1.0 / 100);
  EXPECT_NEAR(Slopes{}.compare(low, high).doubt, wanted, 1e-9);
}

// Sharing processors show a shift in their rates that the shorter three quarters of their times do
// not show in full.
TEST(Slopes, LearnsFromRatesWhatTimesMiss) {
  Slopes slopes;
  Level high = queueing(14, 10);
  const Level low = queueing(10, 10);
  high.time_ns = low.time_ns * 1.2;  // of 1.4
  const double before = slopes.compare(low, high).slope;
  EXPECT_NEAR(before, 0.5, 1e-9);
  constexpr int kMany = 1000;
  for (int i = 0; i < kMany; ++i) {
    slopes.remember(slopes.compare(low, high), kTuning);
  }
  EXPECT_NEAR(slopes.compare(low, high).slope, 1, 1e-6);
}

TEST(Slopes, BurstsTellNoRates) {
  Slopes slopes;
  Level high = queueing(14, 10);
  high.in_bursts = true;
  high.time_ns = queueing(10, 10).time_ns * 1.2;
  const Comparison found = slopes.compare(queueing(10, 10), high);
  EXPECT_FALSE(found.rates_known);
  slopes.remember(found, kTuning);
  EXPECT_EQ(slopes.compare(queueing(10, 10), high).slope, found.slope);
}

// The doubt of a slope of so many of the lower and three times as many of the higher is what was
// wanted, where the times that are compared are all of the time there is.
TEST(Slopes, EnoughAreAsAccurateAsWanted) {
  const Slopes slopes;
  for (const std::uint32_t high : {42U, 48U, 56U}) {
    Level low_level = queueing(40, 40);
    Level high_level = queueing(high, 56);
    const double n = slopes.enough(40, high, low_level, kTuning);
    low_level.samples = static_cast<std::uint32_t>(n);
    high_level.samples = 3 * low_level.samples;
    // By a line through the lower, of whose limit the higher's is a share.
    const double doubt = slopes.compare(low_level, high_level).doubt;
    EXPECT_NEAR(doubt * high / 40, kTuning.accuracy, 0.003) << high;
  }
}

TEST(Slopes, EnoughFarApartAreTheFewest) {
  EXPECT_EQ(Slopes{}.enough(3, 6, queueing(6, 6), kTuning), kTuning.fewest);
  EXPECT_EQ(Slopes{}.enough(64, 128, queueing(64, 64), kTuning), 64);
}

}  // namespace
}  // namespace loadline::test
