// Services that need others: chains and fan-out beside what is computed for them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "reference_door.h"
#include "rigs.h"
#include "statistics.h"

namespace loadline::sim::test {
namespace {

// Service 0 is called, and each needs the next.
Scenario chain_of(std::uint32_t services, const Population& callers, double length) {
  Scenario scenario = scenario_of({callers}, ServerModel::kUnlimited, length);
  scenario.services.resize(services);
  for (std::uint32_t s = 0; s + 1 < services; ++s) {
    scenario.services[s].links = {{.service = s + 1}};
  }
  return scenario;
}

Population once(const Distribution& work) {
  return {.arrivals = Arrivals::bursts({Instant{}}, 1), .work = work};
}

std::vector<Ending> of_service(const Journal& journal, std::uint16_t service) {
  std::vector<Ending> those;
  std::copy_if(journal.begin(), journal.end(), std::back_inserter(those),
               [service](const Ending& e) { return e.service == service; });
  return those;
}

// The caller goes while the link works, and all stop at once. Two that came together: the second
// has waited for the first one's worker, which is free exactly once.
TEST(ALink, IsGivenUpOnceWithWhatNeedsIt) {
  Population callers = once(Distribution::fixed(kTenMs));
  callers.arrivals = Arrivals::bursts({at(0), at(0.1), at(0.2)}, 2);
  callers.patience = Duration::millis(25);
  callers.departs = true;
  callers.tells_deadline = false;
  for (const bool keeps : {true, false}) {
    Scenario scenario = chain_of(2, callers, 1);
    for (ServiceModel& service : scenario.services) {
      service.server.workers = 1;
      service.server.works_on = Duration{};
      service.keeps_worker = keeps;
      service.gate = gate_of(2);
    }
    scenario.services[1].work = Distribution::fixed(Duration::millis(50));
    const Result result = run(scenario, 1);
    EXPECT_EQ(result.watch.miscounts, 0U);
    const auto fronts = of_service(result.journal, 0);
    ASSERT_EQ(fronts.size(), 6U);
    for (const Ending& e : fronts) {
      EXPECT_EQ(e.fate, Fate::left);
      EXPECT_EQ(e.ended - e.offered, Duration::millis(25));
    }
    const auto backs = of_service(result.journal, 1);
    EXPECT_EQ(backs.size(), keeps ? 3U : 6U);
    for (const Ending& e : backs) {
      EXPECT_EQ(e.fate, Fate::left);
    }
    for (const Snapshot& gate : result.snapshots) {
      EXPECT_EQ(gate.in_flight, 0U);
      EXPECT_EQ(gate.classes[0].admitted + gate.classes[1].admitted + gate.classes[2].admitted,
                count(result.journal, [&](const Ending& e) {
                  return e.service == (&gate - result.snapshots.data()) && e.admitted();
                }));
    }
  }
}

// He goes during the service's own work, or while it pauses before it asks again. It goes on, since
// it does not know, and has its worker back in the end.
TEST(ALink, IsNeededStillWhereTheServiceDoesNotKnowThatItsCallerHasGone) {
  for (const int patience_ms : {5, 25, 45}) {
    Population callers = once(Distribution::fixed(kTenMs));
    callers.arrivals = Arrivals::bursts({at(0), at(0.5)}, 1);
    callers.patience = Duration::millis(patience_ms);
    callers.departs = true;
    callers.tells_deadline = false;
    Scenario scenario = chain_of(2, callers, 1);
    scenario.services[0].server.workers = 1;
    scenario.services[0].links[0].attempts = 3;
    scenario.services[0].links[0].pause = kTenMs;
    scenario.services[1].server.failing = 1.0;
    scenario.services[1].server.failure_work = kTenMs;
    const Journal journal = run(scenario, 1).journal;
    const auto fronts = of_service(journal, 0);
    ASSERT_EQ(fronts.size(), 2U);
    for (const Ending& e : fronts) {  // 10, then 10 and a pause of 10, twice, then 10
      EXPECT_EQ(e.fate, Fate::failed);
      EXPECT_EQ(e.ended - e.offered, Duration::millis(60));
    }
    EXPECT_EQ(of_service(journal, 1).size(), 6U);
  }
}

// 100 ms are left of when the call began: each hop is told what is left, and gives up then.
TEST(AChain, HandsOnItsDeadline) {
  Population callers = once(Distribution::fixed(kTenMs));
  callers.patience = Duration::millis(100);
  Scenario scenario = chain_of(4, callers, 1);
  for (ServiceModel& service : scenario.services) {
    service.work = Distribution::fixed(kTenMs);
  }
  scenario.services[2].links[0].patience = Duration::millis(30);
  scenario.services[3].work = Distribution::fixed(Duration::seconds(10));
  scenario.services[1].links[0].attempts = 2;
  const Journal journal = run(scenario, 1).journal;
  const auto lasts = of_service(journal, 3);
  ASSERT_EQ(lasts.size(), 2U);
  EXPECT_EQ(lasts[0].offered, at(0.030));
  EXPECT_EQ(lasts[0].deadline, at(0.060));  // the link's patience
  EXPECT_EQ(lasts[1].offered, at(0.070));
  EXPECT_EQ(lasts[1].deadline, at(0.100));
  // The second try ends at 100 ms for all alike, and there is no third: nothing is left of the
  // time.
  const auto fronts = of_service(journal, 0);
  ASSERT_EQ(fronts.size(), 1U);
  EXPECT_EQ(fronts[0].ended, at(0.100));
  EXPECT_EQ(fronts[0].fate, Fate::failed);
}

TEST(AChain, DoesNotAskWhenNothingIsLeftOfItsTime) {
  Population callers = once(Distribution::fixed(kTenMs));
  callers.patience = Duration::millis(5);
  const Journal journal = run(chain_of(2, callers, 1), 1).journal;
  ASSERT_EQ(journal.size(), 1U);
  EXPECT_EQ(journal[0].fate, Fate::failed);
  EXPECT_EQ(journal[0].ended, at(0.010));
}

double mean_response(const Journal& journal, std::uint16_t service) {
  double sum = 0;
  double n = 0;
  for (const Ending& e : journal) {
    if (e.service == service && e.fate == Fate::answered) {
      sum += seconds(e.ended - e.offered);
      ++n;
    }
  }
  return sum / n;
}

// The last of n that take exponential times of one mean has taken 1 + 1/2 + ... + 1/n of it, also
// where all are calls of one service.
TEST(AFanOut, TakesAsLongAsTheLastOfItsLinks) {
  for (const std::uint32_t n : {1U, 2U, 10U, 50U}) {
    const Population callers{.arrivals = Arrivals::poisson(1000),
                             .work = Distribution::fixed(Duration{})};
    Scenario scenario = scenario_of({callers}, ServerModel::kUnlimited, 4000.0 / 1000 / n * 10);
    scenario.services.resize(3);
    for (std::uint32_t l = 0; l < n; ++l) {
      scenario.services[0].links.push_back({.service = 1 + l % 2});
    }
    scenario.services[1].work = scenario.services[2].work = Distribution::exponential(kTenMs);
    scenario.drains = true;
    double harmonic = 0;
    for (std::uint32_t i = 1; i <= n; ++i) {
      harmonic += 1.0 / i;
    }
    expect_agrees(
        estimate([&](std::uint64_t seed) { return mean_response(run(scenario, seed).journal, 0); }),
        harmonic * 0.01, 0.005);
  }
}

// Poisson callers leave an M/M/1 as a Poisson process (Burke, Operations Research 4, 1956): three
// in a row, whose own work is done before the next is asked, are three M/M/1.
TEST(AChain, OfQueuesIsATandem) {
  const Population callers{.arrivals = Arrivals::poisson(60),
                           .work = Distribution::exponential(kTenMs)};
  Scenario scenario = chain_of(3, callers, 1000);
  for (ServiceModel& service : scenario.services) {
    service.server.workers = 1;
    service.keeps_worker = false;
    service.work = Distribution::exponential(kTenMs);
  }
  for (const std::uint16_t s : {0, 1, 2}) {
    expect_agrees(
        estimate([&](std::uint64_t seed) { return mean_response(run(scenario, seed).journal, s); }),
        0.025 * (3 - s), 0.015);
  }
}

// A worker that is kept while the link works serves for both: M/G/1 with the sum of both works.
TEST(AChain, KeepsTheWorkerThatWaitsForIt) {
  const Population callers{.arrivals = Arrivals::poisson(40),
                           .work = Distribution::exponential(kTenMs)};
  Scenario scenario = chain_of(2, callers, 1000);
  scenario.services[0].server.workers = 1;
  scenario.services[1].work = Distribution::fixed(kTenMs);
  // Mean 20 ms, variance 100: rho = 0.8, and the wait by Pollaczek and Khinchin 0.8 / 0.2 * 20 ms *
  // (1 + 0.25) / 2 = 50 ms.
  expect_agrees(
      estimate([&](std::uint64_t seed) { return mean_response(run(scenario, seed).journal, 0); }),
      0.070, 0.02);
}

// Each link's work is its own, though all belong to one call; and it is the same when the policy
// is another.
TEST(AFanOut, DrawsEachLinksWorkForItself) {
  const Population callers{.arrivals = Arrivals::even(100),
                           .work = Distribution::fixed(Duration{})};
  Scenario scenario = chain_of(3, callers, 1);
  scenario.services[0].links = {{.service = 1}, {.service = 2}, {.service = 2}};
  scenario.services[1].work = scenario.services[2].work = Distribution::exponential(kTenMs);
  std::vector<std::int64_t> works;
  for (const Ending& e : run(scenario, 1).journal) {
    if (e.service == 2) {
      works.push_back(e.work.ns);
    }
  }
  EXPECT_GT(works.size(), 290U);
  std::sort(works.begin(), works.end());
  EXPECT_EQ(std::adjacent_find(works.begin(), works.end()), works.end());
}

}  // namespace
}  // namespace loadline::sim::test
