// What one limit was measured to bring, and what two of them tell about the knee.
#pragma once

#include <algorithm>
#include <cstdint>

#include "loadline/limit/flag.h"
#include "loadline/time.h"

namespace loadline {

// Of requests that were let in one after another while the same limit was full.
struct Level {
  std::uint32_t limit = 0;  // requests in flight
  double time_ns = 0;       // mean of the shorter three quarters of their times; 0: not measured
  double spread = 0;        // standard deviation of time_ns if it were of one request, relative
  double rate = 0;          // requests ended a second
  double in_time = 0;       // the share of them that was of use
  std::uint32_t samples = 0;
  Instant at{};     // when the last of them was let in
  Duration span{};  // between the first and the last
  // The limit was full for moments only: of those who took its last place at one of them.
  Flag in_bursts = false;

  [[nodiscard]] bool measured() const noexcept { return time_ns > 0; }
};

// Two levels, low.limit < high.limit.
//
// Where more in flight are worked on at once, their times do not change; where they only wait for
// each other, those of the higher are longer by (high - low) / rate (Little's law, with one rate).
// The slope is what is seen of that: 0 while the knee is above both, 1 once it is below both.
struct Comparison {
  Level low;
  Level high;
  double slope = 1;
  double doubt = 0;     // standard deviation of the slope
  double linear = 1;    // the slope by times alone
  double by_rates = 1;  // the slope by rates: exact on average, and noisy
  bool rates_known = true;

  [[nodiscard]] double gap() const noexcept { return double(high.limit) - low.limit; }
  [[nodiscard]] double ratio() const noexcept { return double(high.limit) / low.limit; }
  // So far apart that one would have to wait as long as it is worked on.
  [[nodiscard]] bool far() const noexcept { return far(low.limit, high.limit); }
  static constexpr bool far(double low, double high) noexcept { return high > 1.9 * low; }
  // Where the straight line between no wait and nothing but wait crosses.
  [[nodiscard]] double knee() const noexcept {
    return high.limit - std::clamp(slope, 0.0, 1.0) * gap();
  }
};

}  // namespace loadline
