// When the callers of a population come.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/random.h"
#include "sim/steps.h"

namespace loadline::sim {

class Arrivals {
 public:
  // A Poisson process. A rate that changes stretches the same sequence of gaps, so a seed's callers
  // keep their order and their work when only the rates differ.
  static Arrivals poisson(Steps<double> per_second);
  // One every 1 / rate seconds, the first half a gap after the start.
  static Arrivals even(Steps<double> per_second);
  // `size` at once at each of `times`, which are in order.
  static Arrivals bursts(std::vector<Instant> times, std::uint32_t size);

  // When caller `number` comes, if the one before came at `previous` (Instant{} for the first).
  [[nodiscard]] Instant next(Instant previous, std::uint64_t number, Draws draws) const noexcept;

 private:
  enum class Kind : std::uint8_t { poisson, even, bursts };

  Kind kind_ = Kind::poisson;
  Steps<double> per_second_;
  std::vector<Instant> times_;
  std::uint32_t size_ = 0;
};

}  // namespace loadline::sim
