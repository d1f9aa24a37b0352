// What a gate writes down about waits and service times: a histogram of fixed size.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "loadline/time.h"

namespace loadline {

// Bucket i holds durations up to 125 us * 2^i (0.125, 0.25, 0.5, 1, 2, 4 ... ms); the last holds
// what is longer than 524 s. Doubling widths bound the error of a percentile to a factor of two
// over the whole range, at a size that can be kept per class.
inline constexpr std::uint32_t kBuckets = 24;
inline constexpr std::int64_t kFirstBucketNs = 125'000;

constexpr std::uint32_t bucket_of(Duration d) noexcept {
  if (d.ns <= kFirstBucketNs) {
    return 0;
  }
  const auto index = static_cast<std::uint32_t>(
      std::bit_width(static_cast<std::uint64_t>(d.ns - 1) / kFirstBucketNs));
  return index < kBuckets ? index : kBuckets - 1;
}

// The longest duration that bucket i holds; Duration::max() for the last.
constexpr Duration bucket_bound(std::uint32_t i) noexcept {
  return i + 1 < kBuckets ? Duration{kFirstBucketNs << i} : Duration::max();
}

// A histogram as read from a gate: counts per bucket (not cumulative), and the sum of all
// durations.
struct HistogramView {
  std::array<std::uint64_t, kBuckets> counts{};
  std::uint64_t sum_ns = 0;

  [[nodiscard]] constexpr std::uint64_t total() const noexcept {
    std::uint64_t sum = 0;
    for (const std::uint64_t count : counts) {
      sum += count;
    }
    return sum;
  }
};

}  // namespace loadline
