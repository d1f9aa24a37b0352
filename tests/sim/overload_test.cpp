// Overload and metastability beside figures from an independent simulation, whose own error is
// given as 2 %.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "reference_door.h"
#include "rigs.h"
#include "statistics.h"

namespace loadline::sim::test {
namespace {

constexpr double kTheirError = 0.02;
constexpr auto kOldest = Discipline::Order::oldest_first;
constexpr auto kNewest = Discipline::Order::newest_first;

Scenario one_and_a_half_times(const Distribution& work, Discipline discipline) {
  Population callers = r3_callers(1500);
  callers.work = work;
  callers.patience = Duration::millis(100);
  Scenario scenario = scenario_of({callers}, kR3Workers, 60);
  scenario.services[0].other_door = [discipline](Site& site) {
    return std::make_unique<ReferenceDoor>(discipline, kR3Workers, site);
  };
  return scenario;
}

// What a discipline delivers once the line has filled: the first seconds, before the line is as
// long as patience, say nothing of it.
Estimate lasting_goodput(const Distribution& work, Discipline discipline) {
  const Scenario scenario = one_and_a_half_times(work, discipline);
  return estimate([&](std::uint64_t seed) {
    return goodput(run(scenario, seed).journal, {at(5), at(60)});
  });
}

TEST(Overload, NothingUsefulComesOutOfALineAsLongAsPatience) {
  for (const std::size_t places : {std::numeric_limits<std::size_t>::max(), std::size_t{200}}) {
    for (const Distribution& work :
         {Distribution::fixed(kTenMs), Distribution::exponential(kTenMs)}) {
      EXPECT_LT(lasting_goodput(work, {kOldest, places, Duration{-1}}).mean, 0.5);
    }
  }
}

TEST(Overload, GoodputOfEachDisciplineIsAsKnown) {
  constexpr std::size_t kUnbounded = std::numeric_limits<std::size_t>::max();
  const Distribution fixed = Distribution::fixed(kTenMs);
  const Distribution exponential = Distribution::exponential(kTenMs);
  const struct {
    const char* name;
    Distribution work;
    Discipline discipline;
    double goodput;
  } cases[] = {{"drop what cannot finish", fixed, {kOldest, kUnbounded, kTenMs}, 1000},
               {"drop what cannot finish", exponential, {kOldest, kUnbounded, kTenMs}, 695},
               {"20 places", fixed, {kOldest, 20, Duration{-1}}, 1000},
               {"20 places", exponential, {kOldest, 20, Duration{-1}}, 999},
               {"newest first", fixed, {kNewest, kUnbounded, Duration{-1}}, 1000},
               {"newest first", exponential, {kNewest, kUnbounded, Duration{-1}}, 992}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_NEAR(lasting_goodput(c.work, c.discipline).mean, c.goodput, kTheirError * c.goodput);
  }
}

// M/M/c whose callers are dropped when they have waited tau: of those who are served, the wait lies
// below tau by an exponential of rate lambda - c * mu = 500/s, and what is left must hold a work of
// rate mu = 100/s: 100 / 600 of them are in time. Dropped with 10 ms left, 1 - exp(-1) * 500 / 600.
TEST(Overload, DroppingLateDeliversAsComputed) {
  constexpr std::size_t kUnbounded = std::numeric_limits<std::size_t>::max();
  const Distribution exponential = Distribution::exponential(kTenMs);
  expect_agrees(lasting_goodput(exponential, {kOldest, kUnbounded, Duration{}}), 1000.0 / 6, 0.02);
  expect_agrees(lasting_goodput(exponential, {kOldest, kUnbounded, kTenMs}),
                1000 * (1 - std::exp(-1.0) * 5 / 6), 0.01);
}

TEST(Overload, MediansOfTheDisciplinesAreAsKnown) {
  constexpr std::size_t kUnbounded = std::numeric_limits<std::size_t>::max();
  const Distribution fixed = Distribution::fixed(kTenMs);
  const auto median = [](const Distribution& work, Discipline discipline) {
    const Journal journal = run(one_and_a_half_times(work, discipline), 1).journal;
    const auto good = [](const Ending& e) { return e.good(); };
    return latency(journal, {at(5), at(60)}, 0.5, good) * 1000;
  };
  EXPECT_NEAR(median(fixed, {kOldest, kUnbounded, kTenMs}), 98.5, kTheirError * 98.5);
  EXPECT_NEAR(median(fixed, {kOldest, 20, Duration{-1}}), 28.5, kTheirError * 28.5);
  EXPECT_NEAR(median(fixed, {kNewest, kUnbounded, Duration{-1}}), 10.7, kTheirError * 10.7);
  EXPECT_NEAR(median(Distribution::exponential(kTenMs), {kOldest, 20, Duration{-1}}), 26,
              kTheirError * 26);
}

// One worker of 300 a second, 280 called a second, patience of a second, stopped from 30 to 40 s.
Scenario stopped_for_ten_seconds(std::uint32_t attempts, double length) {
  Population callers{.arrivals = Arrivals::poisson(280),
                     .work = Distribution::fixed(duration(1.0 / 300)),
                     .patience = Duration::seconds(1)};
  callers.retry = {.attempts = attempts, .after_timeout = attempts > 1};
  Scenario scenario = scenario_of({callers}, 1, length);
  scenario.services[0].server.speed = {1.0, {{at(30), 0.0}, {at(40), 1.0}}};
  return scenario;
}

TEST(AStop, IsNeverOvercomeWhereCallersTryTwice) {
  const Scenario scenario = stopped_for_ten_seconds(2, 300);
  const Span end{at(250), at(300)};
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    const Journal journal = run(scenario, seed).journal;
    EXPECT_EQ(goodput(journal, end), 0);
    const auto offered =
        slices(journal, end, end.to - end.from, [](const Ending& e) { return e.offered; });
    EXPECT_NEAR(static_cast<double>(offered[0]) / 50, 562, kTheirError * 562);
  }
}

// The first second in which 95 % of the calls are good, less the two standard deviations that a
// second's count of arrivals has by itself.
double normal_again(const Journal& journal) {
  const auto good = slices(journal, {at(40), at(300)}, Duration::seconds(1),
                           [](const Ending& e) { return e.good() ? e.ended : Instant::never(); });
  const double normal = 0.95 * 280 - 2 * std::sqrt(280.0);
  const auto first = std::find_if(good.begin(), good.end(), [normal](std::uint64_t n) {
    return static_cast<double>(n) >= normal;
  });
  return 40 + static_cast<double>(first - good.begin());
}

// 2,800 came during the stop and 300 - 280 a second more are done than come: 140 s of them.
TEST(AStop, IsOvercomeWhenTheBacklogIsWorkedOffWhereCallersTryOnce) {
  std::vector<double> times;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    times.push_back(normal_again(run(stopped_for_ten_seconds(1, 300), seed).journal));
  }
  std::sort(times.begin(), times.end());
  EXPECT_NEAR(times[2], 181, 0.1 * 181);
}

TEST(AStop, IsOvercomeInASecondWithABoundedLine) {
  Scenario scenario = stopped_for_ten_seconds(2, 60);
  scenario.services[0].other_door = [](Site& site) {
    return std::make_unique<ReferenceDoor>(Discipline{kOldest, 150, Duration{-1}}, 1, site);
  };
  EXPECT_LE(normal_again(run(scenario, 1).journal), 41);
}

}  // namespace
}  // namespace loadline::sim::test
