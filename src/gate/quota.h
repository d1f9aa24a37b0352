// Quotas: how often one key may ask, whatever room there is.
//
// GCRA (ITU-T I.371; the leaky bucket as a clock): of each key the time is kept up to which its
// requests have been paid for; one that would run ahead of now by more than the burst is over. Key
// and time share 64 bits (24 of the key's hash, 40 of microseconds), so that taking, giving up and
// forgetting are one exchange each, and neither a race nor a death can tear an entry.
//
// A key has eight places, found by its hash. One whose time has passed has its whole burst again,
// which is what an unknown key has: it may be forgotten. When all eight are busy with others, the
// ninth key is let through: a quota must not refuse one who did nothing.
#pragma once

#include "loadline/gate.h"

namespace loadline {

namespace detail {

struct QuotaEntry {
  std::uint64_t bits = 0;

  static constexpr std::uint64_t kTimeMask = (std::uint64_t{1} << 40) - 1;
  // And a second, by which clocks may differ.
  static constexpr std::uint64_t kFarthest = (std::uint64_t{kLongestRefillSeconds} + 1) * 1'000'000;

  static constexpr QuotaEntry of(std::uint64_t mark, std::uint64_t time_us) noexcept {
    return {mark << 40 | (time_us & kTimeMask)};
  }
  [[nodiscard]] constexpr std::uint64_t mark() const noexcept { return bits >> 40; }
  // Microseconds from now until the time it is paid up to; 0 if that has passed. Times are kept in
  // a circle of 12.7 days. Nothing is paid further ahead than the longest burst takes to come back,
  // so what seems to be lies behind; and before it comes round, the sweep has emptied its place.
  [[nodiscard]] constexpr std::uint64_t ahead_of(std::uint64_t now_us) const noexcept {
    const std::uint64_t ahead = (bits - now_us) & kTimeMask;
    return ahead > kFarthest ? 0 : ahead;
  }
};

// Never 0, which marks an empty place.
constexpr std::uint64_t quota_mark(std::uint64_t key) noexcept {
  return (key >> 40) == 0 ? 1 : key >> 40;
}

inline constexpr std::uint32_t kQuotaWays = 8;

}  // namespace detail

// Where a key is, or may be put: null if all its places are busy.
template <class Sync>
typename BasicGate<Sync>::QuotaCell* BasicGate<Sync>::quota_cell(
    std::uint64_t key, std::uint64_t now_us, detail::QuotaEntry& seen) const noexcept {
  const std::uint32_t first =
      static_cast<std::uint32_t>(key) & (capacity_.quota_keys - 1) & ~(detail::kQuotaWays - 1);
  QuotaCell* free = nullptr;
  detail::QuotaEntry free_seen;
  for (std::uint32_t way = 0; way < detail::kQuotaWays; ++way) {
    QuotaCell& cell = quota_cells_[first + way];
    const detail::QuotaEntry entry{cell.load(std::memory_order_relaxed)};
    if (entry.bits != 0 && entry.mark() == detail::quota_mark(key)) {
      seen = entry;
      return &cell;
    }
    if (free == nullptr && (entry.bits == 0 || entry.ahead_of(now_us) == 0)) {
      free = &cell;
      free_seen = entry;
    }
  }
  seen = free_seen;
  return free;
}

// How long until the key may ask again; 0: it may, and has.
template <class Sync>
Duration BasicGate<Sync>::take_from_quota(std::uint64_t key, Instant now) noexcept {
  const std::uint64_t interval = published().quota_interval_us.load(std::memory_order_relaxed);
  if (interval == 0 || capacity_.quota_keys == 0) {
    return {};
  }
  const std::uint64_t tolerance = published().quota_tolerance_us.load(std::memory_order_relaxed);
  const std::uint64_t now_us = quota_time(now);
  while (true) {
    detail::QuotaEntry seen;
    QuotaCell* cell = quota_cell(key, now_us, seen);
    if (cell == nullptr) {
      return {};
    }
    const std::uint64_t mark = detail::quota_mark(key);
    const bool known = seen.bits != 0 && seen.mark() == mark;
    const std::uint64_t ahead = known ? seen.ahead_of(now_us) : 0;
    if (ahead > tolerance) {
      return Duration::micros(static_cast<std::int64_t>(ahead - tolerance));
    }
    const auto next = detail::QuotaEntry::of(mark, now_us + ahead + interval);
    if (cell->compare_exchange_strong(seen.bits, next.bits, std::memory_order_relaxed)) {
      return {};
    }
  }
}

// As take_from_quota, for requests of any kind: a gate that drains asks nobody for a quota.
template <class Sync>
[[gnu::always_inline]] inline Duration BasicGate<Sync>::charge_quota(const Request& request,
                                                                     Instant now) noexcept {
  return request.quota == 0 || draining() ? Duration{} : take_from_quota(request.quota, now);
}

// What was asked for is not used, so the quota gets it back; but for one that was never charged.
template <class Sync>
[[gnu::always_inline]] inline void BasicGate<Sync>::refund_quota(const Request& request,
                                                                 Reason reason) noexcept {
  if (request.quota != 0 && reason != Reason::draining) {
    return_to_quota(request.quota);
  }
}

template <class Sync>
void BasicGate<Sync>::return_to_quota(std::uint64_t key) noexcept {
  const std::uint64_t interval = published().quota_interval_us.load(std::memory_order_relaxed);
  if (interval == 0 || capacity_.quota_keys == 0) {
    return;
  }
  detail::QuotaEntry seen;
  QuotaCell* cell = quota_cell(key, 0, seen);
  const std::uint64_t mark = detail::quota_mark(key);
  while (cell != nullptr && seen.bits != 0 && seen.mark() == mark) {
    const auto next = detail::QuotaEntry::of(mark, seen.bits - interval);
    if (cell->compare_exchange_strong(seen.bits, next.bits, std::memory_order_relaxed)) {
      return;
    }
  }
}

// Forgets those whose time has passed, a few at each tick: all within minutes, long before their
// times come round again.
template <class Sync>
void BasicGate<Sync>::sweep_quota(Instant now) noexcept {
  constexpr std::uint32_t kAtOnce = 64;
  const std::uint64_t now_us = quota_time(now);
  for (std::uint32_t i = 0; i < std::min(kAtOnce, capacity_.quota_keys); ++i) {
    QuotaCell& cell = quota_cells_[guarded().quota_swept++ & (capacity_.quota_keys - 1)];
    std::uint64_t seen = cell.load(std::memory_order_relaxed);
    if (seen != 0 && detail::QuotaEntry{seen}.ahead_of(now_us) == 0) {
      cell.compare_exchange_strong(seen, 0, std::memory_order_relaxed);
    }
  }
}

// Never back: a caller whose clock goes to and fro would find fresh allowance at each return.
template <class Sync>
std::uint64_t BasicGate<Sync>::quota_time(Instant now) noexcept {
  constexpr std::uint64_t kStaleUs = 1000;  // and not more often, since it is shared
  auto& latest = head_->quota_now_us;
  const auto mine = static_cast<std::uint64_t>(std::max<std::int64_t>(now.ns, 0)) / 1000;
  const std::uint64_t seen = latest.load(std::memory_order_relaxed);
  if (mine > seen + kStaleUs) {
    latest.store(mine, std::memory_order_relaxed);
  }
  return std::max(mine, seen);
}

template <class Sync>
typename BasicGate<Sync>::Told BasicGate<Sync>::over_quota(Slot& mine, const Request& request,
                                                           Duration wait) noexcept {
  detail::add_alone(mine.rejected[request.importance][static_cast<std::uint32_t>(Reason::quota)],
                    1U);
  const std::int64_t seconds = (wait.ns + 999'999'999) / 1'000'000'000;
  return {Verdict::reject, Reason::quota,
          static_cast<std::uint16_t>(std::clamp<std::int64_t>(seconds, 1, kMaxRetryAfter))};
}

}  // namespace loadline
