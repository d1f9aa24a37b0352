// Refuses calls at home that would be refused over there (SRE book, "Handling Overload",
// client-side throttling): with `requests` sent and `accepts` of them accepted in the last
// `window`, a call is refused with probability max(0, (requests - K * accepts) / (requests + 1)).
//
// Off by default, for it recovers later than a breaker and a budget do, and they fight: what the
// breaker holds back starves the throttle of the accepts it needs. Where it is on:
//
// - only what was sent counts as a request. The book counts what was refused at home, too, which
//   makes the refusals feed themselves: recovery then takes 20 s and more in place of 2;
// - it counts when it is sent, not when it ends, so that calls that hang are seen;
// - the window is 4 s, not the book's two minutes, and nothing is refused below `minimum` requests:
//   (1 - 0)/(1 + 1) would refuse every other call before the first answer;
// - at most `most` is refused, so there is always something to learn from.
//
// Threads: every function may be called by any thread at any time; nothing blocks.
#pragma once

#include <cstdint>

#include "loadline/client/window.h"
#include "loadline/time.h"

namespace loadline::client {

struct ThrottlePolicy {
  bool on = false;
  std::uint16_t k = 2000;                  // K in thousandths, 1000 to 10,000; larger is milder
  Duration window = Duration::seconds(4);  // 100 ms to 1 h
  std::uint16_t most = 900;                // per mille of the calls, 1 to 999
  std::uint32_t minimum = 20;              // requests in the window, 0 to 10,000
};

// max(0, (requests - k/1000 * accepts) / (requests + 1)): below 1. `k` in thousandths.
constexpr double refusal_probability(std::uint32_t requests, std::uint32_t accepts,
                                     std::uint32_t k) noexcept {
  const double over = static_cast<double>(requests) -
                      static_cast<double>(accepts) * static_cast<double>(k) / 1000.0;
  return over <= 0 ? 0 : over / (static_cast<double>(requests) + 1);
}

class AdaptiveThrottle {
 public:
  // `policy` is sound; `now` is when time begins.
  AdaptiveThrottle(const ThrottlePolicy& policy, Instant now) noexcept;

  // Should this call be refused? `random`: 64 even bits. Counts nothing.
  [[nodiscard]] bool refuses(std::uint64_t random, Instant now) const noexcept;
  [[nodiscard]] double probability(Instant now) const noexcept;
  // It is sent.
  void sent(Instant now) noexcept;
  // It was accepted: answered, in whatever way, but not turned away, unreached, or never.
  void accepted(Instant now) noexcept;

  // `all` are requests, `marked` accepts.
  [[nodiscard]] SlidingCounts::Sum counts(Instant now) const noexcept { return counts_.sum(now); }

 private:
  ThrottlePolicy policy_;
  SlidingCounts counts_;
};

}  // namespace loadline::client
