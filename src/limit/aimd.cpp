#include "loadline/limit/aimd.h"

#include <algorithm>

#include "loadline/limit/baseline.h"

namespace loadline {
namespace {

constexpr std::uint32_t kFrom = 20;
constexpr Duration kTimeout = Duration::seconds(5);

}  // namespace

AimdLimit::AimdLimit(std::uint32_t from, LimitBounds bounds, std::uint64_t /*seed*/) noexcept
    : bounds_(or_published(bounds, kPublished)), limit_(first_limit(from, kFrom, bounds_)) {}

void AimdLimit::take(const LimitSample& sample, LimitReason& why) noexcept {
  if (sample.outcome == Outcome::failure) {
    return;
  }
  const Duration took = sample.ended - sample.started;
  why.inputs = {.time_high = took, .samples = 1};
  if (sample.outcome == Outcome::late || took > kTimeout) {
    why.cause = sample.outcome == Outcome::late ? LimitCause::late : LimitCause::slow;
    why.inputs.slope = 0.9;
    limit_ = std::max(limit_ * 9 / 10, bounds_.least);
    return;
  }
  if (sample.bound || 2 * std::uint64_t{in_flight_} >= limit_) {
    why.cause = LimitCause::healthy;
    why.inputs.share = 1;
    limit_ = std::min(limit_ + 1, bounds_.most);
  }
}

void AimdLimit::look(const LimitView& view, LimitReason& /*why*/) noexcept {
  in_flight_ = view.in_flight;
}

}  // namespace loadline
