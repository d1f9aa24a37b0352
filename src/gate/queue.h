// The queue of a gate: who waits, in which order they start, and who gives way.
//
// Everything here is done with the mutex held. A ticket's state is stored last, after the lists and
// the word, so that a death in between leaves a state from which the rest can be rebuilt.
#pragma once

#include "loadline/gate.h"
#include "order.h"
#include "tenants.h"

namespace loadline {

// A grant is worth a slot only if its owner comes for it. One that is stopped or stuck must not
// keep slots from those who wait.
inline constexpr Duration kGrantLife = Duration::millis(50);

// The most tickets that one section decides, so that nobody waits long for the mutex.
inline constexpr std::uint32_t kTicketsPerSection = 64;

// An index that came out of the block is looked at before it is used.
template <class Sync>
inline bool BasicGate<Sync>::in_range(std::uint32_t index) noexcept {
  if (index < capacity_.tickets) [[likely]] {
    return true;
  }
  if (index != detail::kNoTicket) {
    detail::add_alone(guarded().corruptions, 1U);
  }
  return false;
}

// A ticket that a list has named, looked at before it is believed: memory that several processes
// share may hold anything. What is not sound is for repair() to put right.
template <class Sync>
inline bool BasicGate<Sync>::sound(std::uint32_t index, Expected expected) noexcept {
  if (!in_range(index)) {
    return false;
  }
  const TicketAt& ticket = tickets_[index];
  const detail::TicketState state = ticket.state.load(std::memory_order_relaxed);
  const bool waits = state == detail::TicketState::waiting;
  const bool decided = state == detail::TicketState::granted ||
                       state == detail::TicketState::refused || state == detail::TicketState::taken;
  const bool as_expected = expected == Expected::waiting ? waits : decided;
  if (as_expected && ticket.owner < capacity_.participants && ticket.importance < kMaxClasses &&
      static_cast<std::uint32_t>(ticket.reason) < kReasons &&
      static_cast<std::uint32_t>(ticket.late_reason) < kReasons) {
    return true;
  }
  detail::add_alone(guarded().corruptions, 1U);
  return false;
}

// The generation moves last. Were it first, a death in between would leave a ticket that still
// waits under a generation that nobody knows, and that no longer bears the mark of a caller who has
// gone.
template <class Sync>
inline void BasicGate<Sync>::free_ticket(std::uint32_t index) noexcept {
  TicketAt& ticket = tickets_[index];
  ticket.next = guarded().free_head;
  guarded().free_head = index;
  ticket.state.store(detail::TicketState::free, std::memory_order_release);
  detail::add_alone(ticket.generation, 1U);
}

template <class Sync>
inline void BasicGate<Sync>::append(detail::TicketList& list, std::uint32_t index) noexcept {
  TicketAt& ticket = tickets_[index];
  ticket.previous = list.tail;
  ticket.next = detail::kNoTicket;
  (in_range(list.tail) ? tickets_[list.tail].next : list.head) = index;
  list.tail = index;
  ++list.count;
}

// kNoTicket: at the head.
template <class Sync>
inline void BasicGate<Sync>::insert_after(detail::TicketList& list, std::uint32_t before,
                                          std::uint32_t index) noexcept {
  TicketAt& ticket = tickets_[index];
  const std::uint32_t after = in_range(before) ? tickets_[before].next : list.head;
  ticket.previous = before;
  ticket.next = after;
  (in_range(before) ? tickets_[before].next : list.head) = index;
  (in_range(after) ? tickets_[after].previous : list.tail) = index;
  ++list.count;
}

template <class Sync>
inline void BasicGate<Sync>::unlink(detail::TicketList& list, std::uint32_t index) noexcept {
  const TicketAt& ticket = tickets_[index];
  (in_range(ticket.previous) ? tickets_[ticket.previous].next : list.head) = ticket.next;
  (in_range(ticket.next) ? tickets_[ticket.next].previous : list.tail) = ticket.previous;
  --list.count;
}

// Light queues first, then heavy ones, each in the order of their classes.
template <class Sync>
std::uint32_t BasicGate<Sync>::queue_number(std::uint32_t importance, bool heavy) noexcept {
  return importance + (heavy ? kMaxClasses : 0);
}

template <class Sync>
std::uint32_t BasicGate<Sync>::queue_number_of(std::uint32_t index) const noexcept {
  return queue_number(tickets_[index].importance, tickets_[index].heavy != 0);
}

template <class Sync>
detail::TicketList& BasicGate<Sync>::queue_of(std::uint32_t index) const noexcept {
  return guarded().queues[queue_number_of(index)];
}

// What one who waits is charged if it starts now: a limit that was lowered below its weight while
// it waited would otherwise keep it, and all behind it, from starting beside free slots.
template <class Sync>
std::uint32_t BasicGate<Sync>::charge_now(std::uint32_t index) const noexcept {
  const TicketAt& ticket = tickets_[index];
  const std::uint32_t most =
      ticket.heavy ? published().heavy_limit.load(std::memory_order_relaxed) : ticket.cost;
  // Asked of a ticket before it is known to be sound.
  return std::min({ticket.cost, most, threshold(ticket.importance % kMaxClasses)});
}

// Who of a class's heavy requests is next in line; kNoTicket: there is none.
template <class Sync>
std::uint32_t BasicGate<Sync>::next_heavy(std::uint32_t importance) const noexcept {
  const detail::TicketList& heavy = guarded().queues[importance + kMaxClasses];
  return newest_first(importance) ? heavy.tail : heavy.head;
}

// Would it start as soon as there is room? Heavy requests whose share of the limit is in use stand
// aside meanwhile, and let light ones pass; unless the limit is not in force.
template <class Sync>
bool BasicGate<Sync>::heavy_eligible(std::uint32_t importance) const noexcept {
  const std::uint32_t next = next_heavy(importance);
  return next < capacity_.tickets && (admits_all() || !heavies_are_full(charge_now(next)));
}

// The classes whose heavy requests may start. Where one waits for the share, the lesser ones wait
// for it behind: they are waiting for one another, and a large one would never find it empty
// enough.
template <class Sync>
inline std::uint32_t BasicGate<Sync>::mask_of_heavies() const noexcept {
  std::uint32_t mask = 0;
  for (std::uint32_t left = occupied_queues() >> kMaxClasses; left != 0; left &= left - 1) {
    const auto importance = static_cast<std::uint32_t>(std::countr_zero(left));
    if (!heavy_eligible(importance)) {
      break;
    }
    mask |= 1U << importance;
  }
  return mask;
}

template <class Sync>
inline std::uint32_t BasicGate<Sync>::mask_of_queues() const noexcept {
  return (occupied_queues() & kAllClasses) | mask_of_heavies();
}

// Says in the word what the lists say.
template <class Sync>
void BasicGate<Sync>::publish_waiting() noexcept {
  const std::uint32_t count = guarded().waiting;
  const std::uint32_t mask = mask_of_queues();
  Word word = load_word();
  while (!head_->word.compare_exchange_weak(word.bits, word.with_waiting(count, mask).bits,
                                            std::memory_order_acq_rel, std::memory_order_acquire)) {
  }
}

// Waiting is published on the very word in which the request did not fit: had a slot come free
// since, the exchange fails, and nobody sleeps beside an empty slot.
template <class Sync>
[[gnu::always_inline]] inline bool BasicGate<Sync>::enqueue(Participant who, const Request& request,
                                                            std::uint32_t cost,
                                                            const Judgement& judgement, Word seen,
                                                            Instant now, Offer& answer) noexcept {
  const bool heavy = cost > 1;
  const bool may_be_passed =
      heavy && (heavies_wait_at_or_above(request.importance) || heavies_are_full(cost));
  const std::uint32_t own_bit = may_be_passed ? 0 : 1U << request.importance;
  const Word next = seen.with_waiting(guarded().waiting + 1, mask_of_queues() | own_bit);
  if (!head_->word.compare_exchange_strong(seen.bits, next.bits, std::memory_order_acq_rel,
                                           std::memory_order_acquire)) {
    return false;
  }
  const std::uint32_t index = guarded().free_head;
  TicketAt& ticket = tickets_[index];
  guarded().free_head = ticket.next;
  ticket.owner = who.index;
  ticket.cost = cost;
  ticket.importance = request.importance;
  ticket.heavy = heavy;
  ticket.reason = Reason::none;
  ticket.late_reason = judgement.late_reason;
  ticket.arrival = now;
  ticket.start_by = judgement.start_by;
  guarded().first_due = std::min(guarded().first_due, judgement.start_by);
  ticket.sequence = guarded().next_sequence++;
  join_queue(index, request);
  ticket.state.store(detail::TicketState::waiting, std::memory_order_release);
  answer.kind = Offer::Kind::wait;
  answer.ticket = {index, ticket.generation.load(std::memory_order_relaxed)};
  answer.start_by = judgement.start_by;
  return true;
}

template <class Sync>
inline void BasicGate<Sync>::join_queue(std::uint32_t index, const Request& request) noexcept {
  const std::uint32_t importance = request.importance;
  const std::uint32_t number = queue_number_of(index);
  if (has_tenants()) {
    take_turn(index, request);
  } else {
    append(guarded().queues[number], index);
  }
  ++guarded().waiting;
  guarded().occupied.store(occupied_queues() | 1U << number, std::memory_order_relaxed);
  auto& waiting = guarded().class_waiting[importance];
  if (waiting.load(std::memory_order_relaxed) == 0) {
    begin_standing(importance, tickets_[index].arrival);
  }
  detail::add_alone(waiting, 1U);
}

template <class Sync>
inline void BasicGate<Sync>::leave_queue(std::uint32_t index) noexcept {
  const std::uint32_t importance = tickets_[index].importance;
  if (has_tenants()) {
    leave_calendar(index);
  }
  const std::uint32_t number = queue_number_of(index);
  detail::TicketList& queue = guarded().queues[number];
  unlink(queue, index);
  --guarded().waiting;
  if (queue.count == 0) {
    guarded().occupied.store(occupied_queues() & ~(1U << number), std::memory_order_relaxed);
  }
  if (has_tenants()) {
    publish_farthest(importance);
  }
  auto& waiting = guarded().class_waiting[importance];
  detail::add_alone(waiting, ~0U);
  if (waiting.load(std::memory_order_relaxed) == 0) {
    end_standing(importance);
  }
}

// Says to a participant what its list says.
template <class Sync>
inline void BasicGate<Sync>::publish_ready(Slot& owner) noexcept {
  const std::uint32_t first = owner.ready_list.head;
  std::uint64_t ready = detail::Ready::kNone;
  if (owner.ready_list.count > 1) {
    ready = detail::Ready::kSeveral;
  } else if (in_range(first)) {
    ready = detail::Ready::one({first, tickets_[first].generation.load(std::memory_order_relaxed)});
  }
  owner.ready.store(ready, std::memory_order_release);
}

// What its owner took without the mutex is freed by whoever comes by with it. Mostly it stands
// alone; false if there is none at the head.
template <class Sync>
inline bool BasicGate<Sync>::free_taken(Slot& owner) noexcept {
  const std::uint32_t first = owner.ready_list.head;
  if (first >= capacity_.tickets ||
      tickets_[first].state.load(std::memory_order_acquire) != detail::TicketState::taken) {
    return false;
  }
  unlink(owner.ready_list, first);
  publish_ready(owner);
  free_ticket(first);
  return true;
}

// A decided ticket goes to its owner, who will collect it.
template <class Sync>
inline void BasicGate<Sync>::hand_over(std::uint32_t index, detail::TicketState state,
                                       Signals& signals) noexcept {
  TicketAt& ticket = tickets_[index];
  Slot& owner = slots_[ticket.owner];
  free_taken(owner);
  append(owner.ready_list, index);
  ticket.state.store(state, std::memory_order_release);
  publish_ready(owner);
  signals.participants |= std::uint64_t{1} << ticket.owner;
}

template <class Sync>
void BasicGate<Sync>::refuse(std::uint32_t index, Reason reason, Instant now,
                             Signals& signals) noexcept {
  if (has_tenants()) {
    refund(index);
  }
  note_standing(tickets_[index].importance, now);
  leave_queue(index);
  publish_waiting();
  tickets_[index].reason = reason;
  tickets_[index].decided = now;
  hand_over(index, detail::TicketState::refused, signals);
}

// What was brought is somebody else's now. The holder's bracket need not be open meanwhile: audits
// are made with the mutex held, so one in between comes after the holder's death, and finds its
// account as it was and a ticket that still waits.
template <class Sync>
[[gnu::always_inline]] inline void BasicGate<Sync>::note_handed_on(Returned& returned) noexcept {
  if (returned.cost != 0) {
    const detail::Bracket bracket{returned.holder->bracket.load(std::memory_order_relaxed)};
    returned.holder->bracket.store(bracket.opened().closed(0U - returned.cost).bits,
                                   std::memory_order_release);
    returned.cost = 0;
  }
}

// Starts one who waits, if there is room: its cost goes into the word as it leaves the queue, in
// one exchange, and what was brought for it goes out in the same. False if there is no room.
template <class Sync>
inline bool BasicGate<Sync>::grant(std::uint32_t index, Instant now, Signals& signals,
                                   Returned& returned) noexcept {
  TicketAt& ticket = tickets_[index];
  const std::uint32_t count = guarded().waiting - 1;
  const std::uint32_t mask = mask_without(index);
  const std::uint32_t most = threshold(ticket.importance);
  const std::uint32_t cost = charge_now(index);
  Word word = load_word();
  Word next;
  do {
    const bool always = admits_all();  // after the word, whose epoch moves with it
    if (!always && std::uint64_t{word.in_flight()} + cost > std::uint64_t{most} + returned.cost) {
      return false;
    }
    next = word.with_in_flight_added(cost)
               .with_in_flight_removed(returned.cost)
               .with_waiting(count, mask);
  } while (!head_->word.compare_exchange_weak(word.bits, next.bits, std::memory_order_acq_rel,
                                              std::memory_order_acquire));
  note_handed_on(returned);
  ticket.cost = cost;
  advance_round(index);
  leave_queue(index);
  if (ticket.heavy) {
    detail::add_alone(guarded().granted_heavy, ticket.cost);
  }
  credit_guarantees(ticket.importance, ticket.cost);
  ticket.decided = now;
  guarded().first_due = std::min(guarded().first_due, now + kGrantLife);
  hand_over(index, detail::TicketState::granted, signals);
  const Duration waited = now - ticket.arrival;
  detail::add_alone(guarded().wait_buckets[ticket.importance][bucket_of(waited)], 1U);
  detail::add_alone(guarded().wait_ns[ticket.importance],
                    static_cast<std::uint64_t>(std::max<std::int64_t>(waited.ns, 0)));
  return true;
}

// The mask as it will be when this one has left.
template <class Sync>
inline std::uint32_t BasicGate<Sync>::mask_without(std::uint32_t index) const noexcept {
  const TicketAt& ticket = tickets_[index];
  const std::uint32_t others =
      guarded().class_waiting[ticket.importance].load(std::memory_order_relaxed) - 1;
  return mask_of_queues() & ~(others == 0 ? 1U << ticket.importance : 0U);
}

template <class Sync>
void BasicGate<Sync>::take_from_word(std::uint32_t units) noexcept {
  head_->word.fetch_sub(Word::kOneInFlight * units, std::memory_order_acq_rel);
}

// Takes the units of a grant that nobody has collected back out of the word.
template <class Sync>
void BasicGate<Sync>::withdraw(std::uint32_t index) noexcept {
  const TicketAt& ticket = tickets_[index];
  if (has_tenants()) {
    refund(index);
  }
  if (ticket.heavy) {
    detail::add_alone(guarded().granted_heavy, 0U - ticket.cost);
  }
  take_from_word(ticket.cost);
}

// Takes a ticket out of wherever it stands and frees it; nobody will hear of it again.
template <class Sync>
void BasicGate<Sync>::drop(std::uint32_t index) noexcept {
  TicketAt& ticket = tickets_[index];
  switch (ticket.state.load(std::memory_order_relaxed)) {
    case detail::TicketState::free:
      return;
    case detail::TicketState::waiting:
      if (has_tenants()) {
        refund(index);
      }
      leave_queue(index);
      publish_waiting();
      break;
    case detail::TicketState::granted:
    case detail::TicketState::refused:
    case detail::TicketState::taken: {
      Slot& owner = slots_[ticket.owner];
      unlink(owner.ready_list, index);
      publish_ready(owner);
      break;
    }
  }
  if (ticket.state.load(std::memory_order_relaxed) == detail::TicketState::granted) {
    withdraw(index);
  }
  free_ticket(index);
}

// Decides about one who waits. False if it has to go on waiting.
template <class Sync>
inline bool BasicGate<Sync>::decide(std::uint32_t index, Instant now, Signals& signals,
                                    Returned& returned) noexcept {
  if (!sound(index, Expected::waiting)) {
    repair();
    return false;
  }
  if (abandoned(index)) {
    drop(index);
    return true;
  }
  if (now > tickets_[index].start_by) {
    advance_round(index);
    refuse(index, tickets_[index].late_reason, now, signals);
    return true;
  }
  return grant(index, now, signals, returned);
}

// Decides about one: first of a class that is owed a start, then of the most important class. One
// that has to wait for room is passed by nobody of its class or below.
template <class Sync>
inline bool BasicGate<Sync>::dispatch_one(Instant now, Signals& signals,
                                          Returned& returned) noexcept {
  const std::uint32_t owed = class_owed_a_start();
  if (owed < kMaxClasses && decide(next_of(owed, heavy_eligible(owed)), now, signals, returned)) {
    return true;
  }
  const std::uint32_t heavies = mask_of_heavies();
  const std::uint32_t classes = (occupied_queues() & kAllClasses) | heavies;
  if (classes == 0) {
    return false;
  }
  const auto first = static_cast<std::uint32_t>(std::countr_zero(classes));
  return decide(next_of(first, (heavies >> first & 1) != 0), now, signals, returned);
}

// Can nobody start, whoever is asked?
template <class Sync>
[[gnu::always_inline]] inline bool BasicGate<Sync>::nothing_to_dispatch(
    const Returned& returned) const noexcept {
  return guarded().waiting == 0 ||
         (load_word().in_flight() >= std::uint64_t{limit()} + returned.cost && !admits_all());
}

// Mostly nobody can start, and that is told without a call; where heavy requests wait there is more
// to look at.
template <class Sync>
[[gnu::always_inline]] inline bool BasicGate<Sync>::dispatch(Instant now,
                                                             Signals& signals) noexcept {
  if (nothing_to_dispatch({}) && occupied_queues() >> kMaxClasses == 0) {
    return false;
  }
  Returned none;
  return dispatch(now, signals, none);
}

// Starts those who fit. True if the section's bound cut it short. What was brought and nobody took
// is the caller's to give back.
template <class Sync>
inline bool BasicGate<Sync>::dispatch(Instant now, Signals& signals, Returned& returned) noexcept {
  for (std::uint32_t decided = 0; decided < kTicketsPerSection; ++decided) {
    if (nothing_to_dispatch(returned) || !dispatch_one(now, signals, returned)) {
      // A share of the heavy that came free makes them eligible, though there was no room for them.
      if (occupied_queues() >> kMaxClasses != 0 && load_word().mask() != mask_of_queues()) {
        publish_waiting();
      }
      return false;
    }
  }
  return true;
}

}  // namespace loadline
