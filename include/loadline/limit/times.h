// Durations in a histogram fine enough for the mean of those below a quantile.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "loadline/time.h"

namespace loadline {

// 16 buckets to each doubling, from a microsecond to eighteen minutes. Each bucket knows the sum of
// what it holds, so a mean is exact but for the bucket in which the quantile lies.
class Times {
 public:
  constexpr void clear() noexcept { *this = Times{}; }

  constexpr void add(Duration d) noexcept {
    Bucket& bucket = buckets_[index_of(d)];
    ++bucket.count;
    bucket.sum_ns += static_cast<std::uint64_t>(d.ns < 0 ? 0 : d.ns);
    ++count_;
  }

  // All of another's, and so many that are longer than anything.
  constexpr void add(const Times& others, std::uint32_t beyond) noexcept {
    for (std::uint32_t i = 0; i < kBuckets; ++i) {
      buckets_[i].count += others.buckets_[i].count;
      buckets_[i].sum_ns += others.buckets_[i].sum_ns;
    }
    buckets_[kBuckets - 1].count += beyond;
    count_ += others.count_ + beyond;
  }

  [[nodiscard]] constexpr std::uint32_t count() const noexcept { return count_; }

  // Of all of them; 0: there are none.
  [[nodiscard]] constexpr double mean_ns() const noexcept {
    double sum = 0;
    for (const Bucket& bucket : buckets_) {
      sum += static_cast<double>(bucket.sum_ns);
    }
    return count_ == 0 ? 0 : sum / count_;
  }

  struct Lower {
    double mean_ns = 0;
    Duration bound{};  // none of them is longer
    // Standard deviation of `mean_ns` over itself, times the square root of count(): by the
    // variance of the values when those above the bound are taken for it (Tukey and McLaughlin,
    // "Less vulnerable confidence and significance procedures for location", Sankhya A 25, 1963).
    double spread = 0;
  };

  // Of the `n` shortest; n is 1 to count().
  [[nodiscard]] constexpr Lower lowest(std::uint32_t n) const noexcept {
    double sum = 0;
    double squares = 0;
    std::uint32_t left = n;
    std::uint32_t i = 0;
    for (; i + 1 < kBuckets && buckets_[i].count < left; ++i) {
      const Bucket& bucket = buckets_[i];
      sum += static_cast<double>(bucket.sum_ns);
      squares += bucket.square();
      left -= bucket.count;
    }
    const double at = buckets_[i].mean();
    sum += at * left;
    squares += at * at * left;
    const double rest = count_ - n;
    const double mean = (sum + at * rest) / count_;
    const double variance = (squares + at * at * rest) / count_ - mean * mean;
    const double lowest_mean = sum / n;
    const double kept = static_cast<double>(n) / count_;
    return {lowest_mean, bound_of(i),
            variance > 0 ? __builtin_sqrt(variance) / (kept * lowest_mean) : 0};
  }

  // The mean of those that share a bucket with the n-th shortest, n from 1 to count(): exact where
  // they are equal.
  [[nodiscard]] constexpr double nth(std::uint32_t n) const noexcept {
    std::uint32_t before = 0;
    for (const Bucket& bucket : buckets_) {
      before += bucket.count;
      if (before >= n && bucket.count != 0) {
        return static_cast<double>(bucket.sum_ns) / bucket.count;
      }
    }
    return 0;
  }

 private:
  static constexpr std::uint32_t kFirstBit = 10;  // 1024 ns
  static constexpr std::uint32_t kLastBit = 40;
  static constexpr std::uint32_t kPerDoubling = 16;
  static constexpr std::uint32_t kBuckets = (kLastBit - kFirstBit) * kPerDoubling + 2;

  struct Bucket {
    std::uint64_t sum_ns = 0;
    std::uint32_t count = 0;

    [[nodiscard]] constexpr double mean() const noexcept {
      return count == 0 ? 0 : static_cast<double>(sum_ns) / count;
    }
    [[nodiscard]] constexpr double square() const noexcept { return mean() * mean() * count; }
  };

  static constexpr std::uint32_t index_of(Duration d) noexcept {
    if (d.ns < (std::int64_t{1} << kFirstBit)) {
      return 0;
    }
    const auto ns = static_cast<std::uint64_t>(d.ns);
    const auto bit = static_cast<std::uint32_t>(std::bit_width(ns)) - 1;
    if (bit >= kLastBit) {
      return kBuckets - 1;
    }
    const auto part = static_cast<std::uint32_t>(ns >> (bit - 4)) & (kPerDoubling - 1);
    return 1 + (bit - kFirstBit) * kPerDoubling + part;
  }

  static constexpr Duration bound_of(std::uint32_t index) noexcept {
    if (index == 0) {
      return Duration{std::int64_t{1} << kFirstBit};
    }
    const std::uint32_t bit = kFirstBit + (index - 1) / kPerDoubling;
    const std::int64_t part = (index - 1) % kPerDoubling;
    return bit >= kLastBit ? Duration::max()
                           : Duration{(std::int64_t{1} << bit) + ((part + 1) << (bit - 4))};
  }

  std::array<Bucket, kBuckets> buckets_{};
  std::uint32_t count_ = 0;
};

}  // namespace loadline
