// A Doorkeeper with the time in the test's hands.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "loadline/threads.h"

namespace loadline::threads::test {

class HandClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const noexcept override { return {ns_.load()}; }
  void pass(Duration time) noexcept { ns_.fetch_add(time.ns); }

 private:
  std::atomic<std::int64_t> ns_{1'000'000'000'000};
};

inline Policy policy_of(std::uint32_t limit, QueueSize queue = QueueSize::at_most(100),
                        Duration budget = Duration::millis(100)) {
  Policy policy;
  policy.limit = limit;
  policy.queue = queue;
  policy.wait_budget = budget;
  return policy;
}

// An hour: whoever waits that long is not waited for by a test.
inline constexpr Duration kLongBudget = Duration::seconds(3600);

template <class Condition>
[[nodiscard]] bool within_ten_seconds(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (std::chrono::steady_clock::now() < end) {
    if (condition()) {
      return true;
    }
    std::this_thread::yield();
  }
  return condition();
}

// Its clock stands still unless a test moves it.
struct DoorBox {
  explicit DoorBox(const Policy& policy, Options options = {}) {
    options.clock = &clock;
    Opened opened = Doorkeeper::open(policy, std::move(options));
    EXPECT_TRUE(opened.door) << opened.error.text.data();
    door = std::move(opened.door);
  }

  [[nodiscard]] bool waiting_becomes(std::uint32_t count) const {
    return within_ten_seconds([&] { return door.snapshot().gate.waiting == count; });
  }

  HandClock clock;
  Doorkeeper door;
};

inline std::uint64_t rejected_for(const Doorkeeper& door, Reason reason) {
  const loadline::Snapshot all = door.snapshot().gate;
  std::uint64_t sum = 0;
  for (const loadline::Snapshot::Class& c : all.classes) {
    sum += c.rejected[static_cast<std::size_t>(reason)];
  }
  return sum;
}

struct Sums {
  std::uint64_t admitted = 0;
  std::uint64_t rejected = 0;
  std::uint64_t cancelled = 0;
};

inline Sums sums_of(const Doorkeeper& door) {
  Sums sums;
  for (const loadline::Snapshot::Class& c : door.snapshot().gate.classes) {
    sums.admitted += c.admitted;
    sums.cancelled += c.cancelled;
    for (const std::uint64_t n : c.rejected) {
      sums.rejected += n;
    }
  }
  return sums;
}

}  // namespace loadline::threads::test
