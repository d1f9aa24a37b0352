// The operations that are measured. Each is a class: its constructor prepares, step() is what is
// timed, and kSteps is how often a slice of a millisecond or two does it.
//
// Time is handed in, as a host would; reading a clock is the host's cost. It moves from step to
// step, so that nothing is decided twice from the same numbers.
#pragma once

#include <benchmark/benchmark.h>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <utility>

#include "loadline/gate.h"
#include "loadline/quick_clock.h"

namespace loadline::bench {

inline constexpr Instant kBegin{1'000'000'000'000};
inline constexpr Duration kService = Duration::millis(20);
inline constexpr std::uint8_t kCritical = 1;

// What any counter of work in flight must do at least: one compare-and-swap to start, one
// subtraction to end, on a cache line of its own.
class BareCounter {
 public:
  [[gnu::always_inline]] void pair() noexcept {
    std::uint64_t seen = word_.load(std::memory_order_acquire);
    while (!word_.compare_exchange_strong(seen, seen + 1, std::memory_order_acq_rel,
                                          std::memory_order_acquire)) {
    }
    benchmark::DoNotOptimize(word_.fetch_sub(1, std::memory_order_acq_rel));
  }

 private:
  alignas(128) std::atomic<std::uint64_t> word_{0};
};

// A gate in memory of its own.
class GateBox {
 public:
  explicit GateBox(Policy policy)
      : capacity_(kCapacity.for_tables(policy)),
        memory_(std::aligned_alloc(kAlignment, size()), &std::free) {
    fill_defaults(policy);
    if (Gate::create(memory_.get(), size(), capacity_, policy, kBegin, gate) !=
        Gate::OpenError::none) {
      throw std::runtime_error("the gate was not made");
    }
  }

  Gate gate;

 private:
  static constexpr std::size_t kAlignment = 128;
  static constexpr Capacity kCapacity{.participants = 4, .tickets = 512};

  [[nodiscard]] std::size_t size() const {
    return (Gate::bytes_for(capacity_) + kAlignment - 1) / kAlignment * kAlignment;
  }

  Capacity capacity_;
  std::unique_ptr<void, decltype(&std::free)> memory_;
};

// A seat at a gate, for the thread that makes it.
class Seat {
 public:
  explicit Seat(Gate gate) : gate_(gate), who_(gate_.attach(0, kBegin)) {
    if (!who_.valid()) {
      throw std::runtime_error("no seat at the gate");
    }
  }
  Seat(const Seat&) = delete;
  Seat& operator=(const Seat&) = delete;
  ~Seat() { gate_.detach(who_, kBegin); }

  // In, and out after the time of a service. `ended` says whether that is recorded.
  [[gnu::always_inline]] void pair(const Request& request, Outcome ended, Instant now) noexcept {
    Offer answer = gate_.offer(who_, request, now);
    benchmark::DoNotOptimize(gate_.release(who_, answer.permit, ended, now + kService));
  }

  [[gnu::always_inline]] Offer offer(const Request& request, Instant now) noexcept {
    return gate_.offer(who_, request, now);
  }
  [[gnu::always_inline]] void release(Offer& admitted, Instant now) noexcept {
    benchmark::DoNotOptimize(gate_.release(who_, admitted.permit, Outcome::success, now));
  }
  [[gnu::always_inline]] Settled& collect_one(Instant now) noexcept {
    Signals signals;
    gate_.collect(who_, settled_, now, signals);
    return settled_[0];
  }
  [[gnu::always_inline]] void release(Settled& admitted, Instant now) noexcept {
    benchmark::DoNotOptimize(gate_.release(who_, admitted.permit, Outcome::success, now));
  }
  void tick(Instant now) noexcept { gate_.tick(now); }

 private:
  Gate gate_;
  Participant who_;
  std::array<Settled, 1> settled_;
};

inline Policy policy_of(std::uint32_t limit, QueueSize queue) {
  Policy policy;
  policy.limit = limit;
  policy.queue = queue;
  return policy;
}

class BarePair {
 public:
  static constexpr std::uint64_t kSteps = 100'000;
  [[gnu::always_inline]] void step() noexcept { counter_.pair(); }

 private:
  BareCounter counter_;
};

// Offer and release with room to spare, as almost every request meets the gate.
template <Outcome kEnded>
class Idle {
 public:
  static constexpr std::uint64_t kSteps = 100'000;
  [[gnu::always_inline]] void step() noexcept {
    seat_.pair(request_, kEnded, now_);
    now_ = now_ + kService;
  }

 private:
  GateBox box_{policy_of(1000, QueueSize::sized_by_budget())};
  Seat seat_{box_.gate};
  Request request_{.importance = kCritical};
  Instant now_ = kBegin;
};

// A clock that measures its counter does so in its first 10 ms.
template <class Clock>
void let_settle(Clock& clock) {
  const Instant settled = clock.now() + Duration::millis(11);
  while (clock.now() < settled) {
  }
}

// The same by a host that reads the clock before each of the two.
template <class Clock>
class WithClock {
 public:
  static constexpr std::uint64_t kSteps = 50'000;
  WithClock() { let_settle(clock_); }
  [[gnu::always_inline]] void step() noexcept {
    Offer answer = seat_.offer(request_, clock_.now());
    seat_.release(answer, clock_.now());
  }

