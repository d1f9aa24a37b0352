// Why a call was not sent, or not sent again.
#pragma once

#include <cstdint>
#include <string_view>

namespace loadline::client {

// The names are stable: they stand in metrics and logs.
enum class Reason : std::uint8_t {
  none,
  // Not sent at all, or its retry was not.
  breaker_open,         // whom it would ask is left alone for now
  throttled,            // it would very likely be turned away
  deadline_expired,     // nobody waits for it any more
  deadline_unmeetable,  // less is left than it takes, or than a wait that was told
  // Not tried again.
  not_retryable,   // it was processed
  not_idempotent,  // it may have been processed, and doing it twice may matter
  told_not_to,     // the answer forbids it
  untold,          // over quota, and the answer does not say until when
  further_down,    // the failure comes from further down, where it was retried
  attempts,        // as often as allowed
  budget,          // too many retries, for what succeeds
  cancelled,       // the caller has gone
  not_hedged,      // a second attempt is not due, not allowed, or was made
};
inline constexpr std::uint32_t kReasons = 14;

constexpr std::string_view name(Reason reason) noexcept {
  constexpr std::string_view kNames[kReasons] = {
      "none",          "breaker_open",   "throttled",   "deadline_expired", "deadline_unmeetable",
      "not_retryable", "not_idempotent", "told_not_to", "untold",           "further_down",
      "attempts",      "budget",         "cancelled",   "not_hedged"};
  const auto index = static_cast<std::uint32_t>(reason);
  return index < kReasons ? kNames[index] : std::string_view("unknown");
}

}  // namespace loadline::client
