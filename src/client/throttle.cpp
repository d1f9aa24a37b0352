#include "loadline/client/throttle.h"

#include <algorithm>

namespace loadline::client {

AdaptiveThrottle::AdaptiveThrottle(const ThrottlePolicy& policy, Instant now) noexcept
    : policy_(policy), counts_(policy.window, now) {}

double AdaptiveThrottle::probability(Instant now) const noexcept {
  const SlidingCounts::Sum seen = counts_.sum(now);
  if (!policy_.on || seen.all < policy_.minimum) {
    return 0;
  }
  return std::min(refusal_probability(seen.all, seen.marked, policy_.k), policy_.most / 1000.0);
}

bool AdaptiveThrottle::refuses(std::uint64_t random, Instant now) const noexcept {
  constexpr int kUnused = 11;  // a double holds 53 bits
  const double drawn = static_cast<double>(random >> kUnused) * 0x1p-53;
  return policy_.on && drawn < probability(now);
}

void AdaptiveThrottle::sent(Instant now) noexcept {
  if (policy_.on) {
    counts_.add(1, 0, now);
  }
}

void AdaptiveThrottle::accepted(Instant now) noexcept {
  if (policy_.on) {
    counts_.add(0, 1, now);
  }
}

}  // namespace loadline::client
