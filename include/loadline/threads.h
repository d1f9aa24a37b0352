// A gate for programs with threads: who asks gets a permit at once, waits a little for one, or is
// told "not now", and whatever becomes of the permit, its slot comes back exactly once.
//
//   auto [door, error] = loadline::threads::Doorkeeper::open(policy);
//   if (!door) { ... error.field, error.text ... }
//
//   if (auto answer = door.acquire(door.request(250ms))) {
//     work(answer.permit);           // stops when answer.permit.cancelled()
//     answer.permit.succeed();
//   } else {
//     reply(answer.rejection.http_status(), answer.rejection.retry_after);
//   }
//
// Three ways to ask: try_acquire never waits, acquire blocks its thread for at most the wait
// budget, async_acquire calls back. Threads may come and go: none has to register. Behind it stands
// the gate of gate.h with the same policy, order and counts; what is added here is one background
// thread, which ticks every 10 ms, and what it takes to wake exactly the thread that may start.
//
// Time is CLOCK_MONOTONIC; the wall clock is never read. Asking allocates nothing (async_acquire
// once, for the callback). Nothing here throws once a Doorkeeper is open.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string_view>
#include <utility>

#include "loadline/decision.h"
#include "loadline/gate.h"
#include "loadline/leases.h"
#include "loadline/policy.h"
#include "loadline/time.h"

namespace loadline::threads {

class Engine;       // hosts/threads/engine.h
class AsyncWaiter;  // hosts/threads/waiter.h

// Where the time comes from. A test hands in its own; a program leaves it alone.
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual Instant now() const noexcept = 0;  // any thread
};

// std::chrono's steady_clock as an Instant, and back: to meet deadlines that a program already has.
constexpr Instant instant_of(std::chrono::steady_clock::time_point time) noexcept {
  return {std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count()};
}
constexpr Duration duration_of(std::chrono::nanoseconds time) noexcept {
  return {time.count()};
}
constexpr std::chrono::nanoseconds to_chrono(Duration time) noexcept {
  return std::chrono::nanoseconds(time.ns);
}

// A permit that was held longer than its lease, and was taken back.
struct ExpiredLease {
  LeaseName name;  // as given when it was acquired; empty if none was
  std::uint32_t cost = 0;
  std::uint8_t importance = 0;  // class index
  Duration held{};
};

// What a policy does not say, since only this host knows of it.
struct Options {
  // A permit that is held longer is taken back, counted and reported; 0: never. The work goes on,
  // and sees Permit::cancelled(). Choose it far above the longest honest duration: a lease that
  // runs out lets one request more than the limit run. 100 ms to 24 h.
  Duration lease{};

  // Called by the background thread, once a lease that ran out; must not block, must not throw.
  std::function<void(const ExpiredLease&)> on_expired_lease{};

  // Null: CLOCK_MONOTONIC. Not owned; must outlive the Doorkeeper and all permits.
  const Clock* clock = nullptr;

  // Where proc and sys are looked for, for the signals cpu_pressure and cpu_throttled (see
  // loadline/cpu_pressure.h): the background thread reads them once a second. Tests have their own.
  const char* root = "";
};

// Leave to do the work. Move-only: whoever holds it may give it back on any thread, and it is given
// back exactly once, at the latest by its destructor. It may outlive its Doorkeeper.
//
// Say how the work ended: only succeed() tells the gate how long the work takes, and from that it
// finds the queue's length and which deadlines can still be met. A permit that is destroyed with
// nothing said counts as `failure` if an exception is passing through, and as `ignored` otherwise:
// an early return is as likely an error as a success, and a fast failure that passed for a success
// would make the gate believe that it can do more than it can.
//
// One thread at a time uses one permit, but cancelled(), remaining() and stop_token() may be called
// by several while nobody moves or releases it.
class [[nodiscard]] Permit {
 public:
  Permit() noexcept = default;  // holds nothing
  Permit(Permit&& other) noexcept;
  Permit& operator=(Permit&& other) noexcept;  // gives back what it held before
  ~Permit();

  [[nodiscard]] bool held() const noexcept { return engine_ != nullptr; }

  // The work is done, and went well: its duration counts as a service time.
  void succeed() noexcept { release(Outcome::success); }
  // It failed: its duration says nothing.
  void fail() noexcept { release(Outcome::failure); }
  // It was given up when its caller had ceased to wait. The same as succeed() once the deadline has
  // passed or the caller has left: a law that finds the limit takes it for a reason for less.
  void give_up() noexcept { release(Outcome::late); }
  // Gives the slot back now. Again, or on an empty permit: nothing happens. After the lease has run
  // out the slot is long gone; then it is only counted as late.
  void release(Outcome ended) noexcept;

