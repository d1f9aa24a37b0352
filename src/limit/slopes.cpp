#include "loadline/limit/slopes.h"

#include <algorithm>

namespace loadline {
namespace {

constexpr double kSecondNs = 1e9;
constexpr double kMostSamples = 1e6;  // whatever is asked

// Mean of the times that are compared, as a share of the mean of all: by Little's law the latter is
// limit / rate.
double share_of_mean(const Level& level) noexcept {
  return std::min(level.time_ns / kSecondNs * level.rate / level.limit, 1.0);
}

}  // namespace

// Near the knee the slope is that of a line; far from it, where times have doubled or have not,
// their ratio tells it sooner, and as well for servers that share than for such that queue.
Comparison Slopes::compare(const Level& low, const Level& high) const noexcept {
  Comparison found{.low = low, .high = high};
  const double gap = found.gap();
  if (gap <= 0) {
    return found;
  }
  const double apart = found.ratio() - 1;
  const double longer = high.time_ns / low.time_ns;
  found.linear = high.rate * (high.time_ns - low.time_ns) / kSecondNs / gap;
  found.rates_known = !high.in_bursts;
  found.by_rates = 1 - (high.rate / low.rate - 1) / apart;
  found.slope = found.far() ? (longer - 1) / apart : found.linear + std::max(bias_, 0.0);
  // What comes too late is no gain.
  if (low.in_time > 0) {
    found.slope -= (high.in_time / low.in_time - 1) / apart;
  }
  const double spread = std::max({low.spread, high.spread, spread_}) * longer *
                        (found.far() ? 1 : share_of_mean(low));
  found.doubt = spread * __builtin_sqrt(1.0 / low.samples + 1.0 / high.samples) / apart;
  return found;
}

void Slopes::remember(const Comparison& found, const AutoTuning& tuning) noexcept {
  if (found.rates_known && found.gap() > 0 && !found.far()) {
    const double missed = std::clamp(found.by_rates - found.linear, -1.0, 1.0);
    bias_ += tuning.bias_share * (missed - bias_);
  }
  spread_ += tuning.spread_share * (std::max(found.low.spread, found.high.spread) - spread_);
}

// Far apart the smallest cohorts do, since more are asked for where they do not.
double Slopes::enough(double low, double high, const Level& known,
                      const AutoTuning& tuning) const noexcept {
  constexpr double kLeastSpread = 0.05;
  if (Comparison::far(low, high)) {
    return std::max(tuning.fewest, low);
  }
  const double gap = high / std::max(high - low, 1.0);
  const double spread = std::max(known.spread, spread_) * share_of_mean(known);
  const double wanted = std::max(spread, kLeastSpread) * gap / tuning.accuracy;
  return std::clamp(4.0 / 3 * wanted * wanted, std::max(2 * low, tuning.fewest), kMostSamples);
}

}  // namespace loadline
