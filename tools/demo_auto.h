// The demo of a limit that is found: two services that want very different ones, at ease, under
// overload, and with half of them gone.
#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <stop_token>
#include <string>
#include <vector>

namespace loadline::tools {

struct AutoDemoOptions {
  std::chrono::seconds quiet{60};     // at 0.7x
  std::chrono::seconds overload{20};  // at 1.5x; half of the service goes in the middle
};

// A stretch of the overload, without its first two seconds.
struct AutoStretch {
  double capacity = 0;  // a second, of what the service is then
  double goodput = 0;   // answers within the callers' patience, a second
  unsigned limit = 0;   // at its end
};

struct AutoRow {
  std::string service;
  std::uint64_t quiet_offered = 0;
  std::uint64_t quiet_bad = 0;  // refused, late or failed
  unsigned quiet_limit = 0;     // at its end
  AutoStretch whole;
  AutoStretch halved;
  std::vector<std::string> steps;  // the last ones of the law, in words
  // Why the figures are about something else than the service: the generator could not keep up, or
  // others took the worker's processor. Empty when they are about it.
  std::string fault = {};
};

struct AutoReport {
  std::vector<AutoRow> rows;
};

inline constexpr double kAutoAtLeast = 0.95;

// When `stop` is asked for, what there is so far is of no use.
AutoReport run_auto_demo(const AutoDemoOptions& options, const std::stop_token& stop);

// Every promise that was not kept, a line each.
std::vector<std::string> auto_faults(const AutoReport& report);

std::string auto_text(const AutoReport& report);
nlohmann::ordered_json auto_json(const AutoReport& report);

}  // namespace loadline::tools