  // Is the work for nobody? True once the caller has left (its stop_token said so), the deadline
  // has passed, the lease has run out, or the permit is no longer held. Cheap: ask it between the
  // pieces of the work, and before asking the next service.
  [[nodiscard]] bool cancelled() const noexcept;

  // The token that the request came with, for work that waits on a condition variable, a socket or
  // a future. It fires when the caller leaves. Not at the deadline: give remaining() as the timeout
  // of whatever the work waits for.
  [[nodiscard]] const std::stop_token& stop_token() const noexcept { return caller_; }

  // When the answer becomes worthless; Instant::never() if the request had no deadline.
  [[nodiscard]] Instant deadline() const noexcept { return deadline_; }
  // What is left until then, to be handed on to the next service: 0 when nothing is, or when the
  // permit is no longer held; Duration::max() if there is no deadline.
  [[nodiscard]] Duration remaining() const noexcept;

 private:
  friend class Engine;

  Engine* engine_ = nullptr;      // null: holds nothing
  loadline::Permit gate_permit_;  // empty while the lease book keeps it
  Lease lease_;
  std::uint32_t lane_ = 0;
  int exceptions_ = 0;  // uncaught ones when it came to the thread that holds it
  Instant deadline_ = Instant::never();
  std::stop_token caller_;
};

// "Not now", and why.
struct Rejection {
  Reason reason = Reason::none;   // of the gate; its name() is stable
  std::uint16_t retry_after = 0;  // seconds; 0: coming back does not help

  // 504 when it is the deadline that speaks, 429 when the caller's own quota, else 503.
  [[nodiscard]] int http_status() const noexcept;
  // A sentence for the body of an answer or a log; static, never null.
  [[nodiscard]] std::string_view words() const noexcept;
};

// The answer to every way of asking.
struct [[nodiscard]] Answer {
  enum class Kind : std::uint8_t {
    admitted,   // `permit` is held
    rejected,   // `rejection` says why
    cancelled,  // the caller left while it waited; there is nobody to tell
  };

  Kind kind = Kind::rejected;
  Permit permit{};
  Rejection rejection{};

  explicit operator bool() const noexcept { return kind == Kind::admitted; }
};

// A request that waits for its callback. Copies stand for the same request. Letting go of it does
// not cancel anything.
class Waiting {
 public:
  Waiting() noexcept = default;  // nothing waits

  // The caller has gone: its place is free at once, and its callback gets Kind::cancelled, from the
  // background thread. False, and without effect, if it has been decided before. Any thread, and
  // also after the Doorkeeper is gone.
  bool cancel() noexcept;

 private:
  friend class Doorkeeper;
  explicit Waiting(std::shared_ptr<AsyncWaiter> waiter) noexcept : waiter_(std::move(waiter)) {}
  std::shared_ptr<AsyncWaiter> waiter_;
};

namespace detail {

// std::function would want callbacks that can be copied; a permit cannot, nor can most of what a
// server wants to keep until then.
class Callback {
 public:
  Callback() noexcept = default;
  Callback(const Callback&) = delete;
  Callback& operator=(const Callback&) = delete;
  virtual ~Callback() = default;
  virtual void call(Answer answer) noexcept = 0;
};

template <class Function>
class CallbackOf final : public Callback {
 public:
  explicit CallbackOf(Function function) : function_(std::move(function)) {}
  // NOLINTNEXTLINE(bugprone-exception-escape): that one which throws ends the program is said
  void call(Answer answer) noexcept override { std::move(function_)(std::move(answer)); }

 private:
  Function function_;
};

}  // namespace detail

// Everything that can be asked about it.
struct Snapshot {
  loadline::Snapshot gate;

  // Rejections that the gate itself did not see.
  std::uint64_t busy = 0;         // as `busy`: every lane to it was taken
  std::uint64_t after_close = 0;  // as `draining`, after close()

  std::uint64_t leases_expired = 0;  // permits taken back
  std::uint64_t returned_late = 0;   // ... of these, given back since by their holders
  std::uint64_t unleased = 0;        // permits without a lease, since the book was full
};

struct Opened;

// Keeps a gate for a program with threads. Movable, while nobody calls it; the permits do not mind.
//
// Any thread may call anything at any time, but for moving and destroying: then no other call may
// be in progress, as with any object. close() first, so that nobody waits inside. Not to be
// destroyed by one of its own callbacks. Permits may come back later.
class Doorkeeper {
 public:
  // A policy without classes gets the default ones. Refused with a field and a sentence if the
  // policy or an option is not sound; field "signals" if what the kernel tells of the CPU is asked
  // for and cannot be read, "system" if memory or a thread could not be had.
  static Opened open(Policy policy, Options options = {}) noexcept;

