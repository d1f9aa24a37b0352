#include "loadline/limit/envoy.h"

#include <algorithm>

namespace loadline {
namespace {

constexpr std::uint32_t kBaseSamples = 50;
constexpr Duration kBaseEach = Duration::seconds(30);
constexpr double kBaseJitter = 0.15;
constexpr Duration kStepEach = Duration::millis(100);
constexpr double kLeastGradient = 0.5;
constexpr double kMostGradient = 2;
constexpr std::uint32_t kStepsAtLeast = 5;

}  // namespace

EnvoyLimit::EnvoyLimit(std::uint32_t from, LimitBounds bounds, std::uint64_t seed,
                       double buffer) noexcept
    : bounds_(or_published(bounds, kPublished)),
      draws_(seed),
      buffer_(buffer),
      limit_(bounds_.least),
      limit_after_base_(first_limit(from, bounds_.least, bounds_)) {}

void EnvoyLimit::plan_base(Instant now) noexcept {
  const double later = static_cast<double>(kBaseEach.ns) * kBaseJitter * draws_.next();
  base_due_ = now + kBaseEach + nanoseconds(later);
}

void EnvoyLimit::begin_base(Instant now, LimitReason& why) noexcept {
  why.cause = LimitCause::probing;
  measures_base_ = true;
  steps_at_least_ = 0;
  limit_after_base_ = limit_;
  limit_ = bounds_.least;
  counts_from_ = now;
  times_.clear();
}

void EnvoyLimit::end_base(Instant now, LimitReason& why) noexcept {
  base_ns_ = median_ns();
  why = {LimitCause::probing, {.time_low = nanoseconds(base_ns_), .samples = times_.count()}};
  measures_base_ = false;
  limit_ = limit_after_base_;
  stepped_at_ = now;
  times_.clear();
  plan_base(now);
}

void EnvoyLimit::disturb(Instant now) noexcept {
  counts_from_ = stepped_at_ = now;
  times_.clear();
  plan_base(now);
}

void EnvoyLimit::take(const LimitSample& sample, LimitReason& why) noexcept {
  if (sample.started < counts_from_) {
    return;
  }
  times_.add(sample.ended - sample.started);
  if (measures_base_ && times_.count() >= kBaseSamples) {
    end_base(sample.ended, why);
  }
}

void EnvoyLimit::look(const LimitView& view, LimitReason& why) noexcept {
  if (measures_base_) {
    return;
  }
  if (view.now >= base_due_) {
    begin_base(view.now, why);
  } else if (view.now - stepped_at_ >= kStepEach) {
    step(view.now, why);
  }
}

void EnvoyLimit::step(Instant now, LimitReason& why) noexcept {
  stepped_at_ = now;
  if (times_.count() == 0) {
    return;
  }
  const double time_ns = median_ns();
  // g * limit, in the order that is exact where the numbers are whole.
  const double scaled = std::clamp(limit_ * ((1 + buffer_) * base_ns_) / time_ns,
                                   kLeastGradient * limit_, kMostGradient * limit_);
  const std::uint32_t next = whole_within(scaled + __builtin_sqrt(scaled), bounds_);
  why.cause = next >= limit_ ? LimitCause::healthy : LimitCause::slow;
  why.inputs = {.time_low = nanoseconds(base_ns_),
                .time_high = nanoseconds(time_ns),
                .samples = times_.count(),
                .slope = scaled / limit_};
  times_.clear();
  steps_at_least_ = next == bounds_.least && limit_ == bounds_.least ? steps_at_least_ + 1 : 0;
  limit_ = next;
  if (steps_at_least_ == kStepsAtLeast) {
    begin_base(now, why);
  }
}

}  // namespace loadline
