// What becomes of those who waited: collected, settled, cancelled, expired.
#pragma once

#include "loadline/gate.h"
#include "queue.h"
#include "section.h"

namespace loadline {

// May be asked without the mutex: while a ticket is its owner's, nobody else changes these.
template <class Sync>
bool BasicGate<Sync>::owns(Participant who, Ticket ticket) noexcept {
  return ticket.index < capacity_.tickets &&
         tickets_[ticket.index].generation.load(std::memory_order_relaxed) == ticket.generation &&
         detail::in_use(tickets_[ticket.index].state.load(std::memory_order_acquire)) &&
         tickets_[ticket.index].owner == who.index &&
         tickets_[ticket.index].importance < kMaxClasses;
}

template <class Sync>
[[gnu::always_inline]] inline bool BasicGate<Sync>::abandoned(std::uint32_t index) const noexcept {
  const TicketAt& ticket = tickets_[index];
  return ticket.abandoned.load(std::memory_order_acquire) ==
         ticket.generation.load(std::memory_order_relaxed);
}

template <class Sync>
[[gnu::always_inline]] inline void BasicGate<Sync>::make_permit(Slot& mine, std::uint32_t index,
                                                                Permit& permit) noexcept {
  const TicketAt& ticket = tickets_[index];
  permit.started_ = ticket.decided;
  permit.tenant_ = 0;
  permit.cost_ = ticket.cost;
  permit.charged_ = 0;
  permit.group_ = Request::kNoGroup;
  permit.importance_ = ticket.importance;
  permit.kind_ = Permit::Kind::plain;
  permit.held_ = true;
  permit.bound_ = is_whole_limit(threshold(ticket.importance));
  if (ticket.heavy) {
    detail::add_alone(guarded().granted_heavy, 0U - ticket.cost);
    detail::add_alone(mine.heavy_held, ticket.cost);
    permit.kind_ = Permit::Kind::heavy;
    permit.bound_ =
        permit.bound_ && is_whole_limit(published().heavy_limit.load(std::memory_order_relaxed));
  }
  if (has_tenants()) {
    permit.tenant_ = places_[index].tenant;
    permit.charged_ = places_[index].charged;
    permit.group_ = places_[index].group;
  }
}

// Units that were granted move from the tickets' account into their owner's, in the exchange that
// says so: an audit sees by the bracket that they are on their way. False if they have been taken
// back.
template <class Sync>
inline bool BasicGate<Sync>::take_units(Slot& mine, std::uint32_t index) noexcept {
  TicketAt& ticket = tickets_[index];
  const std::uint32_t cost = ticket.cost;
  const detail::Bracket opened =
      detail::Bracket{mine.bracket.load(std::memory_order_relaxed)}.opened();
  mine.bracket.store(opened.bits, std::memory_order_relaxed);
  detail::TicketState granted = detail::TicketState::granted;
  const bool taken = ticket.state.compare_exchange_strong(
      granted, detail::TicketState::taken, std::memory_order_acq_rel, std::memory_order_relaxed);
  mine.bracket.store(opened.closed(taken ? cost : 0).bits, std::memory_order_release);
  return taken;
}

// Uses up a decided ticket. What was granted moves from the tickets' account into its owner's.
//
// Counted last, here and wherever a ticket goes: a death in between then loses a request from the
// sums. Were it first, whoever clears up after the death would count the ticket once more.
template <class Sync>
inline void BasicGate<Sync>::take(Participant who, std::uint32_t index, Settled& settled) noexcept {
  TicketAt& ticket = tickets_[index];
  Slot& mine = slot(who);
  const bool granted = ticket.state.load(std::memory_order_relaxed) == detail::TicketState::granted;
  const std::uint8_t importance = ticket.importance;
  const Reason reason = ticket.reason;
  settled.ticket = {index, ticket.generation.load(std::memory_order_relaxed)};
  settled.waited = ticket.decided - ticket.arrival;
  unlink(mine.ready_list, index);
  publish_ready(mine);
  if (granted) {
    const detail::Bracket bracket{mine.bracket.load(std::memory_order_relaxed)};
    mine.bracket.store(bracket.opened().closed(ticket.cost).bits, std::memory_order_release);
    make_permit(mine, index, settled.permit);
  }
  free_ticket(index);
  if (granted) {
    detail::add_alone(mine.admitted[importance], 1U);
    settled.kind = Settled::Kind::admit;
    settled.reason = Reason::none;
    settled.retry_after = 0;
  } else {
    const Told refusal = rejected(mine, importance, reason, guarded().now);
    settled.kind = Settled::Kind::reject;
    settled.permit = {};
    settled.reason = refusal.reason;
    settled.retry_after = refusal.retry_after;
  }
}

template <class Sync>
Settled BasicGate<Sync>::settle(Participant who, Ticket ticket, Instant now,
                                Signals& signals) noexcept {
  Settled settled;
  settled.ticket = ticket;
  bool more = false;
  {
    Section section(*this, now);
    if (!section.held()) {
      settled.kind = Settled::Kind::waiting;
      return settled;
    }
    if (!owns(who, ticket)) {
      return settled;
    }
    const TicketAt& at = tickets_[ticket.index];
    const bool waits = at.state.load(std::memory_order_relaxed) == detail::TicketState::waiting;
    if (!sound(ticket.index, waits ? Expected::waiting : Expected::decided)) {
      repair();
      return settled;
    }
    if (waits && section.now() < at.start_by) {
      settled.kind = Settled::Kind::waiting;
      return settled;
    }
    if (waits) {
      refuse(ticket.index, at.late_reason, section.now(), signals);
    }
    take(who, ticket.index, settled);
    more = dispatch(section.now(), signals);
  }
  if (more) {
    signals |= dispatch_all(now);
  }
  return settled;
}

// Takes the one ticket that there is to collect, without the mutex: it has been granted, nobody but
// its owner uses it up, and nothing else has to change at once with its state. All that is told of
// it is read before; once it is taken, it may be freed. False: it is not as simple as that.
template <class Sync>
inline bool BasicGate<Sync>::take_alone(Participant who, std::uint64_t ready,
                                        Settled& settled) noexcept {
  const std::uint32_t index = detail::Ready::index_of(ready);
  if (index >= capacity_.tickets) {
    return false;
  }
  Slot& mine = slot(who);
  const TicketAt& ticket = tickets_[index];
  const Ticket name{index, ticket.generation.load(std::memory_order_relaxed)};
  if (ticket.state.load(std::memory_order_acquire) != detail::TicketState::granted ||
      detail::Ready::one(name) != ready || ticket.owner != who.index || ticket.heavy != 0 ||
      ticket.importance >= kMaxClasses || abandoned(index)) {
    return false;
  }
  settled.ticket = name;
  settled.waited = ticket.decided - ticket.arrival;
  make_permit(mine, index, settled.permit);
  const std::uint8_t importance = ticket.importance;
  if (!take_units(mine, index)) {
    return false;
  }
  mine.taken = ready;
  detail::add_alone(mine.admitted[importance], 1U);
  settled.kind = Settled::Kind::admit;
  settled.reason = Reason::none;
  settled.retry_after = 0;
  return true;
}

// A ticket that was left while the mutex was not to be had is dropped here, and told to nobody.
template <class Sync>
inline std::size_t BasicGate<Sync>::take_ready(Participant who, std::span<Settled> out) noexcept {
  Slot& mine = slot(who);
  const std::size_t most = std::min<std::size_t>(out.size(), kTicketsPerSection);
  std::size_t taken = 0;
  while (taken < most && mine.ready_list.count != 0) {
    if (free_taken(mine)) {
      continue;
    }
    const std::uint32_t index = mine.ready_list.head;
    if (!sound(index, Expected::decided)) {
      repair();
      break;
    }
    if (abandoned(index)) {
      drop(index);
    } else {
      take(who, index, out[taken++]);
    }
  }
  return taken;
}

template <class Sync>
std::size_t BasicGate<Sync>::collect(Participant who, std::span<Settled> out, Instant now,
                                     Signals& signals) noexcept {
  const std::uint64_t ready = slot(who).ready.load(std::memory_order_acquire);
  if (ready == detail::Ready::kNone || ready == slot(who).taken || out.empty()) {
    return 0;
  }
  if (ready != detail::Ready::kSeveral && take_alone(who, ready, out[0])) {
    return 1;
  }
  std::size_t taken = 0;
  bool more = false;
  {
    Section section(*this, now);
    if (!section.held()) {
      return 0;
    }
    taken = take_ready(who, out);
    more = dispatch(section.now(), signals);
  }
  if (more) {
    signals |= dispatch_all(now);
  }
  return taken;
}

// If the mutex cannot be had, the mark stays, and whoever meets the ticket next drops it; it is
// counted here in any case.
template <class Sync>
Signals BasicGate<Sync>::cancel(Participant who, Ticket ticket, Instant now) noexcept {
  if (!owns(who, ticket) || abandoned(ticket.index)) {
    return {};
  }
  TicketAt& at = tickets_[ticket.index];
  const std::uint8_t importance = at.importance;
  // From here on it may be dropped, and used again, by whoever holds the mutex.
  at.abandoned.store(ticket.generation, std::memory_order_release);
  detail::add_alone(slot(who).cancelled[importance], 1U);
  Signals signals;
  bool more = false;
  {
    Section section(*this, now);
    if (!section.held()) {
      return signals;
    }
    // Between the mark and the mutex, somebody may have dropped it, and somebody else may wait
    // there.
    if (owns(who, ticket)) {
      drop(ticket.index);
    }
    more = dispatch(section.now(), signals);
  }
  if (more) {
    signals |= dispatch_all(now);
  }
  return signals;
}

template <class Sync>
void BasicGate<Sync>::take_back(std::uint32_t index, Signals& signals) noexcept {
  TicketAt& ticket = tickets_[index];
  ticket.reason = Reason::queue_timeout;
  // Before its units go to others: after a death in between it would start beside them.
  detail::TicketState granted = detail::TicketState::granted;
  if (!ticket.state.compare_exchange_strong(granted, detail::TicketState::refused,
                                            std::memory_order_acq_rel, std::memory_order_relaxed)) {
    return;  // its owner has come for it after all
  }
  withdraw(index);
  detail::add_alone(guarded().taken_back, 1U);
  signals.participants |= std::uint64_t{1} << ticket.owner;
}

// Whether it was in use; if it goes on to be, it is due no earlier than `next`.
template <class Sync>
bool BasicGate<Sync>::expire_ticket(std::uint32_t index, Instant now, Instant& next,
                                    Signals& signals) noexcept {
  const TicketAt& ticket = tickets_[index];
  const detail::TicketState state = ticket.state.load(std::memory_order_relaxed);
  const bool waits = state == detail::TicketState::waiting;
  if (!waits && state != detail::TicketState::granted) {
    return false;
  }
  const Instant due = waits ? ticket.start_by : ticket.decided + kGrantLife;
  const bool stale = !waits && now > due;
  const bool may_end =
      (waits || stale) && sound(index, waits ? Expected::waiting : Expected::decided);
  if (may_end && abandoned(index)) {
    drop(index);
  } else if (may_end && stale) {
    take_back(index, signals);
  } else if (may_end && now >= due) {
    refuse(index, ticket.late_reason, now, signals);
  } else {
    next = std::min(next, due);
  }
  return true;
}

// How many tickets somebody waits on or has yet to collect; what has been taken already is freed on
// this occasion.
template <class Sync>
std::uint32_t BasicGate<Sync>::tickets_in_use() noexcept {
  std::uint32_t tickets = guarded().waiting;
  for (std::uint32_t i = 0; i < capacity_.participants; ++i) {
    free_taken(slots_[i]);
    tickets += slots_[i].ready_list.count;
  }
  return tickets;
}

// One walk over the tickets, a section at a time, for those whose time has passed. Hosts set timers
// of their own; this is for those whose host has died or sleeps. It ends where all that are in use
// have been met: the places that are free again are the first to be used again, so that these are
// few beside a table that is made for the longest queue.
template <class Sync>
Signals BasicGate<Sync>::expire(Instant now) noexcept {
  Signals signals;
  std::uint32_t met = 0;
  for (std::uint32_t first = 0; first < capacity_.tickets; first += kTicketsPerSection) {
    Section section(*this, now);
    if (!section.held() || section.now() < guarded().first_due) {
      break;
    }
    const std::uint32_t in_use = tickets_in_use();
    const std::uint32_t end = std::min(first + kTicketsPerSection, capacity_.tickets);
    Instant next = Instant::never();
    for (std::uint32_t i = first; i < end && met < in_use; ++i) {
      met += expire_ticket(i, section.now(), next, signals) ? 1 : 0;
    }
    if (met >= in_use) {
      // In more than one section others may have come, and stand where the walk has been.
      guarded().first_due = first == 0 ? next : section.now();
      break;
    }
  }
  return signals;
}

}  // namespace loadline