 private:
  GateBox box_{policy_of(1000, QueueSize::sized_by_budget())};
  Seat seat_{box_.gate};
  Request request_{.importance = kCritical};
  Clock clock_;
};

// Asks the system each time.
struct SystemClock {
  static Instant now() noexcept { return MachineTime::system(); }
};

// The same where the limit is learned: each release leaves a sample, which the law takes in once in
// 64 and at each tick.
template <class Clock>
class WithSample {
 public:
  static constexpr std::uint64_t kSteps = 50'000;
  WithSample() { let_settle(clock_); }
  [[gnu::always_inline]] void step() noexcept {
    const Instant now = clock_.now();
    Offer answer = seat_.offer(request_, now);
    seat_.release(answer, clock_.now());
    if (now >= next_tick_) {
      seat_.tick(now);
      next_tick_ = now + Duration::millis(10);
    }
  }

 private:
  static Policy policy() {
    Policy policy = policy_of(1000, QueueSize::sized_by_budget());
    policy.law = Law::automatic;
    return policy;
  }

  GateBox box_{policy()};
  Seat seat_{box_.gate};
  Request request_{.importance = kCritical};
  Clock clock_;
  Instant next_tick_ = kBegin;
};

// The same for ten thousand tenants in turn, whose accounts are settled at each release.
class WithTenant {
 public:
  static constexpr std::uint64_t kSteps = 50'000;
  [[gnu::always_inline]] void step() noexcept {
    request_.tenant = request_.tenant * 6364136223846793005U + 1442695040888963407U;
    request_.tenant = request_.tenant >> 32;
    request_.tenant = hash_of(request_.tenant % kTenants);
    seat_.pair(request_, Outcome::success, now_);
    now_ = now_ + kService;
  }

 private:
  static constexpr std::uint32_t kTenants = 10'000;
  static std::uint64_t hash_of(std::uint64_t tenant) noexcept {
    return (tenant + 1) * 0x9e3779b97f4a7c15U;
  }
  static Policy policy() {
    Policy policy = policy_of(1000, QueueSize::sized_by_budget());
    policy.tenants = kTenants;
    return policy;
  }

  GateBox box_{policy()};
  Seat seat_{box_.gate};
  Request request_{.importance = kCritical};
  Instant now_ = kBegin;
};

// What offers meet that are turned away. The one slot is taken; the service time is known, since
// prediction is part of judging.
class Rejecting {
 public:
  static constexpr std::uint64_t kSteps = 100'000;

 protected:
  explicit Rejecting(QueueSize queue) : box_(policy_of(1, queue)), seat_(box_.gate) {
    constexpr int kServicesToBelieve = 20;
    for (int i = 0; i <= kServicesToBelieve; ++i) {
      seat_.pair(Request{.importance = kCritical}, Outcome::success, now_);
      now_ = now_ + kService;
    }
    seat_.tick(now_);
    held_ = seat_.offer(Request{.importance = kCritical}, now_);
  }

  // Throws unless `request` is rejected for this reason: else something else would be measured.
  void expect(const Request& request, Reason reason) {
    const Offer answer = seat_.offer(request, now_);
    if (answer.kind != Offer::Kind::reject || answer.reason != reason) {
      throw std::runtime_error("expected to be rejected for " + std::string(name(reason)) +
                               ", not " + std::string(name(answer.reason)));
    }
  }
  [[gnu::always_inline]] void reject(const Request& request) noexcept {
    Offer answer = seat_.offer(request, now_);
    benchmark::DoNotOptimize(answer);
  }

  GateBox box_;
  Seat seat_;
  Instant now_ = kBegin;
  Offer held_;
};

class RejectMayNotWait : public Rejecting {
 public:
  RejectMayNotWait() : Rejecting(QueueSize::sized_by_budget()) { expect(request_, Reason::limit); }
  [[gnu::always_inline]] void step() noexcept { reject(request_); }

 private:
  Request request_{.importance = kCritical, .may_wait = false};
};

// The queue holds one, and someone of the same class waits in it.
class RejectQueueFull : public Rejecting {
 public:
  RejectQueueFull() : Rejecting(QueueSize::at_most(1)) {
    waiting_ = seat_.offer(request_, now_);
    expect(request_, Reason::queue_full);
  }
  [[gnu::always_inline]] void step() noexcept { reject(request_); }

 private:
  Request request_{.importance = kCritical};
  Offer waiting_;
};

// A service takes longer than its deadline leaves.
class RejectDeadline : public Rejecting {
 public:
  RejectDeadline() : Rejecting(QueueSize::sized_by_budget()) {
    request_.deadline = now_ + Duration::millis(1);
    expect(request_, Reason::deadline_unmeetable);
  }
  [[gnu::always_inline]] void step() noexcept { reject(request_); }

 private:
  Request request_{.importance = kCritical};
};

// Two offers for one slot: the second waits, is granted what the first gives back, and is
// collected.
class QueueCycle {
 public:
  static constexpr std::uint64_t kSteps = 10'000;
  [[gnu::always_inline]] void step() noexcept {
    Offer first = seat_.offer(request_, now_);
    Offer second = seat_.offer(request_, now_);
    seat_.release(first, now_);
    benchmark::DoNotOptimize(second.ticket.index);  // what the host of one who waits keeps
    seat_.release(seat_.collect_one(now_), now_);
    now_ = now_ + Duration::micros(1);
  }

 private:
  GateBox box_{policy_of(1, QueueSize::at_most(100))};
  Seat seat_{box_.gate};
  Request request_{.importance = kCritical};
  Instant now_ = kBegin;
};

}  // namespace loadline::bench
