// Outcomes of small runs, as the tests of what is printed and drawn need them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "loadline/policy.h"
#include "sim/seconds.h"
#include "sim/world.h"
#include "sim_outcome.h"

namespace loadline::tools::test {

// 10 workers, exponential 10 ms, callers of two kinds with 200 ms; half as much again as they can
// do from a third of the run to two thirds of it.
inline sim::Scenario two_kinds(double length, std::optional<std::uint32_t> limit) {
  sim::Population important{.name = "web",
                            .arrivals = sim::Arrivals::poisson(300),
                            .work = sim::Distribution::exponential(Duration::millis(10)),
                            .patience = Duration::millis(200)};
  sim::Population other = important;
  other.name = "batch";
  other.importance = 2;
  other.arrivals =
      sim::Arrivals::poisson({500, {{sim::at(length / 3), 1200}, {sim::at(length * 2 / 3), 500}}});
  sim::Scenario scenario;
  scenario.populations = {important, other};
  scenario.services[0].server.workers = 10;
  scenario.length = sim::duration(length);
  if (limit) {
    sim::GateModel gate;
    gate.policy.limit = *limit;
    fill_defaults(gate.policy);
    scenario.services[0].gate = gate;
  }
  return scenario;
}

inline SimPolicyOutcome outcome_of(std::string name, const sim::Scenario& scenario,
                                   std::uint64_t seeds = 1) {
  SimPolicyOutcome outcome;
  outcome.policy = std::move(name);
  outcome.parts = {{"", SimPart::Kind::all, {}}};
  for (std::size_t i = 0; i < scenario.populations.size(); ++i) {
    outcome.parts.push_back({scenario.populations[i].name, SimPart::Kind::callers, {}});
  }
  sim::Selection selection;
  selection.span = {Instant{}, Instant{} + scenario.length};
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const sim::Result result = sim::run(scenario, seed);
    outcome.parts[0].by_seed.push_back(sim::summarize(result.journal, selection));
    for (std::size_t i = 0; i < scenario.populations.size(); ++i) {
      sim::Selection of_kind = selection;
      of_kind.populations = {static_cast<std::uint16_t>(i)};
      outcome.parts[i + 1].by_seed.push_back(sim::summarize(result.journal, of_kind));
    }
    if (seed == 1) {
      outcome.timeline =
          sim::timeline_of(result.journal, selection.span.to, result.limits, result.turnouts);
    }
  }
  return outcome;
}

inline SimOutcome outcome_of(std::vector<SimPolicyOutcome> policies) {
  SimOutcome outcome;
  outcome.title = "two-kinds.yaml";
  outcome.about =
      "Ten workers, and callers of two kinds who ask for half as much again as they "
      "can do for a third of the run.";
  outcome.policies = std::move(policies);
  return outcome;
}

}  // namespace loadline::tools::test
