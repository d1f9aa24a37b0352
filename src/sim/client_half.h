// Callers who leave it to the client half whether, when and where they try again.
#pragma once

#include <cstdint>

#include "loadline/client/policy.h"
#include "loadline/time.h"

namespace loadline::sim {

struct ClientHalf {
  // But for the bound of an attempt, which is the callers' patience, and for the seed.
  client::Policy policy{};
  // How many programs the callers of a population are, each with a client::Caller of its own, since
  // a budget belongs to a program. Of a service that needs others each instance is one.
  std::uint32_t processes = 20;
  bool idempotent = true;
  // Of a call, over all its attempts; 0: as many times the patience as there may be attempts. A
  // service that needs another has what is left of its own call's.
  Duration deadline{};
};

}  // namespace loadline::sim
