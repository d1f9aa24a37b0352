// What the tests of the client half share: a time to begin at, and policies in which only what is
// tested does anything.
#pragma once

#include "loadline/client/caller.h"

namespace loadline::client::test {

inline constexpr Instant kBegin{1'000'000'000'000'000};

constexpr Instant at_ms(std::int64_t ms) noexcept {
  return kBegin + Duration::millis(ms);
}

// Three attempts with backoff; no breaker, and a budget that never runs out.
inline Policy plain_policy() {
  Policy policy;
  policy.breaker.on = false;
  policy.budget.cap = 10'000;
  policy.budget.share = 1000;
  return policy;
}

inline Answer answer_of(Ended ended) {
  Answer answer;
  answer.ended = ended;
  return answer;
}

inline Answer refused_until(Duration told) {
  Answer answer = answer_of(Ended::refused);
  answer.told = Told::wait(told);
  return answer;
}

// A call to its end, each attempt answered by `ask(attempt)` after `takes`, whatever time that is.
// Returns when it was over; `call` and the last Next tell the rest.
template <class Ask>
Next run(Caller& caller, Call& call, Instant& now, Duration takes, Ask ask) {
  Next next;
  Start start = caller.begin(call, now);
  while (start.send()) {
    const Instant ends = now + takes;
    Answer answer = ask(start.attempt);
    if (ends >= start.attempt.cut_off()) {
      now = start.attempt.cut_off();
      answer = answer_of(Ended::timed_out);
    } else {
      now = ends;
    }
    next = caller.ended(call, start.attempt, answer, now);
    if (!next.retry()) {
      return next;
    }
    now = next.at;
    start = caller.retry(call, now);
  }
  next.kind = Next::Kind::give_up;
  next.reason = start.reason;
  return next;
}

// What must hold whenever no operation is in progress.
inline bool adds_up(const Snapshot& snapshot, std::uint64_t running) {
  const Counts& counts = snapshot.counts;
  std::uint64_t ended = 0;
  for (const std::uint64_t count : counts.ended) {
    ended += count;
  }
  return counts.begun ==
             counts.refused + counts.done + counts.gave_up + counts.abandoned + snapshot.active &&
         counts.sent == ended + running;
}

}  // namespace loadline::client::test
