// In which order those who wait are served, and who gives way: disciplines, guarantees,
// displacement. With the mutex held, but for turns_order.
#pragma once

#include "judge.h"
#include "loadline/gate.h"
#include "tenants.h"

namespace loadline {

// A queue that has not been empty for so long is a standing one: it absorbs no burst any more, it
// only makes everyone late.
inline constexpr Duration kStanding = Duration::millis(50);

// Credits are kept in thousandths of a start, within these bounds: a class that had nobody waiting
// does not save up, and one that was served far above its guarantee is not made to pay for long.
inline constexpr std::int32_t kOneStart = 1000;
inline constexpr std::int32_t kMostCredit = 4 * kOneStart;

template <class Sync>
void BasicGate<Sync>::begin_standing(std::uint32_t importance, Instant now) noexcept {
  if (discipline() != Discipline::adaptive || has_tenants()) {
    return;  // it does not matter how long a queue stands
  }
  published().occupied_since[importance].store(now.ns, std::memory_order_relaxed);
}

template <class Sync>
void BasicGate<Sync>::end_standing(std::uint32_t importance) noexcept {
  published().occupied_since[importance].store(Instant::never().ns, std::memory_order_relaxed);
  const std::uint32_t mask = published().newest_first.load(std::memory_order_relaxed);
  if ((mask >> importance & 1) != 0) {
    published().newest_first.store(mask & ~(1U << importance), std::memory_order_relaxed);
  }
}

// Asked when someone is refused for the queue's sake. A refusal beside a queue that has not emptied
// for kStanding is overload and not a burst; age alone would take a healthy, busy queue for one.
template <class Sync>
[[gnu::always_inline]] inline bool BasicGate<Sync>::stands(std::uint32_t importance,
                                                           Instant now) const noexcept {
  const Instant since{published().occupied_since[importance].load(std::memory_order_relaxed)};
  return now - kStanding > since;
}

// Would a refusal turn the order? That is for a section to do. Who is refused may then be next, and
// so wait after all; and somebody else may fit where the one before did not.
template <class Sync>
[[gnu::always_inline]] inline bool BasicGate<Sync>::turns_order(const Judgement& judgement,
                                                                std::uint32_t importance,
                                                                Instant now) const noexcept {
  return judgement.for_queue && stands(importance, now) && !newest_first(importance);
}

// Someone is refused for the queue's sake.
template <class Sync>
void BasicGate<Sync>::note_standing(std::uint32_t importance, Instant now) noexcept {
  if (stands(importance, now) && !newest_first(importance)) {
    published().newest_first.store(
        published().newest_first.load(std::memory_order_relaxed) | 1U << importance,
        std::memory_order_relaxed);
  }
}

template <class Sync>
Discipline BasicGate<Sync>::discipline() const noexcept {
  return static_cast<Discipline>(published().discipline.load(std::memory_order_relaxed));
}

template <class Sync>
bool BasicGate<Sync>::comes_before(std::uint32_t one, std::uint32_t other) const noexcept {
  if (has_tenants() && places_[one].tag / kRound != places_[other].tag / kRound) {
    return places_[one].tag < places_[other].tag;
  }
  return tickets_[one].sequence < tickets_[other].sequence;
}

// Of two ends of queues, either of which may be empty, the one that `earlier` asks for.
template <class Sync>
std::uint32_t BasicGate<Sync>::choose(std::uint32_t one, std::uint32_t other,
                                      bool earlier) noexcept {
  if (!in_range(one) || !in_range(other)) {
    return in_range(one) ? one : other;
  }
  return comes_before(one, other) == earlier ? one : other;
}

// Who of a class starts next, its heavy requests included or not.
template <class Sync>
inline std::uint32_t BasicGate<Sync>::next_of(std::uint32_t importance, bool heavy) noexcept {
  const detail::TicketList& light = guarded().queues[importance];
  const bool newest = newest_first(importance);
  const std::uint32_t light_end = newest ? light.tail : light.head;
  return heavy ? choose(light_end, next_heavy(importance), !newest) : light_end;
}

// Who of a class would start last, and so gives way first.
template <class Sync>
std::uint32_t BasicGate<Sync>::last_of(std::uint32_t importance) noexcept {
  const detail::TicketList& light = guarded().queues[importance];
  const detail::TicketList& heavy = guarded().queues[importance + kMaxClasses];
  return newest_first(importance) ? choose(light.head, heavy.head, true)
                                  : choose(light.tail, heavy.tail, false);
}

// A mask of classes, whatever the block holds.
template <class Sync>
std::uint32_t BasicGate<Sync>::guaranteed() const noexcept {
  return guarded().guaranteed & kAllClasses;
}

// A guarantee is a share of the dispatches. Each start gives every guaranteed class its share of
// credit and takes one from the class that started; who has a whole one comes first.
template <class Sync>
void BasicGate<Sync>::credit_guarantees(std::uint32_t importance, std::uint32_t cost) noexcept {
  const auto units = static_cast<std::int32_t>(std::min(cost, 1000U));
  for (std::uint32_t left = guaranteed(); left != 0; left &= left - 1) {
    const auto c = static_cast<std::uint32_t>(std::countr_zero(left));
    const std::int32_t share = guarded().guarantees[c];
    std::int32_t& credit = guarded().credits[c];
    credit = std::clamp(credit, -kMostCredit, kMostCredit);
    credit = std::min(credit + share * units, kMostCredit);
    if (c == importance) {
      credit = std::max(credit - kOneStart * units, -kMostCredit);
    }
  }
}

// kMaxClasses: none. What a class is owed, its heavy requests get before more important ones.
template <class Sync>
std::uint32_t BasicGate<Sync>::class_owed_a_start() const noexcept {
  std::uint32_t owed = kMaxClasses;
  std::int32_t most = kOneStart - 1;
  for (std::uint32_t left = guaranteed(); left != 0; left &= left - 1) {
    const auto c = static_cast<std::uint32_t>(std::countr_zero(left));
    if (guarded().credits[c] > most && ((occupied_queues() >> c & 1) != 0 || heavy_eligible(c))) {
      owed = c;
      most = guarded().credits[c];
    }
  }
  return owed;
}

// Places in the queue that a class keeps whoever comes: its guarantee of them, rounded up.
template <class Sync>
std::uint32_t BasicGate<Sync>::places_kept(std::uint32_t importance) const noexcept {
  const std::uint64_t room = published().queue_limit.load(std::memory_order_relaxed);
  return static_cast<std::uint32_t>((room * guarded().guarantees[importance] + 999) / 1000);
}

// Makes a place in a full queue: the least important gives way, and among its like who would start
// last. False if nobody has to.
template <class Sync>
bool BasicGate<Sync>::displace_for(const Request& request, Instant now, Signals& signals) noexcept {
  for (std::uint32_t c = kMaxClasses - 1; c > request.importance; --c) {
    if (guarded().class_waiting[c].load(std::memory_order_relaxed) > places_kept(c)) {
      return displace(last_of(c), now, signals);
    }
  }
  return has_tenants() && may_displace_its_like(request) &&
         displace(last_of(request.importance), now, signals);
}

template <class Sync>
bool BasicGate<Sync>::displace(std::uint32_t index, Instant now, Signals& signals) noexcept {
  if (!sound(index, Expected::waiting)) {
    repair();
    return false;
  }
  refuse(index, Reason::displaced, now, signals);
  return true;
}

}  // namespace loadline
