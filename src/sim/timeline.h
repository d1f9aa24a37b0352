// What a run looks like over time: the same slices of it, one number a slice for each quantity.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "loadline/decision.h"
#include "sim/fleet.h"
#include "sim/journal.h"
#include "sim/steps.h"

namespace loadline::sim {

struct Timeline {
  Instant from{};
  Duration slice{};  // length of each

  std::vector<double> offered;    // attempts a second, by when they were offered
  std::vector<double> goodput;    // useful answers a second, by when they were given
  std::vector<double> late;       // answers a second that nobody waited for any more, and failures
  std::vector<double> in_flight;  // mean over the slice
  std::vector<double> waiting;    // at the gate; the same
  std::vector<double> limit;      // of all gates together; the same; empty: there was none
  std::vector<double> in_turn;    // instances in turn; the same
  // Seconds, by when they were offered, of those let through; NaN: none were.
  std::vector<double> wait_p50;
  std::vector<double> wait_p99;
  std::vector<double> latency_p50;  // of the useful
  std::vector<double> latency_p99;
  // A second, by when they were refused. Reasons that no slice has are empty.
  std::array<std::vector<double>, kReasons> rejected;

  // The share of all answered attempts that took longer (the complementary distribution), at rising
  // times; at most a few hundred points, close enough to draw.
  struct Beyond {
    double seconds = 0;
    double share = 0;
  };
  std::vector<Beyond> beyond;
};

// Of what callers offered from the beginning until `end`, in at most `slices` slices of a round
// length (1, 2 or 5 times a power of ten).
Timeline timeline_of(const Journal& journal, Instant end, const std::vector<LimitChange>& limits,
                     const std::vector<Fleet::Turnout>& turnouts, std::size_t slices = 240);

}  // namespace loadline::sim
