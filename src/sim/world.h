// A run: callers, doors and servers in virtual time.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "loadline/gate.h"
#include "sim/door.h"
#include "sim/fleet.h"
#include "sim/journal.h"
#include "sim/scenario.h"

namespace loadline::sim {

struct Result {
  Journal journal;
  Watch watch;                      // of all doors together, but for `limits`
  std::vector<LimitChange> limits;  // of all gates together
  std::vector<Snapshot> snapshots;  // of each instance's gate at the end, where it has one
  // What the laws did that find limits, of each gate in the same order.
  struct Steps {
    std::uint16_t service = 0;
    std::uint32_t instance = 0;
    std::vector<LimitEvent> events;
  };
  std::vector<Steps> limit_steps;
  std::vector<Fleet::Turnout> turnouts;
  Instant ended{};
};

// Called every some thousand events, with the virtual time. What it throws ends the run.
using Progress = std::function<void(Instant)>;

// A function of its first two arguments: the same twice.
Result run(const Scenario& scenario, std::uint64_t seed, const Progress& progress = {});

}  // namespace loadline::sim
