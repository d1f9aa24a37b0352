// `trpc`: what the service does, corrected so that its own queue delays for no longer than is said.
//
// Source: the high_percentile overload protection of tRPC-Cpp (github.com/trpc-group/trpc-cpp,
// docs, "overload control: high percentile"), without its priorities: the gate has classes. With
// `delay`, how long requests wait inside the service for a worker, and E = 20 ms (of the published
// 10 to 20):
//
//   delay < E / 2        no limit (the upper bound), else:
//   delay < E            limit = E / delay       * cost * rate
//   delay >= E           limit = sqrt(E / delay) * cost * rate
//
//   cost = cost + 0.1 * (mean time - cost) where that is less, else + 0.01 of it
//   rate = rate + 0.1 * (good answers a second - rate) where that is more, else + 0.01 of it
//
// each 100 ms, with 30 answers or more. It begins without a limit, and has no bounds of its own.
//
// tRPC measures the delay in its scheduler, as a high percentile. A gate does not see into the
// service. What is nearest to it here: by how much the median time of 30 answers or more is above
// the `usual` median, smoothed by a tenth for each 10 of them. The median, because a time's upper
// percentiles are mostly those of the work, which do not come from waiting. `usual` follows by 0.01
// downwards, and by 0.001 upwards while delay is below E / 2. It makes of an absolute set-point one
// that is relative to a baseline: where the work itself becomes longer by E, this law sees a queue
// and the original does not. A failure counts towards neither delay nor cost, and a late answer not
// towards the rate.
//
// E is the same for a service of 1 ms and one of 1 s.
#pragma once

#include <cstdint>

#include "loadline/limit/baseline.h"
#include "loadline/limit/sample.h"
#include "loadline/limit/times.h"

namespace loadline {

class TrpcLimit {
 public:
  static constexpr Duration kMostDelay = Duration::millis(20);

  TrpcLimit() noexcept = default;
  TrpcLimit(std::uint32_t from, LimitBounds bounds, std::uint64_t seed) noexcept;

  void take(const LimitSample& sample, LimitReason& why) noexcept;
  void look(const LimitView& view, LimitReason& why) noexcept;
  void disturb(Instant now) noexcept;

  [[nodiscard]] std::uint32_t limit() const noexcept { return limit_; }
  [[nodiscard]] bool searching() const noexcept { return false; }

 private:
  struct Window {
    Instant begun = Instant::never();
    std::uint64_t ended_before = 0;  // what LimitView::ended was
    std::uint32_t seen = 0;
    std::uint32_t good = 0;
    std::uint32_t answered = 0;
    double sum_ns = 0;  // of those answered
  };

  void measure_rate(const LimitView& view) noexcept;
  void measure_delay() noexcept;
  void step(LimitReason& why) noexcept;

  LimitBounds bounds_{};
  std::uint32_t limit_ = 1;
  double usual_ns_ = 0;  // 0: not measured
  double delay_ns_ = 0;
  double cost_ns_ = 0;  // 0: not measured
  double rate_ = 0;
  Window window_{};
  Times times_;  // since the delay was measured
};

}  // namespace loadline
