// What a gate thinks of a request: a function of the request, the time, the word and the published
// numbers, without any effect. The order is the order of cost; the first no decides.
#pragma once

#include "loadline/gate.h"

namespace loadline {

// How long a measured service time is believed without a newer one. It must not outlive its cause:
// a mean from a bad minute that refuses everybody would never be measured again.
inline constexpr Duration kServiceMeanLife = Duration::seconds(1);

template <class Sync>
bool BasicGate<Sync>::admits_all() const noexcept {
  return (published().flags.load(std::memory_order_relaxed) &
          (detail::kFlagObserve | detail::kFlagOff)) != 0;
}

template <class Sync>
Duration BasicGate<Sync>::known_service_mean(Instant now) const noexcept {
  const Duration mean{published().service_mean_ns.load(std::memory_order_relaxed)};
  const Instant newest{published().service_mean_at.load(std::memory_order_relaxed)};
  const Duration life = std::max(kServiceMeanLife, mean + mean);
  return now - newest > life ? Duration{} : mean;
}

// Has the deadline passed, or is it nearer than the work takes?
template <class Sync>
Reason BasicGate<Sync>::doom(const Request& request, Instant now) const noexcept {
  if (request.deadline == Instant::never()) {
    return Reason::none;
  }
  if (request.deadline <= now) {
    return Reason::deadline_expired;
  }
  return request.deadline - known_service_mean(now) < now ? Reason::deadline_unmeetable
                                                          : Reason::none;
}

template <class Sync>
std::uint32_t BasicGate<Sync>::ahead_of(std::uint32_t importance) const noexcept {
  std::uint32_t ahead = 0;
  for (std::uint32_t c = 0; c <= importance; ++c) {
    ahead += guarded().class_waiting[c].load(std::memory_order_relaxed);
  }
  return ahead;
}

// Observing, what is in flight above the limit is who would be waiting: it plays the queue.
template <class Sync>
typename BasicGate<Sync>::Judgement BasicGate<Sync>::judge(const Request& request,
                                                           std::uint32_t cost, Word word,
                                                           Instant now,
                                                           bool observing) const noexcept {
  if ((published().flags.load(std::memory_order_relaxed) & detail::kFlagDraining) != 0) {
    return {.verdict = Verdict::reject, .reason = Reason::draining};
  }
  if (const Reason doomed = doom(request, now); doomed != Reason::none) {
    return {.verdict = Verdict::reject, .reason = doomed};
  }
  const bool someone_first = word.waits_at_or_above(request.importance);
  if (!someone_first && std::uint64_t{word.in_flight()} + cost <= threshold(request.importance)) {
    return {};
  }
  const std::uint32_t room = published().queue_limit.load(std::memory_order_relaxed);
  if (!request.may_wait || room == 0) {
    return {.verdict = Verdict::reject, .reason = Reason::limit};
  }
  const std::uint32_t top = limit();
  const std::uint32_t above = word.in_flight() > top ? word.in_flight() - top : 0;
  const std::uint32_t waiting = observing ? above : word.waiting();
  const Judgement wait = judge_wait(request, observing ? above : ahead_of(request.importance), now);
  if (wait.verdict != Verdict::reject && waiting >= room &&
      (observing || !word.waits_below(request.importance))) {
    return {.verdict = Verdict::reject, .reason = Reason::queue_full};
  }
  return wait;
}

// When it must start, and whether it is likely to: with `ahead` of it, a slot comes free every
// mean / limit. Not asked before kServicesToBelieve completions have been seen.
template <class Sync>
typename BasicGate<Sync>::Judgement BasicGate<Sync>::judge_wait(const Request& request,
                                                                std::uint32_t ahead,
                                                                Instant now) const noexcept {
  Duration budget{published().wait_budget_ns.load(std::memory_order_relaxed)};
  const Duration mean = known_service_mean(now);
  Instant by_deadline = Instant::never();
  if (request.deadline != Instant::never()) {
    budget = std::min(budget, Duration{(request.deadline - now).ns / 2});
    by_deadline = request.deadline - mean;
  }
  const Instant by_budget = now + budget;
  const bool deadline_first = by_deadline < by_budget;
  Judgement wait{
      .verdict = Verdict::wait,
      .late_reason = deadline_first ? Reason::deadline_unmeetable : Reason::queue_timeout,
      .start_by = std::min(by_budget, by_deadline)};
  const Duration predicted{mean.ns / limit() * (std::int64_t{ahead} + 1)};
  if (now + predicted > wait.start_by) {
    wait.verdict = Verdict::reject;
    wait.reason = deadline_first ? Reason::deadline_unmeetable : Reason::wait_budget;
  }
  return wait;
}

}  // namespace loadline
