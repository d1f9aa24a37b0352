#include "sim/arrivals.h"

#include <algorithm>
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
  const auto& changes = a.per_second_.changes();
  a.before_.push_back(0);
  for (std::size_t i = 1; i < changes.size(); ++i) {
    a.before_.push_back(a.before_.back() +
                        gathered(a.per_second_, changes[i - 1].from, changes[i].from));
  }
  return a;
}

Arrivals Arrivals::bursts(std::vector<Instant> times, std::uint32_t size) {
  Arrivals a;
  a.kind_ = Kind::bursts;
  a.times_ = std::move(times);
  a.size_ = size;
  return a;
}

Arrivals Arrivals::listed(std::vector<Listed> callers) {
  Arrivals a;
  a.kind_ = Kind::listed;
  a.callers_ = std::make_shared<const std::vector<Listed>>(std::move(callers));
  return a;
}

Arrivals Arrivals::closed(std::uint32_t users, Distribution think) {
  Arrivals a;
  a.kind_ = Kind::closed;
  a.size_ = users;
  a.think_ = std::move(think);
  return a;
}

double Arrivals::expected(Duration length) const noexcept {
  switch (kind_) {
    case Kind::poisson:
    case Kind::even:
      return gathered(per_second_, Instant{}, Instant{} + length);
    case Kind::bursts:
      return static_cast<double>(times_.size()) * size_;
    case Kind::listed:
      return static_cast<double>(callers_->size());
    case Kind::closed:
      return 0;
  }
  return 0;
}

Duration Arrivals::work(std::uint64_t number) const noexcept {
  return kind_ == Kind::listed ? (*callers_)[number].work : Listed::kUnknown;
}

// From the beginning: what a gap is rounded by would add up from one to the next.
Instant Arrivals::nth_even(double number) const noexcept {
  const auto after = std::upper_bound(before_.begin(), before_.end(), number);
  const auto change = static_cast<std::size_t>(after - before_.begin()) - 1;
  return reached(per_second_, per_second_.changes()[change].from, number - before_[change]);
}

Instant Arrivals::next(Instant previous, std::uint64_t number, Draws draws) const noexcept {
  switch (kind_) {
    case Kind::poisson:
      return reached(per_second_, previous, draws.exponential());
    case Kind::even:
      return nth_even(static_cast<double>(number) + 0.5);
    case Kind::bursts: {
      const std::uint64_t burst = size_ == 0 ? times_.size() : number / size_;
      return burst < times_.size() ? times_[burst] : Instant::never();
    }
    case Kind::listed:
      return number < callers_->size() ? (*callers_)[number].at : Instant::never();
    case Kind::closed:
      return number < size_ ? Instant{} + think_.draw(draws) : Instant::never();
  }
  return Instant::never();
}

}  // namespace loadline::sim
