// A run: callers, a door and a server in virtual time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "loadline/gate.h"
#include "sim/door.h"
#include "sim/gate_door.h"
#include "sim/journal.h"
#include "sim/population.h"
#include "sim/server.h"

namespace loadline::sim {

struct Scenario {
  std::vector<Population> populations;
  ServerModel server;
  std::optional<GateModel> gate;  // without one, the door stands open
  Duration length{};

  // Makes another door in place of both: how a check of the simulator puts a textbook's queue in
  // front of the server.
  std::function<std::unique_ptr<Door>(Site&)> other_door;
};

struct Result {
  Journal journal;
  Watch watch;
  Snapshot snapshot;  // of the gate at the end; nothing in it without one
};

// A function of its arguments: the same twice.
Result run(const Scenario& scenario, std::uint64_t seed);

}  // namespace loadline::sim
