// What a control law is told, and what it says of its steps.
//
// A law finds the limit of what may be in flight. It is plain data that lies in the gate's block,
// so that all workers of a service share one and it outlives each of them; it takes the time as an
// argument, asks nobody anything, and draws from a generator of its own. What it did can therefore
// be done again: the same calls give the same limits, bit for bit.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "loadline/decision.h"
#include "loadline/policy.h"
#include "loadline/time.h"

namespace loadline {

// One request that has ended.
struct LimitSample {
  Instant started{};  // when it was let in, after any wait at the gate
  Instant ended{};
  Outcome outcome = Outcome::success;  // never `ignored`
  // It took the last slot, or had waited for one: the limit is what kept more from being in flight.
  bool bound = false;
};

// A signal from outside: what it is to be at most, and what was reported of it last.
struct SignalReading {
  std::array<char, kMaxSignalName + 1> name{};  // filled up with NULs
  double at_most = 0;                           // 0: there is no such signal
  double value = 0;

  // Of an event that is read from a block: that may hold anything.
  [[nodiscard]] constexpr std::string_view name_view() const noexcept {
    std::size_t length = 0;
    while (length < kMaxSignalName && name[length] != '\0') {
      ++length;
    }
    return {name.data(), length};
  }
};

struct LimitSignal {
  SignalReading reading{};
  Instant at = Instant::never();  // when it was reported; never: it was not
};

// The gate at a moment.
struct LimitView {
  Instant now{};
  std::uint32_t in_flight = 0;
  std::uint32_t waiting = 0;
  // Requests that have ended since the gate was made, sampled or not; only grows.
  std::uint64_t ended = 0;
  // Requests that were turned away for want of capacity, at once or after a wait; only grows. It
  // may lag behind by a tick.
  std::uint64_t refused = 0;
  std::array<LimitSignal, kMaxSignals> signals{};
  // Fewer are let in than the law would, for a signal's sake. Limiter tells its law.
  bool held_down = false;
};

// Between which limits a law may choose, inclusive: 1 <= least <= most.
struct LimitBounds {
  std::uint32_t least = 1;
  std::uint32_t most = 1;

  friend bool operator==(const LimitBounds&, const LimitBounds&) noexcept = default;
};

// Why a limit was changed. The names are stable.
enum class LimitCause : std::uint8_t {
  none,
  began,        // the law was put in force
  doubled,      // the limit was full, and twice as many bring more
  settled,      // more no longer brings more: the knee is here
  looked_up,    // to see what some more in flight bring
  looked_down,  // to see what some less in flight bring
  moved,        // the knee lies elsewhere by now
  late,         // answers came too late to be of use
  healthy,      // a baseline's own reason to let in more
  slow,         // a baseline's own reason to let in less
  failing,      // requests failed
  probing,      // a baseline measures the service with few in flight
  disturbed,    // the clock jumped, nobody ticked, or one who held permits died: what was being
                // measured is given up
  pressed,      // a signal from outside is above its set-point
  repaired,     // its memory was found damaged: it starts from the limit that was in force
  emptied,      // fewer come than a lower limit lets in: what was being measured is given up
  relieved,     // no signal from outside is above its set-point any more: what was taken comes back
};
inline constexpr std::uint32_t kLimitCauses = 17;

constexpr std::string_view name(LimitCause cause) noexcept {
  constexpr std::string_view kNames[kLimitCauses] = {
      "none",      "began",   "doubled",  "settled", "looked_up", "looked_down",
      "moved",     "late",    "healthy",  "slow",    "failing",   "probing",
      "disturbed", "pressed", "repaired", "emptied", "relieved"};
  const auto index = static_cast<std::uint32_t>(cause);
  return index < kLimitCauses ? kNames[index] : std::string_view("unknown");
}

// What a step was taken on: 0 where a law does not know it.
struct LimitInputs {
  std::uint32_t low = 0;      // the lower of two limits that are compared
  std::uint32_t high = 0;     // and the higher
  Duration time_low{};        // a typical time of requests under the lower (the law says which)
  Duration time_high{};       // and under the higher
  std::uint32_t samples = 0;  // requests that this rests on
  double rate = 0;            // answers a second
  // Of what more in flight bring, the share that is mere waiting: 0 below the knee, 1 above it. For
  // a baseline, the number by which it multiplies.
  double slope = 0;
  double share = 0;        // of samples that were in time
  SignalReading signal{};  // from outside; without a name where it was none
};

struct LimitReason {
  LimitCause cause = LimitCause::none;
  LimitInputs inputs{};
};

struct LimitEvent {
  Instant at{};
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  LimitReason reason{};
};

// The last events, the oldest making room. `count` is of all there ever were.
struct LimitEvents {
  static constexpr std::uint32_t kKept = 64;

  std::array<LimitEvent, kKept> events{};
  std::uint64_t count = 0;

  constexpr void add(const LimitEvent& event) noexcept {
    events[count % kKept] = event;
    ++count;
  }
};

}  // namespace loadline
