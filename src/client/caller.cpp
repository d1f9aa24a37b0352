#include "loadline/client/caller.h"

#include <algorithm>

namespace loadline::client {
namespace {

constexpr std::uint32_t kWholeRetry = 1000;  // in thousandths

// Generators of one policy that draw different things need different seeds.
constexpr std::uint64_t kBreakerSeed = 0x627265616b6572;

void count(std::atomic<std::uint64_t>& counter, std::uint64_t n = 1) noexcept {
  counter.fetch_add(n, std::memory_order_relaxed);
}

template <class Enum, std::size_t N>
void count(std::array<std::atomic<std::uint64_t>, N>& counters, Enum which) noexcept {
  count(counters[static_cast<std::size_t>(which)]);
}

std::uint64_t read(const std::atomic<std::uint64_t>& counter) noexcept {
  return counter.load(std::memory_order_relaxed);
}

template <std::size_t N>
std::uint64_t read(const std::array<std::atomic<std::uint64_t>, N>& counters,
                   std::array<std::uint64_t, N>& out) noexcept {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < N; ++i) {
    out[i] = read(counters[i]);
    sum += out[i];
  }
  return sum;
}

// Too much to do over there, by their own word: retries of these wait longer.
bool is_turned_away(Ended ended) noexcept {
  return ended == Ended::refused || ended == Ended::quota;
}

bool is_accepted(const Answer& answer) noexcept {
  return answer.further_down || is_answered(answer.ended) || answer.ended == Ended::failed ||
         answer.ended == Ended::cancelled;
}

// Does the answer speak for one instance alone, which has done nothing?
bool is_of_one_instance(Ended ended) noexcept {
  return ended == Ended::refused || ended == Ended::unreached;
}

Start refusal(Reason reason, Instant come_back = {}) noexcept {
  Start start;
  start.reason = reason;
  start.come_back = come_back;
  return start;
}

}  // namespace

Caller::Caller(const Policy& policy, Instant now) noexcept
    : policy_(policy),
      budget_(policy.budget, now),
      breaker_(policy.breaker, policy.seed ^ kBreakerSeed, now),
      throttle_(policy.throttle, now),
      estimate_(now),
      random_(policy.seed) {}

// ---- Asking
// ----------------------------------------------------------------------------------------

Start Caller::begin(Call& call, Instant now) noexcept {
  if (call.active_ || call.attempts_ != 0) {
    count(misused_);
    return refusal(Reason::none);
  }
  const Start start = judge(call, Sending::first, now);
  if (!start.send()) {
    count(refused_, start.reason);
    return start;
  }
  call.active_ = true;
  budget_.call_begins();
  return start;
}

Start Caller::retry(Call& call, Instant now) noexcept {
  if (!call.active_ || !call.waiting_) {
    count(misused_);
    return refusal(Reason::none);
  }
  if (now < call.retry_at_) {
    Start early;
    early.kind = Start::Kind::wait;
    early.come_back = call.retry_at_;
    return early;
  }
  const Start start = judge(call, Sending::retry, now);
  if (start.send()) {
    call.waiting_ = false;
    return start;
  }
  forget_retry(call, now);
  give_up(call, start.reason);
  return start;
}

Start Caller::hedge(Call& call, const Attempt& running, Instant now) noexcept {
  if (!may_hedge(call, running, now)) {
    return refusal(Reason::not_hedged);
  }
  if (breaker_.state(now) != BreakerState::closed) {
    return refusal(Reason::breaker_open, breaker_.open_until());
  }
  if (const Reason doomed = doom(call, now, now); doomed != Reason::none) {
    return refusal(doomed);
  }
  if (!take_from_budget(kWholeRetry, now)) {
    return refusal(Reason::budget);
  }
  const Start start = judge(call, Sending::hedge, now);
  if (start.send()) {
    call.hedged_ = true;
    return start;
  }
  budget_.give_back(kWholeRetry, now);
  budget_.retry_ends();
  return start;
}

bool Caller::may_hedge(const Call& call, const Attempt& running, Instant now) const noexcept {
  return call.active_ && !call.hedged_ && call.running_ == 1 && running.running_ &&
         now >= running.hedge_at_;
}

