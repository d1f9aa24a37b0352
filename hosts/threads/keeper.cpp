// The background thread: has the seats, ticks, looks after all lanes now and then, calls back,
// takes back what is overdue. Who waits is woken without it; it makes up for what slipped through.
#include <algorithm>

#include "engine.h"

namespace loadline::threads {
namespace {

constexpr Duration kTick = Duration::millis(10);

// An overdue lease is noticed after at most a sixteenth of its length, or a second.
constexpr std::int64_t kLeaseRounds = 16;
constexpr Duration kLongestLeaseRound = Duration::seconds(1);

}  // namespace

void Engine::keep(std::promise<bool> seated) noexcept {
  const bool all = attach();
  seated.set_value(all);
  const Signals everyone{~std::uint64_t{0} >> (kMaxParticipants - lane_count_)};
  while (all && !ending_.load(std::memory_order_acquire)) {
    const std::uint32_t seen = alarm_.load(std::memory_order_acquire);
    const Instant now = clock_.now();
    read_cpu(now);
    visit(gate_.tick(now));
    visit(everyone);
    expire_leases(now);
    call_back();
    sleep_while(alarm_, seen, kTick);
  }
  while (decided_.load(std::memory_order_acquire) != nullptr) {
    call_back();
  }
  orphan_lanes();
}

bool Engine::attach() noexcept {
  bool all = true;
  for (std::uint32_t i = 0; i < lane_count_; ++i) {
    lanes_[i].seat = gate_.attach(i, clock_.now());
    all = all && lanes_[i].seat.index == i;
  }
  return all;
}

void Engine::alarm() noexcept {
  alarm_.fetch_add(1, std::memory_order_release);
  wake_one(alarm_);
}

// ---- Calling back
// --------------------------------------------------------------------------------

// It owns itself from the time it waits.
void AsyncWaiter::registered() noexcept {
  self_ = shared_from_this();
  stage_.store(Stage::waits, std::memory_order_seq_cst);
}

void AsyncWaiter::decide(Settled settled) noexcept {
  settled_ = std::move(settled);
  stage_.store(Stage::decided, std::memory_order_seq_cst);
  engine_.to_call_back(*this);
}

bool AsyncWaiter::cancel() noexcept {
  return waits() && engine_.withdraw(*this);
}

// Resetting on_stop_ waits for a caller that is leaving at this moment on another thread.
void AsyncWaiter::answer(Answer answer) noexcept {
  on_stop_.reset();
  const std::unique_ptr<detail::Callback> callback = std::move(callback_);
  callback->call(std::move(answer));
}

// Once it is in the list it may be called back at any moment.
void Engine::to_call_back(AsyncWaiter& waiter) noexcept {
  AsyncWaiter* before = decided_.load(std::memory_order_relaxed);
  do {
    waiter.next_ = before;
  } while (!decided_.compare_exchange_weak(before, &waiter, std::memory_order_release,
                                           std::memory_order_relaxed));
  if (before == nullptr) {
    alarm();
  }
}

void Engine::call_back() noexcept {
  AsyncWaiter* oldest = nullptr;
  for (AsyncWaiter* newest = decided_.exchange(nullptr, std::memory_order_acquire);
       newest != nullptr;) {
    AsyncWaiter* const before = std::exchange(newest->next_, oldest);
    oldest = std::exchange(newest, before);
  }
  while (oldest != nullptr) {
    const std::shared_ptr<AsyncWaiter> waiter = std::move(oldest->self_);
    oldest = oldest->next_;
    waiter->answer(answer_of(*waiter->lane, std::move(waiter->settled_),
                             {waiter->deadline, waiter->caller, waiter->name}));
  }
}

// ---- The CPU
// -----------------------------------------------------------------------------------------

// Also where the policy in force does not name them any more: then the gate hears nothing of it.
void Engine::read_cpu(Instant now) noexcept {
  if (now < next_cpu_reading_) {
    return;
  }
  next_cpu_reading_ = now + kCpuReadingInterval;
  const CpuPressure::Shares shares = cpu_.read(now);
  gate_.report(kCpuPressure, shares.pressure, now);
  gate_.report(kCpuThrottled, shares.throttled, now);
}

// ---- Leases
// --------------------------------------------------------------------------------------

void Engine::expire_leases(Instant now) noexcept {
  if (lease_count_ == 0 || now < next_lease_round_) {
    return;
  }
  next_lease_round_ =
      now + std::min(Duration{options_.lease.ns / kLeaseRounds}, kLongestLeaseRound);
  leases_.call_in(
      now, [this, now](Leases::Overdue overdue) noexcept { take_back(std::move(overdue), now); });
}

// How the work ended is not known, so its duration says nothing.
void Engine::take_back(Leases::Overdue overdue, Instant now) noexcept {
  loadline::Permit& permit = overdue.held.permit;
  const ExpiredLease report{.name = overdue.name,
                            .cost = permit.cost(),
                            .importance = permit.importance(),
                            .held = now - overdue.since};
  Lane& lane = lanes_[overdue.held.lane];
  lane.door.enter();
  leave(lane, gate_.release(lane.seat, permit, Outcome::ignored, now));
  leases_expired_.fetch_add(1, std::memory_order_relaxed);
  if (options_.on_expired_lease) {
    options_.on_expired_lease(report);
  }
}

// ---- The end
// -------------------------------------------------------------------------------------

void Engine::close() noexcept {
  visit(gate_.set_draining(true, clock_.now()));
  for (std::uint32_t i = 0; i < lane_count_; ++i) {
    Lane& lane = lanes_[i];
    lane.door.enter();
    lane.closed = true;
    Signals ready;
    drop_waiters(lane, ready);
    leave(lane, ready);
  }
}

void Engine::drop_waiters(Lane& lane, Signals& ready) noexcept {
  const Instant now = clock_.now();
  for (std::uint32_t i = 0; i < gate_.capacity().tickets; ++i) {
    if (const Waiter* const waiter = lane.waiters[i]; waiter != nullptr) {
      Settled settled;
      settled.kind = Settled::Kind::reject;
      settled.reason = Reason::draining;
      settled.retry_after = retry_after_.load(std::memory_order_relaxed);
      settled.ticket = waiter->ticket;
      ready |= gate_.cancel(lane.seat, waiter->ticket, now);
      decide(lane, std::move(settled));
    }
  }
}

// From here on the permits that are out count themselves out, and the last of them deletes.
void Engine::orphan_lanes() noexcept {
  const Instant now = clock_.now();
  for (std::uint32_t i = 0; i < lane_count_; ++i) {
    Lane& lane = lanes_[i];
    lane.door.enter();
    lane.orphaned = true;
    owners_.fetch_add(lane.permits, std::memory_order_relaxed);
    if (lane.seat.valid()) {
      gate_.detach(lane.seat, now);
    }
    lane.door.leave_mail();
  }
}

}  // namespace loadline::threads
