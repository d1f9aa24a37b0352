// A lane: one seat at the gate, used by whoever needs one for the length of one operation.
//
// A seat must be attached by a thread that outlives it and must not be used by two at once, but a
// program's threads come and go. So the background thread takes all seats, and a caller borrows one
// for as long as it speaks with the gate, well under a microsecond.
//
// Whoever makes another lane's tickets ready leaves mail there: it then looks after that lane
// itself if nobody is in it, and otherwise whoever is in it does so before leaving. Both are in one
// word, so that no mail is ever left lying between the two.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>

#include "futex.h"
#include "loadline/gate.h"

namespace loadline::threads {

class Waiter;

// For what is large and mostly untouched: calloc takes such memory from the system, which gives a
// page when it is first written.
struct Free {
  void operator()(void* memory) const noexcept { std::free(memory); }
};

class LaneDoor {
 public:
  bool try_enter() noexcept {
    std::uint32_t seen = word_.load(std::memory_order_relaxed);
    return (seen & kTaken) == 0 &&
           word_.compare_exchange_strong(seen, seen | kTaken, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }

  // Waits for its turn: for those who need this very lane. It is held for one operation, so a few
  // looks mostly suffice; then sleeps, since who holds it may have lost its processor.
  void enter() noexcept {
    for (int looks = 0; looks < 100; ++looks) {
      if (try_enter()) {
        return;
      }
    }
    std::uint32_t seen = word_.load(std::memory_order_relaxed);
    while (true) {
      // Whoever slept enters as if others slept too: they may, and a needless wake-up is cheap.
      const std::uint32_t next = seen | kTaken | kSleepers;
      if ((seen & kTaken) == 0) {
        if (word_.compare_exchange_weak(seen, next, std::memory_order_acquire,
                                        std::memory_order_relaxed)) {
          return;
        }
      } else if (seen == next || word_.compare_exchange_weak(seen, next, std::memory_order_relaxed,
                                                             std::memory_order_relaxed)) {
        sleep_while(word_, next);
        seen = word_.load(std::memory_order_relaxed);
      }
    }
  }

  // Leaves mail. True if nobody was in: then the caller is now, and the mail is its own to see to.
  bool post() noexcept {
    std::uint32_t seen = word_.load(std::memory_order_relaxed);
    while (true) {
      const bool empty = (seen & kTaken) == 0;
      const std::uint32_t next = empty ? (seen | kTaken) & ~kMail : seen | kMail;
      if (word_.compare_exchange_weak(seen, next, std::memory_order_acq_rel,
                                      std::memory_order_relaxed)) {
        return empty;
      }
    }
  }

  // False, and still inside, if there is mail to see to first.
  bool leave() noexcept {
    std::uint32_t seen = word_.load(std::memory_order_relaxed);
    while (true) {
      const bool mail = (seen & kMail) != 0;
      if (word_.compare_exchange_weak(seen, mail ? seen & ~kMail : 0, std::memory_order_acq_rel,
                                      std::memory_order_relaxed)) {
        if (!mail && (seen & kSleepers) != 0) {
          wake_one(word_);
        }
        return !mail;
      }
    }
  }

  // Leaves come what may; mail is for the next who enters.
  void leave_mail() noexcept {
    if ((word_.fetch_and(kMail, std::memory_order_release) & kSleepers) != 0) {
      wake_one(word_);
    }
  }

 private:
  static constexpr std::uint32_t kTaken = 1;
  static constexpr std::uint32_t kMail = 2;
  static constexpr std::uint32_t kSleepers = 4;

  FutexWord word_{0};
};

// All but the door belongs to whoever is in the lane.
struct alignas(128) Lane {
  LaneDoor door;
  bool closed = false;    // nobody is admitted any more
  bool orphaned = false;  // the gate is gone; permits only count themselves out
  Participant seat;
  std::uint64_t permits = 0;  // out there, leases that ran out included
  // By ticket index. A lane's own: a ticket's index is used again as soon as it is collected, but
  // not through the same lane before who collected it has told the waiter.
  std::unique_ptr<Waiter*[], Free> waiters;
};

}  // namespace loadline::threads
