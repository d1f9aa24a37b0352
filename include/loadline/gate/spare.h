// How many requests a second could be served beside those that come anyway: what those who were
// turned away can be asked to come back to.
//
// Capacity is what was completed in seconds in which no slot was idle, or else what the limit and
// the service time promise, or else the most that was seen. What comes anyway is the median of the
// last 32 seconds: a burst of less than half of that does not move it, a lasting overload does.
// Plain data under the gate's mutex; integers, so that it is the same everywhere.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "loadline/time.h"

namespace loadline {

// Retry-After counts whole seconds, so a client returns in the same phase of a second in which it
// was sent away. Room is booked for each phase apart; of 25 ms, which is short beside the 100 ms in
// which a crowd would be noticed.
inline constexpr std::uint32_t kReturnPhases = 40;

constexpr std::uint32_t integer_root(std::uint64_t n) noexcept {
  std::uint64_t low = 0;
  std::uint64_t high = std::uint64_t{1} << 32;
  while (high - low > 1) {
    const std::uint64_t middle = (low + high) / 2;
    (middle * middle <= n ? low : high) = middle;
  }
  return static_cast<std::uint32_t>(low);
}

// The mean service time of some eight seconds, each of which weighs an eighth less than the next.
// That of the last twenty services, which predicts waits, errs by a quarter.
class SteadyMean {
 public:
  // Once a second; totals since the gate was made.
  void take(std::uint64_t services, std::uint64_t service_ns) noexcept {
    services_ += services - seen_services_ - services_ / kSeconds;
    service_ns_ += service_ns - seen_service_ns_ - service_ns_ / kSeconds;
    seen_services_ = services;
    seen_service_ns_ = service_ns;
  }

  // 0: not known.
  [[nodiscard]] std::uint64_t mean_ns() const noexcept {
    return services_ == 0 ? 0 : std::max<std::uint64_t>(service_ns_ / services_, 1);
  }

 private:
  static constexpr std::uint64_t kSeconds = 8;

  std::uint64_t seen_services_ = 0;
  std::uint64_t seen_service_ns_ = 0;
  std::uint64_t services_ = 0;
  std::uint64_t service_ns_ = 0;
};

class SpareEstimate {
 public:
  // One look at the word, as often as the gate ticks.
  void look(bool full) noexcept { full_ = full_ != 0 && full ? 1 : 0; }

  [[nodiscard]] bool second_is_over(Instant now) const noexcept {
    return now - began_ >= kSecond || now < began_;
  }

  // Ends a second. Both counts are totals since the gate was made.
  void take_second(std::uint64_t offers, std::uint64_t completions, Instant now) noexcept {
    const Duration took = now - began_;
    if (started_ != 0 && took >= kSecond) {
      take_rates(per_second(offers - offers_, took), per_second(completions - completions_, took));
    }
    started_ = 1;
    began_ = now;
    offers_ = offers;
    completions_ = completions;
    full_ = 1;
  }

  // Requests a second; `promised` is limit / service time, 0 if that is not known. 0: not known.
  [[nodiscard]] std::uint32_t spare(std::uint32_t promised) const noexcept {
    std::uint64_t capacity = saturated_ != 0 ? saturated_ : promised;
    for (const std::uint32_t done : done_) {
      // The largest of several counts is too high by chance: two standard deviations less.
      const std::uint32_t chance = 2 * integer_root(done);
      capacity = std::max<std::uint64_t>(capacity, done > chance ? done - chance : 0);
    }
    const std::uint64_t comes = seconds_ == 0 ? capacity * 3 / 4 : median_offers();
    const std::uint64_t usable = capacity * 9 / 10;
    return static_cast<std::uint32_t>(
        std::max<std::uint64_t>(usable > comes ? usable - comes : 0, (capacity + 19) / 20));
  }

 private:
  static constexpr Duration kSecond = Duration::seconds(1);
  static constexpr std::size_t kOffers = 32;
  static constexpr std::size_t kDone = 8;

  static std::uint32_t per_second(std::uint64_t count, Duration took) noexcept {
    const std::uint64_t millis = static_cast<std::uint64_t>(took.ns) / 1'000'000;
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(
        std::min<std::uint64_t>(count, 1U << 30) * 1000 / millis, 1U << 30));
  }

  void take_rates(std::uint32_t offers, std::uint32_t done) noexcept {
    offered_[seconds_ % kOffers] = offers;
    done_[seconds_ % kDone] = done;
    ++seconds_;
    if (full_ != 0 && done != 0) {
      const auto moved = static_cast<std::int64_t>(done) - static_cast<std::int64_t>(saturated_);
      saturated_ =
          saturated_ == 0
              ? done
              : static_cast<std::uint32_t>(static_cast<std::int64_t>(saturated_) + moved / 4);
    }
  }

  [[nodiscard]] std::uint32_t median_offers() const noexcept {
    std::array<std::uint32_t, kOffers> sorted = offered_;
    const std::size_t count = std::min<std::size_t>(seconds_, kOffers);
    std::sort(sorted.begin(), sorted.begin() + count);
    return sorted[count / 2];
  }

  Instant began_{};
  std::uint64_t offers_ = 0;
  std::uint64_t completions_ = 0;
  std::uint64_t seconds_ = 0;
  std::uint32_t saturated_ = 0;
  std::array<std::uint32_t, kOffers> offered_{};
  std::array<std::uint32_t, kDone> done_{};
  // 0 or 1. In shared memory a bool would have to be believed.
  std::uint8_t started_ = 0;
  std::uint8_t full_ = 1;
};

}  // namespace loadline
