// The way that almost every request takes: one compare-and-swap to start, one subtraction to end.
//
// Included by gate.h. It is in a header so that it is compiled into the host's own code; what does
// not fit the common case goes on in src/gate/.
#pragma once

#include "loadline/gate.h"

namespace loadline {

namespace detail {

// For counters with one writer: no locked instruction.
template <class Atomic, class Value>
[[gnu::always_inline]] inline void add_alone(Atomic& counter, Value amount) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
}

// A participant's bracket: {sequence:32, held:32}.
struct Bracket {
  std::uint64_t bits = 0;

  [[nodiscard]] constexpr std::uint32_t held() const noexcept { return std::uint32_t(bits); }
  [[nodiscard]] constexpr bool open() const noexcept { return ((bits >> 32) & 1) != 0; }
  [[nodiscard]] constexpr Bracket opened() const noexcept { return {bits + kOneStep}; }
  // `change` may be negative, as its two's complement.
  [[nodiscard]] constexpr Bracket closed(std::uint32_t change) const noexcept {
    return {((bits + kOneStep) & ~std::uint64_t{0xffff'ffff}) | std::uint32_t(held() + change)};
  }

 private:
  static constexpr std::uint64_t kOneStep = std::uint64_t{1} << 32;
};

}  // namespace detail

template <class Sync>
[[gnu::always_inline]] inline std::uint32_t BasicGate<Sync>::threshold(
    std::uint32_t importance) const noexcept {
  return head_->published.thresholds[importance].load(std::memory_order_relaxed);
}

template <class Sync>
[[gnu::always_inline]] inline Word BasicGate<Sync>::load_word() const noexcept {
  return {head_->word.load(std::memory_order_acquire)};
}

// One change of the word by a participant, bracketed. The bracket is opened before and closed
// after, whether or not the word was still `seen`.
template <class Sync>
[[gnu::always_inline]] inline bool BasicGate<Sync>::replace_word(
    Slot& mine, Word seen, Word next, std::uint32_t held_change) noexcept {
  const detail::Bracket bracket{mine.bracket.load(std::memory_order_relaxed)};
  const detail::Bracket opened = bracket.opened();
  mine.bracket.store(opened.bits, std::memory_order_relaxed);
  std::uint64_t expected = seen.bits;  // by itself, or it would make a detour through memory
  const bool replaced = head_->word.compare_exchange_strong(
      expected, next.bits, std::memory_order_acq_rel, std::memory_order_relaxed);
  mine.bracket.store(opened.closed(replaced ? held_change : 0).bits, std::memory_order_release);
  return replaced;
}

// Who takes the last place of a part of the limit (a class's, the heavy's) has not met a full one.
template <class Sync>
[[gnu::always_inline]] inline bool BasicGate<Sync>::is_whole_limit(
    std::uint32_t part) const noexcept {
  return part >= published().limit.load(std::memory_order_relaxed);
}

// Starts a request if there is room for its class and nobody of its class or above waits, both seen
// in the word that is replaced. The threshold is read after the word: if the limit has moved since,
// so has the epoch, and the exchange fails.
template <class Sync>
[[gnu::always_inline]] inline typename BasicGate<Sync>::Tried BasicGate<Sync>::try_admit(
    Slot& mine, std::uint32_t importance, std::uint32_t cost) noexcept {
  while (true) {
    const Word word = load_word();
    const std::uint32_t most = threshold(importance);
    const std::uint64_t with = std::uint64_t{word.in_flight()} + cost;
    if (word.waits_at_or_above(importance) || with > most) {
      return {.admitted = false};
    }
    if (replace_word(mine, word, word.with_in_flight_added(cost), cost)) {
      return {.admitted = true, .bound = with == most && is_whole_limit(most)};
    }
  }
}

template <class Sync>
[[gnu::always_inline]] inline Offer BasicGate<Sync>::admitted(Slot& mine, std::uint32_t importance,
                                                              std::uint32_t cost,
                                                              Instant now) noexcept {
  detail::add_alone(mine.admitted[importance], 1U);
  Offer answer;
  answer.kind = Offer::Kind::admit;
  answer.permit = Permit(now, cost, static_cast<std::uint8_t>(importance));
  return answer;
}

template <class Sync>
[[gnu::always_inline]] inline Offer BasicGate<Sync>::rejection(Told told) noexcept {
  Offer answer;
  refuse_offer(answer, told);
  return answer;
}

template <class Sync>
[[gnu::always_inline]] inline void BasicGate<Sync>::refuse_offer(Offer& answer,
                                                                 Told told) noexcept {
  answer.kind = Offer::Kind::reject;
  answer.reason = told.reason;
  answer.retry_after = told.retry_after;
}

// Of the usual weight, without a deadline or anything else to look at first, and the gate simply in
// force. A tenant's name is nothing to look at: who finds a slot free takes nobody's share.
template <class Sync>
[[gnu::always_inline]] inline bool BasicGate<Sync>::may_try_at_once(
    const Request& request) const noexcept {
  return head_->published.flags.load(std::memory_order_relaxed) == 0 && !request.observe &&
         !request.exempt && request.cost <= 1 && request.quota == 0 &&
         request.deadline == Instant::never();
}

template <class Sync>
[[gnu::always_inline]] inline Offer BasicGate<Sync>::offer(Participant who, const Request& request,
                                                           Instant now) noexcept {
  if (may_try_at_once(request)) [[likely]] {
    Slot& mine = slot(who);
    const Tried tried = try_admit(mine, request.importance, 1);
    if (tried.admitted) [[likely]] {
      Offer answer = admitted(mine, request.importance, 1, now);
      answer.permit.tenant_ = request.tenant;
      answer.permit.bound_ = tried.bound;
      return answer;
    }
  }
  // Told in a register: a rejection must cost next to nothing.
  const Told first = look(who, request, now);
  if (first.verdict == Verdict::reject) {
    return rejection(first);
  }
  // Moved out of an object of its own: what leaves this function then need not lie in memory, and
  // the common answers stay in registers.
  Offer slow = offer_slowly(who, request, first.verdict, now);
  return static_cast<Offer&&>(slow);
}

template <class Sync>
[[gnu::always_inline]] inline Word BasicGate<Sync>::give_back(Slot& mine,
                                                              std::uint32_t cost) noexcept {
  const detail::Bracket opened =
      detail::Bracket{mine.bracket.load(std::memory_order_relaxed)}.opened();
  mine.bracket.store(opened.bits, std::memory_order_relaxed);
  const Word before{head_->word.fetch_sub(Word::kOneInFlight * cost, std::memory_order_acq_rel)};
  mine.bracket.store(opened.closed(0U - cost).bits, std::memory_order_release);
  return before;
}

template <class Sync>
[[gnu::always_inline]] inline void BasicGate<Sync>::record_service(Slot& mine,
                                                                   Duration service) noexcept {
  if (service.ns <= 0) {
    return;  // a clock that stood still or went back says nothing
  }
  detail::add_alone(mine.service_ns, static_cast<std::uint64_t>(service.ns));
  detail::add_alone(mine.service_buckets[bucket_of(service)], 1U);
}

template <class Sync>
[[gnu::always_inline]] inline bool BasicGate<Sync>::admits_all() const noexcept {
  return (published().flags.load(std::memory_order_relaxed) &
          (detail::kFlagObserve | detail::kFlagOff)) != 0;
}

template <class Sync>
[[gnu::always_inline]] inline Signals BasicGate<Sync>::release(Participant who, Permit& permit,
                                                               Outcome ended,
                                                               Instant now) noexcept {
  Slot& mine = slot(who);
  if (!permit.held_) {
    detail::add_alone(mine.released_twice, 1U);
    return {};
  }
  permit.held_ = false;
  const Duration took = now - permit.started_;
  // By value: a permit whose address left this function would have to lie in memory.
  const Ending ending{took, permit.cost_, permit.importance_, permit.kind_, ended, permit.bound_};
  if (permit.kind_ == Permit::Kind::plain) [[likely]] {
    if (ended == Outcome::success || ended == Outcome::late) {
      record_service(mine, took);
    }
  } else {
    give_back_special(mine, ending, now);
  }
  Signals signals;
  if (rings_ != nullptr) {
    signals = note_sample(who, ending, now);
  }
  if (permit.tenant_ != 0) {
    settle_account({permit.tenant_, permit.importance_, permit.group_, permit.charged_}, ended,
                   took);
  }
  if (permit.cost_ == 0) {
    return signals;  // it never was in the word: exempt, or observed alone
  }
  // A hint: who comes to wait after this is seen in the word.
  if (guarded().occupied.load(std::memory_order_relaxed) != 0) [[unlikely]] {
    signals |= hand_on(mine, permit.cost_, now);
    return signals;
  }
  const Word before = give_back(mine, permit.cost_);
  if (before.waiting() != 0) {
    signals |= dispatch_all(now);
  }
  return signals;
}

}  // namespace loadline
