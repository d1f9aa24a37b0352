// What a gate thinks of a request: a function of the request, the time, the word and the published
// numbers, without any effect. The order is the order of cost; the first no decides.
#pragma once

#include "loadline/gate.h"

namespace loadline {

// A mask of classes with all of them in it.
inline constexpr std::uint32_t kAllClasses = (1U << kMaxClasses) - 1;

// What a request is charged. A weight above what its class, or all weights above 1, may ever fill
// could never start, so it is charged that much instead.
template <class Sync>
[[gnu::always_inline]] inline std::uint32_t BasicGate<Sync>::charge(
    const Request& request) const noexcept {
  if (request.cost <= 1) {
    return 1;
  }
  const std::uint32_t most = std::min(threshold(request.importance),
                                      published().heavy_limit.load(std::memory_order_relaxed));
  return std::max(std::min(request.cost, most), 1U);
}

// Exact with the mutex held, since that is where heavy requests start.
template <class Sync>
std::uint32_t BasicGate<Sync>::heavy_in_flight() const noexcept {
  std::uint32_t units = guarded().granted_heavy.load(std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < capacity_.participants; ++i) {
    units += slots_[i].heavy_held.load(std::memory_order_relaxed);
  }
  return units;
}

template <class Sync>
bool BasicGate<Sync>::heavies_are_full(std::uint32_t cost, bool in_shadow) const noexcept {
  const std::uint32_t units = in_shadow ? shadow_->in_flight.heavy : heavy_in_flight();
  return std::uint64_t{units} + cost > published().heavy_limit.load(std::memory_order_relaxed);
}

// Is there room in the limit, and in the share of it that heavy requests have and wait for?
template <class Sync>
[[gnu::always_inline]] inline bool BasicGate<Sync>::fits(Word word, std::uint32_t importance,
                                                         std::uint32_t cost,
                                                         bool in_shadow) const noexcept {
  return std::uint64_t{word.in_flight()} + cost <= threshold(importance) &&
         (cost == 1 ||
          (!heavies_wait_at_or_above(importance, in_shadow) && !heavies_are_full(cost, in_shadow)));
}

// Does this class serve its newest first?
template <class Sync>
[[gnu::always_inline]] inline bool BasicGate<Sync>::newest_first(std::uint32_t importance,
                                                                 bool in_shadow) const noexcept {
  const auto discipline =
      static_cast<Discipline>(published().discipline.load(std::memory_order_relaxed));
  const auto standing = [&] {
    return in_shadow ? shadow_->newest_first
                     : published().newest_first.load(std::memory_order_relaxed);
  };
  return discipline == Discipline::lifo ||
         (discipline == Discipline::adaptive && (standing() >> importance & 1) != 0);
}

template <class Sync>
bool BasicGate<Sync>::is_off() const noexcept {
  return (published().flags.load(std::memory_order_relaxed) & detail::kFlagOff) != 0;
}

template <class Sync>
bool BasicGate<Sync>::observes() const noexcept {
  return (published().flags.load(std::memory_order_relaxed) & detail::kFlagObserve) != 0;
}

template <class Sync>
[[gnu::always_inline]] inline bool BasicGate<Sync>::draining() const noexcept {
  return (published().flags.load(std::memory_order_relaxed) & detail::kFlagDraining) != 0;
}

template <class Sync>
[[gnu::always_inline]] inline Duration BasicGate<Sync>::known_service_mean(
    Instant now) const noexcept {
  return now.ns > published().service_mean_until.load(std::memory_order_relaxed)
             ? Duration{}
             : Duration{published().service_mean_ns.load(std::memory_order_relaxed)};
}

// What this request's work will take. A tenant's own mean, where that is the smaller: were those of
// small requests judged by the mean of all, one tenant's large ones would have them refused. Where
// it is the larger it is not believed, for it does not age, and might refuse a tenant for ever.
template <class Sync>
[[gnu::always_inline]] inline Duration BasicGate<Sync>::expected_service(
    const Request& request, Instant now, bool tenants) const noexcept {
  const Duration mean = known_service_mean(now);
  if (!tenants || mean.ns == 0) {
    return mean;
  }
  const Duration own{static_cast<std::int64_t>(cost_of(request))};
  return own.ns == 0 ? mean : std::min(mean, own);
}

// Has the deadline passed, or is it nearer than the work takes?
template <class Sync>
[[gnu::always_inline]] inline Reason BasicGate<Sync>::doom(const Request& request, Instant now,
                                                           bool tenants) const noexcept {
  if (request.deadline == Instant::never()) {
    return Reason::none;
  }
  if (request.deadline <= now) {
    return Reason::deadline_expired;
  }
  return request.deadline - expected_service(request, now, tenants) < now
             ? Reason::deadline_unmeetable
             : Reason::none;
}

// Those who start before a newcomer: all who are more important, and of its own class those who are
// there already, unless the newest start first.
template <class Sync>
[[gnu::always_inline]] inline std::uint32_t BasicGate<Sync>::ahead_of(
    std::uint32_t importance, bool in_shadow) const noexcept {
  std::uint32_t ahead = 0;
  const std::uint32_t end = newest_first(importance, in_shadow) ? importance : importance + 1;
  for (std::uint32_t c = 0; c < end; ++c) {
    ahead += guarded().class_waiting[c].load(std::memory_order_relaxed) +
             (in_shadow ? shadow_->class_waiting[c] : 0U);
  }
  return ahead;
}

// Light and heavy queues that somebody waits in, a bit each. Exact with the mutex held.
template <class Sync>
[[gnu::always_inline]] inline std::uint32_t BasicGate<Sync>::occupied_queues(
    bool in_shadow) const noexcept {
  const std::uint32_t queues =
      in_shadow ? shadow_->occupied : guarded().occupied.load(std::memory_order_relaxed);
  return queues & ((1U << detail::kQueues) - 1);
}

template <class Sync>
bool BasicGate<Sync>::heavies_wait_at_or_above(std::uint32_t importance,
                                               bool in_shadow) const noexcept {
  return (occupied_queues(in_shadow) >> kMaxClasses & ((2U << importance) - 1)) != 0;
}

// Not asked of the word, which leaves out those whom others may pass.
template <class Sync>
[[gnu::always_inline]] inline bool BasicGate<Sync>::someone_below(std::uint32_t importance,
                                                                  bool in_shadow) const noexcept {
  const std::uint32_t queues = occupied_queues(in_shadow);
  return ((queues | queues >> kMaxClasses) & kAllClasses & ~((2U << importance) - 1)) != 0;
}

// Observing, the word and all that is asked beside it are the shadow's.
template <class Sync>
[[gnu::always_inline]] inline typename BasicGate<Sync>::Judgement BasicGate<Sync>::judge(
    const Request& request, std::uint32_t cost, Word word, Instant now,
    Scope scope) const noexcept {
  if (draining()) {
    return {.verdict = Verdict::reject, .reason = Reason::draining};
  }
  if (const Reason doomed = doom(request, now, scope.tenants); doomed != Reason::none) {
    return {.verdict = Verdict::reject, .reason = doomed};
  }
  const bool someone_first = word.waits_at_or_above(request.importance);
  if (!someone_first && fits(word, request.importance, cost, scope.observing)) {
    return {};
  }
  const std::uint32_t room = published().queue_limit.load(std::memory_order_relaxed);
  if (!request.may_wait || room == 0) {
    return {.verdict = Verdict::reject, .reason = Reason::limit};
  }
  const Judgement wait = judge_wait(request, word.waiting(), now, scope);
  if (wait.verdict == Verdict::reject || word.waiting() < room) {
    return wait;
  }
  if (someone_below(request.importance, scope.observing) ||
      (scope.tenants && may_displace_its_like(request))) {
    return wait;
  }
  return {.verdict = Verdict::reject,
          .reason = scope.tenants ? full_for(request) : Reason::queue_full,
          .for_queue = true};
}

// When it must start, and whether it is likely to: a slot comes free every mean / limit, for those
// ahead of it first. Who would start in time after all who wait need not have them told apart. Not
// asked before kServicesToBelieve completions have been seen, nor of a tenant, whose turn depends
// on how much of its own is waiting and not on who came first.
template <class Sync>
[[gnu::always_inline]] inline typename BasicGate<Sync>::Judgement BasicGate<Sync>::judge_wait(
    const Request& request, std::uint32_t waiting, Instant now, Scope scope) const noexcept {
  Duration budget{published().wait_budget_ns.load(std::memory_order_relaxed)};
  const Duration mean = expected_service(request, now, scope.tenants);
  Instant by_deadline = Instant::never();
  if (request.deadline != Instant::never()) {
    // Of what is left, a share: the rest is for the work. A smaller one where the newest start
    // first, since who is still there after that will hardly be served in time.
    const std::int64_t part = newest_first(request.importance, scope.observing) ? 4 : 2;
    budget = std::min(budget, Duration{(request.deadline - now).ns / part});
    by_deadline = request.deadline - mean;
  }
  const Instant by_budget = now + budget;
  const bool deadline_first = by_deadline < by_budget;
  Judgement wait{
      .verdict = Verdict::wait,
      .late_reason = deadline_first ? Reason::deadline_unmeetable : Reason::queue_timeout,
      .start_by = std::min(by_budget, by_deadline)};
  if (mean.ns == 0 || scope.tenants) {
    return wait;
  }
  const Duration drain{published().drain_ns.load(std::memory_order_relaxed)};
  const auto too_late = [&](std::uint32_t ahead) {
    return now + drain * (std::int64_t{ahead} + 1) > wait.start_by;
  };
  if (too_late(waiting) && too_late(ahead_of(request.importance, scope.observing))) {
    wait.verdict = Verdict::reject;
    wait.for_queue = true;
    wait.reason = deadline_first ? Reason::deadline_unmeetable : Reason::wait_budget;
  }
  return wait;
}

template <class Sync>
Reason BasicGate<Sync>::preview(const Request& request, Instant now) const noexcept {
  if (request.importance >= published().class_count.load(std::memory_order_relaxed) ||
      request.exempt || request.observe || admits_all()) {
    return Reason::none;
  }
  return judge(request, charge(request), load_word(), now, {.tenants = has_tenants()}).reason;
}

}  // namespace loadline
