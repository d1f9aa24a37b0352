// Two counts over a sliding window of time: how many, and how many of them were of a kind.
//
// Ten slices, each one atomic word that says which slice of time it counts; an old one is begun
// anew by whoever counts there first. What is summed is the current slice and the nine before it,
// so the window is between 0.9 and 1 of its length. A slice that would overflow its 16 bits is
// halved, both counts together: their ratio, which is what is asked for, stays.
//
// Threads: any. Exact in one thread; with several a sum may miss counts that are made meanwhile.
#pragma once

#include <atomic>
#include <cstdint>

#include "loadline/time.h"

namespace loadline::client {

class SlidingCounts {
 public:
  struct Sum {
    std::uint32_t all = 0;
    std::uint32_t marked = 0;
    friend constexpr bool operator==(Sum, Sum) noexcept = default;
  };

  // `length` is 10 ms or more; `origin` is not after any later `now` that matters.
  SlidingCounts(Duration length, Instant origin) noexcept;
  SlidingCounts(const SlidingCounts&) = delete;
  SlidingCounts& operator=(const SlidingCounts&) = delete;
  ~SlidingCounts() = default;

  // `generation`: counts of another one are not seen, and vanish.
  void add(std::uint32_t all, std::uint32_t marked, Instant now,
           std::uint8_t generation = 0) noexcept;
  [[nodiscard]] Sum sum(Instant now, std::uint8_t generation = 0) const noexcept;

 private:
  static constexpr std::uint32_t kSlices = 10;

  [[nodiscard]] std::uint64_t slice_of(Instant now) const noexcept;

  Duration slice_;
  Instant origin_;
  std::atomic<std::uint64_t> slices_[kSlices]{};
};

}  // namespace loadline::client
