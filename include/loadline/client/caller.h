// The client half: whether a call is sent, and after each attempt whether and when to try again.
//
//   client::Caller caller(policy, now);                     // one for each service that is asked
//
//   client::Call call(deadline, client::Call::idempotent);  // one for each call
//   client::Start start = caller.begin(call, now);
//   while (start.send()) {
//     client::Answer answer = ...                           // send it; cut it off at
//                                                           // start.attempt.cut_off()
//     client::Next next = caller.ended(call, start.attempt, answer, now);
//     if (!next.retry()) {
//       break;                                              // next.reason says why not
//     }
//     ...                                                   // wait until next.at
//     start = caller.retry(call, now);
//   }
//
// A Caller joins what each stands in a header of its own: the table of what is retried (answer.h),
// backoff, a retry budget, a circuit breaker, adaptive throttling, the budget of time, hedging.
// It opens no sockets, reads no clock and starts no thread; an adapter does. With the same policy,
// calls and times it decides the same, always.
//
// One Caller for each service (a host name, a gRPC target), for the life of the program: budgets
// that are shared among services let one starve the other, and a Caller for each request has no
// memory at all. An adapter that chooses instances itself may keep a CircuitBreaker for each of
// them beside it.
//
// A server that made the call for a request of its own, and cannot answer that for want of it
// (after `refuse` or `give_up`), marks its answer with kFurtherDownHeader.
//
// What it promises, whatever answers come: attempts per call <= retry.attempts (and one hedge);
// no attempt past the deadline; none before what was told, but for the one that goes elsewhere at
// once; retries paid from the budget, at their decision; never stuck.
//
// Threads: all functions of a Caller may be called by any thread at any time. A Call, and its
// attempts, are used by one thread at a time. Nothing blocks, allocates, throws or reads a clock.
// Instants of one Caller come from one clock, a steady one; one that goes back is not a fault, but
// gains no budget.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "loadline/client/answer.h"
#include "loadline/client/breaker.h"
#include "loadline/client/budget.h"
#include "loadline/client/deadline.h"
#include "loadline/client/events.h"
#include "loadline/client/policy.h"
#include "loadline/client/random.h"
#include "loadline/client/reason.h"
#include "loadline/client/throttle.h"
#include "loadline/time.h"

namespace loadline::client {

// One call of the program, over all its attempts. A plain value that the adapter keeps: it owns
// nothing, but while it is not over() its Caller counts on it, so it ends in exactly one of these
// ways: begin() refused it, ended() said done or give_up, retry() refused it, or abandon().
// Copies are the same call; use one.
class Call {
 public:
  enum Kind : std::uint8_t {
    once,        // doing it twice may matter: POST, most calls that write
    idempotent,  // doing it twice is as doing it once: GET, PUT, DELETE (RFC 9110, 9.2.2)
  };

  // Not begun, without a deadline.
  Call() noexcept = default;
  explicit Call(Instant deadline, Kind kind = once) noexcept : deadline_(deadline), kind_(kind) {}

  [[nodiscard]] Instant deadline() const noexcept { return deadline_; }
  [[nodiscard]] bool is_idempotent() const noexcept { return kind_ == idempotent; }
  // That were sent so far, hedges included.
  [[nodiscard]] std::uint8_t attempts() const noexcept { return attempts_; }
  // It has begun and is not over: something runs, or waits to be retried.
  [[nodiscard]] bool active() const noexcept { return active_; }
  // Waits for its retry, until retry_at().
  [[nodiscard]] bool waiting() const noexcept { return waiting_; }
  [[nodiscard]] Instant retry_at() const noexcept { return retry_at_; }

 private:
  friend class Caller;

