#include "loadline/limit/gradient2.h"

#include <algorithm>
#include <optional>

namespace loadline {
namespace {

constexpr std::uint32_t kFrom = 20;
constexpr std::uint32_t kFirstWindows = 10;
constexpr double kUsualGain = 2.0 / (600 + 1);
constexpr double kFaster = 2;
constexpr double kFasterDecay = 0.95;
constexpr double kTolerance = 1.5;
constexpr double kLeastGradient = 0.5;
constexpr double kQueue = 4;
constexpr double kSmoothing = 0.2;

}  // namespace

Gradient2Limit::Gradient2Limit(std::uint32_t from, LimitBounds bounds,
                               std::uint64_t /*seed*/) noexcept
    : bounds_(or_published(bounds, kPublished)), limit_(first_limit(from, kFrom, bounds_)) {}

void Gradient2Limit::take(const LimitSample& sample, LimitReason& /*why*/) noexcept {
  if (sample.outcome != Outcome::failure) {
    window_.add(sample, limit());
  }
}

void Gradient2Limit::look(const LimitView& view, LimitReason& why) noexcept {
  if (const std::optional<LimitWindow> closed = window_.closed_by(view)) {
    step(*closed, why);
  }
}

void Gradient2Limit::learn(double time_ns) noexcept {
  if (windows_ < kFirstWindows) {
    ++windows_;
    usual_ns_ += (time_ns - usual_ns_) / windows_;
  } else {
    usual_ns_ += kUsualGain * (time_ns - usual_ns_);
  }
  if (usual_ns_ > kFaster * time_ns) {
    usual_ns_ *= kFasterDecay;
  }
}

void Gradient2Limit::step(const LimitWindow& window, LimitReason& why) noexcept {
  const double time_ns = window.mean_ns();
  learn(time_ns);
  if (!window.used(limit())) {
    return;
  }
  const double gradient = std::clamp(kTolerance * usual_ns_ / time_ns, kLeastGradient, 1.0);
  const double wanted = gradient * limit_ + kQueue;
  why.inputs = window.inputs(usual_ns_);
  why.inputs.slope = gradient;
  why.cause = wanted >= limit_ ? LimitCause::healthy : LimitCause::slow;
  limit_ = std::clamp((1 - kSmoothing) * limit_ + kSmoothing * wanted, double(bounds_.least),
                      double(bounds_.most));
}

}  // namespace loadline
