#include "loadline/client/breaker.h"

#include <algorithm>

namespace loadline::client {
namespace {

constexpr std::uint32_t kTimeBits = 40;
constexpr std::uint32_t kGenerationBits = 22;
constexpr std::uint64_t kTimeMask = (std::uint64_t{1} << kTimeBits) - 1;
constexpr std::uint32_t kGenerationMask = (1U << kGenerationBits) - 1;
constexpr std::int64_t kMilli = 1'000'000;

std::uint64_t millis_up(Duration duration) noexcept {
  return static_cast<std::uint64_t>((duration.ns + kMilli - 1) / kMilli);
}

// Generations count in a circle.
bool is_before(std::uint32_t generation, std::uint32_t other) noexcept {
  const std::uint32_t ahead = (other - generation) & kGenerationMask;
  return ahead != 0 && ahead <= kGenerationMask / 2;
}

// Windows tell generations apart by their last bits: those of long ago hold nothing any more.
std::uint8_t window_of(std::uint32_t generation) noexcept {
  return static_cast<std::uint8_t>(generation);
}

}  // namespace

CircuitBreaker::CircuitBreaker(const BreakerPolicy& policy, std::uint64_t seed,
                               Instant now) noexcept
    : policy_(policy), origin_(now), random_(seed), results_(policy.window, now) {}

CircuitBreaker::Word CircuitBreaker::unpack(std::uint64_t bits) noexcept {
  return {static_cast<std::uint8_t>(bits >> (kTimeBits + kGenerationBits)),
          static_cast<std::uint32_t>(bits >> kTimeBits) & kGenerationMask, bits & kTimeMask};
}

std::uint64_t CircuitBreaker::pack(Word word) noexcept {
  return std::uint64_t{word.kind} << (kTimeBits + kGenerationBits) |
         std::uint64_t{word.generation} << kTimeBits | (word.until_ms & kTimeMask);
}

CircuitBreaker::Word CircuitBreaker::next(Word word, BreakerState state,
                                          std::uint64_t until_ms) noexcept {
  return {static_cast<std::uint8_t>(state), (word.generation + 1) & kGenerationMask, until_ms};
}

std::uint64_t CircuitBreaker::millis(Instant now) const noexcept {
  return static_cast<std::uint64_t>(std::max((now - origin_).ns, std::int64_t{0}) / kMilli);
}

Instant CircuitBreaker::instant(std::uint64_t ms) const noexcept {
  return origin_ + Duration::millis(static_cast<std::int64_t>(ms));
}

CircuitBreaker::Pass CircuitBreaker::ask(Instant now, Changes& changes) noexcept {
  Pass pass;
  if (!policy_.on) {
    pass.allowed = true;
    return pass;
  }
  for (;;) {
    std::uint64_t bits = word_.load(std::memory_order_acquire);
    const Word word = unpack(bits);
    pass.generation = word.generation;
    if (word.kind == static_cast<std::uint8_t>(BreakerState::closed)) {
      pass.allowed = true;
      return pass;
    }
    const std::uint64_t now_ms = millis(now);
    if (word.kind == static_cast<std::uint8_t>(BreakerState::half_open)) {
      if (trip_if_overdue(word, now_ms, changes)) {
        continue;
      }
      pass.allowed = take_probe(word, now_ms, pass);
      return pass;
    }
    if (now_ms < word.until_ms) {
      pass.come_back = instant(word.until_ms);
      return pass;
    }
    const Word half_open = next(word, BreakerState::half_open, 0);
    if (word_.compare_exchange_strong(bits, pack(half_open), std::memory_order_acq_rel)) {
      changes.note({.cause = BreakerCause::time_to_probe,
                    .now = BreakerState::half_open,
                    .at = instant(word.until_ms)});
    }
  }
}

// A place that was used in an earlier generation is free, and so is one that was given back.
bool CircuitBreaker::take_probe(Word word, std::uint64_t now_ms, Pass& pass) noexcept {
  const Word mine{Probe::running, word.generation, now_ms + millis_up(policy_.probe_limit)};
  std::uint64_t overdue_ms = kTimeMask;
  for (std::uint8_t i = 0; i < policy_.probes; ++i) {
    std::uint64_t bits = probes_[i].load(std::memory_order_acquire);
    const Word there = unpack(bits);
    const bool free = there.generation == word.generation
                          ? there.kind == Probe::unused
                          : is_before(there.generation, word.generation);
    if (free && probes_[i].compare_exchange_strong(bits, pack(mine), std::memory_order_acq_rel)) {
      pass.probe = i;
      return true;
    }
    if (there.kind == Probe::running) {
      overdue_ms = std::min(overdue_ms, there.until_ms);
    }
  }
  pass.come_back = overdue_ms == kTimeMask ? instant(now_ms) : instant(overdue_ms);
  return false;
}

bool CircuitBreaker::trip_if_overdue(Word word, std::uint64_t now_ms, Changes& changes) noexcept {
  for (std::uint8_t i = 0; i < policy_.probes; ++i) {
    const Word probe = unpack(probes_[i].load(std::memory_order_acquire));
    if (probe.generation == word.generation && probe.kind == Probe::running &&
        now_ms >= probe.until_ms) {
      trip(word, {.cause = BreakerCause::probe_overdue, .results = 1, .bad = 1}, probe.until_ms,
           changes);
      return true;
    }
  }
  return false;
}

// Opens, unless somebody else has changed the state first.
void CircuitBreaker::trip(Word seen, Change change, std::uint64_t at_ms,
                          Changes& changes) noexcept {
  const Duration shortest{policy_.open.ns - policy_.open.ns / 1000 * policy_.open_jitter};
  const auto spread = static_cast<std::uint64_t>((policy_.open - shortest).ns) + 1;
  const Duration drawn{static_cast<std::int64_t>(scaled_down(random_.draw(), spread))};
  const std::uint64_t open_ms = std::max<std::uint64_t>(millis_up(shortest + drawn), 1);
  std::uint64_t bits = pack(seen);
  const Word open = next(seen, BreakerState::open, at_ms + open_ms);
  if (!word_.compare_exchange_strong(bits, pack(open), std::memory_order_acq_rel)) {
    return;
  }
  change.now = BreakerState::open;
  change.open = Duration::millis(static_cast<std::int64_t>(open_ms));
  change.at = instant(at_ms);
  changes.note(change);
}

bool CircuitBreaker::settle(const Pass& pass, Result result, Instant now,
                            Changes& changes) noexcept {
  if (!policy_.on) {
    return true;
  }
  const Word word = unpack(word_.load(std::memory_order_acquire));
  if (word.generation != pass.generation) {
    return false;
  }
  if (pass.probe != Pass::kNoProbe) {
    return settle_probe(word, pass.probe, result, now, changes);
  }
  settle_closed(word, result, now, changes);
  return true;
}

void CircuitBreaker::settle_closed(Word word, Result result, Instant now,
                                   Changes& changes) noexcept {
  const std::uint64_t row_begun = std::uint64_t{word.generation} << 32;
  if (result == Result::nothing) {
    return;
  }
  if (result == Result::good) {
    if (row_.load(std::memory_order_relaxed) != row_begun) {
      row_.store(row_begun, std::memory_order_relaxed);
    }
    results_.add(1, 0, now, window_of(word.generation));
    return;
  }
  results_.add(1, 1, now, window_of(word.generation));
  const std::uint32_t in_a_row = bad_in_a_row(word.generation);
  if (policy_.consecutive != 0 && in_a_row >= policy_.consecutive) {
    trip(word, {.cause = BreakerCause::consecutive, .results = in_a_row, .bad = in_a_row},
         millis(now), changes);
    return;
  }
  const SlidingCounts::Sum sum = results_.sum(now, window_of(word.generation));
  if (sum.all >= policy_.minimum &&
      std::uint64_t{sum.marked} * 1000 >= std::uint64_t{policy_.failures} * sum.all) {
    trip(word, {.cause = BreakerCause::failure_share, .results = sum.all, .bad = sum.marked},
         millis(now), changes);
  }
}

// With the one that has just come.
std::uint32_t CircuitBreaker::bad_in_a_row(std::uint32_t generation) noexcept {
  const std::uint64_t begun = std::uint64_t{generation} << 32;
  std::uint64_t seen = row_.load(std::memory_order_relaxed);
  std::uint64_t after = 0;
  do {
    after = (seen >> 32 == generation ? seen : begun) + 1;
  } while (!row_.compare_exchange_weak(seen, after, std::memory_order_relaxed));
  return static_cast<std::uint32_t>(after);
}

bool CircuitBreaker::settle_probe(Word word, std::uint8_t number, Result result, Instant now,
                                  Changes& changes) noexcept {
  const std::uint64_t now_ms = millis(now);
  if (trip_if_overdue(word, now_ms, changes)) {
    return false;
  }
  std::atomic<std::uint64_t>& place = probes_[number];
  std::uint64_t bits = place.load(std::memory_order_acquire);
  Word probe = unpack(bits);
  if (probe.generation != word.generation || probe.kind != Probe::running) {
    return false;
  }
  if (result == Result::bad) {
    trip(word, {.cause = BreakerCause::probe_failed, .results = 1, .bad = 1}, now_ms, changes);
    return true;
  }
  probe.kind = result == Result::good ? Probe::passed : Probe::unused;
  if (!place.compare_exchange_strong(bits, pack(probe), std::memory_order_acq_rel)) {
    return false;
  }
  if (result == Result::good) {
    close_if_all_passed(word, now, changes);
  }
  return true;
}

void CircuitBreaker::close_if_all_passed(Word word, Instant now, Changes& changes) noexcept {
  for (std::uint8_t i = 0; i < policy_.probes; ++i) {
    const Word probe = unpack(probes_[i].load(std::memory_order_acquire));
    if (probe.generation != word.generation || probe.kind != Probe::passed) {
      return;
    }
  }
  std::uint64_t bits = pack(word);
  const Word closed = next(word, BreakerState::closed, 0);
  if (word_.compare_exchange_strong(bits, pack(closed), std::memory_order_acq_rel)) {
    changes.note({.cause = BreakerCause::probes_passed, .now = BreakerState::closed, .at = now});
  }
}

BreakerState CircuitBreaker::state(Instant now) const noexcept {
  const Word word = unpack(word_.load(std::memory_order_acquire));
  const auto state = static_cast<BreakerState>(word.kind);
  const bool over = state == BreakerState::open && millis(now) >= word.until_ms;
  return over ? BreakerState::half_open : state;
}

Instant CircuitBreaker::open_until() const noexcept {
  const Word word = unpack(word_.load(std::memory_order_acquire));
  return word.kind == static_cast<std::uint8_t>(BreakerState::open) ? instant(word.until_ms)
                                                                    : Instant{};
}

std::uint32_t CircuitBreaker::generation() const noexcept {
  return unpack(word_.load(std::memory_order_acquire)).generation;
}

}  // namespace loadline::client
