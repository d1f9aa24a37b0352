// `brpc`: the most answers a second there have been, times the least time they have taken.
//
// Source: "auto" of Apache brpc (github.com/apache/brpc, docs/cn/auto_concurrency_limiter.md):
// Little's law on what a service does at its best. A window ends with 200 samples, or after a
// second if it has 100, and is given up otherwise; samples within 0.1 ms of the last are left out
// of it. Of each:
//
//   time  = (sum of times of good ones + sum of times of failed ones) / good ones
//   base  = base + 0.1 * (time - base) where time is less, else as it was
//   best  = rate where that is more, else best + 0.01 * (rate - best)
//   more  = 0.02 more where time <= 1.06 base or rate <= best / 1.06, else 0.02 less,
//           between 0.06 and 0.3, where it begins
//   limit = base * best * (1 + more), rounded up
//
// A window without a good one halves the limit. Each 25 to 50 s (drawn) the limit is
// base * best * 0.9 for as long as 2 * time, and base is forgotten and measured anew. Defaults: it
// begins at 40, at least 9 where the policy gives no bound (the number of workers that brpc has
// where nobody says otherwise), with no upper bound of its own.
//
// A late answer counts as a failed one here: its caller's deadline has passed. brpc's server does
// not see those. A window ends at a look, so it may have more than 200.
#pragma once

#include <cstdint>

#include "loadline/limit/baseline.h"
#include "loadline/limit/sample.h"

namespace loadline {

class BrpcLimit {
 public:
  static constexpr LimitBounds kPublished{.least = 9, .most = kMaxLimit};

  BrpcLimit() noexcept = default;
  BrpcLimit(std::uint32_t from, LimitBounds bounds, std::uint64_t seed) noexcept;

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
    std::uint32_t seen_good = 0;
    // Of those that are not left out:
    std::uint32_t good = 0;
    std::uint32_t failed = 0;
    double good_ns = 0;
    double failed_ns = 0;
  };

  void plan_base(Instant now) noexcept;
  void begin_window(Instant now, std::uint64_t ended) noexcept;
  void step(const LimitView& view, LimitReason& why) noexcept;
  void learn(double time_ns, double rate) noexcept;

  LimitBounds bounds_{};
  LimitDraws draws_;
  std::uint32_t limit_ = 1;
  double base_ns_ = 0;  // 0: not measured
  double best_rate_ = 0;
  double more_ = 0;
  Instant base_due_ = Instant::never();
  Instant forgets_base_ = Instant::never();  // never: not about to
  Instant sampled_at_{};
  Window window_{};
};

}  // namespace loadline
