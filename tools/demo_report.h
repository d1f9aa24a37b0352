// What the demo measured, as a table for people and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace loadline::tools {

// One run at one load, with the gate on or off.
struct DemoRun {
  double goodput = 0;   // answers within the caller's patience, a second
  double p50_ms = 0;    // of the accepted
  double p99_ms = 0;    // of the accepted
  double rejected = 0;  // share of the offered
  double p99_rejection_ms = 0;
  double waste = 0;             // share of the work done for callers who had left
  std::string generator_fault;  // why the generator could not keep up; empty when it could
};

struct DemoRow {
  double load = 0;  // multiple of the capacity
  double rate = 0;  // offered a second
  DemoRun bare = {};
  DemoRun guarded = {};
};

struct DemoReport {
  unsigned workers = 0;
  double service_ms = 0;
  unsigned limit = 0;
  double capacity = 0;  // a second, measured
  std::vector<DemoRow> rows = {};
};

// What the demo promises of every load above the capacity.
inline constexpr double kGuardedAtLeast = 0.97;
inline constexpr double kBareAtMost = 0.20;

// Every promise that was not kept and every reason not to believe a figure, a line each.
std::vector<std::string> demo_faults(const DemoReport& report);

std::string demo_table(const DemoReport& report);
nlohmann::ordered_json demo_json(const DemoReport& report);

}  // namespace loadline::tools
