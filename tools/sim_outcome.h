// What `loadline sim` has to tell: the figures of each policy and what they look like over time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "loadline/limit/sample.h"
#include "sim/summary.h"
#include "sim/timeline.h"

namespace loadline::tools {

// A part of the attempts: all, a kind of callers, a class, a service.
struct SimPart {
  std::string name;  // empty: all
  enum class Kind : std::uint8_t { all, callers, of_class, service } kind = Kind::all;
  std::vector<sim::Summary> by_seed;
};

struct SimVerdict {
  std::string text;  // what was expected
  std::string seen;  // "6050", "98.4 ms (97.1 to 98.4)"
  bool holds = false;
};

// The best fixed limits, and what they reached; by seed the same as SimPart.
struct SimOracleFound {
  std::vector<std::uint32_t> limits;  // one a phase
  std::vector<sim::Summary> by_seed;
};

// What the law of one gate did.
struct SimLimitSteps {
  std::string gate;  // its service and instance; empty: there is one gate
  std::vector<LimitEvent> events;
};

struct SimPolicyOutcome {
  std::string policy;
  std::vector<SimPart> parts;  // all; then callers, classes and services, where there are several
  sim::Timeline timeline;      // of the first seed
  std::vector<SimLimitSteps> limit_steps;  // the same; of gates with a law
  std::vector<SimVerdict> verdicts;
};

// What an expectation is of, by seed: a figure, or a share of another's where it compares.
struct SimReached {
  std::vector<double> by_policy;
  std::vector<double> by_oracle;  // had it been in the policy's place; empty: not looked for
};

struct SimOutcome {
  std::string title;  // the file's name, or what was replayed
  std::string about;
  std::uint64_t first_seed = 1;
  std::vector<SimPolicyOutcome> policies;
  std::optional<SimOracleFound> oracle;
  std::vector<SimReached> reached;  // by expectation of the file
  double virtual_seconds = 0;       // of all runs
  double wall_seconds = 0;
};

}  // namespace loadline::tools
