// `vegas`: as many waiting inside the service as the logarithm of the limit allows.
//
// Source: VegasLimit of github.com/Netflix/concurrency-limits, after Brakmo and Peterson, "TCP
// Vegas: End to end congestion avoidance on a global Internet", 1995. With the time of a request
// that waits for nobody, `base`, it takes for the number that wait, and with lg the decimal
// logarithm rounded down, at least 1:
//
//   q = ceil(limit * (1 - base / time))
//   a tenth late      limit - lg
//   2 * in flight < limit, else: no change
//   q <= lg           limit + 6 lg
//   q < 3 lg          limit + lg
//   q > 6 lg          limit - lg
//
// base is the least time seen, and each (0.5 to 1, drawn) * 30 * limit windows whatever is measured
// just then. Defaults: it begins at 20, at most 1000 where the policy gives no bound, without
// smoothing.
//
// A sample here is a window of a second (LimitWindow): Netflix's WindowedLimit, which must be asked
// for there. Without it base is the quickest request ever seen, the limit sinks to a few, and a
// service whose times vary like an exponential's turns away most of what it could do. A failure
// says nothing, as one that its user had ignored.
//
// Where times have become longer for good it takes them for waiting, and where it measures base
// while others wait, it takes waiting for the service's own time.
#pragma once

#include <cstdint>

#include "loadline/limit/baseline.h"
#include "loadline/limit/sample.h"

namespace loadline {

class VegasLimit {
 public:
  static constexpr LimitBounds kPublished{.least = 1, .most = 1000};

  VegasLimit() noexcept = default;
  VegasLimit(std::uint32_t from, LimitBounds bounds, std::uint64_t seed) noexcept;

  void take(const LimitSample& sample, LimitReason& why) noexcept;
  void look(const LimitView& view, LimitReason& why) noexcept;
  void disturb(Instant now) noexcept { window_.begin(now); }

  [[nodiscard]] std::uint32_t limit() const noexcept { return limit_; }
  [[nodiscard]] bool searching() const noexcept { return false; }

  // The decimal logarithm rounded down, at least 1.
  static constexpr std::uint32_t lg(std::uint32_t n) noexcept {
    std::uint32_t result = 1;
    for (; n >= 100; n /= 10) {
      ++result;
    }
    return result;
  }

 private:
  void step(const LimitWindow& window, LimitReason& why) noexcept;

  LimitBounds bounds_{};
  LimitDraws draws_;
  std::uint32_t limit_ = 1;
  double base_ns_ = 0;          // 0: not measured
  double windows_to_base_ = 0;  // in units of the limit
  std::uint32_t windows_ = 0;   // since base was measured
  LimitWindow window_;
};

}  // namespace loadline
