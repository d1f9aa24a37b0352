// Seconds as a model speaks of them, and the whole nanoseconds that the gate is given.
#pragma once

#include <cmath>

#include "loadline/time.h"

namespace loadline::sim {

inline double seconds(Duration d) noexcept {
  return static_cast<double>(d.ns) * 1e-9;
}
inline double seconds(Instant t) noexcept {
  return static_cast<double>(t.ns) * 1e-9;
}

// Rounded to the nearest nanosecond; what does not fit is as far away as a Duration can be.
inline Duration duration(double seconds) noexcept {
  const double ns = seconds * 1e9;
  return ns >= 9e18 ? Duration::max() : Duration{std::llround(ns)};
}

// A run begins at Instant{}.
inline Instant at(double seconds) noexcept {
  return Instant{} + duration(seconds);
}

}  // namespace loadline::sim
