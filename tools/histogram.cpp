#include "histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <functional>

namespace loadline::tools {
namespace {

using std::chrono::duration_cast;
using std::chrono::microseconds;

constexpr int kPartBits = 7;  // 2^7 parts to each power of two
constexpr std::uint64_t kParts = 1u << kPartBits;
constexpr std::uint64_t kLowestUs = 1;
constexpr std::uint64_t kHighestUs = duration_cast<microseconds>(Histogram::kHighest).count();

// How many low bits of `us` its bucket does not tell apart.
constexpr int dropped_bits(std::uint64_t us) {
  return std::max(0, static_cast<int>(std::bit_width(us)) - (kPartBits + 1));
}

// Below 2 * kParts a bucket is one microsecond wide, and the index is the value. From there on the
// top kPartBits + 1 bits choose the bucket; their leading one carries over into the octave.
constexpr std::size_t index_of(std::uint64_t us) {
  const int shift = dropped_bits(us);
  return static_cast<std::size_t>(shift) * kParts + static_cast<std::size_t>(us >> shift);
}

constexpr int shift_of(std::size_t index) {
  return index < 2 * kParts ? 0 : static_cast<int>(index / kParts) - 1;
}

constexpr std::uint64_t lowest_in(std::size_t index) {
  const int shift = shift_of(index);
  return static_cast<std::uint64_t>(index - static_cast<std::size_t>(shift) * kParts) << shift;
}

constexpr std::uint64_t highest_in(std::size_t index) {
  return lowest_in(index) + ((std::uint64_t{1} << shift_of(index)) - 1);
}

constexpr std::size_t kBuckets = index_of(kHighestUs) + 1;

std::uint64_t to_us(Histogram::Time value) {
  const auto us = duration_cast<microseconds>(value + std::chrono::nanoseconds{500}).count();
  return us < 0 ? kLowestUs : std::clamp<std::uint64_t>(us, kLowestUs, kHighestUs);
}

Histogram::Time from_us(std::uint64_t us) {
  return microseconds{us};
}

}  // namespace

Histogram::Histogram() : buckets_(kBuckets) {}

void Histogram::record(Time value, std::uint64_t count) {
  if (count == 0) {
    return;
  }
  // Clamped before it is rounded, since rounding could overflow the largest time there is.
  const auto us = to_us(std::min(value, kHighest));
  buckets_[index_of(us)] += count;
  min_us_ = count_ == 0 ? us : std::min(min_us_, us);
  max_us_ = std::max(max_us_, us);
  count_ += count;
  sum_us_ += us * count;
}

void Histogram::record_corrected(Time value, Time expected_interval) {
  record(value);
  if (expected_interval <= Time::zero()) {
    return;
  }
  for (Time missed = std::min(value, kHighest) - expected_interval; missed >= expected_interval;
       missed -= expected_interval) {
    record(missed);
  }
}

Histogram Histogram::corrected(Time expected_interval) const {
  Histogram result;
  for (std::size_t index = 0; index < buckets_.size(); ++index) {
    if (buckets_[index] == 0) {
      continue;
    }
    // The largest value is known exactly, and it is the one that adds most.
    const auto middle = (lowest_in(index) + highest_in(index)) / 2;
    const Time value = from_us(index == index_of(max_us_) ? max_us_ : middle);
    result.record(value, buckets_[index]);
    if (expected_interval <= Time::zero()) {
      continue;
    }
    for (Time missed = value - expected_interval; missed >= expected_interval;
         missed -= expected_interval) {
      result.record(missed, buckets_[index]);
    }
  }
  return result;
}

void Histogram::merge(const Histogram& other) {
  if (other.count_ == 0) {
    return;
  }
  std::transform(buckets_.begin(), buckets_.end(), other.buckets_.begin(), buckets_.begin(),
                 std::plus<>{});
  min_us_ = count_ == 0 ? other.min_us_ : std::min(min_us_, other.min_us_);
  max_us_ = std::max(max_us_, other.max_us_);
  count_ += other.count_;
  sum_us_ += other.sum_us_;
}

Histogram::Time Histogram::min() const {
  return from_us(min_us_);
}

Histogram::Time Histogram::max() const {
  return from_us(max_us_);
}

Histogram::Time Histogram::mean() const {
  if (count_ == 0) {
    return Time::zero();
  }
  return Time{std::llround(1000.0 * static_cast<double>(sum_us_) / static_cast<double>(count_))};
}

Histogram::Time Histogram::percentile(double percent) const {
  if (count_ == 0 || percent <= 0) {
    return min();
  }
  // The tiny subtraction keeps 75 % of 20,000 at 15,000 when the product comes out a hair above.
  const double share = std::min(percent, 100.0) / 100.0 * static_cast<double>(count_);
  const auto rank = std::max<std::uint64_t>(
      1, static_cast<std::uint64_t>(std::ceil(share - 1e-9 * static_cast<double>(count_))));
  std::uint64_t seen = 0;
  for (std::size_t index = 0; index < buckets_.size(); ++index) {
    seen += buckets_[index];
    if (seen >= rank) {
      return from_us(std::clamp(highest_in(index), min_us_, max_us_));
    }
  }
  return max();
}

std::uint64_t Histogram::count_at_most(Time value) const {
  if (value < kLowest) {
    return 0;
  }
  const auto last = index_of(to_us(std::min(value, kHighest)));
  std::uint64_t result = 0;
  for (std::size_t index = 0; index <= last; ++index) {
    result += buckets_[index];
  }
  return result;
}

}  // namespace loadline::tools
