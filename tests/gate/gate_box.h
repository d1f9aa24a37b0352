// A gate with memory of its own, and the time in the test's hands.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <vector>

#include "loadline/gate.h"

namespace loadline::test {

inline Policy policy_of(std::uint32_t limit, QueueSize queue = QueueSize::at_most(100),
                        Duration budget = Duration::millis(100)) {
  Policy policy;
  policy.limit = limit;
  policy.queue = queue;
  policy.wait_budget = budget;
  policy.heavy_share = 1000;  // a heavy one may fill a small limit; its share has tests of its own
  fill_defaults(policy);
  return policy;
}

inline constexpr std::uint8_t kCriticalPlus = 0;
inline constexpr std::uint8_t kCritical = 1;
inline constexpr std::uint8_t kSheddablePlus = 2;
inline constexpr std::uint8_t kSheddable = 3;

inline Request of_class(std::uint8_t importance, std::uint32_t cost = 1) {
  Request request;
  request.importance = importance;
  request.cost = cost;
  return request;
}

class GateBox {
 public:
  explicit GateBox(const Policy& policy, std::uint32_t participants = 4,
                   std::uint32_t tickets = 512)
      : capacity_(Capacity{participants, tickets}.for_tables(policy)),
        bytes_(Gate::bytes_for(capacity_)),
        memory_(std::aligned_alloc(128, (bytes_ + 127) / 128 * 128), &std::free) {
    const auto error = Gate::create(memory_.get(), bytes_, capacity_, policy, now, gate);
    EXPECT_EQ(error, Gate::OpenError::none);
  }

  // A seat is a robust mutex that the system keeps a list of: it must be left before its memory
  // goes.
  ~GateBox() {
    for (const Participant who : attached_) {
      gate.detach(who, now);
    }
  }
  GateBox(const GateBox&) = delete;
  GateBox& operator=(const GateBox&) = delete;

  Participant attach(std::uint32_t preferred = 0) {
    const Participant who = gate.attach(preferred, now);
    EXPECT_TRUE(who.valid());
    attached_.push_back(who);
    return who;
  }

  // Before the box goes.
  void detach(Participant who) {
    gate.detach(who, now);
    std::erase_if(attached_, [&](Participant one) { return one.index == who.index; });
  }

  void pass(Duration time) { now = now + time; }

  // Everything that this participant has to collect.
  std::vector<Settled> collect(Participant who) {
    std::vector<Settled> all;
    std::vector<Settled> some(16);
    Signals signals;
    while (const std::size_t n = gate.collect(who, some, now, signals)) {
      for (std::size_t i = 0; i < n; ++i) {
        all.push_back(std::move(some[i]));
      }
    }
    return all;
  }

  void* memory() { return memory_.get(); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

  Instant now{1'000'000'000'000};
  Gate gate;

 private:
  std::vector<Participant> attached_;
  Capacity capacity_;
  std::size_t bytes_;
  std::unique_ptr<void, decltype(&std::free)> memory_;
};

struct Sums {
  std::uint64_t admitted = 0, rejected = 0, cancelled = 0, waiting = 0;
  [[nodiscard]] std::uint64_t offered() const { return admitted + rejected + cancelled + waiting; }
};

inline Sums sums_of(const Snapshot& all) {
  Sums sums;
  for (std::uint32_t c = 0; c < all.class_count; ++c) {
    sums.admitted += all.classes[c].admitted;
    sums.cancelled += all.classes[c].cancelled;
    sums.waiting += all.classes[c].waiting;
    for (const std::uint64_t n : all.classes[c].rejected) {
      sums.rejected += n;
    }
  }
  return sums;
}

inline std::uint64_t rejected_for(const Snapshot& all, Reason reason) {
  std::uint64_t sum = 0;
  for (const Snapshot::Class& c : all.classes) {
    sum += c.rejected[static_cast<std::size_t>(reason)];
  }
  return sum;
}

}  // namespace loadline::test
