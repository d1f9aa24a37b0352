// A simulated mean beside a computed one: how far may they lie apart?
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "sim/replicate.h"

namespace loadline::sim::test {

struct Estimate {
  double mean = 0;
  double error = 0;  // the standard error of the mean, from the spread between seeds
};

inline Estimate estimate_of(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  Estimate e;
  for (const double v : values) {
    e.mean += v / n;
  }
  double squares = 0;
  for (const double v : values) {
    squares += (v - e.mean) * (v - e.mean);
  }
  e.error = std::sqrt(squares / (n - 1) / n);
  return e;
}

inline constexpr std::uint64_t kReplications = 20;

template <class Of>
Estimate estimate(Of of, std::uint64_t replications = kReplications) {
  return estimate_of(over_seeds(replications, of));
}

// Within three standard errors, where such an error is at most `precision` of the value: a check
// that is too coarse to fail is none. An error that is itself estimated, from few replications, is
// often too small: with twenty, a right simulator is more than three away in 0.7 % of the checks,
// with ten in 1.5 %. The seeds are fixed, so that a check which passes does not fail another day.
inline void expect_agrees(const Estimate& simulated, double computed, double precision) {
  EXPECT_LE(simulated.error, precision * computed) << "too coarse";
  EXPECT_NEAR(simulated.mean, computed, 3 * simulated.error);
}

}  // namespace loadline::sim::test
