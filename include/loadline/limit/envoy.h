// `envoy`: multiplied by the time of a request beside two others, over the time it takes now.
//
// Source: the gradient controller of Envoy's adaptive_concurrency filter (www.envoyproxy.io, HTTP
// filters, "Adaptive Concurrency"). Twice a minute the limit goes down to its least, and the median
// time of 50 requests that started since is taken for `base`. Then, each 100 ms:
//
//   g     = 1.25 * base / median time, between 0.5 and 2
//   limit = g * limit + sqrt(g * limit), rounded down
//
// and five times in a row at the least measure base anew. Defaults: bounds of 3 and 1000 where the
// policy gives none (limit_least 1, limit_most kMaxLimit); base each 30 s and up to 15 % more,
// drawn, so that instances do not measure together. It begins by measuring; what a policy says to
// begin with is the limit after that, or else the least. All that has ended counts with its time,
// whether it failed, was late or not.
//
// With W at work at once and the rest waiting it comes to rest at 1.25 W + sqrt(1.25 W). It grows
// though nobody asks for more; it turns requests away while it measures; and it measures a service
// that has been slow all along as one that is well.
#pragma once

#include <cstdint>
#include <limits>

#include "loadline/limit/baseline.h"
#include "loadline/limit/flag.h"
#include "loadline/limit/sample.h"
#include "loadline/limit/times.h"

namespace loadline {

class EnvoyLimit {
 public:
  static constexpr LimitBounds kPublished{.least = 3, .most = 1000};
  static constexpr double kBuffer = 0.25;

  EnvoyLimit() noexcept = default;
  EnvoyLimit(std::uint32_t from, LimitBounds bounds, std::uint64_t seed,
             double buffer = kBuffer) noexcept;

  void take(const LimitSample& sample, LimitReason& why) noexcept;
  void look(const LimitView& view, LimitReason& why) noexcept;
  void disturb(Instant now) noexcept;

  [[nodiscard]] std::uint32_t limit() const noexcept { return limit_; }
  [[nodiscard]] bool searching() const noexcept { return false; }
  [[nodiscard]] bool measures_base() const noexcept { return measures_base_; }

 private:
  void begin_base(Instant now, LimitReason& why) noexcept;
  void end_base(Instant now, LimitReason& why) noexcept;
  void plan_base(Instant now) noexcept;
  void step(Instant now, LimitReason& why) noexcept;
  [[nodiscard]] double median_ns() const noexcept { return times_.nth((times_.count() + 1) / 2); }

  LimitBounds bounds_{};
  LimitDraws draws_;
  double buffer_ = kBuffer;
  std::uint32_t limit_ = 1;
  std::uint32_t limit_after_base_ = 1;
  Flag measures_base_ = true;
  std::uint32_t steps_at_least_ = 0;  // in a row
  double base_ns_ = 0;
  // Those that started before are of another limit.
  Instant counts_from_{std::numeric_limits<std::int64_t>::min()};
  Instant base_due_ = Instant::never();
  Instant stepped_at_{};
  Times times_;  // since the last step, or of those that make base
};

}  // namespace loadline