  Instant deadline_ = Instant::never();
  Instant retry_at_{};      // while waiting
  Instant told_until_{};    // the latest time that any answer told
  std::uint32_t paid_ = 0;  // for the retry that waits, thousandths
  std::uint8_t attempts_ = 0;
  std::uint8_t running_ = 0;
  Kind kind_ = once;
  bool active_ = false;
  bool waiting_ = false;
  bool went_elsewhere_ = false;
  bool hedged_ = false;
  bool forbidden_ = false;  // to try again, by any answer so far
};

// One attempt that was let go, to be ended exactly once with Caller::ended, by `cancelled` if the
// adapter gives it up. A plain value; ending it twice is counted and does nothing.
class Attempt {
 public:
  // Which one of its call, the first being 1: for x-envoy-attempt-count; one less for
  // grpc-previous-rpc-attempts.
  [[nodiscard]] std::uint8_t number() const noexcept { return number_; }
  [[nodiscard]] Instant sent() const noexcept { return sent_; }
  // When it is to be cut off and ended as `timed_out`: its deadline, or the bound of an attempt.
  // Never: neither is set.
  [[nodiscard]] Instant cut_off() const noexcept { return cut_off_; }
  // What to tell the one who is asked is left: for grpc-timeout and its like. Duration::max(): no
  // deadline, send no header.
  [[nodiscard]] Duration hand_on() const noexcept { return hand_on_; }
  // When to ask for a second attempt with hedge(), if it is still running; never: not at all.
  [[nodiscard]] Instant hedge_at() const noexcept { return hedge_at_; }
  [[nodiscard]] bool running() const noexcept { return running_; }

 private:
  friend class Caller;

  Instant sent_{};
  Instant cut_off_ = Instant::never();
  Duration hand_on_ = Duration::max();
  Instant hedge_at_ = Instant::never();
  std::uint32_t generation_ = 0;  // this and the next: of the breaker's pass
  std::uint8_t probe_ = CircuitBreaker::Pass::kNoProbe;
  std::uint8_t number_ = 0;
  bool paid_ = false;  // by the budget: a retry or a hedge
  bool running_ = false;
};

// The answer to begin(), retry() and hedge().
struct Start {
  enum class Kind : std::uint8_t {
    send,    // `attempt` may go
    refuse,  // not; `reason`. After begin() and retry() the call is over
    wait,    // retry() only: it is too early; ask again at `come_back`
  };

  Kind kind = Kind::refuse;
  Reason reason = Reason::none;
  Attempt attempt{};
  // With refuse: the earliest time at which a new call may fare better, where that is known
  // (breaker_open); else Instant{}.
  Instant come_back{};

  [[nodiscard]] bool send() const noexcept { return kind == Kind::send; }
};

// The answer to ended().
struct Next {
  enum class Kind : std::uint8_t {
    done,     // the call is over, and has its answer; cancel what else of it runs
    retry,    // call retry() at `at`
    give_up,  // the call is over, without; `reason` says why not again
    pending,  // another attempt of the call still runs, or this one had been ended before
  };

  Kind kind = Kind::pending;
  Reason reason = Reason::none;
  Instant at{};            // with retry
  bool elsewhere = false;  // with retry: choose another instance than the one that answered

  [[nodiscard]] bool retry() const noexcept { return kind == Kind::retry; }
};

// Counts since the Caller was made, and how things stand at one instant. Always true when nobody is
// in a call of the Caller's:
//   begun = refused + done + gave_up + abandoned + active
//   sent  = all of ended + running
struct Counts {
  std::uint64_t begun = 0;                   // begin() was called
  std::uint64_t refused = 0;                 // ... and refused it
  std::uint64_t done = 0;                    // over with success or caller_fault
  std::uint64_t gave_up = 0;                 // over without, after at least one attempt
  std::uint64_t abandoned = 0;               // by abandon()
  std::uint64_t sent = 0;                    // attempts
  std::uint64_t retries = 0;                 // of those: sent by retry()
  std::uint64_t elsewhere = 0;               // retries that were decided to go elsewhere at once
  std::uint64_t hedges = 0;                  // sent by hedge()
  std::array<std::uint64_t, kEnds> ended{};  // attempts, by Ended
  std::array<std::uint64_t, kReasons> refused_by{};  // calls, by the reason of begin()
  std::array<std::uint64_t, kReasons> gave_up_by{};  // calls, by the last reason
  std::uint64_t further_down = 0;                    // attempts that ended so marked
  std::uint64_t malformed = 0;                       // values of header fields
  std::uint64_t late_results = 0;                    // that the breaker did not count
  std::uint64_t breaker_opened = 0;                  // how many times
  Duration breaker_open{};                           // and for how long in all, the last to its end
  std::uint64_t misused = 0;  // attempts ended twice, calls begun twice: faults of the adapter
  std::uint64_t events_lost = 0;
};

struct Snapshot {
  Counts counts{};
  std::uint32_t active = 0;   // calls
  std::uint32_t retries = 0;  // between decision and end
  std::uint32_t budget = 0;   // thousandths of a retry
  BreakerState breaker = BreakerState::closed;
  Instant open_until{};        // with open
  std::uint32_t requests = 0;  // this and the next: in the throttle's window, where it is on
  std::uint32_t accepts = 0;
  double throttle = 0;  // probability of a refusal
  Duration expected{};  // how long successes take; 0: not known
};

class Caller {
 public:
  // `policy` must be sound (see validate). About 3 KiB, all in place; not movable.
  Caller(const Policy& policy, Instant now) noexcept;
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;
  ~Caller() = default;