  Doorkeeper() noexcept = default;  // shut: nothing but `if (door)`, moving and destroying
  Doorkeeper(Doorkeeper&& other) noexcept : engine_(std::exchange(other.engine_, nullptr)) {}
  Doorkeeper& operator=(Doorkeeper&& other) noexcept;
  ~Doorkeeper();

  explicit operator bool() const noexcept { return engine_ != nullptr; }

  // ---- What to ask for -----------------------------------------------------------------------

  // A request of the policy's default class, that wants to be answered within `patience` from now;
  // without, it has no deadline. Change its members to say more: class, cost, may_wait, tenant ...
  [[nodiscard]] Request request(Duration patience = Duration::max()) const noexcept;
  [[nodiscard]] Request request(std::chrono::nanoseconds patience) const noexcept {
    return request(duration_of(patience));
  }
  // Index of the class so named, or -1. Constant while it is open.
  [[nodiscard]] int find_class(std::string_view name) const noexcept;
  // The same for Policy::groups.
  [[nodiscard]] int find_group(std::string_view name) const noexcept;
  // By its clock: the base of Request::deadline.
  [[nodiscard]] Instant now() const noexcept;

  // ---- Asking --------------------------------------------------------------------------------
  //
  // `caller` says when the caller has left: give its source to whoever watches the connection, and
  // let that call request_stop(). A token that has fired already gets Kind::cancelled without
  // asking the gate. `name` stands in the report if the lease runs out; it is copied. A class index
  // that the policy does not have counts as its least important.

  // Never waits: a permit or a rejection, at once.
  Answer try_acquire(const Request& request, std::stop_token caller = {},
                     std::string_view name = {}) noexcept;

  // Blocks this thread until it may start or is refused: at most the wait budget, and never more
  // than half of what is left of the deadline. Wakes within microseconds of the decision.
  Answer acquire(const Request& request, std::stop_token caller = {},
                 std::string_view name = {}) noexcept;

  // For event loops. `callback(Answer)` is called exactly once, with no lock held: by this thread,
  // before the call returns, if the answer is known at once (admitted, rejected, caller gone);
  // otherwise by the background thread. It must not block that thread, and must not throw
  // (std::terminate). It may ask again, cancel or release. Post to your loop from it:
  //
  //   door.async_acquire(door.request(), [&](Answer answer) {
  //     asio::post(loop, [answer = std::move(answer)]() mutable { ... });
  //   });
  //
  // Throws std::bad_alloc, before anything has happened, if there is no memory for the callback.
  template <std::invocable<Answer> Function>
  Waiting async_acquire(const Request& request, Function callback,
                        const std::stop_token& caller = {}, std::string_view name = {}) {
    return start(request, std::make_unique<detail::CallbackOf<Function>>(std::move(callback)),
                 caller, name);
  }

  // ---- Keeping -------------------------------------------------------------------------------

  // The rules, under load. Classes and groups keep their names and number, and what was opened
  // without tenants, a quota, a law that finds the limit or a signal of the CPU gets none. Refused
  // as open() refuses.
  PolicyError reconfigure(Policy policy) noexcept;
  // 1 to kMaxLimit; false otherwise. A limit that was found stays there until reconfigure() asks
  // its law again.
  bool set_limit(std::uint32_t limit) noexcept;
  void set_mode(Mode mode) noexcept;
  // While draining, whoever asks is refused as `draining`; who waits already still starts.
  void set_draining(bool draining) noexcept;

  // A signal from outside has this value, as in report("db_latency", 0.012): see SignalPolicy and
  // Gate::report. Waits for nobody and allocates nothing; once a second is often enough. False
  // where the policy in force has no such signal, or no law, or it cannot be a value.
  bool report(std::string_view signal, double value) noexcept;

  // The end: from now on everybody is refused as `draining`, whatever the mode, and so is everyone
  // who waits. Permits stay good. May be called again.
  void close() noexcept;

  [[nodiscard]] Snapshot snapshot() const noexcept;
  // How the limit was found: see Gate::limit_events.
  std::size_t limit_events(std::uint64_t& next, std::span<LimitEvent> out) const noexcept;

 private:
  explicit Doorkeeper(Engine* engine) noexcept : engine_(engine) {}
  Waiting start(const Request& request, std::unique_ptr<detail::Callback> callback,
                std::stop_token caller, std::string_view name);

  Engine* engine_ = nullptr;
};

// `door` is shut if `error` says why.
struct Opened {
  Doorkeeper door{};
  PolicyError error{};
};

}  // namespace loadline::threads
