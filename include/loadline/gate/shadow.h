// What a gate that observes keeps in mind of the gate that it would have been: when what that has
// running ends, and how long its work takes (src/gate/observe.h).
//
// Plain data under the gate's mutex, of a fixed size whatever the limit.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "loadline/time.h"

namespace loadline {

namespace detail {

// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): seeds that differ by one give unlike generators.
constexpr std::uint64_t split_mix(std::uint64_t x) noexcept {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace detail

// Units of work, and how many of them are of a weight above 1.
struct ShadowUnits {
  std::uint32_t all = 0;
  std::uint32_t heavy = 0;

  static constexpr ShadowUnits of(std::uint32_t cost) noexcept {
    return {cost, cost > 1 ? cost : 0};
  }
  static constexpr ShadowUnits unpacked(std::uint64_t bits) noexcept {
    return {static_cast<std::uint32_t>(bits), static_cast<std::uint32_t>(bits >> 32)};
  }
  [[nodiscard]] constexpr std::uint64_t packed() const noexcept {
    return std::uint64_t{heavy} << 32 | all;
  }
  constexpr void more(ShadowUnits come) noexcept {
    all += come.all;
    heavy += come.heavy;
  }
  // Never below 0, whatever the block holds.
  constexpr void less(ShadowUnits gone) noexcept {
    all -= std::min(all, gone.all);
    heavy -= std::min(heavy, gone.heavy);
  }
};

// Services that ended with success, and the sum of their times.
struct ShadowServices {
  std::uint32_t count = 0;
  std::uint64_t ns = 0;

  static constexpr ShadowServices of(Duration time, bool success) noexcept {
    return success && time.ns > 0 ? ShadowServices{1, static_cast<std::uint64_t>(time.ns)}
                                  : ShadowServices{};
  }
};

// Which units end when. The ends of a million requests are kept as counts, in slots that are the
// wider the farther they lie ahead (a hierarchy of timing wheels: Varghese and Lauck, SOSP 1987;
// each twice as coarse as the one before). What is in one slot ends together, at the mean of its
// times: by itself when it does, and else within a sixteenth of the time that was left to it.
class ShadowEnds {
 public:
  struct Next {
    Instant due = Instant::never();
    std::uint32_t wheel = 0;
    std::uint32_t slot = 0;
  };
  struct Ended {
    ShadowUnits units;
    ShadowServices services;
  };

  // `now` does not go back, and is not past what next() says.
  void add(Instant now, Instant end, const Ended& what) noexcept {
    std::uint32_t wheel = 0;
    while (wheel + 1 < kWheels && number(wheel, end) - number(wheel, now) >= kSlots) {
      ++wheel;
    }
    const std::int64_t begin = number(wheel, now);
    const std::int64_t at = std::clamp(number(wheel, end), begin, begin + kSlots - 1);
    Slot& slot = slots_[wheel][at % kSlots];
    used_[wheel] |= 1U << (at % kSlots);
    slot.units.more(what.units);
    slot.successes += what.services.count;
    slot.service_ns += what.services.ns;
    // Moves the mean by the newcomers' share in it.
    const std::int64_t place = std::clamp<std::int64_t>(end.ns - start(wheel, at), 0,
                                                        (std::int64_t{1} << shift(wheel)) - 1);
    const std::int64_t apart = (place << kPlaceBits >> shift(wheel)) - std::int64_t{slot.place};
    const std::int64_t moved =
        apart * std::min(what.units.all, kMostUnits) / std::max<std::int64_t>(slot.units.all, 1);
    slot.place = static_cast<std::uint32_t>(slot.place + moved);
  }

  // What ends first.
  [[nodiscard]] Next next(Instant now) const noexcept {
    Next first;
    for (std::uint32_t wheel = 0; wheel < kWheels; ++wheel) {
      if (used_[wheel] == 0) {
        continue;
      }
      const std::int64_t begin = number(wheel, now);
      const auto turn = static_cast<int>(begin % kSlots);
      const std::int64_t at = begin + std::countr_zero(std::rotr(used_[wheel], turn));
      const auto slot = static_cast<std::uint32_t>(at % kSlots);
      const std::int64_t place = slots_[wheel][slot].place % (1U << kPlaceBits);
      const Instant due{start(wheel, at) + (place << shift(wheel) >> kPlaceBits)};
      if (due < first.due) {
        first = {due, wheel, slot};
      }
    }
    return first;
  }

  Ended take(Next next) noexcept {
    used_[next.wheel] &= ~(1U << next.slot);
    Slot& slot = slots_[next.wheel][next.slot];
    const Ended ended{slot.units, {slot.successes, slot.service_ns}};
    slot = {};
    return ended;
  }

 private:
  static constexpr std::uint32_t kWheels = 24;  // the last reaches 70 minutes ahead
  static constexpr std::int64_t kSlots = 32;
  static constexpr std::uint32_t kFinest = 14;     // a slot of the first wheel: 2^14 ns
  static constexpr std::uint32_t kPlaceBits = 24;  // of a place within a slot
  static constexpr std::uint32_t kMostUnits = 1U << 24;

  struct Slot {
    ShadowUnits units;
    std::uint32_t place = 0;  // where in the slot it ends: its share of the width, in 1/2^24
    std::uint32_t successes = 0;
    std::uint64_t service_ns = 0;
  };

  static constexpr std::uint32_t shift(std::uint32_t wheel) noexcept { return kFinest + wheel; }
  // Which slot since time began; clocks count from above 0.
  static constexpr std::int64_t number(std::uint32_t wheel, Instant when) noexcept {
    return std::max<std::int64_t>(when.ns, 0) >> shift(wheel);
  }
  static constexpr std::int64_t start(std::uint32_t wheel, std::int64_t number) noexcept {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(number) << shift(wheel));
  }

  std::uint32_t used_[kWheels] = {};  // masks of slots
  Slot slots_[kWheels][kSlots] = {};
};

// How long services take that do no more than the limit, from what is seen of services that may do
// more. Drawn are the times of the last requests that began beside no more than the limit. A busy
// service is seen so seldom, and by few: hence the mean of what is drawn is that of all
// completions. What began in a crowd says of it that it is
//   - what those took, if a crowd makes nobody slow;
//   - limit / throughput, if the service does no more than its limit at a time (Little's law), and
//     the rest of what they took is its queue.
// The second is the least that it can be, the first the most; believed is the one that is nearer to
// what was seen without a crowd.
class ShadowTimes {
 public:
  struct Drawn {
    Duration time{};
    bool success = true;
  };