// The order is that of begin() in the header.
Start Caller::judge(Call& call, Sending sending, Instant now) noexcept {
  if (const Reason doomed = doom(call, now, now); doomed != Reason::none) {
    return refusal(doomed);
  }
  if (throttled(now)) {
    return refusal(Reason::throttled);
  }
  CircuitBreaker::Changes changes;
  const CircuitBreaker::Pass pass = breaker_.ask(now, changes);
  record(changes);
  if (!pass.allowed) {
    return refusal(Reason::breaker_open, pass.come_back);
  }
  Start start;
  start.kind = Start::Kind::send;
  start.attempt = let_go(call, sending, pass, now);
  return start;
}

Duration Caller::least_time(Instant now) const noexcept {
  const DeadlinePolicy& policy = policy_.deadline;
  if (policy.needed == 0) {
    return policy.least;
  }
  const Duration usual = policy.expected != Duration{} ? policy.expected : estimate_.mean(now);
  return std::max(policy.least, Duration{usual.ns / 1000 * policy.needed});
}

// Of an attempt that would be sent `at`.
Reason Caller::doom(const Call& call, Instant at, Instant now) const noexcept {
  if (call.deadline_ == Instant::never()) {
    return Reason::none;
  }
  const Duration left = time_left(call.deadline_, at);
  if (left == Duration{}) {
    return at == now ? Reason::deadline_expired : Reason::deadline_unmeetable;
  }
  return left < least_time(now) ? Reason::deadline_unmeetable : Reason::none;
}

bool Caller::throttled(Instant now) noexcept {
  if (!policy_.throttle.on) {
    return false;
  }
  if (throttle_.refuses(random_.draw(), now)) {
    if (over_throttle_.fetch_add(1, std::memory_order_relaxed) == 0) {
      const SlidingCounts::Sum seen = throttle_.counts(now);
      events_.write(
          {.at = now, .kind = EventKind::throttle_began, .a = seen.all, .b = seen.marked});
    }
    return true;
  }
  if (over_throttle_.load(std::memory_order_relaxed) != 0 && throttle_.probability(now) == 0) {
    if (const std::uint32_t refused = over_throttle_.exchange(0, std::memory_order_relaxed)) {
      events_.write({.at = now, .kind = EventKind::throttle_ended, .a = refused});
    }
  }
  return false;
}

Attempt Caller::let_go(Call& call, Sending sending, const CircuitBreaker::Pass& pass,
                       Instant now) noexcept {
  Attempt attempt;
  const Duration bound = policy_.deadline.attempt;
  attempt.sent_ = now;
  attempt.cut_off_ = bound == Duration{} ? call.deadline_ : std::min(call.deadline_, now + bound);
  attempt.hand_on_ = to_hand_on(time_left(attempt.cut_off_, now), policy_.deadline.margin);
  if (policy_.hedge.after != Duration{} && call.is_idempotent() && !call.hedged_ &&
      sending != Sending::hedge) {
    attempt.hedge_at_ = now + policy_.hedge.after;
  }
  attempt.generation_ = pass.generation;
  attempt.probe_ = pass.probe;
  attempt.number_ = ++call.attempts_;
  attempt.paid_ = sending != Sending::first;
  attempt.running_ = true;
  ++call.running_;
  throttle_.sent(now);
  count(sent_, sending);
  return attempt;
}

bool Caller::take_from_budget(std::uint32_t cost, Instant now) noexcept {
  if (budget_.take(cost, now)) {
    return true;
  }
  if (over_budget_.fetch_add(1, std::memory_order_relaxed) == 0) {
    events_.write({.at = now, .kind = EventKind::budget_spent});
  }
  return false;
}

// ---- Ending
// ----------------------------------------------------------------------------------------

Next Caller::ended(Call& call, Attempt& attempt, const Answer& answer, Instant now) noexcept {
  Next next;
  if (!attempt.running_) {
    count(misused_);
    return next;
  }
  attempt.running_ = false;
  --call.running_;
  learn(attempt, answer, now);
  const bool answered = is_answered(answer.ended);
  if (!call.active_) {
    if (answered) {
      count(answered_over_);
    }
    next.kind = Next::Kind::done;
    return next;
  }
  if (answered) {
    if (answer.ended == Ended::success) {
      note_success(now);
    }
    end_call(call);
    next.kind = Next::Kind::done;
    return next;
  }
  return after_failure(call, answer, now);
}

