// A section: the time during which one caller holds the gate's mutex.
#pragma once

#include "loadline/gate.h"

namespace loadline {

template <class Sync>
class BasicGate<Sync>::Section {
 public:
  // How often the mutex is asked for, a millisecond each: once on a request's way; longer where
  // somebody starts, stops or changes the rules, and would have to be told "not now".
  enum class Patience : int { request = 1, administration = 100 };

  Section(BasicGate& gate, Instant now, Patience patience = Patience::request) noexcept
      : gate_(gate) {
    for (int tries = static_cast<int>(patience); tries > 0 && !held_; --tries) {
      held_ = enter();
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
  bool enter() noexcept {
    typename Sync::Mutex& mutex = gate_.guarded().mutex;
    switch (mutex.lock()) {
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
