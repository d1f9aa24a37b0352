// The gate as a textbook's bound, beside queueing theory. Here the simulator and the gate are tried
// together: what the gate admits, queues and times out must come out as the formulas say.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "rigs.h"
#include "statistics.h"

namespace loadline::sim::test {
namespace {

// M/M/c/K: c slots, K - c places, and a budget that never runs out. The tables are for 100 a second
// and worker; this is ten times as fast, so that a gate that ticks every 10 ms has more to do than
// to tick.
constexpr double kFaster = 10;

Scenario bounded(double table_per_second, std::uint32_t c, std::uint32_t k, double requests) {
  const double per_second = table_per_second * kFaster;
  const Population callers{.arrivals = Arrivals::poisson(per_second),
                           .work = Distribution::exponential(Duration::millis(1))};
  Scenario scenario = scenario_of({callers}, c, requests / per_second);
  GateModel gate;
  gate.policy.limit = c;
  gate.policy.queue = k == c ? QueueSize::none() : QueueSize::at_most(k - c);
  gate.policy.discipline = Discipline::fifo;
  gate.policy.wait_budget = Duration::seconds(3600);
  gate.queue_room = std::max(k - c, 1U);
  add_class(gate.policy, "all");
  scenario.services[0].gate = gate;
  return scenario;
}

Span all_but_the_start(const Scenario& scenario) {
  return {Instant{} + Duration{scenario.length.ns / 20}, Instant{} + scenario.length};
}

template <class Of>
Estimate of_run(const Scenario& scenario, Of of) {
  return estimate([&](std::uint64_t seed) -> double {
    const Result result = run(scenario, seed);
    EXPECT_EQ(result.watch.idle_beside_waiter, 0U);
    EXPECT_EQ(result.watch.miscounts, 0U);
    return of(result.journal, all_but_the_start(scenario));
  });
}

double blocked(const Journal& journal, Span span) {
  return share(journal, span, [](const Ending& e) { return e.fate == Fate::refused; });
}

double mean_time(const Journal& journal, Span span) {
  double sum = 0;
  double n = 0;
  for (const Ending& e : journal) {
    if (e.fate == Fate::answered && span.holds(e.offered)) {
      sum += seconds(e.ended - e.offered);
      ++n;
    }
  }
  return sum / n;
}

double mean_inside(const Journal& journal, Span span) {
  double sum = 0;
  for (const Ending& e : journal) {
    if (e.fate == Fate::answered) {
      const Duration inside = std::min(e.ended, span.to) - std::max(e.offered, span.from);
      sum += std::max(seconds(inside), 0.0);
    }
  }
  return sum / seconds(span.to - span.from);
}

double mean_wait(const Journal& journal, Span span, std::uint8_t importance) {
  double sum = 0;
  double n = 0;
  for (const Ending& e : journal) {
    if (e.fate == Fate::answered && e.importance == importance && span.holds(e.offered)) {
      sum += seconds(e.started - e.offered);
      ++n;
    }
  }
  return sum / n;
}

TEST(AFixedQueue, BlocksOneWorkersCallersAsMM1KDoes) {
  const struct {
    double per_second;
    std::uint32_t k;
    double blocked;
  } cases[] = {{50, 5, 0.01587301587}, {80, 5, 0.08881949866},  {90, 10, 0.05081373133},
               {100, 10, 1.0 / 11},    {120, 10, 0.1925864951}, {200, 10, 0.5002442599},
               {200, 20, 0.5000002384}};
  for (const auto& c : cases) {
    expect_agrees(of_run(bounded(c.per_second, 1, c.k, 3e4), blocked), c.blocked, 0.05);
  }
  expect_agrees(of_run(bounded(120, 1, 10, 5e4), mean_time), 0.06926137844 / kFaster, 0.01);
  expect_agrees(of_run(bounded(120, 1, 10, 5e4), mean_inside), 6.710708678, 0.01);
  expect_agrees(
      of_run(bounded(120, 1, 10, 5e4), [](const Journal& j, Span s) { return goodput(j, s); }),
      96.88962058 * kFaster, 0.005);
}

TEST(NoQueue, BlocksAsErlangBSays) {
  const struct {
    std::uint32_t c;
    double load;
    double blocked;
  } cases[] = {{1, 1, 0.5},
               {2, 1, 0.2},
               {5, 3, 0.110054347826},
               {10, 5, 0.0183845703366},
               {10, 8, 0.121661064253},
               {10, 10, 0.214582343107},
               {20, 12, 0.00979563942},
               {100, 84.064, 0.0099999683},
               {100, 100, 0.0757004527109},
               {100, 150, 0.345373434972}};
  for (const auto& c : cases) {
    expect_agrees(of_run(bounded(100 * c.load, c.c, c.c, 3e4), blocked), c.blocked, 0.06);
  }
}

TEST(AFixedQueue, BlocksAndDelaysAsMMcKDoes) {
  expect_agrees(of_run(bounded(800, 10, 20, 1e5), blocked), 0.009107178747, 0.05);
  expect_agrees(of_run(bounded(1500, 10, 20, 4e4), blocked), 0.3344216839, 0.005);
  expect_agrees(of_run(bounded(1500, 10, 20, 4e4), mean_time), 0.018074 / kFaster, 0.005);
  expect_agrees(of_run(bounded(1500, 10, 30, 4e4), blocked), 0.3333521466, 0.005);
  expect_agrees(of_run(bounded(1500, 10, 30, 4e4), mean_time), 0.02800212543 / kFaster, 0.005);
  expect_agrees(
      of_run(bounded(1500, 10, 30, 4e4), [](const Journal& j, Span s) { return goodput(j, s); }),
      999.97178 * kFaster, 0.003);
}

// M/M/1 whose callers go when they have waited tau: rho * (1 - rho) * e / (1 - rho^2 * e) are lost,
// e = exp((lambda - mu) * tau); 1 / (2 + mu * tau) at rho = 1. The gate is told no service times,
// so it predicts nothing, and its timers alone decide.
TEST(AWaitBudget, LosesThoseWhoWaitItOut) {
  const struct {
    double per_second;
    double budget;
    double lost;
  } cases[] = {{80, 0.05, 0.0769866713}, {100, 0.05, 1.0 / 7},      {120, 0.05, 0.2238554219},
               {120, 0.1, 0.1839553081}, {200, 0.05, 0.5008436645}, {150, 0.01, 0.4563516834}};
  for (const auto& c : cases) {
    Scenario scenario = bounded(c.per_second, 1, 201, 3e4);
    scenario.services[0].gate->policy.wait_budget = duration(c.budget / kFaster);
    scenario.services[0].gate->tells_service_times = false;
    expect_agrees(of_run(scenario, blocked), c.lost, 0.03);
  }
}

// Two classes at one slot, nobody interrupted (Cobham, Operations Research 2, 1954).
TEST(TheMoreImportant, WaitAsNonPreemptivePriorityHasIt) {
  const struct {
    double first;
    double second;
    double first_waits;
    double second_waits;
  } cases[] = {{20, 60, 0.010, 0.050}, {30, 60, 9.0 / 700, 9.0 / 70}, {45, 45, 0.9 / 55, 9.0 / 55}};
  for (const auto& c : cases) {
    Scenario scenario = bounded(c.first, 1, 401, 5e4);
    Population second = scenario.populations[0];
    second.arrivals = Arrivals::poisson(c.second * kFaster);
    second.importance = 1;
    scenario.populations.push_back(second);
    scenario.length = duration(1e5 / kFaster / (c.first + c.second));
    add_class(scenario.services[0].gate->policy, "second");
    const auto waits = over_seeds(kReplications, [&](std::uint64_t seed) {
      const Journal journal = run(scenario, seed).journal;
      const Span span = all_but_the_start(scenario);
      return std::pair{mean_wait(journal, span, 0), mean_wait(journal, span, 1)};
    });
    std::vector<double> first;
    std::vector<double> later;
    for (const auto& [of_first, of_second] : waits) {
      first.push_back(of_first);
      later.push_back(of_second);
    }
    expect_agrees(estimate_of(first), c.first_waits / kFaster, 0.02);
    expect_agrees(estimate_of(later), c.second_waits / kFaster, 0.05);
  }
}

// Max-min shares of 1,000 a second among four who ask for 200, 260, 400 and 500: who asks for less
// than a part has it, and the others what is left, in equal parts. They come evenly and
// alike: the second of them, who asks for nearly his part, would lose a twentieth of it to his own
// bursts.
TEST(Tenants, HaveTheirMaxMinShares) {
  const double demands[] = {200, 260, 400, 500};
  const double shares[] = {200, 260, 270, 270};
  Scenario scenario = scenario_of({}, kR3Workers, 60);
  for (std::uint64_t t = 0; t < 4; ++t) {
    Population tenant = r3_callers(0);
    tenant.arrivals = Arrivals::even(demands[t]);
    tenant.work = Distribution::fixed(kTenMs);
    tenant.tenants = {.first = t + 1, .count = 1};
    scenario.populations.push_back(tenant);
  }
  scenario.services[0].gate = gate_of(kR3Workers);
  scenario.services[0].gate->policy.tenants = 16;
  const auto runs = over_seeds(kReplications, [&](std::uint64_t seed) {
    const Journal journal = run(scenario, seed).journal;
    std::vector<double> served;
    for (std::uint8_t t = 0; t < 4; ++t) {
      served.push_back(goodput(journal, {at(5), at(60)}, OfPopulation{t}));
    }
    return served;
  });
  for (std::size_t t = 0; t < 4; ++t) {
    std::vector<double> served;
    for (const auto& one : runs) {
      served.push_back(one[t]);
    }
    const Estimate seen = estimate_of(served);
    // Some of each one's are in a line that is too long just then.
    EXPECT_NEAR(seen.mean, shares[t], 0.03 * shares[t] + 3 * seen.error) << t;
  }
}

}  // namespace
}  // namespace loadline::sim::test
