// What files of scenarios cannot say of the queue under overload; the rest is in scenarios/queue.
#include <gtest/gtest.h>

#include <cmath>

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

// The limit that all the files have: the least with which twice the capacity gives 0.99 of it.
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

double normal_below(double z) {
  return std::erfc(-z / std::sqrt(2.0)) / 2;
}

// Of the work of a lognormal of mean 10 ms and cv 1, the share in those that take longer than x.
double work_beyond(double x) {
  const double variance = std::log(2.0);
  const double mu = std::log(0.01) - variance / 2;
  return normal_below((mu + variance - std::log(x)) / std::sqrt(variance));
}

// As scenarios/queue/q4.yaml. The tail by which the short ones' waste is judged is the one in the
// time that was left when they started: how long they may wait is the budget's affair, half of
// their deadline at most.
TEST(WhatCannotFinish, IsTheTailOfTheWorkThatWasBegun) {
  struct Row {
    double waste = 0;
    double tail_at_start = 0;
    double beyond = 0;  // points of waste above what the time left at the start explains
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
    double starts = 0;
    for (const Ending& e : journal) {
      if (span.holds(e.offered) && e.admitted() && e.population == 0) {
        row.tail_at_start += work_beyond(seconds(e.deadline - e.started)) * 100;
        ++starts;
      }
    }
    row.tail_at_start /= starts;
    row.waste = waste(journal, span, OfPopulation{0}) * 100;
    row.beyond = row.waste - row.tail_at_start;
    return row;
  });
  shown("waste of the short ones, %", column(rows, &Row::waste));
  shown("their service tail had none of them waited, %", {work_beyond(0.03) * 100});
  shown("their service tail in what was left at the start, %", column(rows, &Row::tail_at_start));
  at_most("waste of the short ones beyond their tail, points", column(rows, &Row::beyond), 0.5);
}

}  // namespace
}  // namespace loadline::sim::test
