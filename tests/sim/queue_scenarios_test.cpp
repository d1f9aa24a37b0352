// What the queue must achieve under overload, at the right fixed limit. The names in the comments
// are those of the scenarios' list.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "figures.h"
#include "rigs.h"

namespace loadline::sim::test {
namespace {

Scenario r3(std::vector<Population> callers, double length, std::uint32_t limit = kR3Workers) {
  Scenario scenario = scenario_of(std::move(callers), kR3Workers, length);
  scenario.services[0].gate = gate_of(limit);
  return scenario;
}

Scenario r1(std::vector<Population> callers, double length, std::uint32_t limit = kR1Workers) {
  Scenario scenario = scenario_of(std::move(callers), kR1Workers, length);
  scenario.services[0].gate = gate_of(limit);
  return scenario;
}

std::string times(double load) {
  char text[16];
  std::snprintf(text, sizeof text, "%gx: ", load);
  return text;
}

// The limit that all the scenarios have: the least with which twice the capacity gives 0.99 of it.
TEST(TheKnee, IsTheNumberOfWorkers) {
  const auto knee_of = [](std::uint32_t workers, double capacity, double length, auto scenario) {
    std::vector<std::uint32_t> limits;
    for (std::uint32_t limit = workers - 3; limit <= workers + 4; ++limit) {
      limits.push_back(limit);
    }
    return knee(
        sweep(limits,
              [&](std::uint32_t limit) {
                return goodput(run(scenario(limit, length), 1).journal, {at(5), at(length)});
              }),
        capacity);
  };
  EXPECT_EQ(knee_of(kR3Workers, kR3Capacity, 65,
                    [](std::uint32_t limit, double length) {
                      return r3({r3_callers(2000)}, length, limit);
                    }),
            kR3Workers);
  EXPECT_EQ(knee_of(kR1Workers, kR1Capacity, 25,
                    [](std::uint32_t limit, double length) {
                      return r1({r1_callers(6400)}, length, limit);
                    }),
            kR1Workers);
}

// Q1
TEST(Overload, DeliversTheCapacityInTimeAndWithoutWaste) {
  struct Row {
    double goodput = 0;
    double p99 = 0;
    double waste = 0;
  };
  const Span span{at(5), at(65)};
  for (const double load : {1.2, 2.0, 4.0, 10.0}) {
    const Scenario scenario = r3({r3_callers(load * kR3Capacity)}, 65);
    const auto rows = over_seeds(kSeeds, [&](std::uint64_t seed) {
      const Journal journal = checked(scenario, seed).journal;
      return Row{goodput(journal, span) / kR3Capacity, latency(journal, span, 0.99) * 1000,
                 waste(journal, span) * 100};
    });
    at_least(times(load) + "goodput / C", column(rows, &Row::goodput), 0.97);
    at_most(times(load) + "p99 of the admitted, ms", column(rows, &Row::p99), 110);
    at_most(times(load) + "waste, %", column(rows, &Row::waste), 2);
  }
}

// Q2
TEST(ASlowdown, IsFollowedInSecondsAndWastesLittle) {
  struct Row {
    double second_second = 0;
    double twenty_seconds = 0;
    double waste = 0;
  };
  const double slow_capacity = kR3Capacity / 4;
  Scenario scenario = r3({r3_callers(2 * slow_capacity)}, 45);
  scenario.services[0].server.speed = {1.0, {{at(20), 0.25}}};
  const auto rows = over_seeds(kSeeds, [&](std::uint64_t seed) {
    const Journal journal = checked(scenario, seed).journal;
    const Span after{at(20), at(40)};
    return Row{goodput(journal, {at(21), at(22)}) / slow_capacity,
               goodput(journal, after) / slow_capacity, waste(journal, after) * 100};
  });
  at_least("2nd second, goodput / new C", column(rows, &Row::second_second), 0.80);
  at_least("20 s, goodput / new C", column(rows, &Row::twenty_seconds), 0.95);
  at_most("20 s, waste, %", column(rows, &Row::waste), 6.5);
}

// Q3
TEST(ShortAndLongDeadlines, AreBothServed) {
  struct Row {
    double goodput = 0;
    double of_short = 0;
    double waste = 0;
  };
  Population hasty = r3_callers(0.6 * kR3Capacity);
  hasty.patience = Duration::millis(50);
  Population patient = hasty;
  patient.patience = Duration::seconds(1);
  const Scenario scenario = r3({hasty, patient}, 65);
  const auto rows = over_seeds(kSeeds, [&](std::uint64_t seed) {
    const Journal journal = checked(scenario, seed).journal;
    const Span span{at(5), at(65)};
    return Row{goodput(journal, span) / kR3Capacity, in_time(journal, span, OfPopulation{0}) * 100,
               waste(journal, span) * 100};
  });
  at_least("goodput / C", column(rows, &Row::goodput), 0.98);
  at_least("short ones in time, %", column(rows, &Row::of_short), 75);
  at_most("waste, %", column(rows, &Row::waste), 3.5);
}

double normal_below(double z) {
  return std::erfc(-z / std::sqrt(2.0)) / 2;
}

// Of the work of a lognormal of mean 10 ms and cv 1, the share in those that take longer than x.
double work_beyond(double x) {
  const double variance = std::log(2.0);
  const double mu = std::log(0.01) - variance / 2;
  return normal_below((mu + variance - std::log(x)) / std::sqrt(variance));
}

// Q4. The tail by which the short ones' waste is judged is the one in the time that was left when
// they started: how long they may wait is the budget's affair, half of their deadline at most.
TEST(WhatCannotFinish, IsNotStartedAndIsToldAtOnce) {
  struct Row {
    double least_left = 1e9;   // of those who started, in ms
    double told_late = 0;      // hopeless ones told later than 1 ms
    double hopeless = 0;       // those told as much
    double wasted_beyond = 0;  // points of waste above what the time left at the start explains
    double short_waste = 0;
    double tail_at_start = 0;
  };
  Population hasty = r1_callers(0.65 * kR1Capacity);
  hasty.patience = Duration::millis(30);
  Population patient = hasty;
  patient.patience = Duration::millis(500);
  Population hopeless = r1_callers(0.01 * kR1Capacity);
  hopeless.patience = Duration::millis(5);
  const Scenario scenario = r1({hasty, patient, hopeless}, 125);
  const auto rows = over_seeds(kSeeds, [&](std::uint64_t seed) {
    const Journal journal = checked(scenario, seed).journal;
    const Span span{at(5), at(125)};
    Row row;
    double short_starts = 0;
    for (const Ending& e : journal) {
      if (!span.holds(e.offered)) {
        continue;
      }
      if (e.admitted()) {
        const double left = seconds(e.deadline - e.started);
        row.least_left = std::min(row.least_left, left * 1000);
        if (e.population == 0) {
          row.tail_at_start += work_beyond(left) * 100;
          ++short_starts;
        }
      }
      if (e.population == 2) {
        ++row.hopeless;
        row.told_late +=
            is_deadline(e.reason) && e.ended - e.offered <= Duration::millis(1) ? 0 : 1;
      }
    }
    row.tail_at_start /= short_starts;
    row.short_waste = waste(journal, span, OfPopulation{0}) * 100;
    row.wasted_beyond = row.short_waste - row.tail_at_start;
    return row;
  });
  at_least("hopeless ones", column(rows, &Row::hopeless), 100);
  at_most("hopeless ones not told within 1 ms", column(rows, &Row::told_late), 0);
  at_least("least time left at a start, ms", column(rows, &Row::least_left), 10);
  shown("waste of the short ones, %", column(rows, &Row::short_waste));
  shown("their service tail had none of them waited, %", {work_beyond(0.03) * 100});
  shown("their service tail in what was left at the start, %", column(rows, &Row::tail_at_start));
  at_most("waste of the short ones beyond their tail, points", column(rows, &Row::wasted_beyond),
          0.5);
}

// Q5
Scenario stopped_with_five_thousand_waiting() {
  Population waiting{.arrivals = Arrivals::bursts({at(10)}, 5000),
                     .work = Distribution::exponential(kTenMs),
                     .patience = Duration::seconds(2)};
  Population later = waiting;
  later.arrivals = Arrivals::bursts({at(15)}, 1);
  Scenario scenario = r3({waiting, later}, 20);
  scenario.services[0].gate->queue_room = 6000;
  scenario.services[0].gate->policy.queue = QueueSize::at_most(6000);
  scenario.services[0].gate->policy.wait_budget = Duration::seconds(60);
  scenario.services[0].server.speed = {1.0, {{at(10), 0.0}, {at(15), 1.0}}};
  return scenario;
}

void expect_swept_at_fifteen(const Scenario& scenario) {
  const Result result = run(scenario, 1);
  EXPECT_GE(result.watch.peak_waiting, 4900U);
  for (const Ending& e : result.journal) {
    if (e.population == 1) {
      EXPECT_TRUE(e.good());
      EXPECT_LE(e.started - e.offered, Duration::millis(50));
    } else if (e.admitted()) {
      EXPECT_LT(e.started, e.deadline);
    } else {
      EXPECT_LE(e.ended, at(15.010));
    }
  }
}

// Q5
TEST(TheDead, AreClearedAtOnceWhenAStoppedServerGoesOn) {
  expect_swept_at_fifteen(stopped_with_five_thousand_waiting());
}

// Q5: the host stops with it.
TEST(TheDead, AreClearedAtOnceWhenAStoppedHostGoesOn) {
  Scenario scenario = stopped_with_five_thousand_waiting();
  scenario.services[0].gate->stopped = {false, {{at(10.001), true}, {at(15), false}}};
  expect_swept_at_fifteen(scenario);
}

// Q6
TEST(AnOverload, IsForgottenWhenItIsOver) {
  constexpr int kCycles = 20;
  std::vector<Steps<double>::Change> rate;
  std::vector<Instant> bursts;
  for (int i = 0; i < kCycles; ++i) {
    const double start = 70.0 * i;
    rate.push_back({at(start), 2 * kR3Capacity});
    rate.push_back({at(start + 3), 0});
    bursts.push_back(at(start + 63));
  }
  Population overload = r3_callers({0, rate});
  Population burst = r3_callers(0);
  burst.arrivals = Arrivals::bursts(bursts, 60);
  const Scenario scenario = r3({overload, burst}, 70.0 * kCycles);
  const auto refused_of = over_seeds(kSeeds, [&](std::uint64_t seed) {
    const Journal journal = checked(scenario, seed).journal;
    EXPECT_EQ(count(journal, OfPopulation{1}), 60U * kCycles);
    return static_cast<double>(count(
        journal, [](const Ending& e) { return e.population == 1 && e.fate == Fate::refused; }));
  });
  at_most("refused of 20 bursts of 60", refused_of, 0);
}

// Q7
TEST(CallersWhoGo, LeaveNothingBehind) {
  Population callers{.arrivals = Arrivals::bursts({at(1)}, 1010),
                     .work = Distribution::fixed(Duration::seconds(1)),
                     .patience = Duration::millis(500),
                     .tells_deadline = false,
                     .departs = true};
  Scenario scenario = r3({callers}, 1.55);
  scenario.services[0].gate->policy.queue = QueueSize::at_most(1000);
  scenario.services[0].gate->policy.wait_budget = Duration::seconds(10);
  const Result result = checked(scenario, 1);
  EXPECT_EQ(result.watch.peak_waiting, 1000U);
  EXPECT_EQ(result.snapshots[0].waiting, 0U);
  EXPECT_EQ(result.snapshots[0].classes[0].cancelled, 1000U);
  EXPECT_EQ(result.snapshots[0].classes[0].admitted, 10U);
}

// Q8. Half of the capacity in work: one in a hundred brings twenty times the work, so 1.19 means a
// request.
TEST(HeavyRequests, LeaveTheLightOnesAlone) {
  struct Row {
    double ratio = 0;
    double refused = 0;
  };
  const auto try_on = [](const std::string& rig, std::uint32_t workers, Population light,
                         const Distribution& twentyfold) {
    const double requests = 0.5 * workers * 100 / 1.19;
    light.arrivals = Arrivals::poisson(0.99 * requests);
    light.patience = Duration::max();
    Population heavy = light;
    heavy.arrivals = Arrivals::poisson(0.01 * requests);
    heavy.work = twentyfold;
    heavy.cost = 100;
    Scenario alone = scenario_of({light}, workers, 125);
    alone.services[0].gate = gate_of(workers);
    Scenario both = scenario_of({light, heavy}, workers, 125);
    both.services[0].gate = gate_of(workers);
    const Span span{at(5), at(125)};
    const auto rows = over_seeds(kSeeds, [&](std::uint64_t seed) {
      const Journal journal = checked(both, seed).journal;
      const OfPopulation cheap{0};
      return Row{latency(journal, span, 0.99, cheap) /
                     latency(checked(alone, seed).journal, span, 0.99, cheap),
                 (1 - admitted(journal, span, cheap)) * 100};
    });
    at_most(rig + ": p99 of the cheap / alone", column(rows, &Row::ratio), 2);
    at_most(rig + ": refused of the cheap, %", column(rows, &Row::refused), 0.5);
  };
  const Duration twenty = Duration::millis(200);
  try_on("R1", kR1Workers, r1_callers(0), Distribution::lognormal(twenty, 1));
  try_on("R3", kR3Workers, r3_callers(0), Distribution::exponential(twenty));
}

}  // namespace
}  // namespace loadline::sim::test
