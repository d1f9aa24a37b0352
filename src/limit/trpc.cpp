#include "loadline/limit/trpc.h"

#include <algorithm>

namespace loadline {
namespace {

constexpr std::uint32_t kFewest = 30;
constexpr Duration kWindow = Duration::millis(100);
constexpr double kTowards = 0.1;  // lower costs, higher rates
constexpr double kAway = 0.01;
constexpr double kUsualDown = 0.01;
constexpr double kUsualUp = 0.001;
constexpr std::uint32_t kDelayEach = 10;  // samples
constexpr double kDelayGain = 0.1;
constexpr auto kMostDelayNs = static_cast<double>(TrpcLimit::kMostDelay.ns);

}  // namespace

TrpcLimit::TrpcLimit(std::uint32_t from, LimitBounds bounds, std::uint64_t /*seed*/) noexcept
    : bounds_(bounds), limit_(first_limit(from, bounds.most, bounds)) {}

// The next look begins a window.
void TrpcLimit::disturb(Instant /*now*/) noexcept {
  window_ = {};
  times_.clear();
}

void TrpcLimit::take(const LimitSample& sample, LimitReason& /*why*/) noexcept {
  ++window_.seen;
  window_.good += sample.outcome == Outcome::success ? 1 : 0;
  if (sample.outcome == Outcome::failure) {
    return;
  }
  const Duration took = sample.ended - sample.started;
  ++window_.answered;
  window_.sum_ns += static_cast<double>(took.ns);
  times_.add(took);
}

void TrpcLimit::look(const LimitView& view, LimitReason& why) noexcept {
  measure_rate(view);
  if (times_.count() >= kFewest) {
    measure_delay();
    step(why);
  }
}

void TrpcLimit::measure_rate(const LimitView& view) noexcept {
  if (window_.begun == Instant::never()) {
    window_.begun = view.now;
    window_.ended_before = view.ended;
    return;
  }
  if (view.now - window_.begun < kWindow || window_.answered < kFewest) {
    return;
  }
  const double seconds = static_cast<double>((view.now - window_.begun).ns) * 1e-9;
  const auto ended = static_cast<double>(view.ended - window_.ended_before);
  const double rate = ended * window_.good / window_.seen / seconds;
  const double cost_ns = window_.sum_ns / window_.answered;
  if (cost_ns_ == 0) {
    cost_ns_ = cost_ns;
    rate_ = rate;
  }
  cost_ns_ += (cost_ns < cost_ns_ ? kTowards : kAway) * (cost_ns - cost_ns_);
  rate_ += (rate > rate_ ? kTowards : kAway) * (rate - rate_);
  window_ = {.begun = view.now, .ended_before = view.ended};
}

void TrpcLimit::measure_delay() noexcept {
  const double median_ns = times_.nth((times_.count() + 1) / 2);
  if (usual_ns_ == 0) {
    usual_ns_ = median_ns;
  }
  const double excess_ns = median_ns - usual_ns_;
  for (std::uint32_t i = 0; i < times_.count() / kDelayEach; ++i) {
    delay_ns_ += kDelayGain * (excess_ns - delay_ns_);
  }
  if (excess_ns < 0) {
    usual_ns_ += kUsualDown * excess_ns;
  } else if (delay_ns_ < kMostDelayNs / 2) {
    usual_ns_ += kUsualUp * excess_ns;
  }
}

void TrpcLimit::step(LimitReason& why) noexcept {
  const double over = kMostDelayNs / std::max(delay_ns_, 1.0);
  why.inputs = {.time_low = nanoseconds(usual_ns_),
                .time_high = nanoseconds(usual_ns_ + std::max(delay_ns_, 0.0)),
                .samples = times_.count(),
                .rate = rate_};
  times_.clear();
  std::uint32_t next = bounds_.most;
  if (over <= 2) {
    if (cost_ns_ == 0) {
      return;
    }
    why.inputs.slope = over > 1 ? over : __builtin_sqrt(over);
    next = whole_within(why.inputs.slope * cost_ns_ * 1e-9 * rate_, bounds_);
  }
  why.cause = next >= limit_ ? LimitCause::healthy : LimitCause::slow;
  limit_ = next;
}

}  // namespace loadline