  // May this call be made? In this order, and the first no decides: is its deadline past? is too
  // little of it left? does the throttle refuse it? is the breaker open (last, since its leave may
  // be a probe's)? A call that was refused may be begun again.
  [[nodiscard]] Start begin(Call& call, Instant now) noexcept;

  // An attempt has ended. `attempt` is one of `call`'s.
  Next ended(Call& call, Attempt& attempt, const Answer& answer, Instant now) noexcept;

  // The wait of a call is over: judged again, like a new one. What a refused one has paid comes
  // back to the budget.
  [[nodiscard]] Start retry(Call& call, Instant now) noexcept;

  // May a second attempt go beside the one that runs? Not before its hedge_at, once for each call.
  // If not, nothing has changed for the call.
  [[nodiscard]] Start hedge(Call& call, const Attempt& running, Instant now) noexcept;

  // The call is given up from outside, while it waits or runs. What runs is still to be ended.
  void abandon(Call& call, Instant now) noexcept;

  [[nodiscard]] Snapshot snapshot(Instant now) const noexcept;
  // The last events, oldest first; how many.
  std::size_t events(std::span<Event> out) const noexcept { return events_.read(out); }
  [[nodiscard]] const Policy& policy() const noexcept { return policy_; }

 private:
  enum class Sending : std::uint8_t { first, retry, hedge };
  static constexpr std::uint32_t kSendings = 3;
  using Counter = std::atomic<std::uint64_t>;

  [[nodiscard]] Duration least_time(Instant now) const noexcept;
  [[nodiscard]] Reason doom(const Call& call, Instant at, Instant now) const noexcept;
  [[nodiscard]] bool throttled(Instant now) noexcept;
  [[nodiscard]] Start judge(Call& call, Sending sending, Instant now) noexcept;
  [[nodiscard]] Attempt let_go(Call& call, Sending sending, const CircuitBreaker::Pass& pass,
                               Instant now) noexcept;
  [[nodiscard]] bool may_hedge(const Call& call, const Attempt& running,
                               Instant now) const noexcept;
  [[nodiscard]] bool take_from_budget(std::uint32_t cost, Instant now) noexcept;
  void note_success(Instant now) noexcept;
  void learn(const Attempt& attempt, const Answer& answer, Instant now) noexcept;
  [[nodiscard]] CircuitBreaker::Result result_of(const Answer& answer,
                                                 Duration took) const noexcept;
  [[nodiscard]] Reason no_retry(const Call& call, const Answer& answer) const noexcept;
  [[nodiscard]] Next after_failure(Call& call, const Answer& answer, Instant now) noexcept;
  Next give_up(Call& call, Reason reason) noexcept;
  void forget_retry(Call& call, Instant now) noexcept;
  void end_call(Call& call) noexcept;
  void record(const CircuitBreaker::Changes& changes) noexcept;
  [[nodiscard]] Counts counts() const noexcept;

  Policy policy_;
  RetryBudget budget_;
  CircuitBreaker breaker_;
  AdaptiveThrottle throttle_;
  TimeEstimate estimate_;
  Random random_;
  EventRing events_;

  std::array<Counter, kSendings> sent_{};
  std::array<Counter, kEnds> ended_{};
  std::array<Counter, kReasons> refused_{};
  std::array<Counter, kReasons> gave_up_{};
  Counter answered_over_{0};  // attempts that ended well when their call was over
  Counter abandoned_{0};
  Counter elsewhere_{0};
  Counter further_down_{0};
  Counter malformed_{0};
  Counter late_results_{0};
  Counter breaker_opened_{0};
  Counter breaker_open_ms_{0};
  Counter misused_{0};
  std::atomic<std::uint32_t> over_budget_{0};    // retries, since it was half full
  std::atomic<std::uint32_t> over_throttle_{0};  // calls, since it refused none
};

}  // namespace loadline::client
