// The atomics and mutexes of a gate, as one template parameter: real ones here; a test may hand in
// others that it can step one operation at a time.
#pragma once

#include <pthread.h>
#include <time.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

namespace loadline {

enum class LockResult : std::uint8_t {
  locked,
  owner_died,  // locked; the last owner died inside and left things half-done
  timed_out,   // not locked within the bound
  broken,      // not locked, and never will be
};

// Real atomics and robust, process-shared mutexes. A mutex that its owner's death left locked is
// handed to the next who asks, with word of it (pthread_mutexattr_setrobust(3)).
struct NativeSync {
  template <class T>
  using Atomic = std::atomic<T>;
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

  class Mutex {
   public:
    bool init() noexcept {
      pthread_mutexattr_t attributes;
      if (pthread_mutexattr_init(&attributes) != 0) {
        return false;
      }
      const bool ready = pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED) == 0 &&
                         pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST) == 0 &&
                         pthread_mutex_init(&mutex_, &attributes) == 0;
      pthread_mutexattr_destroy(&attributes);
      return ready;
    }

    LockResult try_lock() noexcept { return result_of(pthread_mutex_trylock(&mutex_)); }

    // Waits at most a millisecond: a section is far shorter, so an owner that takes longer has been
    // stopped or preempted, and a request must not wait for that.
    LockResult lock() noexcept {
      const LockResult at_once = try_lock();
      if (at_once != LockResult::timed_out) {
        return at_once;
      }
      timespec until{};
      clock_gettime(kClock, &until);
      until.tv_nsec += kLongestWait;
      if (until.tv_nsec >= kSecond) {
        until.tv_nsec -= kSecond;
        ++until.tv_sec;
      }
      return result_of(lock_until(&mutex_, &until));
    }

    void unlock() noexcept { pthread_mutex_unlock(&mutex_); }
    void make_consistent() noexcept { pthread_mutex_consistent(&mutex_); }

   private:
    // By the steady clock, so that setting the wall clock cannot turn a millisecond into an hour.
    // GCC 12's ThreadSanitizer does not know pthread_mutex_clocklock and would report every unlock
    // after it, so there the older call stands in.
#ifdef __SANITIZE_THREAD__
    static constexpr clockid_t kClock = CLOCK_REALTIME;
    static int lock_until(pthread_mutex_t* mutex, const timespec* until) noexcept {
      return pthread_mutex_timedlock(mutex, until);
    }
#else
    static constexpr clockid_t kClock = CLOCK_MONOTONIC;
    static int lock_until(pthread_mutex_t* mutex, const timespec* until) noexcept {
      return pthread_mutex_clocklock(mutex, kClock, until);
    }
#endif

    static constexpr long kSecond = 1'000'000'000;
    static constexpr long kLongestWait = 1'000'000;

    static LockResult result_of(int error) noexcept {
      switch (error) {
        case 0:
          return LockResult::locked;
        case EOWNERDEAD:
          return LockResult::owner_died;
        case EBUSY:
        case ETIMEDOUT:
          return LockResult::timed_out;
        default:
          return LockResult::broken;
      }
    }

    pthread_mutex_t mutex_;
  };
};

}  // namespace loadline
