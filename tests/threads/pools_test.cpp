// Bulkheads: one gate a kind of work, so that a full one leaves the others alone.
#include <latch>
#include <vector>

#include "door_box.h"

namespace loadline::threads::test {
namespace {

constexpr std::uint32_t kBatchSlots = 4;
constexpr std::uint32_t kInteractiveSlots = 4;

// Batch jobs that have begun and do not end before the test does.
class StuckBatch {
 public:
  StuckBatch(Doorkeeper& door, std::uint32_t jobs) : begun_(jobs) {
    for (std::uint32_t i = 0; i < jobs; ++i) {
      threads_.emplace_back([this, &door] {
        const Answer answer = door.acquire(door.request(), {}, "nightly report");
        begun_.count_down();
        end_.wait();
      });
    }
    begun_.wait();
  }
  ~StuckBatch() {
    end_.count_down();
    for (std::thread& thread : threads_) {
      thread.join();
    }
  }
  StuckBatch(const StuckBatch&) = delete;
  StuckBatch& operator=(const StuckBatch&) = delete;

 private:
  std::latch begun_;
  std::latch end_{1};
  std::vector<std::thread> threads_;
};

// Ten thousand requests by as many threads as have slots, each trying a batch job on the way; the
// share that was served.
double served(Doorkeeper& interactive, Doorkeeper& batch) {
  constexpr int kRequests = 2'500;
  std::atomic<int> served{0};
  std::vector<std::thread> threads;
  for (std::uint32_t t = 0; t < kInteractiveSlots; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kRequests; ++i) {
        if (i % 10 == 0) {
          EXPECT_FALSE(batch.try_acquire(batch.request())) << "batch is full";
        }
        if (Answer answer = interactive.acquire(interactive.request())) {
          answer.permit.succeed();
          served.fetch_add(1);
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  return double(served.load()) / (double(kRequests) * kInteractiveSlots);
}

TEST(Pools, AFullBatchLeavesTheInteractiveAlone) {
  Opened batch = Doorkeeper::open(policy_of(kBatchSlots, QueueSize::none()));
  Opened interactive = Doorkeeper::open(policy_of(kInteractiveSlots));
  const StuckBatch stuck(batch.door, kBatchSlots);
  EXPECT_GE(served(interactive.door, batch.door), 0.999);
  EXPECT_EQ(batch.door.snapshot().gate.in_flight, kBatchSlots);
}

// What the two gates are for: in one, the batch takes every slot there is.
TEST(Pools, InOneGateTheBatchWouldTakeAll) {
  Opened both = Doorkeeper::open(policy_of(kBatchSlots + kInteractiveSlots, QueueSize::none()));
  const StuckBatch stuck(both.door, kBatchSlots + kInteractiveSlots);
  EXPECT_EQ(served(both.door, both.door), 0.0);
}

}  // namespace
}  // namespace loadline::threads::test