  // One that began beside no more than the limit.
  void take(std::uint32_t importance, Drawn one) noexcept {
    const std::uint64_t units = units_of(one.time);
    std::uint32_t& place = kept_[taken_ % kKept];
    sum_ += units - (taken_ < kKept ? 0 : place >> kTimeAt);
    place = static_cast<std::uint32_t>(units << kTimeAt) | (one.success ? kSuccess : 0U) |
            importance % kClasses;
    // Round the ring and on, never back to where it was empty.
    taken_ = taken_ + 1 == 2 * kKept ? kKept : taken_ + 1;
    if (taken_ % kForgets == 0) {
      forget_half();
    }
  }

  // One that began in a crowd.
  void take_of_crowd(Duration time) noexcept {
    ++crowd_;
    crowd_sum_ += units_of(time);
    if (crowd_ >= kMostOfCrowd) {
      forget_half();
    }
  }
  // Time in which more than the limit ran.
  void crowded_for(Duration time) noexcept { crowded_ += units_of(time); }

  [[nodiscard]] bool any() const noexcept { return taken_ != 0 || crowd_ != 0; }

  // Of its class; of another, where there is none of its own near the place that was drawn.
  [[nodiscard]] Drawn draw(std::uint32_t importance, std::uint32_t limit,
                           std::uint64_t random) noexcept {
    if (taken_ == 0) {
      const std::uint64_t mean = crowd_sum_ / std::max<std::uint64_t>(crowd_, 1);
      return {Duration{static_cast<std::int64_t>(std::min(mean, kLongest)) * kUnit}, true};
    }
    const auto from = static_cast<std::uint32_t>(random % count());
    std::uint32_t found = kept_[from];
    for (std::uint32_t step = 1; step < kNear && found % kClasses != importance; ++step) {
      found = kept_[(from + step) % count()];
    }
    found = found % kClasses == importance ? found : kept_[from];
    const std::int64_t time = std::int64_t{found >> kTimeAt} * kUnit + kUnit / 2;
    ++draws_;
    drawn_sum_ += found >> kTimeAt;
    return {Duration{time * correction(limit) / kAsDrawn}, (found & kSuccess) != 0};
  }

 private:
  static constexpr std::uint32_t kKept = 1024;
  static constexpr std::uint32_t kNear = 128;
  static constexpr std::uint32_t kForgets = 128;
  static constexpr std::uint64_t kMostOfCrowd = 8192;
  static constexpr std::int64_t kUnit = 1024;  // ns
  static constexpr std::int64_t kAsDrawn = 1 << 16;
  // Each as time:28 | success:1 | class:3. The longest time is 4.6 minutes.
  static constexpr std::uint32_t kClasses = 8;
  static constexpr std::uint32_t kSuccess = 8;
  static constexpr std::uint32_t kTimeAt = 4;
  static constexpr std::uint64_t kLongest = (std::uint64_t{1} << 28) - 1;

  static constexpr std::uint64_t units_of(Duration time) noexcept {
    return std::min(static_cast<std::uint64_t>(std::max<std::int64_t>(time.ns, 0) / kUnit),
                    kLongest);
  }
  [[nodiscard]] std::uint32_t count() const noexcept { return std::clamp(taken_, 1U, kKept); }

  void forget_half() noexcept {
    crowd_ /= 2;
    crowd_sum_ /= 2;
    crowded_ /= 2;
    draws_ /= 2;
    drawn_sum_ /= 2;
  }

  // In 1/kAsDrawn. Within these bounds, whatever the block holds.
  [[nodiscard]] std::int64_t correction(std::uint32_t limit) const noexcept {
    // Of what is drawn, which is another mix of classes than what is kept.
    const std::uint64_t drawn = std::clamp<std::uint64_t>(
        (sum_ + drawn_sum_) / std::max<std::uint64_t>(count() + draws_, 1), 1, kLongest);
    if (crowd_ == 0) {
      return kAsDrawn;
    }
    const std::uint64_t most = std::min(crowd_sum_ / crowd_, kLongest);
    const std::uint64_t least = std::min(crowded_ * limit / crowd_, kLongest);
    const std::uint64_t of_crowd = drawn * drawn < least * most ? least : most;
    const std::uint64_t all = (drawn * count() + of_crowd * std::min(crowd_, kMostOfCrowd)) /
                              (count() + std::min(crowd_, kMostOfCrowd));
    return static_cast<std::int64_t>(
        std::clamp<std::uint64_t>(all * kAsDrawn / drawn, kAsDrawn / 16, kAsDrawn * 16));
  }

  std::uint32_t taken_ = 0;
  std::uint32_t kept_[kKept] = {};
  std::uint64_t sum_ = 0;  // of what is kept; all sums in units
  std::uint64_t crowd_ = 0;
  std::uint64_t crowd_sum_ = 0;
  std::uint64_t crowded_ = 0;
  std::uint64_t draws_ = 0;
  std::uint64_t drawn_sum_ = 0;
};

}  // namespace loadline
