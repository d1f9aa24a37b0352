// What classes must achieve under overload, at the right fixed limit. The names in the comments are
// those of the scenarios' list.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>

#include "figures.h"
#include "rigs.h"

namespace loadline::sim::test {
namespace {

constexpr std::array<double, 4> kMix = {0.1, 0.2, 0.3, 0.4};

Scenario by_class(const std::array<Steps<double>, 4>& rates, double length) {
  std::vector<Population> callers;
  for (std::size_t c = 0; c < rates.size(); ++c) {
    callers.push_back(r1_callers(rates[c]));
    callers.back().importance = static_cast<std::uint8_t>(c);
  }
  Scenario scenario = scenario_of(std::move(callers), kR1Workers, length);
  scenario.services[0].gate = gate_of(kR1Workers);
  return scenario;
}

std::array<Steps<double>, 4> mix_at(double load) {
  std::array<Steps<double>, 4> rates;
  for (std::size_t c = 0; c < rates.size(); ++c) {
    rates[c] = kMix[c] * load * kR1Capacity;
  }
  return rates;
}

bool upper(const Ending& e) {
  return e.importance < 2;
}

// Of those started in `span`, the share in %.
double starts_of(const Journal& journal, Span span, std::uint8_t importance) {
  const double all =
      static_cast<double>(count(journal, [&](const Ending& e) { return span.holds(e.started); }));
  return 100 *
         static_cast<double>(count(journal,
                                   [&](const Ending& e) {
                                     return span.holds(e.started) && e.importance == importance;
                                   })) /
         all;
}

// P1
TEST(TheImportant, AreServedAsIfTheyWereAlone) {
  struct Row {
    double admitted = 0;
    double in_time = 0;
    double goodput = 0;
  };
  const Scenario scenario = by_class(mix_at(2), 65);
  const Span span{at(5), at(65)};
  const auto rows = over_seeds(kSeeds, [&](std::uint64_t seed) {
    const Journal journal = checked(scenario, seed).journal;
    return Row{admitted(journal, span, upper) * 100, in_time(journal, span, upper) * 100,
               goodput(journal, span) / kR1Capacity};
  });
  at_least("two upper classes admitted, %", column(rows, &Row::admitted), 99.99);
  at_least("two upper classes in time, %", column(rows, &Row::in_time), 99.88);
  at_least("goodput / C", column(rows, &Row::goodput), 0.97);
}

// P1: the mix is turned round.
TEST(TheImportant, AreServedATenthOfASecondAfterTheMixFlips) {
  struct Row {
    double first = 0;
    double lower = 0;
    double goodput = 0;
  };
  std::array<Steps<double>, 4> rates;
  for (std::size_t c = 0; c < rates.size(); ++c) {
    const double load = 2 * kR1Capacity;
    rates[c] = {kMix[c] * load, {{at(10), kMix[3 - c] * load}}};
  }
  const Scenario scenario = by_class(rates, 20);
  const Span after{at(10.1), at(19)};
  const auto rows = over_seeds(kSeeds, [&](std::uint64_t seed) {
    const Journal journal = checked(scenario, seed).journal;
    return Row{admitted(journal, after, OfClass{0}) * 100,
               admitted(journal, after, [](const Ending& e) { return e.importance > 1; }) * 100,
               goodput(journal, after) / kR1Capacity};
  });
  at_least("first class admitted, %", column(rows, &Row::first), 99.99);
  at_most("two lower classes admitted, %", column(rows, &Row::lower), 1);
  at_least("goodput / C", column(rows, &Row::goodput), 0.97);
}

// P2
TEST(AGuarantee, GivesTheLowestItsShare) {
  struct Row {
    double lowest = 0;
    double upper = 0;
    double goodput = 0;
  };
  Scenario scenario = by_class(mix_at(2), 65);
  scenario.services[0].gate->policy.classes[3].guarantee = 50;
  const Span span{at(5), at(65)};
  const auto rows = over_seeds(kSeeds, [&](std::uint64_t seed) {
    const Journal journal = checked(scenario, seed, Passing::by_guarantee).journal;
    return Row{starts_of(journal, span, 3), admitted(journal, span, upper) * 100,
               goodput(journal, span) / kR1Capacity};
  });
  at_least("starts of the lowest, %", column(rows, &Row::lowest), 4.5);
  at_most("starts of the lowest, %", column(rows, &Row::lowest), 5.5);
  at_least("two upper classes admitted, %", column(rows, &Row::upper), 99.99);
  at_least("goodput / C", column(rows, &Row::goodput), 0.97);
}

// P3
TEST(AGuarantee, HoldsWhileTheHighestAskForMoreThanThereIs) {
  constexpr std::array<std::uint16_t, 4> kGuarantees = {0, 100, 50, 50};
  Scenario scenario =
      by_class({1.5 * kR1Capacity, 0.3 * kR1Capacity, 0.3 * kR1Capacity, 0.3 * kR1Capacity}, 65);
  for (std::size_t c = 0; c < kGuarantees.size(); ++c) {
    scenario.services[0].gate->policy.classes[c].guarantee = kGuarantees[c];
  }
  const Span span{at(5), at(65)};
  const auto journals = over_seeds(kSeeds, [&](std::uint64_t seed) {
    const Journal journal = checked(scenario, seed, Passing::by_guarantee).journal;
    std::array<double, 4> starts{};
    for (std::uint8_t c = 1; c < 4; ++c) {
      starts[c] = starts_of(journal, span, c);
    }
    return starts;
  });
  for (std::size_t c = 1; c < kGuarantees.size(); ++c) {
    std::vector<double> starts;
    for (const auto& of_seed : journals) {
      starts.push_back(of_seed[c]);
    }
    const std::string what = "starts of class " + std::to_string(c) + ", %";
    at_least(what, starts, kGuarantees[c] / 10.0 - 0.5);
    at_most(what, starts, kGuarantees[c] / 10.0 + 0.5);
  }
}

// P6: weights of 10 that are held for a minute, more of them than there is room for; they come
// first.
TEST(HeavyRequests, LeaveHalfOfTheLimitToTheLightOnes) {
  struct Row {
    double light = 0;
    double heavy = 0;
  };
  const Population light{.arrivals = Arrivals::poisson({0, {{at(5), 3000}}}),
                         .work = Distribution::exponential(Duration::millis(50)),
                         .patience = Duration::seconds(1)};
  const Population heavy{.arrivals = Arrivals::poisson(20),
                         .work = Distribution::fixed(Duration::seconds(60)),
                         .cost = 10};
  Scenario scenario = scenario_of({light, heavy}, ServerModel::kUnlimited, 60);
  scenario.services[0].gate = gate_of(100);
  const Span span{at(6), at(60)};
  // What they hold inside the span, in % of the limit of 100; whole nanoseconds, so that half is
  // half.
  const auto held = [&](const Journal& journal, std::uint8_t population, std::int64_t cost) {
    std::int64_t sum = 0;
    for (const Ending& e : journal) {
      if (e.population == population && e.admitted()) {
        const Duration inside = std::min(e.ended, span.to) - std::max(e.started, span.from);
        sum += std::max<std::int64_t>(inside.ns, 0) * cost;
      }
    }
    return static_cast<double>(sum) / static_cast<double>((span.to - span.from).ns);
  };
  const auto rows = over_seeds(kSeeds, [&](std::uint64_t seed) {
    const Journal journal = checked(scenario, seed).journal;
    return Row{held(journal, 0, 1), held(journal, 1, 10)};
  });
  shown("held by the heavy ones, % of the limit", column(rows, &Row::heavy));
  at_least("held by the light ones, % of the limit", column(rows, &Row::light), 50);
}

}  // namespace
}  // namespace loadline::sim::test
