// Whether answers still come in time to be of use to anybody.
#pragma once

#include <algorithm>
#include <cstdint>

#include "loadline/limit/auto_tuning.h"
#include "loadline/limit/sample.h"

namespace loadline {

// Counts those that began since an instant, as many at a time as the limit lets in: those that take
// long end together, and say the same.
class OfUse {
 public:
  void begin(Instant now) noexcept { *this = OfUse{now}; }

  // True once so few were that most had better not begun; until begin(). Failures say nothing: they
  // may be fast or slow, and are no sign of too many in flight.
  [[nodiscard]] bool too_few(const LimitSample& sample, std::uint32_t limit,
                             const AutoTuning& tuning) noexcept {
    if (sample.outcome == Outcome::failure || sample.started < from_) {
      return false;
    }
    ++judged_;
    of_use_ += sample.outcome == Outcome::success ? 1 : 0;
    if (judged_ < std::max(tuning.judged, double(limit))) {
      return false;
    }
    if (of_use_ < tuning.of_use * judged_) {
      return true;
    }
    judged_ = of_use_ = 0;
    return false;
  }

  [[nodiscard]] std::uint32_t judged() const noexcept { return judged_; }
  [[nodiscard]] double share() const noexcept { return double(of_use_) / judged_; }

  OfUse() noexcept = default;

 private:
  explicit OfUse(Instant from) noexcept : from_(from) {}

  Instant from_{};
  std::uint32_t judged_ = 0;
  std::uint32_t of_use_ = 0;
};

}  // namespace loadline
