// What a service takes while its limit is not full.
#pragma once

#include <cstdint>

#include "loadline/limit/level.h"
#include "loadline/limit/sample.h"
#include "loadline/limit/times.h"

namespace loadline {

// Of the last stretch in which the limit was not full, not even for a moment, or of the one before
// where the last was too short to tell: how long requests took, and among how many in flight. A
// stretch ends when the limit becomes full, or when it has lasted as long as it may: what is told
// is always of the same moment.
class Calm {
 public:
  void look(const LimitView& view, bool full, Duration longest, double fewest) noexcept;
  void take(const LimitSample& sample) noexcept;

  // Its limit is the next whole number above the mean in flight; not measured() where there never
  // was a stretch long enough.
  [[nodiscard]] const Level& level() const noexcept { return level_; }

 private:
  void begin(Instant now) noexcept;
  void tell(const LimitView& view, double fewest) noexcept;

  Times times_{};       // of those who were let in during the stretch and did not fail
  double seen_ns_ = 0;  // requests in flight, times how long
  std::uint32_t in_time_ = 0;
  Instant from_ = Instant::never();  // never: the limit is full
  Instant looked_at_{};
  Instant reached_ = Instant::never();  // when the first of them came who took the last place
  Level level_{};
};

}  // namespace loadline
