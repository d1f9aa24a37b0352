// The rules in force, and the estimates that they are applied with.
#pragma once

#include "loadline/gate.h"
#include "queue.h"
#include "returns.h"

namespace loadline {

// Estimates refuse nothing before this many completions.
inline constexpr std::uint64_t kServicesToBelieve = 20;
// How long a measured service time is believed at least without a newer one. It must not outlive
// its cause: a mean from a bad minute that refuses everybody would never be measured again.
inline constexpr Duration kServiceMeanLife = Duration::seconds(1);
inline constexpr Duration kTickInterval = Duration::millis(10);
inline constexpr Duration kWindow = Duration::millis(100);
// An automatic queue before anything is measured: ten places to a slot, which fits a service time
// of a tenth of the wait budget.
inline constexpr std::uint32_t kUnmeasuredPlaces = 10;

template <class Sync>
bool BasicGate<Sync>::accepts(const Policy& policy) const noexcept {
  const bool fits = policy.queue.kind != QueueSize::Kind::fixed ||
                    policy.queue.entries + Capacity::kSpareTickets <= capacity_.tickets;
  const Capacity asked = capacity_.for_tables(policy);
  const bool tables = (asked.tenant_buckets != 0) == (capacity_.tenant_buckets != 0) &&
                      (asked.quota_keys == 0 || capacity_.quota_keys != 0) &&
                      (asked.learns == 0 || capacity_.learns != 0);
  return !validate(policy).refused() && fits && tables;
}

template <class Sync>
const Policy& BasicGate<Sync>::policy() const noexcept {
  return guarded().policies[guarded().policy_taken_up.load(std::memory_order_relaxed) % 2];
}

// To apply a policy takes many stores. One alone says that it is to be applied, so that a death
// leaves the old rules or the new ones, and never some of each.
template <class Sync>
void BasicGate<Sync>::take_up(const Policy& policy) noexcept {
  auto& taken_up = guarded().policy_taken_up;
  const std::uint32_t next = (taken_up.load(std::memory_order_relaxed) + 1) % 2;
  guarded().policies[next] = policy;
  taken_up.store(next, std::memory_order_release);
  apply_policy();
}

template <class Sync>
void BasicGate<Sync>::apply_policy() noexcept {
  apply(policy());
  guarded().policy_applied.store(guarded().policy_taken_up.load(std::memory_order_relaxed),
                                 std::memory_order_release);
}

template <class Sync>
void BasicGate<Sync>::apply(const Policy& policy) noexcept {
  apply_limit(policy);
  guarded().queue = policy.queue;
  std::uint16_t above = 1000;
  for (std::uint32_t c = 0; c < kMaxClasses; ++c) {
    const std::uint16_t share = c < policy.class_count ? policy.classes[c].share : std::uint16_t{0};
    above = share == 0 ? above : std::min(share, above);
    guarded().shares[c] = above;
  }
  guarded().heavy_share = policy.heavy_share;
  apply_order(policy);
  apply_quota(policy.quota);
  published().exempt_limit.store(policy.exempt, std::memory_order_relaxed);
  published().queue_kind.store(static_cast<std::uint32_t>(policy.queue.kind),
                               std::memory_order_relaxed);
  published().class_count.store(policy.class_count, std::memory_order_relaxed);
  published().wait_budget_ns.store(policy.wait_budget.ns, std::memory_order_relaxed);
  published().retry_after.store(
      std::uint32_t{policy.retry_after_max} << 16 | policy.retry_after_min,
      std::memory_order_relaxed);
  published().return_stride.store(
      return_stride(policy.retry_after_max - policy.retry_after_min + 1U),
      std::memory_order_relaxed);
  publish_limit();
}

// Where a law finds the limit, the one in force is as good a beginning as any.
template <class Sync>
void BasicGate<Sync>::apply_limit(const Policy& policy) noexcept {
  if (policy.law == Law::fixed) {
    guarded().limit = policy.limit;
  } else if (guarded().limit == 0) {
    guarded().limit = std::clamp(policy.limit, policy.limit_least, policy.limit_most);
  } else {
    guarded().limit = std::clamp(guarded().limit, policy.limit_least, policy.limit_most);
  }
  if (policy.law == Law::fixed) {
    published().searching.store(0, std::memory_order_relaxed);
  }
  published().law.store(static_cast<std::uint32_t>(policy.law), std::memory_order_relaxed);
  detail::add_alone(guarded().rules_version, 1U);
}

template <class Sync>
void BasicGate<Sync>::apply_order(const Policy& policy) noexcept {
  guarded().guaranteed = 0;
  for (std::uint32_t c = 0; c < kMaxClasses; ++c) {
    guarded().guarantees[c] =
        c < policy.class_count ? policy.classes[c].guarantee : std::uint16_t{0};
    guarded().guaranteed |= guarded().guarantees[c] != 0 ? 1U << c : 0U;
  }
  for (std::uint32_t g = 0; g < kMaxGroups; ++g) {
    guarded().group_tenants[g].store(
        g < policy.group_count ? policy.groups[g].tenants : std::uint16_t{1},
        std::memory_order_relaxed);
  }
  const auto discipline = static_cast<std::uint32_t>(policy.discipline);
  if (discipline != published().discipline.load(std::memory_order_relaxed)) {
    published().discipline.store(discipline, std::memory_order_relaxed);
    published().newest_first.store(0, std::memory_order_relaxed);
    for (auto& since : published().occupied_since) {
      since.store(Instant::never().ns, std::memory_order_relaxed);
    }
    for (std::uint32_t c = 0; c < kMaxClasses; ++c) {
      if (guarded().class_waiting[c].load(std::memory_order_relaxed) != 0) {
        begin_standing(c, guarded().now);
      }
    }
  }
}

// GCRA's two numbers: the time that a request takes up, and how far ahead of now it may run.
template <class Sync>
void BasicGate<Sync>::apply_quota(const QuotaPolicy& quota) noexcept {
  const std::uint64_t interval =
      quota.any() ? static_cast<std::uint64_t>(quota.per.ns) / quota.requests / 1000 : 0;
  published().quota_tolerance_us.store(interval * (quota.burst - 1), std::memory_order_relaxed);
  published().quota_interval_us.store(interval, std::memory_order_relaxed);
}

// Thresholds first, then the epoch: an offer that read an old threshold has read an old epoch too,
// and its exchange fails.
template <class Sync>
void BasicGate<Sync>::publish_limit() noexcept {
  const std::uint32_t limit = guarded().limit;
  published().limit.store(limit, std::memory_order_relaxed);
  for (std::uint32_t c = 0; c < kMaxClasses; ++c) {
    const std::uint64_t part = (std::uint64_t{limit} * guarded().shares[c] + 999) / 1000;
    published().thresholds[c].store(static_cast<std::uint32_t>(part), std::memory_order_release);
  }
  const std::uint64_t heavy = std::uint64_t{limit} * guarded().heavy_share / 1000;
  published().heavy_limit.store(std::max(static_cast<std::uint32_t>(heavy), 1U),
                                std::memory_order_relaxed);
  publish_drain();
  publish_queue_limit();
  move_epoch();
  guarded().limit_told.store(limit, std::memory_order_release);
}

// Whoever was about to enter the word by what held before fails, and looks again.
template <class Sync>
void BasicGate<Sync>::move_epoch() noexcept {
  Word word = load_word();
  while (!head_->word.compare_exchange_weak(word.bits, word.with_next_epoch().bits,
                                            std::memory_order_acq_rel, std::memory_order_acquire)) {
  }
}

// How long until a slot comes free, while all are taken.
template <class Sync>
void BasicGate<Sync>::publish_drain() noexcept {
  const std::int64_t mean = published().service_mean_ns.load(std::memory_order_relaxed);
  const std::int64_t limit = std::max(guarded().limit, 1U);
  const bool known = published().searching.load(std::memory_order_relaxed) == 0;
  published().drain_ns.store(known ? mean / limit : 0, std::memory_order_relaxed);
}

// `automatic`: as many as start within the wait budget, by Little's law: budget * limit / mean.
template <class Sync>
void BasicGate<Sync>::publish_queue_limit() noexcept {
  const std::uint32_t room = capacity_.tickets - Capacity::kSpareTickets;
  const QueueSize queue = guarded().queue;
  std::uint64_t places = queue.entries;
  if (queue.kind == QueueSize::Kind::automatic) {
    const std::uint64_t limit = guarded().limit;
    const auto budget =
        static_cast<std::uint64_t>(published().wait_budget_ns.load(std::memory_order_relaxed));
    const auto mean =
        static_cast<std::uint64_t>(published().service_mean_ns.load(std::memory_order_relaxed));
    places = mean == 0 ? limit * kUnmeasuredPlaces : (budget * limit + mean - 1) / mean;
    places = std::max<std::uint64_t>(places, 1);
    if (published().searching.load(std::memory_order_relaxed) != 0) {
      places = room;  // as many as there are: how many start in time is what is being looked for
    }
  }
  published().queue_limit.store(static_cast<std::uint32_t>(std::min<std::uint64_t>(places, room)),
                                std::memory_order_relaxed);
}

template <class Sync>
void BasicGate<Sync>::update_estimates(Instant now) noexcept {
  if (now - guarded().estimated_at < kWindow) {
    return;
  }
  guarded().estimated_at = now;
  const Services all = services_of_all();
  if (all.count != guarded().seen_services) {
    take_window(all, now);
  }
}

// After a death in the middle of a window's closing nobody knows which of its numbers were noted:
// this one is not used.
template <class Sync>
void BasicGate<Sync>::skip_window() noexcept {
  const Services all = services_of_all();
  guarded().seen_services = all.count;
  guarded().seen_service_ns = all.ns;
}

// The mean moves by the share that the window's completions have among the last twenty and
// themselves: a busy service is followed window by window, a quiet one over its last twenty. One
// that is no longer believed is forgotten, and as many are waited for as in the beginning: else the
// first few that are let in after a standstill are averaged with it, and refuse everybody again.
// Observing, these are the shadow's, if it has any: what a service takes that does no more than its
// limit.
template <class Sync>
void BasicGate<Sync>::take_window(Services all, Instant now) noexcept {
  // Within these bounds, whatever the block holds.
  constexpr std::uint64_t kMostServices = 1U << 30;
  const Services come{all.count - guarded().seen_services, all.ns - guarded().seen_service_ns};
  const Duration mean = known_service_mean(now);
  const bool forgotten =
      mean.ns == 0 && published().service_mean_ns.load(std::memory_order_relaxed) != 0;
  if (forgotten && come.count < kServicesToBelieve) {
    return;
  }
  const Services shadows{shadow_->services.count, shadow_->services.ns};
  const bool observed = observes() && !(forgotten && shadows.count == 0);
  const Services here = observed ? shadows : come;
  shadow_->services = {};
  const auto count = static_cast<std::int64_t>(std::min(here.count, kMostServices));
  const Duration mean_here{static_cast<std::int64_t>(here.ns) / std::max<std::int64_t>(count, 1)};
  if (all.count >= kServicesToBelieve && (mean.ns != 0 || count != 0)) {
    const std::int64_t share = count + std::int64_t{kServicesToBelieve};
    const Duration first =
        observed || forgotten ? mean_here : Duration{static_cast<std::int64_t>(all.ns / all.count)};
    const Duration moved =
        mean.ns == 0 ? first : mean + Duration{(mean_here - mean).ns / share * count};
    published().service_mean_ns.store(std::max<std::int64_t>(moved.ns, 1),
                                      std::memory_order_relaxed);
    // Twice as long as it takes, where all work, until the next completes.
    const std::int64_t limit = std::max(guarded().limit, 1U);
    const Duration life = std::max(kServiceMeanLife, Duration{(moved + moved).ns / limit});
    published().service_mean_until.store((now + life).ns, std::memory_order_relaxed);
    publish_drain();
  }
  guarded().seen_services = all.count;
  guarded().seen_service_ns = all.ns;
  publish_queue_limit();
}

}  // namespace loadline
