// How two levels are compared: what of the difference is mere waiting, and how sure that is.
#pragma once

#include "loadline/limit/auto_tuning.h"
#include "loadline/limit/level.h"

namespace loadline {

// Remembers of the comparisons that were made what makes the next one better.
class Slopes {
 public:
  // low.limit < high.limit; where it is not, the slope is 1: nothing is to be had above.
  [[nodiscard]] Comparison compare(const Level& low, const Level& high) const noexcept;
  void remember(const Comparison& found, const AutoTuning& tuning) noexcept;
  // Requests under the lower of two limits, where three times as many are of the higher, that tell
  // their slope as accurately as wanted. `known`: a level near them.
  [[nodiscard]] double enough(double low, double high, const Level& known,
                              const AutoTuning& tuning) const noexcept;

 private:
  double bias_ = 0;    // of slopes by times, against rates
  double spread_ = 0;  // of times
};

}  // namespace loadline
