// `gradient2`: multiplied by how much faster the service used to be.
//
// Source: Gradient2Limit of github.com/Netflix/concurrency-limits. For each window of a second
// (LimitWindow) whose mean time is `time`:
//
//   usual = mean of the first 10 windows, then usual + 2/601 * (time - usual)
//   usual > 2 * time             usual * 0.95: it has got faster
//   2 * in flight < limit        no change, else:
//   g     = 1.5 * usual / time, between 0.5 and 1
//   limit = 0.8 * limit + 0.2 * (g * limit + 4)
//
// Defaults: it begins at 20, with bounds of 20 and 200 where the policy gives none (limit_least 1,
// limit_most kMaxLimit). A failure says nothing, as one that its user had ignored, and that an
// answer is late says no more than its time does: as published.
//
// While g stays as it is the limit goes to 4 / (1 - g). While it is 1 there is no such place: the
// limit grows by 0.8 a second to its upper bound, since a service that has been slow for ten
// minutes is what `usual` means by then.
#pragma once

#include <cstdint>

#include "loadline/limit/baseline.h"
#include "loadline/limit/sample.h"

namespace loadline {

class Gradient2Limit {
 public:
  static constexpr LimitBounds kPublished{.least = 20, .most = 200};

  Gradient2Limit() noexcept = default;
  Gradient2Limit(std::uint32_t from, LimitBounds bounds, std::uint64_t seed) noexcept;

  void take(const LimitSample& sample, LimitReason& why) noexcept;
  void look(const LimitView& view, LimitReason& why) noexcept;
  void disturb(Instant now) noexcept { window_.begin(now); }

  [[nodiscard]] std::uint32_t limit() const noexcept { return whole_within(limit_, bounds_); }
  [[nodiscard]] bool searching() const noexcept { return false; }

 private:
  void step(const LimitWindow& window, LimitReason& why) noexcept;
  void learn(double time_ns) noexcept;

  LimitBounds bounds_{};
  double limit_ = 1;
  double usual_ns_ = 0;
  std::uint32_t windows_ = 0;  // of the first ones
  LimitWindow window_;
};

}  // namespace loadline
