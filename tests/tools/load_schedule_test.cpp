// When requests are due, against what the rate says.
#include "load_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "load_text.h"

namespace loadline::tools {
namespace {

using namespace std::chrono_literals;
using Times = std::vector<std::chrono::nanoseconds>;

Times all_of(ArrivalSchedule schedule) {
  Times times;
  while (const auto next = schedule.next()) {
    times.push_back(*next);
  }
  return times;
}

Times all_of(const LoadOptions& options) {
  return all_of(ArrivalSchedule{options, 0, 1});
}

LoadOptions with_rate(std::vector<RateStep> rate, Arrivals arrivals) {
  return {.rate = std::move(rate), .arrivals = arrivals, .duration = 10s};
}

TEST(ArrivalSchedule, EvenlySpacedIsExact) {
  const auto times = all_of(with_rate({{0s, 4}}, Arrivals::fixed));
  ASSERT_EQ(times.size(), 40u);
  for (std::size_t i = 0; i < times.size(); ++i) {
    EXPECT_EQ(times[i], i * 250ms);
  }
}

TEST(ArrivalSchedule, StepsChangeTheRateWhereTheySay) {
  const auto times = all_of(with_rate({{0s, 10}, {2s, 0}, {5s, 100}, {6s, 1}}, Arrivals::fixed));
  const auto between = [&](auto from, auto to) {
    return std::count_if(times.begin(), times.end(),
                         [&](auto time) { return time >= from && time < to; });
  };
  EXPECT_EQ(between(0s, 2s), 20);
  EXPECT_EQ(between(2s, 5s), 0);
  EXPECT_EQ(between(5s, 6s), 100);
  EXPECT_EQ(between(6s, 10s), 4);
  EXPECT_TRUE(std::is_sorted(times.begin(), times.end()));
}

TEST(ArrivalSchedule, AFirstStepMayBeginLater) {
  const auto times = all_of(with_rate({{9s, 10}}, Arrivals::fixed));
  ASSERT_EQ(times.size(), 10u);
  EXPECT_EQ(times.front(), 9s);
}

// 10,000 expected, standard deviation 100; gaps exponential: cv 1 +- 0.01.
TEST(ArrivalSchedule, PoissonHasItsRateAndItsGaps) {
  const auto times = all_of(with_rate({{0s, 1000}}, Arrivals::poisson));
  EXPECT_NEAR(static_cast<double>(times.size()), 10'000, 500);
  double sum = 0;
  double squares = 0;
  for (std::size_t i = 1; i < times.size(); ++i) {
    const auto gap = static_cast<double>((times[i] - times[i - 1]).count());
    sum += gap;
    squares += gap * gap;
  }
  const auto count = static_cast<double>(times.size() - 1);
  const double mean = sum / count;
  EXPECT_NEAR(std::sqrt(squares / count - mean * mean) / mean, 1, 0.05);
}

TEST(ArrivalSchedule, SameSeedSameTimes) {
  auto options = with_rate({{0s, 100}}, Arrivals::poisson);
  const auto times = all_of(options);
  EXPECT_EQ(times, all_of(options));
  options.seed = 2;
  EXPECT_NE(times, all_of(options));
}

TEST(ArrivalSchedule, PartsTogetherAreTheWhole) {
  auto options = with_rate({{0s, 10}, {5s, 30}}, Arrivals::fixed);
  options.burst_size = 7;
  options.burst_every = 3s;
  const auto whole = all_of(options);
  Times together;
  for (unsigned part = 0; part < 3; ++part) {
    const auto times = all_of(ArrivalSchedule{options, part, 3});
    together.insert(together.end(), times.begin(), times.end());
  }
  std::sort(together.begin(), together.end());
  EXPECT_EQ(together, whole);
}

TEST(ArrivalSchedule, BurstsComeAllAtOnceAndNotAtTheStart) {
  const LoadOptions options{.burst_size = 5, .burst_every = 4s, .duration = 12s};
  EXPECT_EQ(all_of(options), (Times{4s, 4s, 4s, 4s, 4s, 8s, 8s, 8s, 8s, 8s}));
}

TEST(ParseRate, TakesARateOrSteps) {
  const auto one = parse_rate("100");
  ASSERT_TRUE(one);
  ASSERT_EQ(one->size(), 1u);
  EXPECT_EQ((*one)[0].per_second, 100);
  const auto steps = parse_rate("100,0.5@5s,300@1m");
  ASSERT_TRUE(steps);
  ASSERT_EQ(steps->size(), 3u);
  EXPECT_EQ((*steps)[1].per_second, 0.5);
  EXPECT_EQ((*steps)[1].from, 5s);
  EXPECT_EQ((*steps)[2].from, 1min);
  for (const char* text :
       {"", "x", "-1", "inf", "nan", "1,2", "1,2@", "1,2@5s,3@5s", "1,2@0s", "1,", "1@5"}) {
    EXPECT_FALSE(parse_rate(text)) << text;
  }
}

TEST(ParseBurst, TakesASizeAndATime) {
  const auto burst = parse_burst("50@2s");
  ASSERT_TRUE(burst);
  EXPECT_EQ(burst->size, 50u);
  EXPECT_EQ(burst->every, 2s);
  for (const char* text : {"", "50", "0@2s", "50@0s", "50@2", "@2s", "-1@2s", "1.5@2s"}) {
    EXPECT_FALSE(parse_burst(text)) << text;
  }
}

TEST(ParseClasses, TakesNamesAndWeights) {
  const auto classes = parse_classes("critical=8,sheddable=0.5");
  ASSERT_TRUE(classes);
  ASSERT_EQ(classes->size(), 2u);
  EXPECT_EQ((*classes)[0].name, "critical");
  EXPECT_EQ((*classes)[1].weight, 0.5);
  for (const char* text : {"", "critical", "=1", "a=0", "a=-1", "a=x", "a=1,", "a=inf"}) {
    EXPECT_FALSE(parse_classes(text)) << text;
  }
}

}  // namespace
}  // namespace loadline::tools
