// Who calls, and what callers do when they are refused or kept waiting.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "loadline/decision.h"
#include "loadline/time.h"
#include "sim/arrivals.h"
#include "sim/client_half.h"
#include "sim/distribution.h"

namespace loadline::sim {

// What a caller does who was turned away. Every attempt has the population's full patience.
struct Retry {
  std::uint32_t attempts = 1;  // in all, the first one included
  bool obeys = true;           // waits as many seconds as Retry-After says, to the second
  Duration pause = Duration::millis(50);  // otherwise, or where nothing was said
  double growth = 1;                      // what each pause is multiplied by for the next
  double jitter = 0;                      // the share of a pause that is drawn: 1 is all of it
  bool after_timeout = false;             // also when patience has run out; at once
  bool after_failure = false;             // also when the answer was an error
  bool elsewhere = false;                 // never at the instance that has just been tried
  // Instead of all the above: the client half decides. It knows patience for the bound of an
  // attempt, and hears of its end.
  std::optional<ClientHalf> client{};
};

// Which tenant a caller belongs to: one of `count` names from `first` on. Without any, none.
struct Tenants {
  enum class Choice : std::uint8_t { random, in_turn };
  std::uint64_t first = 1;
  std::uint64_t count = 0;
  Choice choice = Choice::random;
  std::uint8_t group = Request::kNoGroup;  // of all of them; an index into Policy::groups
};

// Callers of one kind. A mix of kinds is several populations: a sum of Poisson processes is one.
struct Population {
  std::string name{};
  Arrivals arrivals;
  Distribution work;                    // where the arrivals bring none of their own
  Duration patience = Duration::max();  // an answer later than this is worthless to its caller
  bool tells_deadline = true;           // the gate learns how long that is
  bool departs = false;                 // and when a caller who waits has gone
  std::uint8_t importance = 0;
  std::uint32_t cost = 1;
  bool needs_worker = true;  // otherwise its work is done beside the workers, as by a cache
  Tenants tenants{};
  Retry retry{};
  std::uint32_t service = 0;  // which they call: an index into Scenario::services
};

}  // namespace loadline::sim
