// What became of every attempt of a run.
#pragma once

#include <cstdint>
#include <vector>

#include "loadline/decision.h"
#include "loadline/time.h"
#include "sim/attempt.h"

namespace loadline::sim {

enum class Fate : std::uint8_t {
  answered,  // by the server, in time or not
  failed,    // an error came back, of the server or of a service that it needs
  refused,   // by the gate, at once or after a wait
  left,      // its caller went, and it was given up: while it waited, or when it was worked on
  open,      // it was still under way when the run ended
  held_back  // never offered: the client half of those who call did not let the call go
};

struct Ending {
  Instant called{};                     // the first attempt of its call
  Instant offered{};                    // this attempt
  Instant deadline = Instant::never();  // when its caller lost patience
  Instant started = Instant::never();   // handed to the server
  Instant ended = Instant::never();     // the answer, the refusal, the departure
  Duration work{};                      // done by the server
  std::uint64_t tenant = 0;
  std::uint32_t attempt = 1;
  std::uint32_t cost = 1;
  std::uint32_t instance = 0;
  std::uint16_t retry_after = 0;  // seconds, with `refused`
  std::uint16_t population = 0;
  std::uint16_t service = 0;
  Origin origin = Origin::caller;
  Fate fate = Fate::open;
  Reason reason = Reason::none;
  std::uint8_t importance = 0;

  [[nodiscard]] bool admitted() const noexcept { return started != Instant::never(); }
  // It was made, and has come to its end.
  [[nodiscard]] bool decided() const noexcept {
    return fate != Fate::open && fate != Fate::held_back;
  }
  // Somebody still waited for the answer.
  [[nodiscard]] bool good() const noexcept { return fate == Fate::answered && ended <= deadline; }

  friend bool operator==(const Ending&, const Ending&) noexcept = default;
};

// In the order in which they ended; the open ones last.
using Journal = std::vector<Ending>;

}  // namespace loadline::sim
