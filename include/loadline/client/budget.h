// How many retries are affordable: a share of what succeeds.
//
// Retries help when few calls fail and hurt when many do; a budget tells the two apart without
// knowing why they fail (SRE book, "Handling Overload" and "Addressing Cascading Failures";
// Finagle's RetryBudget; the token bucket of gRFC A6 and of the AWS SDKs' standard mode). Here:
//
// - each call that succeeds pays in `share` of a retry, and time pays in `floor` a second, so that
// a
//   caller of few calls is not left without; together never above `cap`;
// - a retry is paid when it is decided, not when it is sent: those that wait in backoff are
// counted;
// - if `at_once_share` is not 0, no more retries than that share of the active calls, or
//   `at_once_floor` if that is more, may be between decision and end at a time (Envoy's retry
//   budget). A call is active until it is over, also while it waits for a retry; so the budget does
//   not shrink just as everything fails together.
//
// Refilling on success rather than on requests is what keeps three layers at 1.08 times the load
// during an outage, instead of 1.35 times.
//
// Threads: every function may be called by any thread at any time; each is one or two atomic
// read-modify-writes. Time that goes back pays nothing.
#pragma once

#include <atomic>
#include <cstdint>

#include "loadline/time.h"

namespace loadline::client {

struct BudgetPolicy {
  std::uint16_t share = 100;  // retries paid in by a success, per mille; 0 to 1000
  // Retries paid in by a second, per mille: 100 is one in ten seconds. 0 to 10,000. A fleet of
  // callers pays it times their number, also while the other side is down.
  std::uint32_t floor = 100;
  std::uint32_t cap = 10;             // retries that may be saved up, 1 to 10,000; full at first
  std::uint16_t timeout_cost = 1000;  // of a retry after a timeout, per mille; 1000 to 10,000
  // Per mille of the active calls; 0 to 1000, 0: no such bound.
  std::uint16_t at_once_share = 0;
  std::uint16_t at_once_floor = 3;  // 0 to 1000
};

class RetryBudget {
 public:
  // `policy` is sound; `now` is when time begins.
  RetryBudget(const BudgetPolicy& policy, Instant now) noexcept;
  RetryBudget(const RetryBudget&) = delete;
  RetryBudget& operator=(const RetryBudget&) = delete;
  ~RetryBudget() = default;

  // A call has begun, and is over: exactly once each.
  void call_begins() noexcept;
  void call_ends() noexcept;
  // It succeeded: pays in.
  void succeeded(Instant now) noexcept;

  // May one more retry be made? If so it is paid for, and counts until retry_ends. `cost` in
  // thousandths of a retry.
  [[nodiscard]] bool take(std::uint32_t cost, Instant now) noexcept;
  // A retry that was decided has ended. Exactly once for each take().
  void retry_ends() noexcept;
  // It was never sent: what it cost comes back, never above the cap.
  void give_back(std::uint32_t cost, Instant now) noexcept;

  // Thousandths of a retry that are there at `now`.
  [[nodiscard]] std::uint32_t level(Instant now) const noexcept;
  [[nodiscard]] std::uint32_t active_calls() const noexcept;
  // Between decision and end.
  [[nodiscard]] std::uint32_t retries() const noexcept;

 private:
  // What there is, and up to when time has paid in, in one word.
  struct Level {
    std::uint64_t milli = 0;  // thousandths of a retry
    std::uint64_t tick = 0;   // of kTickBits; in each tick time pays in one thousandth
  };
  [[nodiscard]] static Level unpack(std::uint64_t word) noexcept;
  [[nodiscard]] static std::uint64_t pack(Level level) noexcept;
  [[nodiscard]] Level paid_up_to(Level level, Instant now) const noexcept;
  void pay_in(std::uint64_t milli, Instant now) noexcept;
  [[nodiscard]] bool pay(std::uint64_t milli, Instant now) noexcept;
  [[nodiscard]] bool start_one_more() noexcept;

  BudgetPolicy policy_;
  Instant origin_;
  std::int64_t tick_ns_;  // 0: time pays nothing
  std::atomic<std::uint64_t> level_;
  std::atomic<std::uint64_t> running_{0};  // active calls:32 | retries:32
};

}  // namespace loadline::client
