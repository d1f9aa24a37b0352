// The queue of a gate: who waits, in which order they start, and who gives way.
//
// Everything here is done with the mutex held. A ticket's state is stored last, after the lists and
// the word, so that a death in between leaves a state from which the rest can be rebuilt.
#pragma once

#include "loadline/gate.h"

namespace loadline {

// The most tickets that one section decides, so that nobody waits long for the mutex.
inline constexpr std::uint32_t kTicketsPerSection = 64;

// An index that came out of the block is looked at before it is used.
template <class Sync>
bool BasicGate<Sync>::in_range(std::uint32_t index) noexcept {
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
bool BasicGate<Sync>::sound(std::uint32_t index, Expected expected) noexcept {
  if (!in_range(index)) {
    return false;
  }
  const TicketAt& ticket = tickets_[index];
  const detail::TicketState state = ticket.state.load(std::memory_order_relaxed);
  const bool waits = state == detail::TicketState::waiting;
  const bool decided =
      state == detail::TicketState::granted || state == detail::TicketState::refused;
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
void BasicGate<Sync>::free_ticket(std::uint32_t index) noexcept {
  TicketAt& ticket = tickets_[index];
  ticket.next = guarded().free_head;
  guarded().free_head = index;
  ticket.state.store(detail::TicketState::free, std::memory_order_release);
  detail::add_alone(ticket.generation, 1U);
}

template <class Sync>
void BasicGate<Sync>::append(detail::TicketList& list, std::uint32_t index) noexcept {
  TicketAt& ticket = tickets_[index];
  ticket.previous = list.tail;
  ticket.next = detail::kNoTicket;
  if (in_range(list.tail)) {
    tickets_[list.tail].next = index;
  } else {
    list.head = index;
  }
  list.tail = index;
  ++list.count;
}

// From the back, where it mostly belongs.
template <class Sync>
void BasicGate<Sync>::insert_by_sequence(detail::TicketList& list, std::uint32_t index) noexcept {
  TicketAt& ticket = tickets_[index];
  std::uint32_t before = list.tail;
  while (in_range(before) && tickets_[before].sequence > ticket.sequence) {
    before = tickets_[before].previous;
  }
  const std::uint32_t after = in_range(before) ? tickets_[before].next : list.head;
  ticket.previous = before;
  ticket.next = after;
  (in_range(before) ? tickets_[before].next : list.head) = index;
  (in_range(after) ? tickets_[after].previous : list.tail) = index;
  ++list.count;
}

template <class Sync>
void BasicGate<Sync>::unlink(detail::TicketList& list, std::uint32_t index) noexcept {
  const TicketAt& ticket = tickets_[index];
  (in_range(ticket.previous) ? tickets_[ticket.previous].next : list.head) = ticket.next;
  (in_range(ticket.next) ? tickets_[ticket.next].previous : list.tail) = ticket.previous;
  --list.count;
}

template <class Sync>
std::uint32_t BasicGate<Sync>::mask_of_queues() const noexcept {
  std::uint32_t mask = 0;
  for (std::uint32_t c = 0; c < kMaxClasses; ++c) {
    mask |= guarded().queues[c].count != 0 ? 1U << c : 0U;
  }
  return mask;
}

template <class Sync>
std::uint32_t BasicGate<Sync>::count_of_queues() const noexcept {
  std::uint32_t count = 0;
  for (const detail::TicketList& queue : guarded().queues) {
    count += queue.count;
  }
  return count;
}

// Says in the word what the lists say.
template <class Sync>
void BasicGate<Sync>::publish_waiting() noexcept {
  const std::uint32_t count = count_of_queues();
  const std::uint32_t mask = mask_of_queues();
  Word word = load_word();
  while (!head_->word.compare_exchange_weak(word.bits, word.with_waiting(count, mask).bits,
                                            std::memory_order_acq_rel, std::memory_order_acquire)) {
  }
}

// Waiting is published on the very word in which the request did not fit: had a slot come free
// since, the exchange fails, and nobody sleeps beside an empty slot.
template <class Sync>
bool BasicGate<Sync>::enqueue(Participant who, const Request& request, std::uint32_t cost,
                              const Judgement& judgement, Word seen, std::uint32_t index,
                              Instant now) noexcept {
  const Word next =
      seen.with_waiting(count_of_queues() + 1, mask_of_queues() | (1U << request.importance));
  if (!head_->word.compare_exchange_strong(seen.bits, next.bits, std::memory_order_acq_rel,
                                           std::memory_order_acquire)) {
    return false;
  }
  TicketAt& ticket = tickets_[index];
  ticket.owner = who.index;
  ticket.cost = cost;
  ticket.importance = request.importance;
  ticket.reason = Reason::none;
  ticket.late_reason = judgement.late_reason;
  ticket.arrival = now;
  ticket.start_by = judgement.start_by;
  ticket.sequence = guarded().next_sequence++;
  append(guarded().queues[request.importance], index);
  detail::add_alone(guarded().class_waiting[request.importance], 1U);
  ticket.state.store(detail::TicketState::waiting, std::memory_order_release);
  return true;
}

template <class Sync>
void BasicGate<Sync>::leave_queue(std::uint32_t index) noexcept {
  const std::uint32_t importance = tickets_[index].importance;
  unlink(guarded().queues[importance], index);
  detail::add_alone(guarded().class_waiting[importance], ~0U);
}

// A decided ticket goes to its owner, who will collect it.
template <class Sync>
void BasicGate<Sync>::hand_over(std::uint32_t index, detail::TicketState state,
                                Signals& signals) noexcept {
  TicketAt& ticket = tickets_[index];
  Slot& owner = slots_[ticket.owner];
  append(owner.ready_list, index);
  ticket.state.store(state, std::memory_order_release);
  owner.ready.store(owner.ready_list.count, std::memory_order_release);
  signals.participants |= std::uint64_t{1} << ticket.owner;
}

template <class Sync>
void BasicGate<Sync>::refuse(std::uint32_t index, Reason reason, Instant now,
                             Signals& signals) noexcept {
  leave_queue(index);
  publish_waiting();
  tickets_[index].reason = reason;
  tickets_[index].decided = now;
  hand_over(index, detail::TicketState::refused, signals);
}

// Starts one who waits, if there is room: its cost goes into the word as it leaves the queue, in
// one exchange. False if there is no room.
template <class Sync>
bool BasicGate<Sync>::grant(std::uint32_t index, Instant now, Signals& signals) noexcept {
  TicketAt& ticket = tickets_[index];
  const bool always = admits_all();
  const std::uint32_t count = count_of_queues() - 1;
  const bool last = guarded().queues[ticket.importance].count == 1;
  const std::uint32_t mask = mask_of_queues() & ~(last ? 1U << ticket.importance : 0U);
  // Charged anew: a limit that was lowered below it while it waited would otherwise keep it, and
  // all behind it, from starting beside free slots.
  const std::uint32_t most = threshold(ticket.importance);
  const std::uint32_t cost = std::min(ticket.cost, most);
  Word word = load_word();
  Word next;
  do {
    if (!always && std::uint64_t{word.in_flight()} + cost > most) {
      return false;
    }
    next = word.with_in_flight_added(cost).with_waiting(count, mask);
  } while (!head_->word.compare_exchange_weak(word.bits, next.bits, std::memory_order_acq_rel,
                                              std::memory_order_acquire));
  ticket.cost = cost;
  leave_queue(index);
  guarded().granted_units += ticket.cost;
  ticket.decided = now;
  const Duration waited = now - ticket.arrival;
  detail::add_alone(guarded().wait_buckets[ticket.importance][bucket_of(waited)], 1U);
  detail::add_alone(guarded().wait_ns[ticket.importance],
                    static_cast<std::uint64_t>(std::max<std::int64_t>(waited.ns, 0)));
  hand_over(index, detail::TicketState::granted, signals);
  return true;
}

// The newest of the least important gives way. False if nobody less important waits.
template <class Sync>
bool BasicGate<Sync>::displace_below(std::uint32_t importance, Instant now,
                                     Signals& signals) noexcept {
  for (std::uint32_t c = kMaxClasses - 1; c > importance; --c) {
    if (guarded().queues[c].count == 0) {
      continue;
    }
    if (!sound(guarded().queues[c].tail, Expected::waiting)) {
      repair();
      return false;
    }
    refuse(guarded().queues[c].tail, Reason::displaced, now, signals);
    return true;
  }
  return false;
}

template <class Sync>
void BasicGate<Sync>::take_from_word(std::uint32_t units) noexcept {
  head_->word.fetch_sub(Word::kOneInFlight * units, std::memory_order_acq_rel);
}

// Takes a ticket out of wherever it stands and frees it; nobody will hear of it again.
template <class Sync>
void BasicGate<Sync>::drop(std::uint32_t index) noexcept {
  TicketAt& ticket = tickets_[index];
  switch (ticket.state.load(std::memory_order_relaxed)) {
    case detail::TicketState::free:
      return;
    case detail::TicketState::waiting:
      leave_queue(index);
      publish_waiting();
      break;
    case detail::TicketState::granted:
    case detail::TicketState::refused: {
      Slot& owner = slots_[ticket.owner];
      unlink(owner.ready_list, index);
      owner.ready.store(owner.ready_list.count, std::memory_order_release);
      break;
    }
  }
  if (ticket.state.load(std::memory_order_relaxed) == detail::TicketState::granted) {
    guarded().granted_units -= ticket.cost;
    take_from_word(ticket.cost);
  }
  free_ticket(index);
}

// Decides about the first in line of a class. False if it has to go on waiting.
template <class Sync>
bool BasicGate<Sync>::dispatch_head(std::uint32_t importance, Instant now,
                                    Signals& signals) noexcept {
  const std::uint32_t index = guarded().queues[importance].head;
  if (!sound(index, Expected::waiting)) {
    repair();
    return false;
  }
  if (abandoned(index)) {
    drop(index);
    return true;
  }
  if (now > tickets_[index].start_by) {
    refuse(index, tickets_[index].late_reason, now, signals);
    return true;
  }
  return grant(index, now, signals);
}

// Starts those who fit, the most important first; a head that does not fit is passed by nobody of
// its class or below. True if the section's bound cut it short.
template <class Sync>
bool BasicGate<Sync>::dispatch(Instant now, Signals& signals) noexcept {
  std::uint32_t decided = 0;
  for (std::uint32_t c = 0; c < kMaxClasses; ++c) {
    while (guarded().queues[c].count != 0) {
      if (decided == kTicketsPerSection) {
        return true;
      }
      if (!dispatch_head(c, now, signals)) {
        return false;
      }
      ++decided;
    }
  }
  return false;
}

}  // namespace loadline
