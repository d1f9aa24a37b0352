// A histogram of times with a bounded relative error, for latencies.
//
// Buckets are log-linear, as in HdrHistogram: each power of two of microseconds is cut into 128
// equal parts, so that any value is known to within 1/128 (< 1 %) of itself, from 1 us to 1 h, in
// 28 kB whatever the number of values. Recording is a shift and an increment; it does not allocate.
//
//   Histogram latency;
//   latency.record(12ms);
//   latency.percentile(99);
//
// Not thread safe: one histogram a thread, merged at the end.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

namespace loadline::tools {

class Histogram {
 public:
  using Time = std::chrono::nanoseconds;

  static constexpr Time kLowest = std::chrono::microseconds{1};
  static constexpr Time kHighest = std::chrono::hours{1};

  Histogram();

  // Values outside of [kLowest, kHighest] count as the nearer end.
  void record(Time value, std::uint64_t count = 1);

  // Records `value`, and what a caller who is held up for so long did not get to send: had it gone
  // on sending every `expected_interval`, those requests would have taken value - interval,
  // value - 2 * interval, and so on down to the interval. This is the correction for coordinated
  // omission of a closed loop; a generator that times from the intended start must not use it.
  void record_corrected(Time value, Time expected_interval);

  // The same correction for values already recorded: the largest as it was, the others at the
  // middle of their buckets.
  Histogram corrected(Time expected_interval) const;

  void merge(const Histogram& other);

  std::uint64_t count() const { return count_; }
  // All are 0 when nothing was recorded. Largest, smallest and mean are exact to 1 us.
  Time min() const;
  Time max() const;
  Time mean() const;

  // The smallest recorded value that at least `percent` of all values do not exceed, up to the
  // bucket's width above it and never above max(). `percent` is clamped to [0, 100]; 0 is min().
  Time percentile(double percent) const;

  // How many values are at most `value`, to the bucket.
  std::uint64_t count_at_most(Time value) const;

 private:
  std::vector<std::uint64_t> buckets_;
  std::uint64_t count_ = 0;
  std::uint64_t sum_us_ = 0;
  std::uint64_t min_us_ = 0;
  std::uint64_t max_us_ = 0;
};

}  // namespace loadline::tools
