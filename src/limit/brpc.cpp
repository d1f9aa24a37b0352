#include "loadline/limit/brpc.h"

#include <algorithm>

namespace loadline {
namespace {

constexpr std::uint32_t kFrom = 40;
constexpr Duration kWindow = Duration::seconds(1);
constexpr std::uint32_t kFewest = 100;
constexpr std::uint32_t kEnough = 200;
constexpr Duration kSampleEach = Duration::micros(100);
constexpr double kBaseGain = 0.1;
constexpr double kBestGain = 0.01;
constexpr double kLeastMore = 0.06;
constexpr double kMostMore = 0.3;
constexpr double kMoreStep = 0.02;
constexpr Duration kBaseEach = Duration::seconds(50);
constexpr double kReduced = 0.9;
constexpr double kDrained = 2;  // times the mean time

std::uint32_t round_up(double limit, LimitBounds bounds) noexcept {
  const std::uint32_t below = whole_within(limit, bounds);
  return below < limit && below < bounds.most ? below + 1 : below;
}

}  // namespace

BrpcLimit::BrpcLimit(std::uint32_t from, LimitBounds bounds, std::uint64_t seed) noexcept
    : bounds_(or_published(bounds, kPublished)),
      draws_(seed),
      limit_(first_limit(from, kFrom, bounds_)),
      more_(kMostMore) {}

void BrpcLimit::plan_base(Instant now) noexcept {
  base_due_ = now + nanoseconds(static_cast<double>(kBaseEach.ns) * (0.5 + 0.5 * draws_.next()));
}

void BrpcLimit::begin_window(Instant now, std::uint64_t ended) noexcept {
  window_ = {.begun = now, .ended_before = ended};
}

// The next look begins a window, and plans anew.
void BrpcLimit::disturb(Instant now) noexcept {
  window_ = {};
  base_due_ = Instant::never();
  if (forgets_base_ != Instant::never()) {
    forgets_base_ = now;
  }
}

void BrpcLimit::take(const LimitSample& sample, LimitReason& /*why*/) noexcept {
  if (forgets_base_ != Instant::never()) {
    return;
  }
  const bool good = sample.outcome == Outcome::success;
  ++window_.seen;
  window_.seen_good += good ? 1 : 0;
  const Duration since = sample.ended - sampled_at_;
  if (since >= Duration{} && since < kSampleEach) {
    return;
  }
  sampled_at_ = sample.ended;
  ++(good ? window_.good : window_.failed);
  (good ? window_.good_ns : window_.failed_ns) +=
      static_cast<double>((sample.ended - sample.started).ns);
}

void BrpcLimit::look(const LimitView& view, LimitReason& why) noexcept {
  if (base_due_ == Instant::never()) {
    plan_base(view.now);
  }
  if (window_.begun == Instant::never()) {
    window_.begun = view.now;
    window_.ended_before = view.ended;
    return;
  }
  if (forgets_base_ != Instant::never()) {
    if (view.now >= forgets_base_) {
      base_ns_ = 0;
      forgets_base_ = Instant::never();
      plan_base(view.now);
      begin_window(view.now, view.ended);
    }
    return;
  }
  if (view.now == window_.begun) {
    return;
  }
  const std::uint32_t count = window_.good + window_.failed;
  const bool over = view.now - window_.begun >= kWindow;
  if (count >= kEnough || (over && count >= kFewest)) {
    step(view, why);
  }
  if (count >= kEnough || over) {
    begin_window(view.now, view.ended);
  }
}

void BrpcLimit::learn(double time_ns, double rate) noexcept {
  if (base_ns_ == 0) {
    base_ns_ = time_ns;
  } else if (time_ns < base_ns_) {
    base_ns_ += kBaseGain * (time_ns - base_ns_);
  }
  best_rate_ = rate >= best_rate_ ? rate : best_rate_ + kBestGain * (rate - best_rate_);
  const bool room = time_ns <= base_ns_ * (1 + kLeastMore) || rate <= best_rate_ / (1 + kLeastMore);
  more_ = std::clamp(more_ + (room ? kMoreStep : -kMoreStep), kLeastMore, kMostMore);
}

void BrpcLimit::step(const LimitView& view, LimitReason& why) noexcept {
  why.inputs = {.samples = window_.good + window_.failed,
                .share = static_cast<double>(window_.seen_good) / window_.seen};
  if (window_.good == 0) {
    why.cause = LimitCause::failing;
    why.inputs.slope = 0.5;
    limit_ = whole_within(limit_ / 2.0, bounds_);
    return;
  }
  const double seconds = static_cast<double>((view.now - window_.begun).ns) * 1e-9;
  const auto ended = static_cast<double>(view.ended - window_.ended_before);
  const double rate = ended * why.inputs.share / seconds;
  const double time_ns = (window_.good_ns + window_.failed_ns) / window_.good;
  learn(time_ns, rate);
  const bool due = view.now >= base_due_;
  if (due) {
    forgets_base_ = view.now + nanoseconds(kDrained * time_ns);
  }
  const double times = due ? kReduced : 1 + more_;
  const std::uint32_t next = round_up(base_ns_ * 1e-9 * best_rate_ * times, bounds_);
  why.cause = due ? LimitCause::probing : next >= limit_ ? LimitCause::healthy : LimitCause::slow;
  why.inputs.time_low = nanoseconds(base_ns_);
  why.inputs.time_high = nanoseconds(time_ns);
  why.inputs.rate = rate;
  why.inputs.slope = times;
  limit_ = next;
}

}  // namespace loadline
