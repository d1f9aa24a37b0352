// Offers and releases that do not fit the fast path.
#pragma once

#include "judge.h"
#include "loadline/gate.h"
#include "queue.h"
#include "quota.h"
#include "returns.h"
#include "section.h"

namespace loadline {

// Those whom no judgement could turn away.
template <class Sync>
[[gnu::always_inline]] inline bool BasicGate<Sync>::passes_unjudged(
    const Request& request) const noexcept {
  return request.exempt || request.observe || admits_all();
}

// Judges without the mutex, which is all that almost every rejection needs. Any other verdict is
// for offer_slowly to carry out.
//
// Where there is no quota, tenant or weight to look at, the same words are compiled without them:
// what may have to be called would cost every rejection the registers that it might spoil.
template <class Sync>
typename BasicGate<Sync>::Told BasicGate<Sync>::look(Participant who, const Request& request,
                                                     Instant now) noexcept {
  if (passes_unjudged(request)) {
    return {};
  }
  if (request.quota == 0 && request.cost <= 1 && !has_tenants()) [[likely]] {
    return look_at(slot(who), request, 1, load_word(), now, {.tenants = false});
  }
  return look_closely(who, request, now);
}

template <class Sync>
[[gnu::noinline]] typename BasicGate<Sync>::Told BasicGate<Sync>::look_closely(
    Participant who, const Request& request, Instant now) noexcept {
  Slot& mine = slot(who);
  if (const Duration wait = charge_quota(request, now); wait.ns != 0) {
    return over_quota(mine, request, wait);
  }
  const Told told =
      look_at(mine, request, charge(request), load_word(), now, {.tenants = has_tenants()});
  if (told.verdict == Verdict::reject) {
    refund_quota(request, told.reason);
  }
  return told;
}

// A quota that was charged is not given back here.
template <class Sync>
[[gnu::always_inline]] inline typename BasicGate<Sync>::Told BasicGate<Sync>::look_at(
    Slot& mine, const Request& request, std::uint32_t cost, Word word, Instant now,
    Scope scope) noexcept {
  const Judgement judgement = judge(request, cost, word, now, scope);
  if (judgement.verdict != Verdict::reject) {
    return {.verdict = judgement.verdict};
  }
  if (turns_order(judgement, request.importance, now)) {
    return {.verdict = Verdict::wait};  // no more than a reason to go where dispatches are made
  }
  return rejected(mine, request.importance, judgement.reason, now);
}

template <class Sync>
Offer BasicGate<Sync>::offer_slowly(Participant who, const Request& request, Verdict verdict,
                                    Instant now) noexcept {
  // Who has been judged is none of those whom nothing turns away.
  if (verdict == Verdict::wait) {
    return offer_locked(who, request, charge(request), now);
  }
  Slot& mine = slot(who);
  if (request.exempt) {
    return offer_exempt(mine, request, now);
  }
  if (passes_unjudged(request)) {
    return offer_unjudged(who, request, now);
  }
  const std::uint32_t cost = charge(request);
  while (verdict == Verdict::admit && cost == 1) {
    const Word word = load_word();
    const Told told = look_at(mine, request, 1, word, now, {.tenants = has_tenants()});
    if (told.verdict == Verdict::reject) {
      refund_quota(request, told.reason);
      return rejection(told);
    }
    verdict = told.verdict;
    if (verdict == Verdict::admit && replace_word(mine, word, word.with_in_flight_added(1), 1)) {
      Offer answer = started(mine, request, 1, now);
      answer.permit.bound_ = fills(word, request.importance, 1);
      return answer;
    }
  }
  return offer_locked(who, request, cost, now);
}

// Whether one more of this cost takes the last slot.
template <class Sync>
bool BasicGate<Sync>::fills(Word word, std::uint32_t importance,
                            std::uint32_t cost) const noexcept {
  const std::uint32_t most = threshold(importance);
  return std::uint64_t{word.in_flight()} + cost >= most && is_whole_limit(most);
}

// Beside the limit, and never waiting: who asks whether a server lives must hear so while it is
// full. Each participant has a few places of its own, so that nothing is shared and a death leaves
// nothing behind.
template <class Sync>
Offer BasicGate<Sync>::offer_exempt(Slot& mine, const Request& request, Instant now) noexcept {
  const std::uint32_t held = mine.exempt_held.load(std::memory_order_relaxed);
  const bool full = held >= published().exempt_limit.load(std::memory_order_relaxed);
  if (full && !request.observe && !admits_all()) {
    return rejection(rejected(mine, request.importance, Reason::limit, now));
  }
  mine.exempt_held.store(held + 1, std::memory_order_relaxed);
  Offer answer = admitted(mine, request.importance, 0, now);
  answer.permit.kind_ = Permit::Kind::exempt;
  if (full && !is_off()) {
    note_observed(request.importance, Reason::limit);
    answer.reason = Reason::limit;
  }
  return answer;
}

// An admission with what its release will have to know.
template <class Sync>
void BasicGate<Sync>::start(Offer& answer, Slot& mine, const Request& request, std::uint32_t cost,
                            Instant now) noexcept {
  detail::add_alone(mine.admitted[request.importance], 1U);
  answer.kind = Offer::Kind::admit;
  answer.permit = Permit(now, cost, request.importance);
  answer.permit.tenant_ = request.tenant;
  if (cost > 1) {
    detail::add_alone(mine.heavy_held, cost);
    answer.permit.kind_ = Permit::Kind::heavy;
  }
}

template <class Sync>
Offer BasicGate<Sync>::started(Slot& mine, const Request& request, std::uint32_t cost,
                               Instant now) noexcept {
  Offer answer;
  start(answer, mine, request, cost, now);
  return answer;
}

template <class Sync>
void BasicGate<Sync>::give_back_special(Slot& mine, Ending ending, Instant now) noexcept {
  const bool done = ending.ended == Outcome::success || ending.ended == Outcome::late;
  if (done && (ending.kind & Permit::exempt) == 0) {
    record_service(mine, ending.took);
  }
  if ((ending.kind & Permit::heavy) != 0) {
    detail::add_alone(mine.heavy_held, 0U - ending.cost);
  }
  if ((ending.kind & Permit::exempt) != 0) {
    detail::add_alone(mine.exempt_held, ~0U);
  }
  if ((ending.kind & Permit::observed) != 0) {
    end_observed(mine, ending, now);
  }
}

template <class Sync>
[[gnu::always_inline]] inline typename BasicGate<Sync>::Told BasicGate<Sync>::turned_away(
    Slot& mine, const Request& request, const Judgement& judgement, Instant now) noexcept {
  refund_quota(request, judgement.reason);
  return rejected(mine, request.importance, judgement.reason, now);
}

template <class Sync>
inline Offer BasicGate<Sync>::offer_locked(Participant who, const Request& request,
                                           std::uint32_t cost, Instant now) noexcept {
  constexpr int kMostAttempts = 1000;
  Offer answer;
  bool more = false;
  {
    Section section(*this, now);
    if (!section.held()) {
      refuse_offer(answer, turned_away(slot(who), request,
                                       {.verdict = Verdict::reject, .reason = Reason::busy}, now));
      return answer;
    }
    // An attempt fails where it, or somebody else, has changed what it was judged by. In a block
    // that was scribbled on it may fail for ever.
    int attempts = kMostAttempts;
    while (attempts > 0 && !offer_in_section(who, request, cost, section.now(), answer)) {
      --attempts;
    }
    if (attempts == 0) {
      refuse_offer(answer, turned_away(slot(who), request,
                                       {.verdict = Verdict::reject, .reason = Reason::busy}, now));
    }
    more = dispatch(section.now(), answer.signals);
  }
  if (more) {
    answer.signals |= dispatch_all(now);
  }
  return answer;
}

// One attempt. False if what it was judged by has changed meanwhile: the word, who waits, or in
// which order.
template <class Sync>
[[gnu::always_inline]] inline bool BasicGate<Sync>::offer_in_section(Participant who,
                                                                     const Request& request,
                                                                     std::uint32_t cost,
                                                                     Instant now,
                                                                     Offer& answer) noexcept {
  Slot& mine = slot(who);
  const Word word = load_word();
  Judgement judgement = judge(request, cost, word, now, {.tenants = has_tenants()});
  if (judgement.verdict == Verdict::admit) {
    if (!replace_word(mine, word, word.with_in_flight_added(cost), cost)) {
      return false;
    }
    start(answer, mine, request, cost, now);
    answer.permit.bound_ = fills(word, request.importance, cost);
    return true;
  }
  if (judgement.verdict == Verdict::wait) {
    const bool full = word.waiting() >= published().queue_limit.load(std::memory_order_relaxed);
    const Reason no = no_place_for(request, cost > 1, full, now, answer.signals);
    if (no == Reason::none) {
      return !full && enqueue(who, request, cost, judgement, word, now, answer);
    }
    judgement = {.verdict = Verdict::reject, .reason = no, .for_queue = true};
  }
  if (turns_order(judgement, request.importance, now)) {
    note_standing(request.importance, now);
    publish_waiting();  // who is next now may be a heavy one that stands aside
    return false;
  }
  refuse_offer(answer, turned_away(mine, request, judgement, now));
  return true;
}

// Why it may not wait; none: there is a place, which somebody else may have had to leave.
template <class Sync>
inline Reason BasicGate<Sync>::no_place_for(const Request& request, bool heavy, bool full,
                                            Instant now, Signals& signals) noexcept {
  if (beyond_horizon(request, heavy)) {
    return Reason::tenant_share;
  }
  if (!in_range(guarded().free_head) || (full && !displace_for(request, now, signals))) {
    return full_for(request);
  }
  return Reason::none;
}

template <class Sync>
[[gnu::always_inline]] inline typename BasicGate<Sync>::Told BasicGate<Sync>::rejected(
    Slot& mine, std::uint32_t importance, Reason reason, Instant now) noexcept {
  detail::add_alone(mine.rejected[importance][static_cast<std::uint32_t>(reason)], 1U);
  // Coming back later does not bring a deadline back.
  return {Verdict::reject, reason, is_deadline(reason) ? std::uint16_t{0} : book_return(mine, now)};
}

// Ends what was admitted while somebody waits: its units go to who is next in the exchange that
// starts it, which saves the one that would give them back first. If the mutex is not to be had at
// once they go back into the word, so that nobody keeps what it no longer uses.
template <class Sync>
Signals BasicGate<Sync>::hand_on(Slot& mine, std::uint32_t cost, Instant now) noexcept {
  Signals signals;
  Returned returned{&mine, cost};
  bool more = true;
  {
    Section section(*this, now, Section::Patience::none);
    if (section.held()) {
      more = dispatch(section.now(), signals, returned);
    }
    // What nobody took goes back before somebody else can look who may start: who would have, with
    // these units free, has started.
    if (returned.cost != 0) {
      give_back(mine, returned.cost);
    }
  }
  if (more) {
    signals |= dispatch_all(now);
  }
  return signals;
}

// Lets start who can, after a slot came free or the rules changed. If the mutex cannot be had, the
// next tick does it.
template <class Sync>
Signals BasicGate<Sync>::dispatch_all(Instant now) noexcept {
  Signals signals;
  bool more = true;
  // Each section decides tickets, so that many cannot be exceeded.
  for (std::uint32_t left = capacity_.tickets / kTicketsPerSection + 1; more && left > 0; --left) {
    Section section(*this, now);
    more = section.held() && dispatch(section.now(), signals);
  }
  return signals;
}

}  // namespace loadline
