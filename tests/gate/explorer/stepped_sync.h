// Atomics and mutexes that hand control to the explorer before each operation. Memory orders are
// ignored: what is explored is sequentially consistent.
#pragma once

#include <atomic>
#include <cstdint>

#include "engine.h"
#include "loadline/gate/sync.h"

namespace loadline::explorer {

struct SteppedSync {
  template <class T>
  class Atomic {
   public:
    T load(std::memory_order) const noexcept {
      read(Step::read);
      return value_;
    }
    void store(T value, std::memory_order) noexcept {
      engine().before(Step::write, this);
      replace(value);
    }
    // A weak exchange that fails without cause only goes round its loop again; both are strong
    // here.
    bool compare_exchange_strong(T& expected, T desired, std::memory_order,
                                 std::memory_order = {}) noexcept {
      read(Step::exchange);
      if (value_ != expected) {
        expected = value_;
        return false;
      }
      replace(desired);
      return true;
    }
    bool compare_exchange_weak(T& expected, T desired, std::memory_order success,
                               std::memory_order failure = {}) noexcept {
      return compare_exchange_strong(expected, desired, success, failure);
    }
    T fetch_add(T amount, std::memory_order) noexcept {
      return exchange([&](T old) { return static_cast<T>(old + amount); });
    }
    T fetch_sub(T amount, std::memory_order) noexcept {
      return exchange([&](T old) { return static_cast<T>(old - amount); });
    }
    T fetch_or(T mask, std::memory_order) noexcept {
      return exchange([&](T old) { return static_cast<T>(old | mask); });
    }
    T fetch_and(T mask, std::memory_order) noexcept {
      return exchange([&](T old) { return static_cast<T>(old & mask); });
    }

    // For the explorer itself: no step.
    [[nodiscard]] T peek() const noexcept { return value_; }

   private:
    static std::uint64_t bits(T value) noexcept { return static_cast<std::uint64_t>(value); }
    void read(Step step) const noexcept {
      if (engine().before(step, this) != Weight::blind) {
        engine().learn(bits(value_));
      }
    }
    void replace(T value) noexcept {
      const std::uint64_t before = bits(value_);
      value_ = value;
      engine().wrote(this, before, bits(value));
    }
    template <class Change>
    T exchange(Change change) noexcept {
      read(Step::exchange);
      const T old = value_;
      replace(change(old));
      return old;
    }

    T value_{};
  };

  // A robust mutex as POSIX has it: who dies inside leaves it to the next with word of it, and one
  // that is unlocked without having been made consistent is broken for good.
  class Mutex {
   public:
    bool init() noexcept { return true; }

    LockResult lock() noexcept {
      engine().before(Step::lock, this);
      if (engine().time_out_now()) {
        return LockResult::timed_out;
      }
      return take();
    }
    LockResult try_lock() noexcept {
      engine().before(Step::exchange, this);
      return take();
    }
    void unlock() noexcept {
      engine().before(Step::unlock, this);
      broken_ = broken_ || orphaned_;
      holder_ = 0;
    }
    void make_consistent() noexcept {
      engine().before(Step::write, this);
      orphaned_ = false;
    }

    [[nodiscard]] bool held_by(std::uint32_t who) const noexcept { return holder_ == who + 1; }
    [[nodiscard]] bool free() const noexcept { return holder_ == 0; }
    [[nodiscard]] bool settled() const noexcept { return holder_ == 0 && !orphaned_; }
    void holder_died(std::uint32_t who) noexcept {
      if (held_by(who)) {
        holder_ = 0;
        orphaned_ = true;
      }
    }

   private:
    LockResult take() noexcept {
      LockResult result = LockResult::timed_out;
      if (broken_) {
        result = LockResult::broken;
      } else if (holder_ == 0) {
        holder_ = engine().current() + 1;
        result = orphaned_ ? LockResult::owner_died : LockResult::locked;
        engine().learn_guarded();
      }
      engine().learn(static_cast<std::uint64_t>(result));
      return result;
    }

    std::uint32_t holder_ = 0;  // thread + 1; 0: nobody
    bool orphaned_ = false;
    bool broken_ = false;
  };
};

}  // namespace loadline::explorer
