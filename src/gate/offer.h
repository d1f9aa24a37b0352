// Offers and releases that do not fit the fast path.
#pragma once

#include "judge.h"
#include "loadline/gate.h"
#include "queue.h"
#include "section.h"

namespace loadline {

template <class Sync>
Offer BasicGate<Sync>::offer_slowly(Participant who, const Request& request, Instant now) noexcept {
  Slot& mine = slot(who);
  if (request.observe || admits_all()) {
    return offer_observed(mine, request, now);
  }
  const std::uint32_t cost = charge(request);
  while (true) {
    const Word word = load_word();
    const Judgement judgement = judge(request, cost, word, now, false);
    switch (judgement.verdict) {
      case Verdict::reject:  // without the mutex: a rejection must cost next to nothing
        return rejected(mine, request.importance, judgement.reason);
      case Verdict::wait:
        return offer_locked(who, request, cost, now);
      case Verdict::admit:
        if (replace_word(mine, word, word.with_in_flight_added(cost), cost)) {
          return admitted(mine, request.importance, cost, now);
        }
    }
  }
}

// The same judgement without its consequence. What would have been turned away takes no place in
// the word, for it would not have taken one.
template <class Sync>
Offer BasicGate<Sync>::offer_observed(Slot& mine, const Request& request, Instant now) noexcept {
  const bool off = (published().flags.load(std::memory_order_relaxed) & detail::kFlagOff) != 0;
  const std::uint32_t cost = charge(request);
  while (true) {
    const Word word = load_word();
    const Judgement judgement = off ? Judgement{} : judge(request, cost, word, now, true);
    if (judgement.verdict == Verdict::reject) {
      const auto reason = static_cast<std::uint32_t>(judgement.reason);
      detail::add_alone(mine.observed[request.importance][reason], 1U);
      Offer answer = admitted(mine, request.importance, 0, now);
      answer.reason = judgement.reason;
      return answer;
    }
    if (replace_word(mine, word, word.with_in_flight_added(cost), cost)) {
      return admitted(mine, request.importance, cost, now);
    }
  }
}

template <class Sync>
Offer BasicGate<Sync>::offer_locked(Participant who, const Request& request, std::uint32_t cost,
                                    Instant now) noexcept {
  Offer answer;
  bool more = false;
  {
    Section section(*this, now);
    if (!section.held()) {
      return rejected(slot(who), request.importance, Reason::busy);
    }
    answer = offer_in_section(who, request, cost, section.now());
    more = dispatch(section.now(), answer.signals);
  }
  if (more) {
    answer.signals |= dispatch_all(now);
  }
  return answer;
}

template <class Sync>
Offer BasicGate<Sync>::offer_in_section(Participant who, const Request& request, std::uint32_t cost,
                                        Instant now) noexcept {
  Slot& mine = slot(who);
  Signals signals;
  while (true) {
    const Word word = load_word();
    const Judgement judgement = judge(request, cost, word, now, false);
    if (judgement.verdict == Verdict::reject) {
      Offer answer = rejected(mine, request.importance, judgement.reason);
      answer.signals = signals;
      return answer;
    }
    if (judgement.verdict == Verdict::admit) {
      if (replace_word(mine, word, word.with_in_flight_added(cost), cost)) {
        Offer answer = admitted(mine, request.importance, cost, now);
        answer.signals = signals;
        return answer;
      }
      continue;
    }
    const bool full = word.waiting() >= published().queue_limit.load(std::memory_order_relaxed);
    const std::uint32_t index = guarded().free_head;
    if (!in_range(index) || (full && !displace_below(request.importance, now, signals))) {
      Offer answer = rejected(mine, request.importance, Reason::queue_full);
      answer.signals = signals;
      return answer;
    }
    if (full) {
      continue;  // judged again, with the place that was made
    }
    const std::uint32_t after = tickets_[index].next;
    if (enqueue(who, request, cost, judgement, word, index, now)) {
      guarded().free_head = after;
      Offer answer;
      answer.kind = Offer::Kind::wait;
      answer.ticket = {index, tickets_[index].generation.load(std::memory_order_relaxed)};
      answer.start_by = judgement.start_by;
      answer.signals = signals;
      return answer;
    }
  }
}

template <class Sync>
Offer BasicGate<Sync>::rejected(Slot& mine, std::uint32_t importance, Reason reason) noexcept {
  detail::add_alone(mine.rejected[importance][static_cast<std::uint32_t>(reason)], 1U);
  Offer answer;
  answer.kind = Offer::Kind::reject;
  answer.reason = reason;
  answer.retry_after = draw_retry_after(mine, reason);
  return answer;
}

// Drawn per rejection, so that those who are sent away together do not come back together. The
// generator is Marsaglia's xorshift64 (Journal of Statistical Software 8(14), 2003).
template <class Sync>
std::uint16_t BasicGate<Sync>::draw_retry_after(Slot& mine, Reason reason) noexcept {
  if (is_deadline(reason)) {
    return 0;  // coming back later does not bring the deadline back
  }
  std::uint64_t x = mine.generator.load(std::memory_order_relaxed);
  x ^= x << 13;
  x ^= x >> 7;
  x ^= x << 17;
  mine.generator.store(x, std::memory_order_relaxed);
  const std::uint32_t range = published().retry_after.load(std::memory_order_relaxed);
  const std::uint32_t low = range & 0xffff;
  const std::uint32_t span = (range >> 16) - low + 1;
  return static_cast<std::uint16_t>(low + ((x >> 32) * span >> 32));
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
