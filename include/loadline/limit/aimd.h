// `aimd`: a step up while all goes well, a tenth off when it does not.
//
// Source: AIMDLimit of github.com/Netflix/concurrency-limits; the rule itself is Chiu and Jain's,
// "Analysis of the increase and decrease algorithms for congestion avoidance", 1989. For each
// sample:
//
//   late, or longer than 5 s            limit * 0.9, rounded down
//   else, if 2 * in flight >= limit     limit + 1
//
// Defaults: it begins at 20, with bounds of 20 and 200 where the policy gives none (limit_least 1,
// limit_most kMaxLimit). A failure says nothing, as one that its user had ignored. What is in
// flight is known from the last look, or from a sample that says the limit was full.
//
// It knows no more than whether answers are late. Where they have a deadline it finds as many in
// flight as just do not miss it, and where they have none it goes to its upper bound.
#pragma once

#include <cstdint>

#include "loadline/limit/sample.h"

namespace loadline {

class AimdLimit {
 public:
  static constexpr LimitBounds kPublished{.least = 20, .most = 200};

  AimdLimit() noexcept = default;
  AimdLimit(std::uint32_t from, LimitBounds bounds, std::uint64_t seed) noexcept;

  void take(const LimitSample& sample, LimitReason& why) noexcept;
  void look(const LimitView& view, LimitReason& why) noexcept;
  void disturb(Instant /*now*/) noexcept {}

  [[nodiscard]] std::uint32_t limit() const noexcept { return limit_; }
  [[nodiscard]] bool searching() const noexcept { return false; }

 private:
  LimitBounds bounds_{};
  std::uint32_t limit_ = 1;
  std::uint32_t in_flight_ = 0;
};

}  // namespace loadline
