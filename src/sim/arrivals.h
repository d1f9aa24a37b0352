// When the callers of a population come.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/distribution.h"
#include "sim/random.h"
#include "sim/steps.h"

namespace loadline::sim {

// A caller who is known beforehand.
struct Listed {
  static constexpr Duration kUnknown{-1};

  Instant at{};
  Duration work = kUnknown;  // kUnknown: drawn, as another's
};

class Arrivals {
 public:
  // A Poisson process. A rate that changes stretches the same sequence of gaps, so a seed's callers
  // keep their order and their work when only the rates differ.
  static Arrivals poisson(Steps<double> per_second);
  // One every 1 / rate seconds, the first half a gap after the start.
  static Arrivals even(Steps<double> per_second);
  // `size` at once at each of `times`, which are in order.
  static Arrivals bursts(std::vector<Instant> times, std::uint32_t size);
  // These, in order of time.
  static Arrivals listed(std::vector<Listed> callers);
  // So many users, each of whom thinks before each call and calls again when it has ended for him.
  static Arrivals closed(std::uint32_t users, Distribution think);

  // When caller `number` comes, if the one before came at `previous` (Instant{} for the first). Of
  // a closed population this is each user's first call.
  [[nodiscard]] Instant next(Instant previous, std::uint64_t number, Draws draws) const noexcept;
  // Of a closed population: how long until a user calls again. Otherwise he does not.
  [[nodiscard]] bool is_closed() const noexcept { return kind_ == Kind::closed; }
  [[nodiscard]] std::uint32_t users() const noexcept { return is_closed() ? size_ : 0; }
  [[nodiscard]] bool is_listed() const noexcept { return kind_ == Kind::listed; }
  [[nodiscard]] Duration think(Draws draws) const noexcept { return think_.draw(draws); }
  // About how many come in that time; 0 where that depends on what becomes of them.
  [[nodiscard]] double expected(Duration length) const noexcept;
  // What caller `number` brings, if that is known.
  [[nodiscard]] Duration work(std::uint64_t number) const noexcept;

 private:
  [[nodiscard]] Instant nth_even(double number) const noexcept;

  enum class Kind : std::uint8_t { poisson, even, bursts, listed, closed };

  Kind kind_ = Kind::poisson;
  Steps<double> per_second_;
  std::vector<double> before_;  // of an even population: how many come before each change
  std::vector<Instant> times_;
  std::uint32_t size_ = 0;  // of a burst; or the number of users
  std::shared_ptr<const std::vector<Listed>> callers_;
  Distribution think_;
};

}  // namespace loadline::sim