// What an attempt tells about whom it asked, whatever becomes of its call.
void Caller::learn(const Attempt& attempt, const Answer& answer, Instant now) noexcept {
  const Duration took = std::max(now - attempt.sent_, Duration{});
  count(ended_, answer.ended);
  if (answer.further_down) {
    count(further_down_);
  }
  if (answer.malformed != 0) {
    count(malformed_, answer.malformed);
  }
  if (attempt.paid_) {
    budget_.retry_ends();
  }
  CircuitBreaker::Pass pass;
  pass.generation = attempt.generation_;
  pass.probe = attempt.probe_;
  CircuitBreaker::Changes changes;
  if (!breaker_.settle(pass, result_of(answer, took), now, changes)) {
    count(late_results_);
  }
  record(changes);
  if (is_accepted(answer)) {
    throttle_.accepted(now);
  }
  if (answer.ended == Ended::success) {
    estimate_.take(took, now);
  }
}

CircuitBreaker::Result Caller::result_of(const Answer& answer, Duration took) const noexcept {
  using Result = CircuitBreaker::Result;
  if (is_answered(answer.ended)) {
    const Duration slow = policy_.breaker.slow;
    return slow != Duration{} && took > slow ? Result::bad : Result::good;
  }
  const bool says_nothing =
      answer.further_down || is_turned_away(answer.ended) || answer.ended == Ended::cancelled;
  return says_nothing ? Result::nothing : Result::bad;
}

void Caller::note_success(Instant now) noexcept {
  budget_.succeeded(now);
  if (over_budget_.load(std::memory_order_relaxed) == 0 ||
      budget_.level(now) < policy_.budget.cap * (kWholeRetry / 2)) {
    return;
  }
  if (const std::uint32_t refused = over_budget_.exchange(0, std::memory_order_relaxed)) {
    events_.write({.at = now, .kind = EventKind::budget_back, .a = refused});
  }
}

Reason Caller::no_retry(const Call& call, const Answer& answer) const noexcept {
  if (answer.ended == Ended::cancelled) {
    return Reason::cancelled;
  }
  if (answer.further_down) {
    return Reason::further_down;
  }
  if (answer.ended == Ended::failed) {
    return Reason::not_retryable;
  }
  if (call.forbidden_) {
    return Reason::told_not_to;
  }
  if (answer.ended == Ended::quota && answer.told.kind != Told::Kind::wait) {
    return Reason::untold;
  }
  if (!is_unprocessed(answer.ended) && !call.is_idempotent()) {
    return Reason::not_idempotent;
  }
  const int counted = call.attempts_ - (call.hedged_ ? 1 : 0);
  return counted >= policy_.retry.attempts ? Reason::attempts : Reason::none;
}

Next Caller::after_failure(Call& call, const Answer& answer, Instant now) noexcept {
  const bool turned_away = is_turned_away(answer.ended);
  const Duration wait =
      backoff(policy_.backoff, call.attempts_, answer.told, turned_away, random_.draw());
  if (answer.told.kind == Told::Kind::wait) {
    call.told_until_ = std::max(call.told_until_, now + wait);
  }
  call.forbidden_ = call.forbidden_ || answer.told.kind == Told::Kind::never;
  if (call.running_ != 0) {
    return {};
  }
  if (const Reason reason = no_retry(call, answer); reason != Reason::none) {
    return give_up(call, reason);
  }
  const bool at_once = policy_.retry.elsewhere_at_once && answer.another_instance &&
                       is_of_one_instance(answer.ended) && !call.went_elsewhere_;
  const Instant at = at_once ? now : std::max(now + wait, call.told_until_);
  if (const Reason doomed = doom(call, at, now); doomed != Reason::none) {
    return give_up(call, doomed);
  }
  if (breaker_.open_until() > at) {
    return give_up(call, Reason::breaker_open);
  }
  const std::uint32_t cost =
      answer.ended == Ended::timed_out ? policy_.budget.timeout_cost : kWholeRetry;
  if (!take_from_budget(cost, now)) {
    return give_up(call, Reason::budget);
  }
  if (at_once) {
    call.went_elsewhere_ = true;
    count(elsewhere_);
  }
  call.paid_ = cost;
  call.waiting_ = true;
  call.retry_at_ = at;
  return {.kind = Next::Kind::retry,
          .at = at,
          .elsewhere = answer.another_instance && answer.ended != Ended::quota};
}

