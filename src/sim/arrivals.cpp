#include "sim/arrivals.h"

#include <utility>

namespace loadline::sim {

Arrivals Arrivals::poisson(Steps<double> per_second) {
  Arrivals a;
  a.kind_ = Kind::poisson;
  a.per_second_ = std::move(per_second);
  return a;
}

Arrivals Arrivals::even(Steps<double> per_second) {
  Arrivals a;
  a.kind_ = Kind::even;
  a.per_second_ = std::move(per_second);
  return a;
}

Arrivals Arrivals::bursts(std::vector<Instant> times, std::uint32_t size) {
  Arrivals a;
  a.kind_ = Kind::bursts;
  a.times_ = std::move(times);
  a.size_ = size;
  return a;
}

Instant Arrivals::next(Instant previous, std::uint64_t number, Draws draws) const noexcept {
  switch (kind_) {
    case Kind::poisson:
      return reached(per_second_, previous, draws.exponential());
    case Kind::even:
      return reached(per_second_, previous, number == 0 ? 0.5 : 1.0);
    case Kind::bursts: {
      const std::uint64_t burst = number / size_;
      return burst < times_.size() ? times_[burst] : Instant::never();
    }
  }
  return Instant::never();
}

}  // namespace loadline::sim
