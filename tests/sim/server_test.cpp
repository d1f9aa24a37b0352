// What a server does beside taking one after another: sharing, losing to overhead, being cold,
// failing, turning away, and stopping for those who have left.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "rigs.h"
#include "statistics.h"

namespace loadline::sim::test {
namespace {

constexpr Contention kSharing{.kind = Contention::Kind::sharing, .among = 1};

Scenario shared_by(double per_second, const Distribution& work, double length,
                   Contention contention = kSharing) {
  const Population callers{.arrivals = Arrivals::poisson(per_second), .work = work};
  Scenario scenario = scenario_of({callers}, ServerModel::kUnlimited, length);
  scenario.services[0].server.contention = contention;
  return scenario;
}

Span middle(const Scenario& scenario) {
  return {Instant{} + Duration{scenario.length.ns / 10},
          Instant{} + Duration{scenario.length.ns / 100 * 99}};
}

template <class Pick = Everyone>
double mean_response(const Journal& journal, Span span, Pick pick = {}) {
  double sum = 0;
  double n = 0;
  for (const Ending& e : journal) {
    if (e.fate == Fate::answered && span.holds(e.offered) && pick(e)) {
      sum += seconds(e.ended - e.offered);
      ++n;
    }
  }
  return sum / n;
}

template <class Pick = Everyone>
Estimate response_in(const Scenario& scenario, Pick pick = {}) {
  return estimate([&](std::uint64_t seed) {
    return mean_response(run(scenario, seed).journal, middle(scenario), pick);
  });
}

// Processor sharing (Kleinrock, "Queueing Systems", volume 2, 4.4): in the mean as long as M/M/1,
// and for any work.
TEST(AWorkerThatIsShared, TakesAsLongInTheMeanAsOneThatIsNot) {
  expect_agrees(response_in(shared_by(50, Distribution::exponential(kTenMs), 1000)), 0.020, 0.01);
  expect_agrees(response_in(shared_by(80, Distribution::exponential(kTenMs), 2000)), 0.050, 0.02);
  expect_agrees(response_in(shared_by(80, Distribution::fixed(kTenMs), 1000)), 0.050, 0.02);
  expect_agrees(response_in(shared_by(80, Distribution::lognormal(kTenMs, 2), 2000)), 0.050, 0.03);
}

// Each takes work / (1 - rho), however the work is spread.
TEST(AWorkerThatIsShared, SlowsShortAndLongAlike) {
  const Duration shorter = Duration::millis(5);
  const Duration longer = Duration::millis(55);
  const Scenario scenario =
      shared_by(75, Distribution::bimodal(shorter, longer, 0.1), 1000);  // 10 ms in the mean
  for (const Duration work : {shorter, longer}) {
    expect_agrees(response_in(scenario, [work](const Ending& e) { return e.work == work; }),
                  seconds(work) / 0.25, 0.02);
  }
}

// `among` cores shared by all who are there are as many workers, in the mean: M/M/c.
TEST(CoresThatAreShared, TakeAsLongInTheMeanAsSoManyWorkers) {
  Contention contention = kSharing;
  contention.among = 10;
  expect_agrees(response_in(shared_by(900, Distribution::exponential(kTenMs), 200, contention)),
                0.016687315, 0.015);
}

// Exactly: at 0 and at 4 ms, 10 ms each. Alone for 4 ms, then each at half the speed; the first is
// done at 16, and the second has 4 of its 10 left. With speed halved from 18 on it takes 6 more.
TEST(AWorkerThatIsShared, GivesEachAnEqualPart) {
  const Population callers{.arrivals = Arrivals::bursts({at(0), at(0.004)}, 1),
                           .work = Distribution::fixed(kTenMs)};
  Scenario scenario = scenario_of({callers}, ServerModel::kUnlimited, 1);
  scenario.services[0].server.contention = kSharing;
  scenario.services[0].server.speed = {1.0, {{at(0.018), 0.5}}};
  const Journal journal = run(scenario, 1).journal;
  ASSERT_EQ(journal.size(), 2U);
  EXPECT_EQ(journal[0].ended, at(0.016));
  EXPECT_EQ(journal[1].ended, at(0.022));
}

// Those who have the same left are done in the order in which they came.
TEST(AWorkerThatIsShared, AnswersEqualsInTheirOrder) {
  Population callers{.arrivals = Arrivals::bursts({at(0)}, 100),
                     .work = Distribution::fixed(kTenMs)};
  callers.tenants = {.first = 1, .count = 100, .choice = Tenants::Choice::in_turn};
  Scenario scenario = scenario_of({callers}, ServerModel::kUnlimited, 2);
  scenario.services[0].server.contention = kSharing;
  const Journal journal = run(scenario, 1).journal;
  ASSERT_EQ(journal.size(), 100U);
  for (std::size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(journal[i].tenant, i + 1);
    EXPECT_NEAR(seconds(journal[i].ended), 1.0, 1e-6);
  }
}

// A birth and death process: n in the server are worked off at min(n, c) * mu / (1 + each * (n -
// among)), and `most` are let in.
double response_under_overhead(double per_second, double mu, std::uint32_t c, double among,
                               double each, int most) {
  double weight = 1;
  double all = 1;
  double inside = 0;
  for (int n = 1; n <= most; ++n) {
    const double rate = std::min<double>(n, c) * mu / (1 + each * std::max(0.0, n - among));
    weight *= per_second / rate;
    all += weight;
    inside += n * weight;
  }
  return inside / (per_second * (all - weight));
}

TEST(Overhead, SlowsAllByWhoIsInTheServer) {
  const Contention contention{.kind = Contention::Kind::overhead, .among = 4, .each = 0.02};
  for (const double per_second : {400.0, 700.0, 1200.0}) {
    Scenario scenario =
        shared_by(per_second, Distribution::exponential(kTenMs), 100'000 / per_second, contention);
    scenario.services[0].server.workers = 10;
    scenario.services[0].gate = gate_of(30);
    scenario.services[0].gate->policy.queue = QueueSize::none();
    expect_agrees(response_in(scenario), response_under_overhead(per_second, 100, 10, 4, 0.02, 30),
                  0.01);
  }
}

// And no more than its limit of them, with the rest turned away: Erlang's loss with rates that
// fall.
TEST(Overhead, IsWhatALimitKeepsAway) {
  const double each = 0.1;
  const Contention contention{.kind = Contention::Kind::overhead, .among = 10, .each = each};
  for (const std::uint32_t limit : {10U, 20U, 40U}) {
    Scenario scenario = shared_by(2000, Distribution::exponential(kTenMs), 50, contention);
    scenario.services[0].gate = gate_of(limit);
    scenario.services[0].gate->policy.queue = QueueSize::none();
    double weight = 1;
    double all = 1;
    double done = 0;
    for (std::uint32_t n = 1; n <= limit; ++n) {
      const double rate = n * 100.0 / (1 + each * std::max(0.0, n - 10.0));
      weight *= 2000 / rate;
      all += weight;
      done += rate * weight;
    }
    expect_agrees(estimate([&](std::uint64_t seed) {
                    return goodput(run(scenario, seed).journal, middle(scenario));
                  }),
                  done / all, 0.003);
  }
}

// Half as fast for the first two seconds: the work in hand when it is warm goes on at full speed.
TEST(AColdInstance, WorksSlowlyUntilItIsWarm) {
  const Population callers{.arrivals = Arrivals::bursts({at(0.5), at(1.995), at(3)}, 1),
                           .work = Distribution::fixed(kTenMs)};
  Scenario scenario = scenario_of({callers}, 1, 10);
  scenario.services[0].server.cold_for = Duration::seconds(2);
  scenario.services[0].server.cold_speed = 0.5;
  const Journal journal = run(scenario, 1).journal;
  ASSERT_EQ(journal.size(), 3U);
  EXPECT_EQ(journal[0].ended, at(0.520));
  EXPECT_EQ(journal[1].ended, at(2.0075));
  EXPECT_EQ(journal[2].ended, at(3.010));
}

// Of 100 a second, 30 % fail after 1 ms: the worker is busy for 0.3 * 1 + 0.7 * 8 ms of each, and
// waits as M/G/1 does.
TEST(AFailure, CostsWhatItCosts) {
  Scenario scenario = shared_by(100, Distribution::fixed(Duration::millis(8)), 1000, {});
  scenario.services[0].server.workers = 1;
  scenario.services[0].server.failing = 0.3;
  scenario.services[0].server.failure_work = Duration::millis(1);
  const double mean = 0.3 * 0.001 + 0.7 * 0.008;
  const double square = 0.3 * 1e-6 + 0.7 * 64e-6;
  const double wait = 100 * square / 2 / (1 - 100 * mean);
  expect_agrees(response_in(scenario), wait + 0.008, 0.005);
  expect_agrees(estimate([&](std::uint64_t seed) {
                  return share(run(scenario, seed).journal, middle(scenario),
                               [](const Ending& e) { return e.fate == Fate::failed; });
                }),
                0.3, 0.005);
}

// Each of those sent away takes a millisecond of a worker, before the next in line. One worker of
// 10 ms that is never idle: of so many a second it serves x, with x * 10 + (offered - x) * 1 =
// 1000.
TEST(TurningAway, TakesItsPartOfTheCapacity) {
  for (const double offered : {200.0, 500.0, 900.0}) {
    Scenario scenario = shared_by(offered, Distribution::fixed(kTenMs), 50, {});
    scenario.services[0].server.workers = 1;
    scenario.services[0].server.rejection_work = Duration::millis(1);
    scenario.services[0].gate = gate_of(2);
    scenario.services[0].gate->policy.queue = QueueSize::none();
    const double served = (1000 - offered) / 9;
    // All but the share of time in which neither of the two slots is taken.
    const Estimate seen = estimate(
        [&](std::uint64_t seed) { return goodput(run(scenario, seed).journal, middle(scenario)); });
    EXPECT_LT(seen.mean, served + 3 * seen.error);
    EXPECT_GT(seen.mean, served * 0.9 - 3 * seen.error);
  }
  // The same exactly, with callers who keep the line full.
  Population many{.arrivals = Arrivals::even(500), .work = Distribution::fixed(kTenMs)};
  Scenario scenario = scenario_of({many}, 1, 50);
  scenario.services[0].server.rejection_work = Duration::millis(1);
  scenario.services[0].gate = gate_of(20);
  scenario.services[0].gate->policy.queue = QueueSize::none();
  EXPECT_NEAR(goodput(run(scenario, 1).journal, {at(5), at(50)}), (1000.0 - 500) / 9, 0.5);
}

// Without bound on the workers each stays min(work, patience): (1 - exp(-mu * d)) / mu in the mean.
TEST(AServerThatStops, IsFreeAtOnceOfThoseWhoHaveLeft) {
  Population callers{.arrivals = Arrivals::poisson(1000),
                     .work = Distribution::exponential(kTenMs),
                     .patience = Duration::millis(15),
                     .departs = true};
  Scenario scenario = scenario_of({callers}, ServerModel::kUnlimited, 50);
  scenario.services[0].server.works_on = Duration{};
  const double left = std::exp(-1.5);
  expect_agrees(estimate([&](std::uint64_t seed) {
                  return share(run(scenario, seed).journal, middle(scenario),
                               [](const Ending& e) { return e.fate == Fate::left; });
                }),
                left, 0.005);
  expect_agrees(estimate([&](std::uint64_t seed) {
                  double busy = 0;
                  for (const Ending& e : run(scenario, seed).journal) {
                    busy += middle(scenario).holds(e.offered) ? seconds(e.work) : 0;
                  }
                  return busy / seconds(middle(scenario).to - middle(scenario).from);
                }),
                1000 * 0.010 * (1 - left), 0.003);
}

// One worker, and callers who stay for at most d in all, whether they wait or are worked on
// (Barrer, Operations Research 5, 1957). The time that is still to be worked has the density idle *
// lambda * exp((lambda - mu) * w) below d, and no more than d of it is ever taken on.
TEST(AServerThatStops, IsAsBusyAsBarrersQueue) {
  for (const double per_second : {50.0, 80.0, 150.0}) {
    const double d = 0.050;
    const double r = 100 - per_second;
    const double idle = 1 / (1 + per_second * (1 - std::exp(-r * d)) / r);
    const Population callers{.arrivals = Arrivals::poisson(per_second),
                             .work = Distribution::exponential(kTenMs),
                             .patience = duration(d),
                             .departs = true};
    Scenario scenario = scenario_of({callers}, 1, 1000);
    scenario.services[0].server.works_on = Duration{};
    const Span span = middle(scenario);
    expect_agrees(estimate([&](std::uint64_t seed) {
                    double busy = 0;
                    for (const Ending& e : run(scenario, seed).journal) {
                      busy += span.holds(e.ended) ? seconds(e.work) : 0;
                    }
                    return busy / seconds(span.to - span.from);
                  }),
                  1 - idle, 0.01);
  }
}

// Five share a worker; two leave at 10 ms with 8 of their 10 left, and the others are slowed by
// three from there on: 10 + 8 * 3 = 34 ms.
TEST(AServerThatStops, GivesTheOthersTheShareOfThoseWhoHaveLeft) {
  Population patient{.arrivals = Arrivals::bursts({at(0)}, 3), .work = Distribution::fixed(kTenMs)};
  Population hasty = patient;
  hasty.arrivals = Arrivals::bursts({at(0)}, 2);
  hasty.patience = kTenMs;
  hasty.departs = true;
  Scenario scenario = scenario_of({patient, hasty}, ServerModel::kUnlimited, 1);
  scenario.services[0].server.contention = kSharing;
  scenario.services[0].server.works_on = Duration{};
  for (const Ending& e : run(scenario, 1).journal) {
    EXPECT_EQ(e.ended, e.population == 0 ? at(0.034) : at(0.010));
    EXPECT_EQ(e.work, e.population == 0 ? kTenMs : Duration::millis(2));
  }
}

// It stands still from 2 ms on: what has been done for him who leaves are 2 ms.
TEST(AServerThatStops, HasDoneWhatItHasDone) {
  Population callers{.arrivals = Arrivals::bursts({at(0)}, 1),
                     .work = Distribution::fixed(kTenMs),
                     .patience = Duration::millis(8),
                     .departs = true};
  Scenario scenario = scenario_of({callers}, 1, 1);
  scenario.services[0].server.works_on = Duration::millis(1);
  scenario.services[0].server.speed = {1.0, {{at(0.002), 0.0}}};
  const Journal journal = run(scenario, 1).journal;
  ASSERT_EQ(journal.size(), 1U);
  EXPECT_EQ(journal[0].ended, at(0.009));
  EXPECT_EQ(journal[0].work, Duration::millis(2));
}

// Behind a gate that is stopped he is given up when it goes on; his worker is free before, once.
TEST(AServerThatStops, FreesAWorkerOnceBehindAGateThatStandsStill) {
  Population hasty{.arrivals = Arrivals::bursts({at(0.001)}, 1),
                   .work = Distribution::fixed(Duration::millis(20)),
                   .patience = kTenMs,
                   .departs = true};
  Population finished{.arrivals = Arrivals::bursts({at(0.001)}, 1),
                      .work = Distribution::fixed(Duration::millis(6)),
                      .patience = kTenMs,
                      .departs = true};
  Population later{.arrivals = Arrivals::bursts({at(0.2)}, 4), .work = Distribution::fixed(kTenMs)};
  Scenario scenario = scenario_of({hasty, finished, later}, 2, 1);
  scenario.services[0].server.works_on = Duration{};
  scenario.services[0].gate = gate_of(4);
  scenario.services[0].gate->stopped = {false, {{at(0.005), true}, {at(0.1), false}}};
  const Result result = run(scenario, 1);
  EXPECT_EQ(result.watch.miscounts, 0U);
  EXPECT_EQ(result.snapshots[0].in_flight, 0U);
  std::vector<double> ends;
  for (const Ending& e : result.journal) {
    ends.push_back(std::round(seconds(e.ended) * 1000));
  }
  EXPECT_EQ(ends, (std::vector<double>{100, 100, 210, 210, 220, 220}));
  EXPECT_EQ(result.journal[0].fate, Fate::answered);
  EXPECT_EQ(result.journal[1].fate, Fate::left);
}

// He who is answered in the very instant in which his patience ends has been answered.
// One worker, and callers beside whom it is as if it were alone: with them or without, by lot or
// leaving, its own callers end alike.
TEST(WorkBesideTheWorkers, TakesItsTimeAndNoWorker) {
  const Population own{.arrivals = Arrivals::poisson(80),
                       .work = Distribution::exponential(kTenMs),
                       .patience = Duration::millis(20)};
  Population beside{.arrivals = Arrivals::poisson(300),
                    .work = Distribution::fixed(Duration::millis(7)),
                    .needs_worker = false};
  const auto own_of = [](const Journal& journal) {
    Journal all;
    std::copy_if(journal.begin(), journal.end(), std::back_inserter(all),
                 [](const Ending& e) { return e.population == 0 && e.fate != Fate::open; });
    return all;
  };
  const Journal alone = own_of(run(scenario_of({own}, 1, 100), 1).journal);
  for (const bool leave : {false, true}) {
    beside.patience = leave ? Duration::millis(5) : Duration::max();
    beside.departs = leave;
    Scenario scenario = scenario_of({own, beside}, 1, 100);
    scenario.services[0].server.works_on = Duration{};
    const Journal journal = run(scenario, 1).journal;
    EXPECT_EQ(own_of(journal), alone);
    for (const Ending& e : journal) {
      if (e.population == 1 && e.fate != Fate::open) {
        EXPECT_EQ(e.fate, leave ? Fate::left : Fate::answered);
        EXPECT_EQ(e.ended - e.offered, Duration::millis(leave ? 5 : 7));
        EXPECT_EQ(e.work, Duration::millis(leave ? 5 : 7));
      }
    }
  }
}

TEST(Patience, HoldsForTheInstantInWhichItEnds) {
  Population callers{.arrivals = Arrivals::bursts({at(0)}, 1),
                     .work = Distribution::fixed(kTenMs),
                     .patience = kTenMs,
                     .departs = true};
  callers.retry = {.attempts = 2, .after_timeout = true};
  Scenario scenario = scenario_of({callers}, 1, 1);
  scenario.services[0].server.works_on = Duration{};
  const Journal journal = run(scenario, 1).journal;
  ASSERT_EQ(journal.size(), 1U);
  EXPECT_TRUE(journal[0].good());
}

}  // namespace
}  // namespace loadline::sim::test
