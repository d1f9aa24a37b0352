// The time that is left: what to hand on of it, and what is not worth beginning.
//
// A deadline is given once, to the call, and holds for all its attempts. Each attempt hands on what
// is left, less a margin, so that the one who is asked stops, and answers, before the one who asks
// has gone. It is handed on as a duration, never as a time of day: clocks differ (Envoy, gRPC,
// userver and fbthrift do so; Finagle, which does not, depends on the clocks of all machines).
//
// What cannot finish is not begun: an attempt is only worth sending if at least `needed` of the
// time that successes take is left. That is a share below 1 on purpose: the estimate is a mean over
// different works, the one who is asked knows better, and a wrong "no" here costs an answer.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>

#include "loadline/time.h"

namespace loadline::client {

struct DeadlinePolicy {
  Duration attempt{};  // the longest that one attempt may take; 1 ms to 1 h, 0: no such bound
  Duration margin =
      Duration::millis(5);  // kept back of what is handed on, if that is much; 0 to 10 s
  Duration least = Duration::millis(1);  // with less than this left nothing is begun; 0 to 1 min
  // Per mille of the time that successes take, which must be left; 0: not looked at. 0 to 4000.
  std::uint16_t needed = 500;
  Duration expected{};  // that time, where it is known; 0: measured. 0 to 1 h
};

// What is left at `now`: 0 if it has passed, Duration::max() if there is no deadline.
constexpr Duration time_left(Instant deadline, Instant now) noexcept {
  if (deadline == Instant::never()) {
    return Duration::max();
  }
  return deadline > now ? deadline - now : Duration{};
}

// What to hand on of it: less the margin, which is at most an eighth of what is left, so that short
// deadlines have something left, too. 0 only of 0 (do not send); Duration::max() for no deadline
// (hand on none).
constexpr Duration to_hand_on(Duration left, Duration margin) noexcept {
  if (left == Duration::max()) {
    return left;
  }
  const Duration eighth{left.ns / 8};
  return left - (margin < eighth ? margin : eighth);
}

// A duration as `grpc-timeout` holds it (gRPC over HTTP/2): at most 8 digits and a unit, rounded
// down, so that nobody is promised more than there is. Empty for Duration::max() (send no header),
// "1n" for 0 and less. Into `out`, of which the answer is a part.
std::string_view write_grpc_timeout(Duration left, std::span<char, 9> out) noexcept;

// Whole milliseconds, rounded down, for headers such as x-envoy-expected-rq-timeout-ms: at least
// "0". Empty for Duration::max(). Into `out`, of which the answer is a part.
std::string_view write_milliseconds(Duration left, std::span<char, 20> out) noexcept;

// How long successes take: the mean of about the last twenty. Not known before so many, and not
// any more when none has come for two seconds: what refuses by it would otherwise never learn that
// it is wrong. Any thread; one atomic word.
class TimeEstimate {
 public:
  explicit TimeEstimate(Instant now) noexcept : origin_(now) {}
  TimeEstimate(const TimeEstimate&) = delete;
  TimeEstimate& operator=(const TimeEstimate&) = delete;
  ~TimeEstimate() = default;

  void take(Duration took, Instant now) noexcept;
  // 0: not known.
  [[nodiscard]] Duration mean(Instant now) const noexcept;

 private:
  Instant origin_;
  std::atomic<std::uint64_t> word_{0};  // mean in 64 ns:32 | samples:5 | when, in 64 ms:27
};

}  // namespace loadline::client
