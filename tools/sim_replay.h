// What another policy would have done with the traffic of a trace.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "loadline/policy.h"
#include "sim/distribution.h"
#include "sim_file.h"
#include "sim_trace.h"

namespace loadline::tools {

struct ReplayOptions {
  std::vector<std::uint32_t> limits;     // of the gates to compare; none: see replay_of
  std::optional<std::uint32_t> workers;  // of the server; without, as many as are needed
  // How long those take of whom it is not known. Without, the median of those of whom it is.
  std::optional<sim::Distribution> unknown_work;
  Duration patience = Duration::max();  // of each caller
  QueueSize queue = QueueSize::sized_by_budget();
  Duration wait = Duration::millis(100);
  double faster = 1;  // all come so many times as fast: 2 is twice the traffic in half the time
  std::uint64_t seeds = 1;
};

// What a trace holds, as it was recorded.
struct TraceSummary {
  std::uint64_t callers = 0;
  double span = 0;             // seconds, from the first to the last
  double per_second = 0;       // mean; 0 if all came at once
  std::uint64_t peak = 0;      // in the fullest second, counted from the first caller
  double without_time = 0;     // share
  double refused = 0;          // share
  std::optional<double> work;  // seconds: the median of those of whom it is known

  // In flight at once, as each caller found it, himself included: at the median a caller found so
  // many or fewer. That is what a limit is compared with: one below p99 would have refused or
  // delayed about one in a hundred. 0 if no time is known and none was given.
  std::uint32_t in_flight_p50 = 0;
  std::uint32_t in_flight_p90 = 0;
  std::uint32_t in_flight_p99 = 0;
  std::uint32_t in_flight_most = 0;
};

TraceSummary summarize_trace(const Trace& trace, const ReplayOptions& options);

// Several lines, for the head of what a command prints.
std::string describe_trace(const Trace& trace, const TraceSummary& summary);

// The server as `options` have it, without a gate and with some: with the limits given; else with N
// and 2 N where there are N workers; else with what was in flight at p50, p90, p99 and at most.
// What cannot be replayed is a fault: a trace that was refused, a number that makes no sense.
SimFile replay_of(const Trace& trace, const ReplayOptions& options);

}  // namespace loadline::tools
