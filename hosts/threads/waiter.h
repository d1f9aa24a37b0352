// Someone who waits in the gate's queue, and how it is told.
//
// Its lane's table has it, by ticket, from `registered` until `decide`. Both are called in the
// lane, once, and must be short; `decide` by whoever took it out of the table.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include "futex.h"
#include "loadline/decision.h"
#include "loadline/threads.h"

namespace loadline::threads {

struct Lane;

class Waiter {
 public:
  Waiter() noexcept = default;
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  virtual void registered() noexcept = 0;
  // How it ended. Kind::unknown: withdrawn, since the caller has left.
  virtual void decide(Settled settled) noexcept = 0;
  [[nodiscard]] virtual bool waits() const noexcept = 0;

  // Set before it is registered.
  Lane* lane = nullptr;
  Ticket ticket;

 protected:
  ~Waiter() = default;
};

// A blocked thread. Lives on its stack.
class BlockedWaiter final : public Waiter {
 public:
  void registered() noexcept override {}
  void decide(Settled settled) noexcept override {
    settled_ = std::move(settled);
    tell(kDecided);
  }
  [[nodiscard]] bool waits() const noexcept override { return (state() & kDecided) == 0; }

  // Its caller has left. By any thread.
  void stop() noexcept { tell(kStopped); }
  [[nodiscard]] bool stopped() const noexcept { return (state() & kStopped) != 0; }

  // Its own thread's: until one of the two, or for at most `longest`.
  void sleep(Duration longest) noexcept {
    if (state() == 0) {
      sleep_while(state_, 0, longest);
    }
  }
  // Likewise, once decided.
  Settled take() noexcept { return std::move(settled_); }

 private:
  static constexpr std::uint32_t kDecided = 1;
  static constexpr std::uint32_t kStopped = 2;

  [[nodiscard]] std::uint32_t state() const noexcept {
    return state_.load(std::memory_order_acquire);
  }
  // After the store its thread may be on its way, and this part of its stack another's; then it is
  // a wake-up for no reason, as every futex has to bear.
  void tell(std::uint32_t what) noexcept {
    const FutexWord& word = state_;
    state_.fetch_or(what, std::memory_order_release);
    wake_one(word);
  }

  FutexWord state_{0};
  Settled settled_;
};

// A callback. Its own owner while it waits, until the background thread has called it back; besides
// it belongs to whoever may cancel it.
class AsyncWaiter final : public Waiter, public std::enable_shared_from_this<AsyncWaiter> {
 public:
  AsyncWaiter(Engine& engine, std::unique_ptr<detail::Callback> callback, Instant deadline,
              std::stop_token caller, std::string_view name) noexcept
      : deadline(deadline),
        caller(std::move(caller)),
        name(name),
        engine_(engine),
        callback_(std::move(callback)) {}

  void registered() noexcept override;
  void decide(Settled settled) noexcept override;
  [[nodiscard]] bool waits() const noexcept override {
    return stage_.load(std::memory_order_seq_cst) == Stage::waits;
  }
  // By anyone who has a share in it. False if it waits no more.
  bool cancel() noexcept;

  // From now on a caller that leaves cancels it. To be called before it is registered, since later
  // the background thread may be done with it already; so one that leaves in between is found by
  // left_early(), to be asked afterwards.
  void watch_caller() noexcept { on_stop_.emplace(caller, OnStop{this}); }
  [[nodiscard]] bool left_early() const noexcept { return left_.load(std::memory_order_seq_cst); }

  // Calls back. Not in a lane.
  void answer(Answer answer) noexcept;

  const Instant deadline;
  std::stop_token caller;
  const LeaseName name;

 private:
  friend class Engine;  // its list, and what was decided

  struct OnStop {
    AsyncWaiter* waiter;
    void operator()() const noexcept {
      waiter->left_.store(true, std::memory_order_seq_cst);
      waiter->cancel();
    }
  };
  enum class Stage : std::uint8_t { asks, waits, decided };

  Engine& engine_;  // gone, perhaps, once it is decided
  std::unique_ptr<detail::Callback> callback_;
  std::atomic<Stage> stage_{Stage::asks};
  std::atomic<bool> left_{false};
  Settled settled_;
  std::shared_ptr<AsyncWaiter> self_;
  AsyncWaiter* next_ = nullptr;
  std::optional<std::stop_callback<OnStop>> on_stop_;
};

}  // namespace loadline::threads
