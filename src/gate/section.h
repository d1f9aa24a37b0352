// A section: the time during which one caller holds the gate's mutex.
#pragma once

#include "loadline/gate.h"

namespace loadline {

template <class Sync>
class BasicGate<Sync>::Section {
 public:
  // How often the mutex is waited for, a millisecond each: not at all by who has another way; once
  // on a request's way; longer where somebody starts, stops or changes the rules, and would have to
  // be told "not now".
  enum class Patience : int { none = 0, request = 1, administration = 100 };

  Section(BasicGate& gate, Instant now, Patience patience = Patience::request) noexcept
      : gate_(gate) {
    typename Sync::Mutex& mutex = gate_.guarded().mutex;
    if (patience == Patience::none) {
      held_ = enter(mutex, mutex.try_lock());
    }
    for (int tries = static_cast<int>(patience); tries > 0 && !held_; --tries) {
      held_ = enter(mutex, mutex.lock());
    }
    if (held_) {
      // Callers read their clocks before they queue for the mutex, so times arrive out of order.
      gate_.guarded().now = std::max(gate_.guarded().now, now);
    }
  }
  ~Section() {
    if (held_) {
      gate_.guarded().mutex.unlock();
    }
  }
  Section(const Section&) = delete;
  Section& operator=(const Section&) = delete;

  [[nodiscard]] bool held() const noexcept { return held_; }
  [[nodiscard]] Instant now() const noexcept { return gate_.guarded().now; }

 private:
  bool enter(typename Sync::Mutex& mutex, LockResult result) noexcept {
    switch (result) {
      case LockResult::locked:
        return true;
      case LockResult::owner_died:
        gate_.repair();
        mutex.make_consistent();
        return true;
      case LockResult::timed_out:
      case LockResult::broken:
        return false;
    }
    return false;
  }

  BasicGate& gate_;
  bool held_ = false;
};

}  // namespace loadline