void Caller::abandon(Call& call, Instant now) noexcept {
  if (!call.active_) {
    return;
  }
  if (call.waiting_) {
    forget_retry(call, now);
  }
  count(abandoned_);
  end_call(call);
}

// It will not be sent, so it costs nothing.
void Caller::forget_retry(Call& call, Instant now) noexcept {
  call.waiting_ = false;
  budget_.give_back(call.paid_, now);
  budget_.retry_ends();
}

Next Caller::give_up(Call& call, Reason reason) noexcept {
  count(gave_up_, reason);
  end_call(call);
  return {.kind = Next::Kind::give_up, .reason = reason};
}

void Caller::end_call(Call& call) noexcept {
  call.active_ = false;
  budget_.call_ends();
}

// ---- Telling
// ---------------------------------------------------------------------------------------

void Caller::record(const CircuitBreaker::Changes& changes) noexcept {
  for (std::uint32_t i = 0; i < changes.count; ++i) {
    const CircuitBreaker::Change& change = changes.list[i];
    Event event{.at = change.at, .detail = static_cast<std::uint8_t>(change.cause)};
    switch (change.now) {
      case BreakerState::open:
        event.kind = EventKind::breaker_opened;
        event.a = change.bad;
        event.b = change.results;
        event.c = static_cast<std::uint32_t>(change.open.ns / 1'000'000);
        count(breaker_opened_);
        count(breaker_open_ms_, event.c);
        break;
      case BreakerState::half_open:
        event.kind = EventKind::breaker_half_open;
        break;
      case BreakerState::closed:
        event.kind = EventKind::breaker_closed;
        break;
    }
    events_.write(event);
  }
}

Counts Caller::counts() const noexcept {
  Counts counts;
  std::array<std::uint64_t, kSendings> sent{};
  counts.sent = read(sent_, sent);
  counts.retries = sent[static_cast<std::size_t>(Sending::retry)];
  counts.hedges = sent[static_cast<std::size_t>(Sending::hedge)];
  counts.refused = read(refused_, counts.refused_by);
  counts.gave_up = read(gave_up_, counts.gave_up_by);
  counts.begun = counts.refused + sent[static_cast<std::size_t>(Sending::first)];
  read(ended_, counts.ended);
  counts.done = counts.ended[static_cast<std::size_t>(Ended::success)] +
                counts.ended[static_cast<std::size_t>(Ended::caller_fault)] - read(answered_over_);
  counts.abandoned = read(abandoned_);
  counts.elsewhere = read(elsewhere_);
  counts.further_down = read(further_down_);
  counts.malformed = read(malformed_);
  counts.late_results = read(late_results_);
  counts.breaker_opened = read(breaker_opened_);
  counts.breaker_open = Duration::millis(static_cast<std::int64_t>(read(breaker_open_ms_)));
  counts.misused = read(misused_);
  counts.events_lost = events_.lost();
  return counts;
}

Snapshot Caller::snapshot(Instant now) const noexcept {
  Snapshot snapshot;
  const SlidingCounts::Sum seen = throttle_.counts(now);
  snapshot.counts = counts();
  snapshot.active = budget_.active_calls();
  snapshot.retries = budget_.retries();
  snapshot.budget = budget_.level(now);
  snapshot.breaker = breaker_.state(now);
  snapshot.open_until = breaker_.open_until();
  snapshot.requests = seen.all;
  snapshot.accepts = seen.marked;
  snapshot.throttle = throttle_.probability(now);
  snapshot.expected =
      policy_.deadline.expected != Duration{} ? policy_.deadline.expected : estimate_.mean(now);
  return snapshot;
}

}  // namespace loadline::client
