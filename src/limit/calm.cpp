#include "loadline/limit/calm.h"

#include <algorithm>

#include "loadline/limit/whole.h"

namespace loadline {

void Calm::look(const LimitView& view, bool full, Duration longest, double fewest) noexcept {
  const bool on = from_ != Instant::never();
  if (on) {
    seen_ns_ += static_cast<double>((view.now - looked_at_).ns) * view.in_flight;
  }
  // Since the last look the limit may have become full for good. Before, it was for a moment, and
  // this was no calm.
  const bool calm = reached_ >= looked_at_;
  looked_at_ = view.now;
  if (on && (full || view.now - from_ > longest)) {
    if (calm) {
      tell(view, fewest);
    }
    from_ = Instant::never();
  }
  if (!full && from_ == Instant::never()) {
    begin(view.now);
  }
}

void Calm::begin(Instant now) noexcept {
  times_.clear();
  seen_ns_ = 0;
  in_time_ = 0;
  reached_ = Instant::never();
  from_ = now;
}

void Calm::take(const LimitSample& sample) noexcept {
  if (sample.started < from_) {
    return;
  }
  if (sample.bound) {
    reached_ = std::min(reached_, sample.started);
  }
  in_time_ += sample.outcome == Outcome::success ? 1 : 0;
  if (sample.outcome != Outcome::failure) {
    times_.add(sample.ended - sample.started);
  }
}

// Who is still in flight may take longer than all others.
void Calm::tell(const LimitView& view, double fewest) noexcept {
  const std::uint32_t back = times_.count();
  const std::uint64_t wanted = (std::uint64_t{back} + view.in_flight) * 3 / 4;
  const auto lasted = static_cast<double>((view.now - from_).ns);
  if (back < fewest || wanted > back || lasted <= 0) {
    return;
  }
  const Times::Lower lowest = times_.lowest(static_cast<std::uint32_t>(wanted));
  level_ = {.limit = whole(seen_ns_ / lasted) + 1,
            .time_ns = lowest.mean_ns,
            .spread = lowest.spread,
            .rate = back / lasted * 1e9,
            .in_time = static_cast<double>(in_time_) / back,
            .samples = back,
            .at = view.now,
            .span = view.now - from_};
}

}  // namespace loadline
