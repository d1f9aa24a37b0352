#include "loadline/limit/cohort.h"

#include <algorithm>

namespace loadline {
namespace {

constexpr std::uint32_t three_quarters(std::uint32_t n) noexcept {
  return std::max(static_cast<std::uint32_t>(std::uint64_t{n} * 3 / 4), 1U);
}

}  // namespace

void Cohort::open(const LimitView& view) noexcept {
  if (!begun()) {
    from_ = view.now;
    ended_before_ = view.ended;
    refused_before_ = view.refused;
  } else {
    ++started_;  // who has filled it again
  }
  open_ = true;
  window_from_ = view.now;
  window_ended_ = view.ended;
  window_in_flight_ = view.in_flight;
}

void Cohort::pause(const LimitView& view) noexcept {
  started_ = static_cast<std::uint32_t>(std::max<std::int64_t>(started(view), 0));
  lasted_ = lasted(view.now);
  ended_ += view.ended - window_ended_;
  open_ = false;
  window_until_ = view.now;
}

void Cohort::close(const LimitView& view) noexcept {
  pause(view);
  until_ = view.now;
  left_ = view.in_flight;
  refused_ = view.refused - refused_before_;
}

void Cohort::grow_on(Instant now) noexcept {
  until_ = Instant::never();
  window_until_ = now;
}

void Cohort::take(const LimitSample& sample) noexcept {
  if (!begun() || sample.started < from_ || sample.started >= until_) {
    return;
  }
  ++returned_;
  in_time_ += sample.outcome == Outcome::success ? 1 : 0;
  if (sample.outcome != Outcome::failure) {
    times_.add(sample.ended - sample.started);
  }
}

void Cohort::see(const LimitSample& sample) noexcept {
  if (grown() && sample.started < until_ && sample.ended >= until_ && left_ > 0) {
    --left_;
  }
}

std::int64_t Cohort::started(const LimitView& view) const noexcept {
  return !open_ ? started_
                : static_cast<std::int64_t>(started_ + (view.ended - window_ended_) +
                                            view.in_flight - window_in_flight_);
}

Duration Cohort::lasted(Instant now) const noexcept {
  return open_ ? lasted_ + (now - window_from_) : lasted_;
}

double Cohort::share_refused(const LimitView& view) const noexcept {
  if (!begun()) {
    return 0;
  }
  const auto refused = static_cast<double>(grown() ? refused_ : view.refused - refused_before_);
  const auto came = refused + static_cast<double>(started(view));
  return came > 0 ? refused / came : 0;
}

// Who was in flight when it was closed and is not any more will not return: it ended without
// telling how long it took, or was counted where it came and went.
void Cohort::count_missing(const LimitView& view) noexcept {
  missing_ = std::min({started_ - std::min(started_, returned_), view.in_flight, left_});
}

// The mean is of all in flight since it began, by Little's law: half of a cohort that is back at
// once says nothing of the other half.
bool Cohort::is_over(const LimitView& view) const noexcept {
  const auto ended = static_cast<double>(std::max<std::uint64_t>(view.ended - ended_before_, 1));
  const double mean_ns = limit_ * static_cast<double>((view.now - from_).ns) / ended;
  return static_cast<double>((view.now - until_).ns) >= patience_ * mean_ns;
}

bool Cohort::is_void(const LimitView& view) const noexcept {
  return grown() && times_.count() == 0 && is_over(view);
}

bool Cohort::level(const LimitView& view, Level& level) noexcept {
  const std::uint32_t back = times_.count();
  if (!grown() || back == 0) {
    return false;
  }
  count_missing(view);
  const Duration age = view.now - until_;
  std::uint32_t wanted = three_quarters(back + missing_);
  if (missing_ > 0 && (wanted > back || age < times_.lowest(wanted).bound)) {
    wanted = three_quarters(back);
    if (!is_over(view)) {
      return false;
    }
  }
  const Times::Lower lowest = times_.lowest(wanted);
  const double seconds = static_cast<double>(lasted_.ns) * 1e-9;
  level = {.limit = limit_,
           .time_ns = lowest.mean_ns,
           .spread = lowest.spread,
           .rate = seconds > 0 ? static_cast<double>(ended_) / seconds : 0,
           .in_time = static_cast<double>(in_time_) / back,
           .samples = back,
           .at = until_,
           .span = until_ - from_};
  return true;
}

double Cohort::typical_ns() const noexcept {
  const std::uint32_t back = times_.count();
  return back == 0 ? 0 : times_.lowest(three_quarters(back)).mean_ns;
}

void Cohort::add_to(Times& times) const noexcept {
  times.add(times_, missing_);
}

}  // namespace loadline
