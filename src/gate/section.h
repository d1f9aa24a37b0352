// A section: the time during which one caller holds the gate's mutex.
#pragma once

#include "loadline/gate.h"

namespace loadline {

template <class Sync>
class BasicGate<Sync>::Section {
 public:
  Section(BasicGate& gate, Instant now) noexcept : gate_(gate) {
    typename Sync::Mutex& mutex = gate_.guarded().mutex;
    switch (mutex.lock()) {
      case LockResult::locked:
        held_ = true;
        break;
      case LockResult::owner_died:
        held_ = true;
        gate_.repair();
        mutex.make_consistent();
        break;
      case LockResult::timed_out:
      case LockResult::broken:
        return;
    }
    // Callers read their clocks before they queue for the mutex, so times arrive out of order.
    gate_.guarded().now = std::max(gate_.guarded().now, now);
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
  BasicGate& gate_;
  bool held_ = false;
};

}  // namespace loadline
