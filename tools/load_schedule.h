// When requests are due: a stream whose rate may change in steps, and bursts.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>

#include "load.h"

namespace loadline::tools {

// One of `parts` generators' share of the arrivals; together they make the whole stream. Times are
// since the start, ascending, and below options.duration.
class ArrivalSchedule {
 public:
  ArrivalSchedule(const LoadOptions& options, unsigned part, unsigned parts);

  // None once the run is over.
  std::optional<std::chrono::nanoseconds> next();

 private:
  using Time = std::chrono::nanoseconds;

  std::optional<Time> next_of_stream();
  std::optional<Time> next_of_burst();

  // The stream is laid out on an axis of expected arrivals, on which the rate is 1 whatever the
  // step: gaps are drawn there, and the steps turn a place on it into a time.
  std::optional<Time> time_at(double arrivals);

  std::vector<RateStep> steps_;
  Arrivals arrivals_;
  std::uint64_t burst_share_;
  Time burst_every_;
  Time duration_;
  unsigned parts_;
  std::mt19937_64 random_;

  double place_;                  // on the axis
  std::size_t step_ = 0;          // the one that place_ is in
  double step_place_ = 0;         // where it begins on the axis
  Time burst_at_{};               // the last burst begun
  std::uint64_t burst_left_ = 0;  // of it
  std::optional<Time> stream_;    // next, already drawn
  std::optional<Time> burst_;
};

}  // namespace loadline::tools
