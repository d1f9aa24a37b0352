// After a death: what it left half-done is rebuilt, and what it held comes back.
//
// Nothing is subtracted on a dead participant's behalf, since nobody knows how far it came. Instead
// its account is struck out, and an audit sets `in_flight` to what the living still hold.
#pragma once

#include <bit>
#include <utility>

#include "loadline/gate.h"
#include "observe.h"
#include "queue.h"
#include "rules.h"

namespace loadline {

inline constexpr int kAuditTries = 16;

// The mutex's last owner died inside. The tickets' states are the truth.
template <class Sync>
void BasicGate<Sync>::repair() noexcept {
  detail::add_alone(guarded().repairs, 1U);
  rebuild_lists();
  publish_waiting();
  forget_shadow();
  restore_rules();
  guarded().audit_due = true;
  audit();
}

template <class Sync>
void BasicGate<Sync>::rebuild_lists() noexcept {
  guarded().free_head = detail::kNoTicket;
  guarded().first_due = {};
  guarded().granted_heavy.store(0, std::memory_order_relaxed);
  for (detail::TicketList& queue : guarded().queues) {
    queue = {};
  }
  for (std::uint32_t i = 0; i < capacity_.participants; ++i) {
    slots_[i].ready_list = {};
  }
  // The first places come to the front of the free ones: see expire().
  for (std::uint32_t i = capacity_.tickets; i-- > 0;) {
    rebuild_ticket(i);
  }
  for (detail::TicketList& queue : guarded().queues) {
    sort_queue(queue);
  }
  guarded().waiting = 0;
  std::uint32_t occupied = 0;
  for (std::uint32_t number = 0; number < detail::kQueues; ++number) {
    const std::uint32_t count = guarded().queues[number].count;
    guarded().waiting += count;
    occupied |= count != 0 ? 1U << number : 0U;
  }
  guarded().occupied.store(occupied, std::memory_order_relaxed);
  for (std::uint32_t c = 0; c < kMaxClasses; ++c) {
    const std::uint32_t waiting =
        guarded().queues[c].count + guarded().queues[c + kMaxClasses].count;
    guarded().class_waiting[c].store(waiting, std::memory_order_relaxed);
    if (waiting == 0) {
      end_standing(c);
    } else if (published().occupied_since[c].load(std::memory_order_relaxed) ==
               Instant::never().ns) {
      begin_standing(c, guarded().now);
    }
  }
  if (has_tenants()) {
    rebuild_calendars();
  }
  for (std::uint32_t i = 0; i < capacity_.participants; ++i) {
    publish_ready(slots_[i]);
  }
}

template <class Sync>
void BasicGate<Sync>::rebuild_ticket(std::uint32_t index) noexcept {
  TicketAt& ticket = tickets_[index];
  const detail::TicketState state = ticket.state.load(std::memory_order_acquire);
  if (state == detail::TicketState::free || state == detail::TicketState::taken) {
    free_ticket(index);
    return;
  }
  const bool waits = state == detail::TicketState::waiting;
  if (!sound(index, waits ? Expected::waiting : Expected::decided)) {
    free_ticket(index);
    return;
  }
  if (waits) {
    append(queue_of(index), index);
    return;
  }
  if (state == detail::TicketState::granted && ticket.heavy) {
    detail::add_alone(guarded().granted_heavy, ticket.cost);
  }
  append(slots_[ticket.owner].ready_list, index);
}

// Into the order in which its entries start. They stand in the order of their tickets' indices,
// which is mostly the other way round, so each of many would be a walk past all the others. Merges
// of chains of 1, 2, 4 ... entries (Knuth, The Art of Computer Programming 3, 5.2.4), linked by
// `next` alone.
template <class Sync>
void BasicGate<Sync>::sort_queue(detail::TicketList& list) noexcept {
  constexpr std::uint32_t kChains = std::bit_width(kMaxQueue + Capacity::kSpareTickets) + 1;
  std::uint32_t chains[kChains];
  std::fill_n(chains, kChains, detail::kNoTicket);
  std::uint32_t at = list.head;
  for (std::uint32_t left = list.count; left > 0 && in_range(at); --left) {
    std::uint32_t chain = std::exchange(at, tickets_[at].next);
    tickets_[chain].next = detail::kNoTicket;
    std::uint32_t i = 0;
    for (; i + 1 < kChains && chains[i] != detail::kNoTicket; ++i) {
      chain = merged(std::exchange(chains[i], detail::kNoTicket), chain);
    }
    chains[i] = chain;
  }
  list.head = detail::kNoTicket;
  for (const std::uint32_t chain : chains) {
    list.head = merged(chain, list.head);
  }
  list.tail = detail::kNoTicket;
  at = list.head;
  for (std::uint32_t left = list.count; left > 0 && in_range(at); --left) {
    tickets_[at].previous = std::exchange(list.tail, at);
    at = tickets_[at].next;
  }
}

template <class Sync>
std::uint32_t BasicGate<Sync>::merged(std::uint32_t one, std::uint32_t other) noexcept {
  std::uint32_t head = detail::kNoTicket;
  std::uint32_t* end = &head;
  for (std::uint32_t left = capacity_.tickets; left > 0 && in_range(one) && in_range(other);
       --left) {
    std::uint32_t& first = comes_before(other, one) ? other : one;
    *end = first;
    end = &tickets_[first].next;
    first = *end;
  }
  *end = in_range(one) ? one : other;
  return head;
}

// From the queues, which are in order by now. What is too far to stand in a calendar is served in
// the last round that can.
template <class Sync>
void BasicGate<Sync>::rebuild_calendars() noexcept {
  for (std::uint32_t q = 0; q < detail::kQueues; ++q) {
    board_->calendars[q] = {};
    const std::uint32_t importance = q % kMaxClasses;
    const std::uint64_t first = first_tag(guarded().queues[q], importance);
    std::uint32_t index = guarded().queues[q].head;
    for (std::uint32_t left = guarded().queues[q].count; left > 0 && in_range(index); --left) {
      std::uint64_t& tag = places_[index].tag;
      tag = std::clamp(tag, first, first + (detail::Calendar::kRounds - 1) * kRound);
      enter_calendar(index);
      index = tickets_[index].next;
    }
    publish_farthest(importance);
  }
}

// A change of the policy that was taken up is made to its end; a limit that was found, and not yet
// told to all, is told.
template <class Sync>
void BasicGate<Sync>::restore_rules() noexcept {
  const bool applied = guarded().policy_taken_up.load(std::memory_order_relaxed) ==
                       guarded().policy_applied.load(std::memory_order_relaxed);
  if (!applied && validate_policy_of_the_block()) {
    apply_policy();
  } else if (guarded().limit_told.load(std::memory_order_relaxed) != guarded().limit) {
    publish_limit();
  }
  skip_window();
}

// What the block holds as a policy is looked at before it is believed.
template <class Sync>
bool BasicGate<Sync>::validate_policy_of_the_block() noexcept {
  Policy found = policy();
  for (ClassPolicy& one : found.classes) {
    one.name.back() = '\0';
  }
  for (GroupPolicy& one : found.groups) {
    one.name.back() = '\0';
  }
  const bool valid = !validate(found).refused();
  detail::add_alone(guarded().corruptions, valid ? 0U : 1U);
  return valid;
}

template <class Sync>
void BasicGate<Sync>::audit() noexcept {
  for (int i = 0; i < kAuditTries && guarded().audit_due; ++i) {
    guarded().audit_due = !try_audit();
  }
}

// Granted and not collected: in the word, in no participant's bracket.
template <class Sync>
std::uint32_t BasicGate<Sync>::units_to_collect(const Slot& owner) const noexcept {
  std::uint32_t units = 0;
  std::uint32_t index = owner.ready_list.head;
  for (std::uint32_t left = owner.ready_list.count; left > 0 && index < capacity_.tickets; --left) {
    const TicketAt& ticket = tickets_[index];
    if (ticket.state.load(std::memory_order_acquire) == detail::TicketState::granted) {
      units += ticket.cost;
    }
    index = ticket.next;
  }
  return units;
}

// A double collect: all brackets closed, what is granted, the word, and the same brackets again.
// Then the word and the accounts belong to one moment, and their difference is what the dead have
// left.
template <class Sync>
bool BasicGate<Sync>::try_audit() noexcept {
  std::uint64_t seen[kMaxParticipants] = {};
  std::uint32_t held = 0;
  for (std::uint32_t i = 0; i < capacity_.participants; ++i) {
    seen[i] = slots_[i].bracket.load(std::memory_order_acquire);
    if (detail::Bracket{seen[i]}.open()) {
      return false;
    }
    held += detail::Bracket{seen[i]}.held();
  }
  for (std::uint32_t i = 0; i < capacity_.participants; ++i) {
    held += units_to_collect(slots_[i]);
  }
  Word word = load_word();
  for (std::uint32_t i = 0; i < capacity_.participants; ++i) {
    if (slots_[i].bracket.load(std::memory_order_acquire) != seen[i]) {
      return false;
    }
  }
  return word.in_flight() == held ||
         head_->word.compare_exchange_strong(word.bits, word.with_in_flight(held).bits,
                                             std::memory_order_acq_rel, std::memory_order_acquire);
}

// Empties a seat whose participant is gone. Its counters stay: sums over the seats only grow.
template <class Sync>
void BasicGate<Sync>::reclaim(std::uint32_t index) noexcept {
  Slot& gone = slots_[index];
  for (std::uint32_t i = 0; i < capacity_.tickets; ++i) {
    const detail::TicketState state = tickets_[i].state.load(std::memory_order_relaxed);
    if (state == detail::TicketState::free || tickets_[i].owner != index) {
      continue;
    }
    const bool waits = state == detail::TicketState::waiting;
    const bool taken = state == detail::TicketState::taken;
    if (!sound(i, waits ? Expected::waiting : Expected::decided)) {
      repair();
      continue;
    }
    const bool counted = taken || abandoned(i);
    const std::uint8_t importance = tickets_[i].importance;
    drop(i);
    if (!counted) {
      detail::add_alone(guarded().cancelled_by_death[importance], 1U);
    }
  }
  const detail::Bracket bracket{gone.bracket.load(std::memory_order_relaxed)};
  // The next even sequence, so that an audit under way sees that it has changed.
  const std::uint64_t sequence = ((bracket.bits >> 32) + 2) & ~std::uint64_t{1};
  gone.bracket.store(sequence << 32, std::memory_order_release);
  gone.heavy_held.store(0, std::memory_order_relaxed);
  gone.exempt_held.store(0, std::memory_order_relaxed);
  gone.observed_held.store(0, std::memory_order_relaxed);
  gone.observed_beside.store(0, std::memory_order_relaxed);
  shadow_->ended.fetch_add(gone.observed_tied.load(std::memory_order_relaxed),
                           std::memory_order_relaxed);
  gone.observed_tied.store(0, std::memory_order_relaxed);
  gone.died_at.store(0, std::memory_order_relaxed);
  gone.attached.store(0, std::memory_order_release);
  guarded().audit_due = true;
  detail::add_alone(guarded().reclaimed_units, std::uint64_t{bracket.held()});
}

template <class Sync>
bool BasicGate<Sync>::is_past_grace(Slot& dead, Duration grace, Instant now) noexcept {
  if (grace.ns <= 0) {
    return true;
  }
  const std::int64_t since = dead.died_at.load(std::memory_order_relaxed);
  if (since <= 0 || since > now.ns) {
    dead.died_at.store(now.ns, std::memory_order_relaxed);
    return false;
  }
  return now - Instant{since} >= grace;
}

// The mutex of one that died is made whole and let go: that nobody holds it is what tells the dead
// from then on.
template <class Sync>
void BasicGate<Sync>::reclaim_the_dead(Instant now) noexcept {
  const Duration grace = policy().death_grace;
  std::uint32_t in_grace = 0;
  for (std::uint32_t i = 0; i < capacity_.participants; ++i) {
    if (slots_[i].attached.load(std::memory_order_relaxed) == 0) {
      continue;
    }
    const LockResult pulse = slots_[i].alive.try_lock();
    if (pulse != LockResult::locked && pulse != LockResult::owner_died) {
      continue;
    }
    if (pulse == LockResult::owner_died) {
      slots_[i].alive.make_consistent();
    }
    if (is_past_grace(slots_[i], grace, now)) {
      reclaim(i);
      detail::add_alone(guarded().reclaimed, 1U);
    } else {
      ++in_grace;
    }
    slots_[i].alive.unlock();
  }
  guarded().in_grace.store(in_grace, std::memory_order_relaxed);
}

}  // namespace loadline
