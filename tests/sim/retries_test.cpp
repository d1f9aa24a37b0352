// What retries add, in one layer and in several, and when they are made.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "rigs.h"
#include "statistics.h"

namespace loadline::sim::test {
namespace {

double attempts_at(const Journal& journal, std::uint16_t service) {
  return static_cast<double>(
      count(journal, [service](const Ending& e) { return e.service == service; }));
}

double calls_in(const Journal& journal) {
  return static_cast<double>(
      count(journal, [](const Ending& e) { return e.origin == Origin::caller && e.attempt == 1; }));
}

// Callers of service 0 who try `attempts` times what fails.
Scenario failing_service(double share, std::uint32_t attempts) {
  Population callers{.arrivals = Arrivals::poisson(1000),
                     .work = Distribution::exponential(kTenMs)};
  callers.retry = {.attempts = attempts, .after_failure = true};
  Scenario scenario = scenario_of({callers}, ServerModel::kUnlimited, 10);
  scenario.services[0].server.failing = share;
  scenario.services[0].server.failure_work = Duration::millis(1);
  scenario.drains = true;
  return scenario;
}

// Each of three attempts fails with probability p: 1 + p + p^2 are made.
TEST(Retries, MultiplyTheLoadByTheSharesThatFail) {
  for (const double p : {0.1, 0.5, 0.9}) {
    const Scenario scenario = failing_service(p, 3);
    expect_agrees(estimate([&](std::uint64_t seed) {
                    const Journal journal = run(scenario, seed).journal;
                    return attempts_at(journal, 0) / calls_in(journal);
                  }),
                  1 + p + p * p, 0.002);
    expect_agrees(estimate([&](std::uint64_t seed) {
                    return share(run(scenario, seed).journal, {},
                                 [](const Ending& e) { return e.fate == Fate::failed; });
                  }),
                  p, 0.01);
  }
  const Journal journal = run(failing_service(1, 3), 1).journal;
  EXPECT_EQ(attempts_at(journal, 0), 3 * calls_in(journal));
}

// `links` services one behind the other, each of which tries its link so often; the last fails.
Scenario layers(std::uint32_t links, std::uint32_t attempts, double failing, double per_second,
                double length) {
  const Population callers{.arrivals = Arrivals::even(per_second),
                           .work = Distribution::fixed(Duration{})};
  Scenario scenario = scenario_of({callers}, ServerModel::kUnlimited, length);
  scenario.services.resize(links + 1);
  for (std::uint32_t s = 0; s < links; ++s) {
    scenario.services[s].links = {
        {.service = s + 1, .attempts = attempts, .pause = Duration::millis(1)}};
  }
  scenario.services[links].server.failing = failing;
  scenario.drains = true;
  return scenario;
}

TEST(Retries, OfSeveralLayersMultiply) {
  const struct {
    std::uint32_t retries;
    std::uint32_t layers;
    double leaf_calls;
  } cases[] = {{1, 3, 8}, {2, 3, 27}, {3, 3, 64}, {3, 5, 1024}};
  for (const auto& c : cases) {
    const Journal journal = run(layers(c.layers, 1 + c.retries, 1, 10, 1), 1).journal;
    EXPECT_EQ(calls_in(journal), 10);
    EXPECT_EQ(attempts_at(journal, static_cast<std::uint16_t>(c.layers)), 10 * c.leaf_calls);
  }
}

// Two layers of two attempts each: the lower one makes 1 + p calls of the leaf and fails with
// p^2, so the upper one makes 1 + p^2 calls of that. Each attempt's luck is its own.
TEST(Retries, OfSeveralLayersFailEachForItself) {
  for (const double p : {0.3, 0.7}) {
    const Scenario scenario = layers(2, 2, p, 2000, 5);
    expect_agrees(estimate([&](std::uint64_t seed) {
                    const Journal journal = run(scenario, seed).journal;
                    return attempts_at(journal, 2) / calls_in(journal);
                  }),
                  (1 + p) * (1 + p * p), 0.002);
    expect_agrees(estimate([&](std::uint64_t seed) {
                    return share(
                        run(scenario, seed).journal, {},
                        [](const Ending& e) { return e.fate == Fate::failed; },
                        [](const Ending& e) { return e.origin == Origin::caller; });
                  }),
                  std::pow(p, 4), 0.03);
  }
}

// An error comes after a millisecond; the next attempt brings the work that the first one had.
TEST(ARetry, BringsItsOwnWork) {
  Population callers{.arrivals = Arrivals::bursts({Instant{}}, 1),
                     .work = Distribution::fixed(Duration::millis(30))};
  callers.retry = {.attempts = 2, .pause = kTenMs, .after_failure = true};
  Scenario scenario = scenario_of({callers}, 1, 1);
  scenario.services[0].server.failing = {1.0, {{at(0.005), 0.0}}};
  scenario.services[0].server.failure_work = Duration::millis(1);
  const Journal journal = run(scenario, 1).journal;
  ASSERT_EQ(journal.size(), 2U);
  EXPECT_EQ(journal[0].fate, Fate::failed);
  EXPECT_EQ(journal[0].ended, at(0.001));
  EXPECT_EQ(journal[0].work, Duration::millis(1));
  EXPECT_EQ(journal[1].fate, Fate::answered);
  EXPECT_EQ(journal[1].ended, at(0.001 + 0.010 + 0.030));
  EXPECT_EQ(journal[1].work, Duration::millis(30));
}

// Pauses of 50 ms, twice as long each time, of which half is drawn: between a half and the whole.
TEST(APause, GrowsAndIsDrawnWithinItsBounds) {
  Scenario scenario = failing_service(1, 5);
  scenario.services[0].server.failure_work = Duration{};
  Retry& retry = scenario.populations[0].retry;
  retry.pause = Duration::millis(50);
  retry.growth = 2;
  retry.jitter = 0.5;
  std::map<std::pair<std::int64_t, std::uint32_t>, Instant> offers;
  for (const Ending& e : run(scenario, 1).journal) {
    offers[{e.called.ns, e.attempt}] = e.offered;
  }
  std::map<std::uint32_t, std::vector<double>> pauses;
  for (const auto& [which, when] : offers) {
    if (which.second > 1) {
      pauses[which.second - 1].push_back(seconds(when - offers[{which.first, which.second - 1}]));
    }
  }
  ASSERT_EQ(pauses.size(), 4U);
  double whole = 0.050;
  for (auto& [number, drawn] : pauses) {
    EXPECT_GE(least(drawn), whole / 2 - 1e-9);
    EXPECT_LE(greatest(drawn), whole + 1e-9);
    expect_agrees(estimate_of(drawn), whole * 0.75, 0.01);
    whole *= 2;
  }
}

// He who tries elsewhere never meets the instance that has just failed him.
TEST(ARetry, GoesElsewhereIfItsCallerWantsThat) {
  for (const auto balance : {ServiceModel::Balance::in_turn, ServiceModel::Balance::least_loaded}) {
    Scenario scenario = failing_service(1, 4);
    scenario.populations[0].retry.elsewhere = true;
    scenario.populations[0].tenants = {
        .first = 1, .count = 1'000'000, .choice = Tenants::Choice::in_turn};
    scenario.services[0].instances = 3;
    scenario.services[0].balance = balance;
    std::map<std::pair<std::uint64_t, std::uint32_t>, std::uint32_t> tried;
    for (const Ending& e : run(scenario, 1).journal) {
      tried[{e.tenant, e.attempt}] = e.instance;
    }
    for (const auto& [which, instance] : tried) {
      if (which.second > 1) {
        EXPECT_NE(instance, (tried[{which.first, which.second - 1}]));
      }
    }
    EXPECT_GT(tried.size(), 30'000U);
  }
}

}  // namespace
}  // namespace loadline::sim::test
