// Real atomics and real robust mutexes, of which every store and every locking is a step: at a
// chosen one the process dies, or stops. Plain stores to the block are steps as well; for those the
// gate's code is compiled with calls before each store, which store_hooks.cpp answers.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "loadline/gate.h"

namespace loadline::crash {

// What becomes of this process at its chosen step: SIGKILL or SIGSTOP, before the store happens.
enum class Fate : std::uint8_t { die, stop };

inline constexpr std::uint32_t kNoStep = 0;  // only count

// From here on the steps in `block` are counted, from 1, until disarm() returns their number.
void arm(std::uint32_t chosen, Fate fate, std::span<const std::byte> block) noexcept;
std::uint32_t disarm() noexcept;

void step() noexcept;

struct CrashingSync {
  // The atomic operations by their builtins: inside std::atomic the compiler would put calls of its
  // own before each.
  template <class T>
  class Atomic {
   public:
    [[gnu::no_sanitize("thread")]] T load(std::memory_order) const noexcept {
      T value{};
      __atomic_load(&value_, &value, __ATOMIC_SEQ_CST);
      return value;
    }
    [[gnu::no_sanitize("thread")]] void store(T value, std::memory_order) noexcept {
      step();
      __atomic_store(&value_, &value, __ATOMIC_SEQ_CST);
    }
    [[gnu::no_sanitize("thread")]] bool compare_exchange_strong(T& expected, T desired,
                                                                std::memory_order,
                                                                std::memory_order = {}) noexcept {
      step();
      return __atomic_compare_exchange(&value_, &expected, &desired, false, __ATOMIC_SEQ_CST,
                                       __ATOMIC_SEQ_CST);
    }
    bool compare_exchange_weak(T& expected, T desired, std::memory_order success,
                               std::memory_order failure = {}) noexcept {
      return compare_exchange_strong(expected, desired, success, failure);
    }
    [[gnu::no_sanitize("thread")]] T exchange(T value, std::memory_order) noexcept {
      step();
      T old{};
      __atomic_exchange(&value_, &value, &old, __ATOMIC_SEQ_CST);
      return old;
    }
    [[gnu::no_sanitize("thread")]] T fetch_add(T amount, std::memory_order) noexcept {
      step();
      return __atomic_fetch_add(&value_, amount, __ATOMIC_SEQ_CST);
    }
    [[gnu::no_sanitize("thread")]] T fetch_sub(T amount, std::memory_order) noexcept {
      step();
      return __atomic_fetch_sub(&value_, amount, __ATOMIC_SEQ_CST);
    }
    [[gnu::no_sanitize("thread")]] T fetch_or(T mask, std::memory_order) noexcept {
      step();
      return __atomic_fetch_or(&value_, mask, __ATOMIC_SEQ_CST);
    }
    [[gnu::no_sanitize("thread")]] T fetch_and(T mask, std::memory_order) noexcept {
      step();
      return __atomic_fetch_and(&value_, mask, __ATOMIC_SEQ_CST);
    }

    // For the test itself.
    [[nodiscard]] T peek() const noexcept { return load({}); }

   private:
    T value_{};
  };

  // The stores inside of the system's mutex are the system's affair; before and after are steps.
  class Mutex {
   public:
    bool init() noexcept { return mutex_.init(); }
    LockResult try_lock() noexcept {
      step();
      const LockResult result = mutex_.try_lock();
      step();
      return result;
    }
    LockResult lock() noexcept {
      step();
      const LockResult result = mutex_.lock();
      step();
      return result;
    }
    void unlock() noexcept {
      step();
      mutex_.unlock();
      step();
    }
    void make_consistent() noexcept {
      step();
      mutex_.make_consistent();
      step();
    }

   private:
    NativeSync::Mutex mutex_;
  };
};

using CrashingGate = BasicGate<CrashingSync>;

}  // namespace loadline::crash

namespace loadline {
extern template class BasicGate<crash::CrashingSync>;
}
