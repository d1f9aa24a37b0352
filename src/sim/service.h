// A service: instances of one kind of server behind a balancer, each with a gate of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/client_half.h"
#include "sim/distribution.h"
#include "sim/door.h"
#include "sim/gate_door.h"
#include "sim/server.h"

namespace loadline::sim {

// Another service that each request needs, once its own work is done. All links of a service are
// called at the same time; the request is answered when the last of them is, and fails when one
// does.
struct Link {
  std::uint32_t service = 0;  // an index into Scenario::services
  std::uint32_t attempts = 1;
  Duration pause{};                     // between attempts
  Duration patience = Duration::max();  // of an attempt; never more than is left of the request's
  // Each instance decides by the client half instead of `attempts` and `pause`, and marks what
  // fails for want of the other.
  std::optional<ClientHalf> client{};
};

// Who asks each instance whether it is ready, and takes it out of the balancer's turn if it is not.
struct Readiness {
  Duration interval = Duration::seconds(5);
  Duration patience = Duration::seconds(1);
  std::uint32_t failures = 3;   // in a row: out of turn
  std::uint32_t successes = 1;  // in a row: back in turn
  // Whether the probe is a request like any other, of the default class, that passes the gate and
  // needs a worker; otherwise it always succeeds.
  bool tied_to_load = false;
  Duration work = Duration::millis(1);
};

// More instances where the ones there are busy, by the rule of Kubernetes' autoscaler: so many that
// they would be busy for `target` of the time (HorizontalPodAutoscaler, "Algorithm details").
struct Scaling {
  double target = 0.7;
  Duration interval = Duration::seconds(15);
  Duration delay = Duration::seconds(120);  // from the decision until the instance is in turn
  std::uint32_t most = 1;
};

struct ServiceModel {
  enum class Balance : std::uint8_t { in_turn, least_loaded, random };

  std::string name = "service";
  ServerModel server;             // each instance's
  std::optional<GateModel> gate;  // each instance's; without one, the door stands open

  // Makes another door in place of either: how a check of the simulator puts a textbook's queue in
  // front of the server.
  std::function<std::unique_ptr<Door>(Site&)> other_door;

  Distribution work;  // what a request of another service brings
  std::uint32_t instances = 1;
  Balance balance = Balance::in_turn;
  std::vector<double> paces;  // what the first instances' speeds are multiplied by
  std::vector<Link> links;
  // Whether a worker is kept while the links are called, as by a thread that waits for them.
  bool keeps_worker = true;
  std::optional<Readiness> readiness;
  std::optional<Scaling> scaling;
};

}  // namespace loadline::sim
