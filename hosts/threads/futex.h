// Sleeping on a 32-bit word (futex(2)): with a timeout by CLOCK_MONOTONIC, and without a mutex.
//
// Not std::atomic::wait, which has no timeout; not std::condition_variable, whose timed wait GCC
// 12's ThreadSanitizer does not know and would report. As with every futex, sleep() may return for
// no reason, and wake() may hit a word that is gone since: only the word itself says what happened.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>

#include "loadline/time.h"

namespace loadline::threads {

using FutexWord = std::atomic<std::uint32_t>;
static_assert(sizeof(FutexWord) == sizeof(std::uint32_t) && FutexWord::is_always_lock_free);

// Sleeps while `word` is `seen`, for at most `longest`.
inline void sleep_while(const FutexWord& word, std::uint32_t seen,
                        Duration longest = Duration::max()) noexcept {
  constexpr std::int64_t kSecond = 1'000'000'000;
  const timespec time{.tv_sec = longest.ns / kSecond, .tv_nsec = longest.ns % kSecond};
  const timespec* const timeout = longest == Duration::max() ? nullptr : &time;
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, seen, timeout, nullptr, 0);
}

inline void wake_one(const FutexWord& word) noexcept {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

}  // namespace loadline::threads
