// Several instances: whose turn it is, who is taken out of turn, and who is added.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <vector>

#include "rigs.h"
#include "statistics.h"

namespace loadline::sim::test {
namespace {

// `instances` of one worker that does 100 a second.
Scenario fleet_of(std::uint32_t instances, double per_second, double length,
                  ServiceModel::Balance balance = ServiceModel::Balance::in_turn) {
  const Population callers{.arrivals = Arrivals::poisson(per_second),
                           .work = Distribution::exponential(kTenMs)};
  Scenario scenario = scenario_of({callers}, 1, length);
  scenario.services[0].instances = instances;
  scenario.services[0].balance = balance;
  return scenario;
}

Estimate mean_response(const Scenario& scenario) {
  return estimate([&](std::uint64_t seed) {
    const Span span{Instant{} + Duration{scenario.length.ns / 10},
                    Instant{} + Duration{scenario.length.ns / 100 * 99}};
    double sum = 0;
    double n = 0;
    for (const Ending& e : run(scenario, seed).journal) {
      if (e.fate == Fate::answered && span.holds(e.offered)) {
        sum += seconds(e.ended - e.offered);
        ++n;
      }
    }
    return sum / n;
  });
}

// Each of k instances meets every k-th of Poisson callers: E_k/M/1 (Kleinrock, volume 1, 6.4). One
// who comes finds somebody with probability s, the root in (0, 1) of s = A(mu - mu * s), A the
// transform of the gaps; he is there for 1 / (mu * (1 - s)).
double response_in_turn(std::uint32_t k, double per_second) {
  double s = 0;
  for (int i = 0; i < 10'000; ++i) {
    s = std::pow(per_second / (per_second + 100 * (1 - s)), k);
  }
  return 1 / (100 * (1 - s));
}

TEST(InstancesInTurn, WaitAsEkM1Does) {
  EXPECT_NEAR(response_in_turn(1, 80), 0.050, 1e-9);  // M/M/1, as if each were chosen by lot
  for (const std::uint32_t k : {1U, 2U, 4U, 16U}) {
    expect_agrees(mean_response(fleet_of(k, 80.0 * k, 80'000 / (80.0 * k) * std::sqrt(k))),
                  response_in_turn(k, 80.0 * k), 0.02);
  }
}

// By lot, each meets Poisson callers of its own: M/M/1, however many there are.
TEST(InstancesByLot, AreSoManyOfTheirOwn) {
  for (const std::uint32_t k : {2U, 5U}) {
    expect_agrees(
        mean_response(fleet_of(k, 80.0 * k, 160'000 / (80.0 * k), ServiceModel::Balance::random)),
        0.050, 0.02);
  }
}

// Who is refused by one of two tries the other: never the same again.
TEST(InstancesByLot, AreNotTheOneThatHasJustBeenTried) {
  Population callers{.arrivals = Arrivals::even(10), .work = Distribution::fixed(kTenMs)};
  callers.retry = {.attempts = 2, .pause = Duration{}, .elsewhere = true};
  callers.retry.after_failure = true;
  Scenario scenario = scenario_of({callers}, 1, 100);
  scenario.services[0].instances = 3;
  scenario.services[0].balance = ServiceModel::Balance::random;
  scenario.services[0].server.failing = 1.0;
  std::array<std::uint64_t, 3> first{};
  std::map<Instant, std::uint32_t> tried;
  for (const Ending& e : run(scenario, 1).journal) {
    if (e.attempt == 1) {
      ++first.at(e.instance);
      tried[e.called] = e.instance;
    } else {
      EXPECT_NE(e.instance, tried.at(e.called));
    }
  }
  for (const std::uint64_t n : first) {
    EXPECT_NEAR(static_cast<double>(n), 1000 / 3.0, 60);  // four standard deviations
  }
}

// The shorter of two lines, the first if they are alike: the stationary distribution of the chain
// of their lengths, cut off where nothing is left of it, by as many steps as it takes.
double response_in_the_shorter(double per_second) {
  constexpr std::size_t kMost = 60;
  using Row = std::array<double, kMost + 1>;
  static std::array<Row, kMost + 1> p;
  static std::array<Row, kMost + 1> next;
  p = {};
  p[0][0] = 1;
  const double tick = 1 / (per_second + 200);
  const double come = per_second * tick;
  const double go = 100 * tick;
  double before = -1;
  double inside = 0;
  for (int step = 0; step < 100'000 && (step % 500 != 0 || std::abs(inside - before) > 1e-7);
       ++step) {
    before = step % 500 == 0 ? inside : before;
    next = {};
    inside = 0;
    for (std::size_t i = 0; i <= kMost; ++i) {
      for (std::size_t j = 0; j <= kMost; ++j) {
        const double here = p[i][j];
        inside += here * static_cast<double>(i + j);
        const bool first = i <= j;
        next[std::min(first ? i + 1 : i, kMost)][std::min(first ? j : j + 1, kMost)] += here * come;
        next[i == 0 ? 0 : i - 1][j] += here * go;
        next[i][j == 0 ? 0 : j - 1] += here * go;
      }
    }
    std::swap(p, next);
  }
  return inside / per_second;
}

TEST(TheLeastLoaded, IsTheShorterOfTwoLines) {
  for (const double per_second : {100.0, 160.0, 180.0}) {
    const double shorter = response_in_the_shorter(per_second);
    // Between one line for both, M/M/2, and one chosen by lot.
    const double rho = per_second / 200;
    EXPECT_GT(shorter, 0.010 / (1 - rho * rho));
    EXPECT_LT(shorter, 0.010 / (1 - rho));
    expect_agrees(mean_response(fleet_of(2, per_second, 120'000 / per_second,
                                         ServiceModel::Balance::least_loaded)),
                  shorter, 0.015);
  }
}

// Ten of 100 a second, 1,200 offered: where the probes are not the gate's business, ten stay, and
// one in six is turned away.
TEST(Readiness, LetsTenInstancesStayUnderOverload) {
  Scenario scenario = fleet_of(10, 1200, 300);
  scenario.services[0].gate = gate_of(1);
  scenario.services[0].readiness = Readiness{};
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const Result result = run(scenario, seed);
    ASSERT_EQ(result.turnouts.size(), 1U);
    EXPECT_EQ(result.turnouts[0].in_turn, 10U);
    EXPECT_NEAR(1 - admitted(result.journal, {at(10), at(300)}), 1.0 / 6, 0.03);
  }
}

// Where the probes are requests like any other, each that is turned away makes the others' load
// greater; nobody who has been taken out comes back.
TEST(Readiness, TakesOutAllWhereProbesAreTurnedAway) {
  Scenario scenario = fleet_of(10, 1200, 300);
  scenario.services[0].gate = gate_of(1);
  scenario.services[0].gate->policy.queue = QueueSize::none();
  scenario.services[0].readiness = Readiness{.successes = 1'000'000, .tied_to_load = true};
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Result result = run(scenario, seed);
    EXPECT_EQ(result.turnouts.back().in_turn, 0U);
    EXPECT_GE(result.turnouts.back().from, at(30));
    EXPECT_LE(result.turnouts.back().from, at(100));
    // Each after the other, and from then on nobody is served.
    EXPECT_EQ(result.turnouts.size(), 11U);
    EXPECT_EQ(admitted(result.journal, {result.turnouts.back().from, at(300)},
                       [](const Ending& e) { return e.origin == Origin::caller; }),
              0);
  }
}

// A server that stands still from 12 to 40 s answers no probe: those of 15, 20 and 25 s are given
// up after a second each. The one of 40 s is answered.
TEST(Readiness, TakesOutOneThatStandsStill) {
  Scenario scenario = fleet_of(1, 10, 60);
  scenario.services[0].server.workers = ServerModel::kUnlimited;
  scenario.services[0].server.speed = {1.0, {{at(12), 0.0}, {at(40), 1.0}}};
  scenario.services[0].readiness = Readiness{.tied_to_load = true};
  const Result result = run(scenario, 1);
  ASSERT_EQ(result.turnouts.size(), 3U);
  EXPECT_EQ(result.turnouts[1].from, at(26));
  EXPECT_EQ(result.turnouts[1].in_turn, 0U);
  EXPECT_EQ(result.turnouts[2].from, at(40.001));
  EXPECT_EQ(result.turnouts[2].in_turn, 1U);
  for (const Ending& e : result.journal) {
    if (e.origin == Origin::caller) {
      const bool nobody = e.offered > at(26) && e.offered < at(40.001);
      EXPECT_EQ(e.fate == Fate::failed, nobody);
    }
  }
}

// A third of the probes fail, each for itself: three in a row take an instance out.
TEST(Readiness, ProbesFailEachForItself) {
  Scenario scenario = fleet_of(100, 1, 3000);
  scenario.services[0].server.failing = 1.0 / 3;
  scenario.services[0].readiness = Readiness{.tied_to_load = true};
  const auto failed = [](const Journal& journal) {
    return share(
        journal, {}, [](const Ending& e) { return e.fate == Fate::failed; },
        [](const Ending& e) { return e.origin == Origin::probe; });
  };
  expect_agrees(estimate([&](std::uint64_t seed) { return failed(run(scenario, seed).journal); }),
                1.0 / 3, 0.002);
  // Chain of failures in a row: 0, 1, 2 in turn, then out until one succeeds. Out is a state for
  // p^3 / (1 - p^3 + p^3) of the probes, that is p^3.
  expect_agrees(estimate([&](std::uint64_t seed) {
                  double out = 0;
                  Instant since{};
                  std::uint32_t in_turn = 100;
                  for (const Fleet::Turnout& t : run(scenario, seed).turnouts) {
                    out += (100 - in_turn) * seconds(t.from - since);
                    since = t.from;
                    in_turn = t.in_turn;
                  }
                  return (out + (100 - in_turn) * seconds(at(3000) - since)) / 3000 / 100;
                }),
                1.0 / 27, 0.01);
}

// From 60 s on more is asked than one instance can do: the look at 75 s sees it, and two minutes
// later there are two. Nobody is ordered twice in between.
TEST(Scaling, ComesTwoMinutesLate) {
  Scenario scenario = fleet_of(1, 0, 300);
  scenario.populations[0].arrivals = Arrivals::poisson({600, {{at(60), 1250}}});
  scenario.services[0].server.workers = 10;
  scenario.services[0].gate = gate_of(10);
  scenario.services[0].scaling = Scaling{.most = 10};
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const Result result = run(scenario, seed);
    ASSERT_EQ(result.turnouts.size(), 2U);
    EXPECT_EQ(result.turnouts[1].from, at(75 + 120));
    EXPECT_EQ(result.turnouts[1].in_turn, 2U);
    EXPECT_NEAR(goodput(result.journal, {at(80), at(195)}), 1000, 20);
    EXPECT_NEAR(goodput(result.journal, {at(200), at(300)}), 1250, 40);
  }
}

// Ten times the load: the utilization seen is never above 1, so each look orders at most 1 / 0.7 of
// what is there: 2, 3, 5, 8, 12 ... by 135 s each, with the wait for the busy ones in between.
TEST(Scaling, GrowsByTheRuleUntilThereAreEnough) {
  Scenario scenario = fleet_of(1, 0, 1200);
  scenario.populations[0].arrivals = Arrivals::even({600, {{at(60), 8000}}});
  scenario.populations[0].work = Distribution::fixed(kTenMs);
  scenario.services[0].server.workers = 10;
  scenario.services[0].gate = gate_of(10);
  scenario.services[0].scaling = Scaling{.most = 100};
  const Result result = run(scenario, 1);
  // Busy for all of the 15 s: ceil(n / 0.7) of n.
  std::vector<std::uint32_t> seen;
  for (const Fleet::Turnout& t : result.turnouts) {
    seen.push_back(t.in_turn);
  }
  EXPECT_EQ(seen, (std::vector<std::uint32_t>{1, 2, 3, 5, 8, 12}));
  // 12 * 1,000 for 8,000: 0.67 of 0.7, and they stay.
  EXPECT_NEAR(goodput(result.journal, {at(1000), at(1200)}), 8000, 80);
}

// An instance that came later is asked whether it is ready, as the others are.
TEST(Scaling, BringsInstancesThatAreProbed) {
  Scenario scenario = fleet_of(1, 0, 300);
  scenario.populations[0].arrivals = Arrivals::poisson({600, {{at(60), 1250}}});
  scenario.services[0].server.workers = 10;
  scenario.services[0].gate = gate_of(10);
  scenario.services[0].scaling = Scaling{.most = 2};
  scenario.services[0].readiness = Readiness{.tied_to_load = true};
  std::map<std::uint32_t, int> probes;
  for (const Ending& e : run(scenario, 1).journal) {
    probes[e.instance] += e.origin == Origin::probe ? 1 : 0;
  }
  EXPECT_EQ(probes[0], 59);
  EXPECT_EQ(probes[1], 20);
}

// What is looked at again and again does not keep a run from its end. Ten times ten seconds, and
// the three probes of a millisecond that came in between.
TEST(ARunThatDrains, EndsWithTheLastOfItsCalls) {
  Scenario scenario = fleet_of(1, 0, 20);
  scenario.populations[0] = {.arrivals = Arrivals::bursts({at(1)}, 10),
                             .work = Distribution::fixed(Duration::seconds(10)),
                             .patience = Duration::seconds(1000)};
  scenario.populations[0].retry = {.attempts = 2, .after_timeout = true};
  scenario.services[0].scaling = Scaling{.most = 1};
  scenario.services[0].readiness = Readiness{.tied_to_load = true};
  scenario.drains = true;
  const Result result = run(scenario, 1);
  EXPECT_EQ(result.ended, at(101.003));
  EXPECT_EQ(count(result.journal, [](const Ending& e) { return e.good(); }), 10U);
  scenario.drains = false;
  EXPECT_EQ(run(scenario, 1).ended, at(20));
}

// With 10,000 instances a call costs about what it costs with one: otherwise this would take
// minutes, and more memory than there is.
TEST(ManyInstances, AreAsQuickAsFew) {
  for (const auto balance : {ServiceModel::Balance::in_turn, ServiceModel::Balance::least_loaded}) {
    Scenario scenario = fleet_of(10'000, 500'000, 1, balance);
    scenario.services[0].gate = gate_of(1);
    scenario.services[0].gate->queue_room = 16;
    scenario.services[0].gate->policy.queue = QueueSize::at_most(16);
    const Result result = run(scenario, 1);
    EXPECT_NEAR(static_cast<double>(result.journal.size()), 500'000, 5000);
    EXPECT_EQ(result.watch.miscounts, 0U);
  }
}

}  // namespace
}  // namespace loadline::sim::test
