#include "loadline/limit/vegas.h"

#include <algorithm>
#include <optional>

namespace loadline {
namespace {

constexpr std::uint32_t kFrom = 20;
constexpr double kBaseEach = 30;  // windows, for each unit of the limit
constexpr std::uint32_t kAlpha = 3;
constexpr std::uint32_t kBeta = 6;

}  // namespace

VegasLimit::VegasLimit(std::uint32_t from, LimitBounds bounds, std::uint64_t seed) noexcept
    : bounds_(or_published(bounds, kPublished)),
      draws_(seed),
      limit_(first_limit(from, kFrom, bounds_)) {
  windows_to_base_ = kBaseEach * (0.5 + 0.5 * draws_.next());
}

void VegasLimit::take(const LimitSample& sample, LimitReason& /*why*/) noexcept {
  if (sample.outcome != Outcome::failure) {
    window_.add(sample, limit_);
  }
}

void VegasLimit::look(const LimitView& view, LimitReason& why) noexcept {
  if (const std::optional<LimitWindow> closed = window_.closed_by(view)) {
    step(*closed, why);
  }
}

void VegasLimit::step(const LimitWindow& window, LimitReason& why) noexcept {
  const double time_ns = window.mean_ns();
  ++windows_;
  const bool due = windows_ >= windows_to_base_ * limit_;
  if (due || base_ns_ == 0 || time_ns < base_ns_) {
    if (due) {
      windows_to_base_ = kBaseEach * (0.5 + 0.5 * draws_.next());
      windows_ = 0;
    }
    base_ns_ = time_ns;
    return;
  }
  const double unit = lg(limit_);
  const double waiting = limit_ * (1 - base_ns_ / time_ns);  // compared with whole numbers: no ceil
  why.inputs = window.inputs(base_ns_);
  double change = 0;
  if (window.dropped()) {
    why.cause = LimitCause::late;
    change = -unit;
  } else if (!window.used(limit_)) {
    return;
  } else if (waiting <= unit) {
    why.cause = LimitCause::healthy;
    change = kBeta * unit;
  } else if (waiting <= kAlpha * unit - 1) {
    why.cause = LimitCause::healthy;
    change = unit;
  } else if (waiting > kBeta * unit) {
    why.cause = LimitCause::slow;
    change = -unit;
  }
  limit_ = whole_within(limit_ + change, bounds_);
}

}  // namespace loadline
