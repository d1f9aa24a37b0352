// What the laws that others have published have in common.
//
// They are here because people know them, and to be compared with. Each follows its published
// formula and defaults; where a gate cannot tell a law what its own host would, its header says
// what it is given instead. Of a step they tell (LimitInputs) the time that they compare with as
// the lower one's, and the one that was measured as the higher one's.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "loadline/limit/sample.h"
#include "loadline/limit/whole.h"
#include "loadline/policy.h"
#include "loadline/time.h"

namespace loadline {

// A bound that a policy leaves at its default (1, kMaxLimit) is the law's published one, unless
// that contradicts the one which the policy gives.
constexpr LimitBounds or_published(LimitBounds given, LimitBounds published) noexcept {
  LimitBounds bounds = given;
  if (given.least == 1 && published.least <= given.most) {
    bounds.least = published.least;
  }
  if (given.most == kMaxLimit && published.most >= bounds.least) {
    bounds.most = published.most;
  }
  return bounds;
}

// Where a law begins: as it is told, or else as published.
constexpr std::uint32_t first_limit(std::uint32_t from, std::uint32_t published,
                                    LimitBounds bounds) noexcept {
  return std::clamp(from == 0 ? published : from, bounds.least, bounds.most);
}

// A generator of its own for each limit, so that those of several instances do not act in step
// (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
class LimitDraws {
 public:
  constexpr LimitDraws() noexcept = default;
  constexpr explicit LimitDraws(std::uint64_t seed) noexcept : state_(seed) {}

  // From 0 up to 1, which it never is.
  constexpr double next() noexcept {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t x = state_;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return static_cast<double>((x ^ (x >> 31)) >> 11) * 0x1p-53;
  }

 private:
  std::uint64_t state_ = 0;
};

// The samples of a second, as Netflix's WindowedLimit gathers them (github.com/Netflix/
// concurrency-limits): their mean, whether requests were dropped, and the most that were in flight.
// A window of fewer than 10 says nothing, and neither does a sample shorter than 100 us.
//
// A window counts as one of drops where a tenth or more was late. There it does where one was; but
// of thousands in a second one is always late where a deadline is not far beyond what the work
// takes, and the limit would sink for it whatever the load.
class LimitWindow {
 public:
  LimitWindow() noexcept = default;

  void begin(Instant now) noexcept {
    *this = {};
    begun_ = now;
  }

  void add(const LimitSample& sample, std::uint32_t limit) noexcept {
    const Duration took = sample.ended - sample.started;
    if (took < kShortest) {
      return;
    }
    sum_ns_ += static_cast<double>(took.ns);
    ++count_;
    late_ += sample.outcome == Outcome::late ? 1 : 0;
    saw(sample.bound ? limit : 0);
  }
  // This one, where the view ends it and it tells something; the next one begins then. The first
  // begins with the first look.
  [[nodiscard]] std::optional<LimitWindow> closed_by(const LimitView& view) noexcept {
    saw(view.in_flight);
    begun_ = std::min(begun_, view.now);
    if (view.now - begun_ < kLength) {
      return std::nullopt;
    }
    const LimitWindow closed = *this;
    begin(view.now);
    return closed.count_ < kFewest ? std::nullopt : std::optional(closed);
  }

  [[nodiscard]] double mean_ns() const noexcept { return sum_ns_ / count_; }
  [[nodiscard]] bool dropped() const noexcept { return late_ * kDropShare >= count_; }
  // Half of the limit or more: it is what the service was measured at.
  [[nodiscard]] bool used(std::uint32_t limit) const noexcept {
    return 2 * std::uint64_t{most_in_flight_} >= limit;
  }
  [[nodiscard]] LimitInputs inputs(double base_ns) const noexcept {
    return {.time_low = nanoseconds(base_ns),
            .time_high = nanoseconds(mean_ns()),
            .samples = count_,
            .share = static_cast<double>(count_ - late_) / count_};
  }

 private:
  static constexpr Duration kLength = Duration::seconds(1);
  static constexpr Duration kShortest = Duration::micros(100);
  static constexpr std::uint32_t kFewest = 10;
  static constexpr std::uint64_t kDropShare = 10;  // one in so many

  void saw(std::uint32_t in_flight) noexcept {
    most_in_flight_ = std::max(most_in_flight_, in_flight);
  }

  Instant begun_ = Instant::never();
  double sum_ns_ = 0;
  std::uint32_t count_ = 0;
  std::uint32_t late_ = 0;
  std::uint32_t most_in_flight_ = 0;
};

}  // namespace loadline
