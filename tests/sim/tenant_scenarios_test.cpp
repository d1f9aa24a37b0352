// What tenants must achieve, at the right fixed limit. The names in the comments are those of the
// scenarios' list.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "figures.h"
#include "rigs.h"

namespace loadline::sim::test {
namespace {

// 99 who ask for half a percent of the capacity each, and one population that asks for the more.
Scenario light_beside(const Population& greedy, double length, std::uint32_t tenants = 100) {
  Population light = r1_callers(99 * 0.005 * kR1Capacity);
  light.tenants = {.first = 1, .count = 99};
  Scenario scenario = scenario_of({light, greedy}, kR1Workers, length);
  scenario.services[0].gate = gate_of(kR1Workers);
  scenario.services[0].gate->policy.tenants = tenants;
  return scenario;
}

Population greedy_of(double load) {
  Population greedy = r1_callers(load * kR1Capacity);
  greedy.tenants = {.first = 1000, .count = 1};
  return greedy;
}

struct Row {
  double admitted = 0;
  double in_time = 0;
  double goodput = 0;
};

std::vector<Row> rows_of(const Scenario& scenario) {
  const Span span{at(5), Instant{} + scenario.length};
  return over_seeds(kSeeds, [&](std::uint64_t seed) {
    const Journal journal = checked(scenario, seed).journal;
    const OfPopulation light{0};
    return Row{admitted(journal, span, light) * 100, in_time(journal, span, light) * 100,
               goodput(journal, span) / kR1Capacity};
  });
}

void expect_light_unharmed(const std::vector<Row>& rows, double admitted = 99.5,
                           double in_time = 99.4) {
  at_least("light ones admitted, %", column(rows, &Row::admitted), admitted);
  at_least("light ones in time, %", column(rows, &Row::in_time), in_time);
}

// P4
TEST(LightTenants, AreNotHarmedByAGreedyOne) {
  const auto rows = rows_of(light_beside(greedy_of(2), 65));
  expect_light_unharmed(rows);
  at_least("goodput / C", column(rows, &Row::goodput), 0.97);
}

// P4
TEST(LightTenants, AreNotHarmedByAGreedyOneOfFiftyNames) {
  Population greedy = greedy_of(2);
  greedy.tenants = {.first = 1000, .count = 50, .group = 0};
  Scenario scenario = light_beside(greedy, 65);
  add_group(scenario.services[0].gate->policy, "greedy", 1);
  const auto rows = rows_of(scenario);
  expect_light_unharmed(rows);
  at_least("goodput / C", column(rows, &Row::goodput), 0.97);
}

// P4. The greedy one asks for twice the capacity in work. Nobody is interrupted, so where the light
// ones pause for a moment, the slots fill with work of 100 ms; with no fixed limit do they reach
// 99.5 and 99.4 %. The figure is therefore 97 % of the best limit's.
TEST(LightTenants, AreNotHarmedByAGreedyOneOfTenfoldCost) {
  Population greedy = greedy_of(0.2);
  greedy.work = Distribution::lognormal(Duration::millis(100), 1);
  greedy.patience = Duration::seconds(1);
  Scenario scenario = light_beside(greedy, 65);
  const auto rows = rows_of(scenario);
  double most_admitted = 0;
  double most_in_time = 0;
  for (const std::uint32_t limit : {kR1Workers, kR1Workers + 1, kR1Workers + 2}) {
    scenario.services[0].gate->policy.limit = limit;
    const auto tried = rows_of(scenario);
    most_admitted = std::max(most_admitted, least(column(tried, &Row::admitted)));
    most_in_time = std::max(most_in_time, least(column(tried, &Row::in_time)));
  }
  shown("with the best limit: admitted, %", {most_admitted});
  shown("with the best limit: in time, %", {most_in_time});
  expect_light_unharmed(rows, std::min(99.5, 0.97 * most_admitted),
                        std::min(99.4, 0.97 * most_in_time));
}

// P7. A million callers who are strangers to one another are a million tenants, and fair shares are
// theirs; it is the group of the unknown that makes one of them.
TEST(AMillionNames, DoNotHarmTheKnown) {
  Population flood = r1_callers(5 * kR1Capacity);
  flood.tenants = {
      .first = 1000, .count = 1'000'000, .choice = Tenants::Choice::in_turn, .group = 0};
  Scenario scenario = light_beside(flood, 65, 10'000);
  add_group(scenario.services[0].gate->policy, "unknown", 1);
  const auto rows = rows_of(scenario);
  expect_light_unharmed(rows);
  at_least("goodput / C", column(rows, &Row::goodput), 0.97);
}

}  // namespace
}  // namespace loadline::sim::test
