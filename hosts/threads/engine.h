// What stands behind a Doorkeeper: the gate's block, the lanes to it, and the background thread.
//
// A request's way: some lane is entered, the gate is asked, and on the way out whoever has become
// ready is told (look_after). Who waits sleeps in await(), or is an AsyncWaiter. A permit goes back
// through the lane that it came from, since the gate keeps account of it there.
//
// It belongs to its Doorkeeper until that is gone, and then to the permits that are still out.
#pragma once

#include <atomic>
#include <future>
#include <memory>
#include <thread>

#include "lane.h"
#include "loadline/cpu_pressure.h"
#include "loadline/gate.h"
#include "loadline/leases.h"
#include "loadline/threads.h"
#include "waiter.h"

namespace loadline::threads {

inline constexpr Duration kCpuReadingInterval = Duration::seconds(1);

// What a lease is about.
struct Lent {
  loadline::Permit permit;
  std::uint32_t lane = 0;
};

class Engine {
 public:
  // Throws std::bad_alloc and std::system_error. The policy must be sound.
  Engine(const Policy& policy, Options options);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // False if there was no gate to be had, no seat at it, or what the kernel tells of the CPU could
  // not be read. Then abandon() is all that may follow.
  [[nodiscard]] bool started() const noexcept { return started_; }
  [[nodiscard]] const CpuPressure::Error& cpu_fault() const noexcept { return cpu_fault_; }
  // The Doorkeeper goes. Deletes it, now or with the last permit.
  void abandon() noexcept;

  // Asking and giving back (engine.cpp).
  Answer ask(const Request& request, bool may_block, std::stop_token caller,
             std::string_view name) noexcept;
  void ask(const Request& request, const std::shared_ptr<AsyncWaiter>& waiter) noexcept;
  bool withdraw(Waiter& waiter) noexcept;
  void release(Permit& permit, Outcome ended) noexcept;
  [[nodiscard]] bool lapsed(Lease lease) const noexcept {
    return lease.valid() && leases_.over(lease);
  }

  // The background thread is to call it back (keeper.cpp).
  void to_call_back(AsyncWaiter& waiter) noexcept;

  // Rules and numbers (rules.cpp).
  [[nodiscard]] Request request(Duration patience) const noexcept;
  [[nodiscard]] Instant now() const noexcept { return clock_.now(); }
  [[nodiscard]] int find_class(std::string_view name) const noexcept {
    return loadline::find_class(names_, name);
  }
  [[nodiscard]] int find_group(std::string_view name) const noexcept {
    return loadline::find_group(names_, name);
  }
  PolicyError reconfigure(const Policy& policy) noexcept;
  bool set_limit(std::uint32_t limit) noexcept;
  bool report(std::string_view signal, double value) noexcept;
  void set_mode(Mode mode) noexcept;
  void set_draining(bool draining) noexcept;
  void close() noexcept;
  [[nodiscard]] Snapshot snapshot() const noexcept;
  std::size_t limit_events(std::uint64_t& next, std::span<LimitEvent> out) const noexcept;

 private:
  ~Engine() = default;

  using Leases = LeaseBook<Lent>;
  // Who asks, as opposed to what for.
  struct Asker {
    Instant deadline;
    std::stop_token& caller;
    LeaseName name;
  };

  bool create_gate(const Policy& policy, Capacity capacity);

  // Lanes. Whoever leaves one sees to it that nobody who has become ready sleeps on.
  Lane* enter_any() noexcept;
  void leave(Lane& lane, Signals ready) noexcept { look_after(&lane, ready.participants); }
  void visit(Signals ready) noexcept { look_after(nullptr, ready.participants); }
  void look_after(Lane* inside, std::uint64_t ready) noexcept;
  void collect(Lane& lane, std::uint64_t& ready) noexcept;
  void decide(Lane& lane, Settled settled) noexcept;
  [[nodiscard]] std::uint32_t index_of(const Lane& lane) const noexcept {
    return static_cast<std::uint32_t>(&lane - lanes_.get());
  }

  // Asking.
  Offer offer(const Request& request, Waiter& waiter) noexcept;
  Answer await(BlockedWaiter& waiter, Instant start_by, const Asker& asker) noexcept;
  void settle(BlockedWaiter& waiter) noexcept;
  Answer admitted(const Lane& lane, loadline::Permit permit, const Asker& asker) noexcept;
  Answer answer_of(const Lane& lane, Settled settled, const Asker& asker) noexcept;
  [[nodiscard]] Offer refusal(Reason reason) const noexcept;

  // The background thread.
  void keep(std::promise<bool> seated) noexcept;
  bool attach() noexcept;
  void read_cpu(Instant now) noexcept;
  void expire_leases(Instant now) noexcept;
  void take_back(Leases::Overdue overdue, Instant now) noexcept;
  void call_back() noexcept;
  void orphan_lanes() noexcept;
  void drop_waiters(Lane& lane, Signals& ready) noexcept;
  void alarm() noexcept;

  const std::unique_ptr<const Clock> own_clock_;
  const Clock& clock_;
  const Options options_;
  const Policy names_;  // of this the names of classes and groups, which stay, and of signals
  std::atomic<std::uint8_t> default_class_;
  std::atomic<std::uint16_t> retry_after_;

  std::unique_ptr<void, Free> block_;
  Gate gate_;
  const std::uint32_t lane_count_;
  const std::unique_ptr<Lane[]> lanes_;
  const std::uint32_t lease_count_;
  const std::unique_ptr<Leases::Entry[]> lease_entries_;
  Leases leases_;
  Instant next_lease_round_{};
  CpuPressure cpu_;
  CpuPressure::Error cpu_fault_{};
  Instant next_cpu_reading_{};

  std::atomic<std::uint64_t> busy_{0};
  std::atomic<std::uint64_t> after_close_{0};
  std::atomic<std::uint64_t> leases_expired_{0};
  std::atomic<std::uint64_t> returned_late_{0};
  std::atomic<std::uint64_t> unleased_{0};

  std::atomic<AsyncWaiter*> decided_{nullptr};  // the newest; each knows the one before
  FutexWord alarm_{0};
  std::atomic<bool> ending_{false};
  // The Doorkeeper, and when that is going the permits that are out: the last of them deletes.
  std::atomic<std::uint64_t> owners_{1};
  bool started_ = false;
  std::thread keeper_;
};

}  // namespace loadline::threads
