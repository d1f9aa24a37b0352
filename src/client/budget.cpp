#include "loadline/client/budget.h"

#include <algorithm>

namespace loadline::client {
namespace {

constexpr std::uint64_t kRetry = 1000;  // in thousandths
constexpr std::uint32_t kTickBits = 40;
constexpr std::uint64_t kTickMask = (std::uint64_t{1} << kTickBits) - 1;
constexpr std::uint64_t kOneCall = std::uint64_t{1} << 32;
constexpr std::int64_t kSecond = 1'000'000'000;

std::uint32_t retries_of(std::uint64_t running) noexcept {
  return static_cast<std::uint32_t>(running);
}

std::uint32_t calls_of(std::uint64_t running) noexcept {
  return static_cast<std::uint32_t>(running >> 32);
}

}  // namespace

RetryBudget::RetryBudget(const BudgetPolicy& policy, Instant now) noexcept
    : policy_(policy),
      origin_(now),
      tick_ns_(policy.floor == 0 ? 0 : kSecond / policy.floor),
      level_(pack({policy.cap * kRetry, 0})) {}

RetryBudget::Level RetryBudget::unpack(std::uint64_t word) noexcept {
  return {word >> kTickBits, word & kTickMask};
}

std::uint64_t RetryBudget::pack(Level level) noexcept {
  return level.milli << kTickBits | level.tick;
}

// Ticks count in a circle; what seems to lie in the half ahead of us is time that went back.
RetryBudget::Level RetryBudget::paid_up_to(Level level, Instant now) const noexcept {
  if (tick_ns_ == 0) {
    return level;
  }
  const std::int64_t since = std::max((now - origin_).ns, std::int64_t{0});
  const std::uint64_t tick = static_cast<std::uint64_t>(since / tick_ns_) & kTickMask;
  const std::uint64_t passed = (tick - level.tick) & kTickMask;
  if (passed > kTickMask / 2) {
    return level;
  }
  return {std::min(level.milli + passed, policy_.cap * kRetry), tick};
}

void RetryBudget::pay_in(std::uint64_t milli, Instant now) noexcept {
  std::uint64_t seen = level_.load(std::memory_order_relaxed);
  for (;;) {
    // A full one is left alone: time that passes while it is full pays nothing anyway.
    const Level there = unpack(seen);
    if (there.milli == policy_.cap * kRetry) {
      return;
    }
    Level next = paid_up_to(there, now);
    next.milli = std::min(next.milli + milli, policy_.cap * kRetry);
    if (level_.compare_exchange_weak(seen, pack(next), std::memory_order_relaxed)) {
      return;
    }
  }
}

bool RetryBudget::pay(std::uint64_t milli, Instant now) noexcept {
  std::uint64_t seen = level_.load(std::memory_order_relaxed);
  for (;;) {
    Level next = paid_up_to(unpack(seen), now);
    if (next.milli < milli) {
      return false;
    }
    next.milli -= milli;
    if (level_.compare_exchange_weak(seen, pack(next), std::memory_order_relaxed)) {
      return true;
    }
  }
}

bool RetryBudget::start_one_more() noexcept {
  std::uint64_t seen = running_.load(std::memory_order_relaxed);
  for (;;) {
    const std::uint64_t share = std::uint64_t{calls_of(seen)} * policy_.at_once_share / 1000;
    const bool bounded = policy_.at_once_share != 0;
    if (bounded && retries_of(seen) >= std::max<std::uint64_t>(share, policy_.at_once_floor)) {
      return false;
    }
    if (running_.compare_exchange_weak(seen, seen + 1, std::memory_order_relaxed)) {
      return true;
    }
  }
}

void RetryBudget::call_begins() noexcept {
  running_.fetch_add(kOneCall, std::memory_order_relaxed);
}

void RetryBudget::call_ends() noexcept {
  running_.fetch_sub(kOneCall, std::memory_order_relaxed);
}

void RetryBudget::succeeded(Instant now) noexcept {
  pay_in(policy_.share, now);
}

bool RetryBudget::take(std::uint32_t cost, Instant now) noexcept {
  if (!start_one_more()) {
    return false;
  }
  if (!pay(cost, now)) {
    retry_ends();
    return false;
  }
  return true;
}

void RetryBudget::retry_ends() noexcept {
  running_.fetch_sub(1, std::memory_order_relaxed);
}

void RetryBudget::give_back(std::uint32_t cost, Instant now) noexcept {
  pay_in(cost, now);
}

std::uint32_t RetryBudget::level(Instant now) const noexcept {
  const Level there = unpack(level_.load(std::memory_order_relaxed));
  return static_cast<std::uint32_t>(paid_up_to(there, now).milli);
}

std::uint32_t RetryBudget::active_calls() const noexcept {
  return calls_of(running_.load(std::memory_order_relaxed));
}

std::uint32_t RetryBudget::retries() const noexcept {
  return retries_of(running_.load(std::memory_order_relaxed));
}

}  // namespace loadline::client
