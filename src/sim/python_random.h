// Arrivals as a Python program draws them, so that what was published of one can be met exactly.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/arrivals.h"

namespace loadline::sim {

// CPython's random.Random(seed) for a seed below 2^32: the Mersenne Twister MT19937 of Matsumoto
// and Nishimura (ACM TOMACS 8(1), 1998), seeded by the array [seed] (their init_by_array of 2002),
// with doubles of 53 bits.
class PythonRandom {
 public:
  explicit PythonRandom(std::uint32_t seed) noexcept;

  double uniform() noexcept;                       // random(): 0 <= x < 1
  double exponential(double per_second) noexcept;  // expovariate()

 private:
  static constexpr std::size_t kWords = 624;

  std::uint32_t word() noexcept;
  void turn() noexcept;

  std::array<std::uint32_t, kWords> state_{};
  std::size_t next_ = kWords;
};

// As `while t < until: t += random.expovariate(per_second)`: the last one comes at or after
// `until`.
std::vector<Listed> python_poisson(std::uint32_t seed, double per_second, Duration until);

}  // namespace loadline::sim
