// Observing: nothing is refused, and what would have been is foretold.
//
// It cannot be read from what is in flight. Those who would have been turned away are there, make a
// service slow that has only so many workers, and so stay; those who would have waited have started
// at once. Hence the gate keeps a shadow of itself, the gate that it would have been: who would be
// in flight, who would wait, who would have waited in vain. It is judged by the same judgement, in
// the same order of classes and disciplines, and its time follows the gate's.
//
// What starts in the shadow in the moment in which it starts for real, beside no more than the
// limit, ends there when it ends for real. All others end after a time that is drawn from those of
// the last requests that started so: these have met the service as an enforced limit would have
// left it.
//
// The shadow knows no tenants and no guarantees: they say who is turned away, rather than how many.
// A death in a section, or a change of the mode, lets it begin anew.
#pragma once

#include "judge.h"
#include "loadline/gate.h"
#include "order.h"
#include "queue.h"
#include "quota.h"
#include "section.h"

namespace loadline {

template <class Sync>
Offer BasicGate<Sync>::offer_unjudged(Participant who, const Request& request,
                                      Instant now) noexcept {
  Slot& mine = slot(who);
  const std::uint32_t cost = charge(request);
  Offer answer;
  const bool let = is_off() ? let_in(answer, mine, request, cost, now)
                            : let_in_observed(answer, mine, request, cost, now);
  if (!let) {
    return offer(who, request, now);
  }
  if (answer.permit.cost_ > 1 && load_word().waiting() != 0) {
    // Heavy requests that wait may be passed from now on, which has to be said in the word.
    answer.signals |= dispatch_all(now);
  }
  return answer;
}

// In the word, whatever it is told: a gate that begins to enforce its limit must know who runs.
// False if it has to be judged after all.
template <class Sync>
bool BasicGate<Sync>::let_in_observed(Offer& answer, Slot& mine, const Request& request,
                                      std::uint32_t cost, Instant now) noexcept {
  const Foretold told = foretell(mine, request, cost, now);
  if (told.reason != Reason::none && is_observed_alone(request)) {
    let_past(answer, mine, request, now);
  } else {
    // Before it is in the word: else others might take it for one who is not observed.
    detail::add_alone(mine.observed_held, cost);
    if (!let_in(answer, mine, request, cost, now)) {
      untie(mine, told.kind, cost);
      detail::add_alone(mine.observed_held, 0U - cost);
      if (told.reason == Reason::none) {
        refund_quota(request, told.reason);
      }
      return false;
    }
  }
  answer.permit.kind_ |= Permit::observed | told.kind;
  if (told.reason != Reason::none) {
    note_observed(request.importance, told.reason);
    answer.reason = told.reason;
  }
  return true;
}

// Do others have to keep to the limit?
template <class Sync>
bool BasicGate<Sync>::is_observed_alone(const Request& request) const noexcept {
  return request.observe && !observes();
}

// Beside the word: where the others are judged, one who would have been turned away must not take
// their places.
template <class Sync>
void BasicGate<Sync>::let_past(Offer& answer, Slot& mine, const Request& request,
                               Instant now) noexcept {
  detail::add_alone(mine.observed_beside, 1U);
  start(answer, mine, request, 0, now);
}

// Starts a request whatever is in flight. False if it has to be judged, since the mode has changed:
// it is read after the word, whose epoch moves with it.
template <class Sync>
bool BasicGate<Sync>::let_in(Offer& answer, Slot& mine, const Request& request, std::uint32_t cost,
                             Instant now) noexcept {
  Word word;
  do {
    word = load_word();
    if (!passes_unjudged(request)) {
      return false;
    }
  } while (!replace_word(mine, word, word.with_in_flight_added(cost), cost));
  start(answer, mine, request, cost, now);
  return true;
}

// What it would be turned away for. A quota is charged only if it would not be.
template <class Sync>
typename BasicGate<Sync>::Foretold BasicGate<Sync>::foretell(Slot& mine, const Request& request,
                                                             std::uint32_t cost,
                                                             Instant now) noexcept {
  if (charge_quota(request, now).ns != 0) {
    return {.reason = Reason::quota};
  }
  const Foretold told = foretell_in_shadow(mine, request, cost, now);
  if (told.reason != Reason::none) {
    refund_quota(request, told.reason);
  }
  return told;
}

// Nothing is foretold while the mutex cannot be had.
template <class Sync>
typename BasicGate<Sync>::Foretold BasicGate<Sync>::foretell_in_shadow(Slot& mine,
                                                                       const Request& request,
                                                                       std::uint32_t cost,
                                                                       Instant now) noexcept {
  Section section(*this, now);
  if (!section.held()) {
    return {};
  }
  catch_up(section.now());
  // With those that run beside the word.
  const bool within_limit =
      std::uint64_t{load_word().in_flight()} + shadow_->beside + cost <= limit();
  Foretold told{.kind = within_limit ? Permit::timed : Permit::plain};
  Judgement judgement = judge_in_shadow(request, cost, section.now());
  if (judgement.verdict == Verdict::wait) {
    judgement = wait_in_shadow(request, cost, judgement, section.now());
  } else if (judgement.verdict == Verdict::admit) {
    if (within_limit) {
      const ShadowUnits units = ShadowUnits::of(cost);
      shadow_->in_flight.more(units);
      told.kind |= Permit::tied;
      detail::add_alone(mine.observed_tied, units.packed());
    } else {
      start_in_shadow(request.importance, cost);
    }
  }
  told.reason = judgement.reason;
  return told;
}

// What is in the word and not observed was admitted before the gate observed, or is enforced, where
// only single requests are observed.
template <class Sync>
void BasicGate<Sync>::look_around(Instant now) noexcept {
  const std::uint32_t in_flight = load_word().in_flight();
  std::uint32_t observed = 0;
  std::uint32_t beside = 0;
  for (std::uint32_t i = 0; i < capacity_.participants; ++i) {
    observed += slots_[i].observed_held.load(std::memory_order_relaxed);
    beside += slots_[i].observed_beside.load(std::memory_order_relaxed);
  }
  shadow_->others = in_flight - std::min(in_flight, observed);
  shadow_->beside = beside;
  if (in_flight > limit() && observes()) {
    shadow_->times.crowded_for(now - shadow_->looked_at);
  }
  shadow_->looked_at = now;
}

template <class Sync>
Word BasicGate<Sync>::word_of_shadow() const noexcept {
  const Word word = load_word();
  const std::uint32_t waiting = std::min(word.waiting() + shadow_->waiting, 0xffffU);
  return word.with_in_flight(shadow_->others + shadow_->in_flight.all)
      .with_waiting(waiting, word.mask() | shadow_mask());
}

// Asks twice where the first refusal turns the order.
template <class Sync>
typename BasicGate<Sync>::Judgement BasicGate<Sync>::judge_in_shadow(const Request& request,
                                                                     std::uint32_t cost,
                                                                     Instant now) noexcept {
  const Word word = word_of_shadow();
  const Scope scope{.tenants = false, .observing = true};
  const Judgement first = judge(request, cost, word, now, scope);
  return first.for_queue && turns_in_shadow(request.importance, now)
             ? judge(request, cost, word, now, scope)
             : first;
}

template <class Sync>
bool BasicGate<Sync>::turns_in_shadow(std::uint32_t importance, Instant now) noexcept {
  if (discipline() != Discipline::adaptive || has_tenants() || newest_first(importance, true) ||
      now - kStanding <= shadow_->occupied_since[importance]) {
    return false;
  }
  shadow_->newest_first |= 1U << importance;
  return true;
}

// Joins those who wait, in whose place it must be; or is refused after all.
template <class Sync>
typename BasicGate<Sync>::Judgement BasicGate<Sync>::wait_in_shadow(const Request& request,
                                                                    std::uint32_t cost,
                                                                    const Judgement& judgement,
                                                                    Instant now) noexcept {
  const std::uint32_t room = published().queue_limit.load(std::memory_order_relaxed);
  const std::uint32_t index = shadow_->waiting < room || displace_in_shadow(request.importance)
                                  ? free_waiter()
                                  : detail::kNoTicket;
  if (index >= capacity_.tickets) {
    return {.verdict = Verdict::reject, .reason = Reason::queue_full};
  }
  waiters_[index] = {.start_by = judgement.start_by,
                     .sequence = shadow_->next_sequence++,
                     .previous = detail::kNoTicket,
                     .next = detail::kNoTicket,
                     .cost = cost,
                     .importance = request.importance,
                     .late_reason = judgement.late_reason};
  join_shadow(index, now);
  return judgement;
}

template <class Sync>
bool BasicGate<Sync>::displace_in_shadow(std::uint32_t importance) noexcept {
  for (std::uint32_t c = kMaxClasses - 1; c > importance; --c) {
    if (shadow_->class_waiting[c] != 0) {
      return refuse_in_shadow(end_of_shadow(c, true, newest_first(c, true)), Reason::displaced);
    }
  }
  return false;
}

// ---- Its lists
// -----------------------------------------------------------------------------------

// kNoTicket: there is none.
template <class Sync>
std::uint32_t BasicGate<Sync>::free_waiter() noexcept {
  const std::uint32_t index = shadow_->free_head;
  if (index < capacity_.tickets) {
    shadow_->free_head = waiters_[index].next;
    return index;
  }
  return shadow_->fresh < capacity_.tickets ? shadow_->fresh++ : detail::kNoTicket;
}

template <class Sync>
detail::TicketList& BasicGate<Sync>::shadow_queue_of(std::uint32_t index) const noexcept {
  const detail::ShadowWaiter& waiter = waiters_[index];
  return shadow_->queues[queue_number(waiter.importance % kMaxClasses, waiter.cost > 1)];
}

template <class Sync>
void BasicGate<Sync>::join_shadow(std::uint32_t index, Instant now) noexcept {
  detail::TicketList& queue = shadow_queue_of(index);
  const std::uint32_t importance = waiters_[index].importance % kMaxClasses;
  waiters_[index].previous = queue.tail;
  (in_range(queue.tail) ? waiters_[queue.tail].next : queue.head) = index;
  queue.tail = index;
  ++queue.count;
  ++shadow_->waiting;
  shadow_->occupied |= 1U << (&queue - shadow_->queues);
  if (shadow_->class_waiting[importance]++ == 0) {
    shadow_->occupied_since[importance] = now;
  }
}

template <class Sync>
void BasicGate<Sync>::leave_shadow(std::uint32_t index) noexcept {
  detail::TicketList& queue = shadow_queue_of(index);
  detail::ShadowWaiter& waiter = waiters_[index];
  const std::uint32_t importance = waiter.importance % kMaxClasses;
  (in_range(waiter.previous) ? waiters_[waiter.previous].next : queue.head) = waiter.next;
  (in_range(waiter.next) ? waiters_[waiter.next].previous : queue.tail) = waiter.previous;
  if (--queue.count == 0) {
    shadow_->occupied &= ~(1U << (&queue - shadow_->queues));
  }
  --shadow_->waiting;
  if (--shadow_->class_waiting[importance] == 0) {
    shadow_->occupied_since[importance] = Instant::never();
    shadow_->newest_first &= ~(1U << importance);
  }
  waiter.next = shadow_->free_head;
  shadow_->free_head = index;
}

// Of the light and perhaps the heavy of a class, who came first or who came last. kNoTicket: none.
template <class Sync>
std::uint32_t BasicGate<Sync>::end_of_shadow(std::uint32_t importance, bool heavies,
                                             bool first) const noexcept {
  const auto end_of = [&](bool heavy) {
    const detail::TicketList& queue = shadow_->queues[queue_number(importance, heavy)];
    return first ? queue.head : queue.tail;
  };
  const std::uint32_t light = end_of(false);
  const std::uint32_t heavy = heavies ? end_of(true) : detail::kNoTicket;
  if (light >= capacity_.tickets || heavy >= capacity_.tickets) {
    return std::min(light, heavy);
  }
  const bool light_came_first = waiters_[light].sequence < waiters_[heavy].sequence;
  return light_came_first == first ? light : heavy;
}

// Light ones always, heavy ones up to the first class whose next would have to wait for the
// heavies' share.
template <class Sync>
std::uint32_t BasicGate<Sync>::shadow_mask() const noexcept {
  std::uint32_t mask = shadow_->occupied & kAllClasses;
  for (std::uint32_t left = shadow_->occupied >> kMaxClasses & kAllClasses; left != 0;
       left &= left - 1) {
    const auto importance = static_cast<std::uint32_t>(std::countr_zero(left));
    const detail::TicketList& queue = shadow_->queues[queue_number(importance, true)];
    const std::uint32_t next = newest_first(importance, true) ? queue.tail : queue.head;
    if (next >= capacity_.tickets || heavies_are_full(waiters_[next].cost, true)) {
      break;
    }
    mask |= 1U << importance;
  }
  return mask;
}

// False if there is none such: the lists have been scribbled on.
template <class Sync>
bool BasicGate<Sync>::refuse_in_shadow(std::uint32_t index, Reason reason) noexcept {
  if (!in_range(index) || static_cast<std::uint32_t>(reason) >= kReasons) {
    forget_shadow();
    return false;
  }
  const std::uint32_t importance = waiters_[index].importance % kMaxClasses;
  note_observed(importance, reason);
  turns_in_shadow(importance, shadow_->now);
  leave_shadow(index);
  return true;
}

// ---- Its time
// ------------------------------------------------------------------------------------

// Or is there nothing that its time could change?
template <class Sync>
bool BasicGate<Sync>::shadow_in_use() const noexcept {
  return observes() || shadow_->in_flight.all != 0 || shadow_->waiting != 0;
}

// Everything up to now: who ends, who has waited in vain, who starts in their places. What the
// section's bound cuts short, the next does.
template <class Sync>
void BasicGate<Sync>::catch_up(Instant now) noexcept {
  if (shadow_->now > now) {
    forget_shadow();
  }
  look_around(now);
  for (std::uint32_t left = kTicketsPerSection; left > 0; --left) {
    const ShadowEnds::Next next = shadow_->ends.next(shadow_->now);
    const std::uint32_t late = first_late();
    const Instant late_at = late < capacity_.tickets ? waiters_[late].start_by : Instant::never();
    const Instant at = std::min(next.due, late_at);
    if (at > now) {
      shadow_->now = now;
      break;
    }
    shadow_->now = std::max(shadow_->now, at);
    if (next.due < late_at) {
      const ShadowEnds::Ended ended = shadow_->ends.take(next);
      shadow_->in_flight.less(ended.units);
      note_services(ended.services);
    } else {
      refuse_in_shadow(late, waiters_[late].late_reason);
    }
    start_waiters();
  }
  const std::uint64_t ended = shadow_->ended.load(std::memory_order_relaxed);
  if (ended != 0) {
    shadow_->ended.fetch_sub(ended, std::memory_order_relaxed);
    shadow_->in_flight.less(ShadowUnits::unpacked(ended));
  }
  start_waiters();
}

// Who has waited longest of each queue is late first: one with a deadline of its own may be late
// earlier, and is found to be when its turn comes.
template <class Sync>
std::uint32_t BasicGate<Sync>::first_late() const noexcept {
  std::uint32_t first = detail::kNoTicket;
  for (std::uint32_t left = shadow_->occupied; left != 0; left &= left - 1) {
    const auto number = static_cast<std::uint32_t>(std::countr_zero(left)) % detail::kQueues;
    const std::uint32_t head = shadow_->queues[number].head;
    if (head < capacity_.tickets &&
        (first >= capacity_.tickets || waiters_[head].start_by < waiters_[first].start_by)) {
      first = head;
    }
  }
  return first;
}

// Of the most important class that may start, in its order; one who has to wait for room is passed
// by nobody of its class or below.
template <class Sync>
void BasicGate<Sync>::start_waiters() noexcept {
  for (std::uint32_t left = kTicketsPerSection; left > 0 && shadow_->waiting != 0; --left) {
    const Word word = word_of_shadow();
    const std::uint32_t mask = shadow_mask();
    if (mask == 0) {
      if (shadow_->occupied == 0) {
        forget_shadow();  // somebody waits nowhere: it has been scribbled on
      }
      return;
    }
    const auto importance = static_cast<std::uint32_t>(std::countr_zero(mask));
    const bool light_only = (shadow_->occupied >> kMaxClasses >> importance & 1) == 0;
    const std::uint32_t index =
        end_of_shadow(importance, !light_only, !newest_first(importance, true));
    if (!in_range(index)) {
      forget_shadow();
      return;
    }
    const detail::ShadowWaiter waiter = waiters_[index];
    if (shadow_->now > waiter.start_by) {
      refuse_in_shadow(index, waiter.late_reason);
      continue;
    }
    const std::uint32_t cost = std::min(waiter.cost, threshold(importance));
    if (std::uint64_t{word.in_flight()} + cost > threshold(importance)) {
      return;
    }
    leave_shadow(index);
    start_in_shadow(importance, cost);
  }
}

// For a time that is drawn.
template <class Sync>
void BasicGate<Sync>::start_in_shadow(std::uint32_t importance, std::uint32_t cost) noexcept {
  const ShadowTimes::Drawn drawn = draw_time(importance);
  const ShadowUnits units = ShadowUnits::of(cost);
  shadow_->in_flight.more(units);
  shadow_->ends.add(shadow_->now, shadow_->now + drawn.time,
                    {units, ShadowServices::of(drawn.time, drawn.success)});
}

// Of a service of which nothing has ended yet, it is taken that it needs as long as one may wait.
template <class Sync>
ShadowTimes::Drawn BasicGate<Sync>::draw_time(std::uint32_t importance) noexcept {
  if (shadow_->times.any()) {
    return shadow_->times.draw(importance, limit(), detail::split_mix(shadow_->draws++));
  }
  const Duration mean = known_service_mean(shadow_->now);
  const Duration budget{published().wait_budget_ns.load(std::memory_order_relaxed)};
  return {mean.ns != 0 ? mean : budget, mean.ns != 0};
}

template <class Sync>
void BasicGate<Sync>::note_services(ShadowServices come) noexcept {
  shadow_->services.count += come.count;
  shadow_->services.ns += come.ns;
}

template <class Sync>
void BasicGate<Sync>::note_observed(std::uint32_t importance, Reason reason) noexcept {
  shadow_->observed[importance][static_cast<std::uint32_t>(reason)].fetch_add(
      1, std::memory_order_relaxed);
}

// It no longer runs for real, and so ends in the shadow. Noted without the mutex.
template <class Sync>
void BasicGate<Sync>::untie(Slot& mine, std::uint8_t kind, std::uint32_t cost) noexcept {
  if ((kind & Permit::tied) != 0) {
    const std::uint64_t units = ShadowUnits::of(cost).packed();
    detail::add_alone(mine.observed_tied, 0U - units);
    shadow_->ended.fetch_add(units, std::memory_order_relaxed);
  }
}

// An observed request has ended. What cannot be noted without the mutex is left out.
template <class Sync>
void BasicGate<Sync>::end_observed(Slot& mine, const Ending& ending, Instant now) noexcept {
  untie(mine, ending.kind, ending.cost);
  {
    Section section(*this, now);
    if (section.held()) {
      note_end(ending);
      catch_up(section.now());
    }
  }
  // Last: up to here it counts among those who run.
  if (ending.cost == 0) {
    detail::add_alone(mine.observed_beside, ~0U);
  } else {
    detail::add_alone(mine.observed_held, 0U - ending.cost);
  }
}

template <class Sync>
void BasicGate<Sync>::note_end(const Ending& ending) noexcept {
  const ShadowTimes::Drawn one{ending.took, ending.ended == Outcome::success};
  if ((ending.kind & Permit::timed) != 0) {
    shadow_->times.take(ending.importance, one);
  } else if (observes()) {
    shadow_->times.take_of_crowd(one.time);
  }
  if ((ending.kind & Permit::tied) != 0) {
    note_services(ShadowServices::of(one.time, one.success));
  }
}

// Begins anew, with what is tied to what really runs. The times that were seen are kept.
template <class Sync>
void BasicGate<Sync>::forget_shadow() noexcept {
  shadow_->ended.store(0, std::memory_order_relaxed);
  shadow_->now = guarded().now;
  shadow_->in_flight = {};
  for (std::uint32_t i = 0; i < capacity_.participants; ++i) {
    shadow_->in_flight.more(
        ShadowUnits::unpacked(slots_[i].observed_tied.load(std::memory_order_relaxed)));
  }
  shadow_->waiting = 0;
  shadow_->occupied = 0;
  shadow_->newest_first = 0;
  for (std::uint32_t c = 0; c < kMaxClasses; ++c) {
    shadow_->class_waiting[c] = 0;
    shadow_->occupied_since[c] = Instant::never();
  }
  for (detail::TicketList& queue : shadow_->queues) {
    queue = {};
  }
  shadow_->free_head = detail::kNoTicket;
  shadow_->fresh = 0;
  shadow_->ends = {};
  shadow_->services = {};
}

}  // namespace loadline
