// What signals from outside leave of the limit that a law has found.
//
// A law knows what requests take, and nothing of what else suffers from them: the CPU that others
// want too, a database that is not theirs alone. Who knows of it reports a number, and has said
// what is right of it at most. While a number is above that, a ceiling over the law's limit falls,
// by half of the excess and at most by half; while none is, it rises again until it is out of the
// way:
//
//   above    ceiling * (1 - min(value / at_most - 1, 1) / 2), never below the least limit
//   below    ceiling * (1 + max((1 - value / at_most) / 2, kSlowest))
//
// Where the number is in proportion to what is in flight, half of the way is gone at each step,
// from either side, and the set-point is never passed by more than kSlowest: that much the ceiling
// rises whatever is reported, since it must come back where the number has nothing to do with it.
//
// The next step is taken by a number that was reported kToBeSeen after the last. For one down,
// after the last has taken effect, which it has once no more are in flight than it allows: else one
// excess would be paid for twice. What was reported kStale ago says nothing; where nothing says
// anything, it rises by kSlowest.
//
// The law itself is not told. A limit that is not reached says nothing to it, so it keeps what it
// knows, and goes on from there.
#pragma once

#include <cstdint>

#include "loadline/limit/flag.h"
#include "loadline/limit/sample.h"
#include "loadline/time.h"

namespace loadline {

class Pressure {
 public:
  // Less than a second, so that who reports every second is heard every second.
  static constexpr Duration kToBeSeen = Duration::millis(900);
  static constexpr Duration kStale = Duration::seconds(5);
  static constexpr Duration kAhead = Duration::seconds(1);  // more, and a clock was set
  static constexpr double kSlowest = 0.05;

  // `found`: by the law. `least`: the lowest limit there may be.
  void look(const LimitView& view, std::uint32_t found, std::uint32_t least,
            LimitReason& why) noexcept;
  // Time may have gone back.
  void disturb(Instant now) noexcept;

  [[nodiscard]] std::uint32_t left_of(std::uint32_t found) const noexcept;

 private:
  struct Heard {
    const LimitSignal* signal = nullptr;  // the one that is highest above its set-point, or nearest
    double share = 1;                     // of the set-point
    Instant at{};
  };
  static Heard listen(const LimitView& view) noexcept;
  void step_to(double ceiling, Instant now) noexcept;

  static constexpr double kNone = 1e18;  // above all limits

  double ceiling_ = kNone;
  Flag in_effect_ = true;  // the last step
  // It was taken, or is in effect.
  Instant since_{-(std::int64_t{1} << 60)};
};

}  // namespace loadline
