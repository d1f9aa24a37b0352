// Many threads at one Doorkeeper. Run under ThreadSanitizer as well.
#include <random>

#include "door_box.h"

namespace loadline::threads::test {
namespace {

// What is really running, counted outside of the gate.
class Running {
 public:
  explicit Running(std::uint32_t limit) : limit_(limit) {}
  void begin() {
    if (running_.fetch_add(1) + 1 > limit_) {
      above_.fetch_add(1);
    }
  }
  void end() { running_.fetch_sub(1); }
  [[nodiscard]] int above() const { return above_.load(); }

 private:
  const std::uint32_t limit_;
  std::atomic<std::uint32_t> running_{0};
  std::atomic<int> above_{0};
};

struct Counts {
  std::atomic<std::uint64_t> admitted{0};
  std::atomic<std::uint64_t> rejected{0};
  std::atomic<std::uint64_t> cancelled{0};

  void add(const Answer& answer) {
    switch (answer.kind) {
      case Answer::Kind::admitted:
        admitted.fetch_add(1);
        break;
      case Answer::Kind::rejected:
        rejected.fetch_add(1);
        break;
      case Answer::Kind::cancelled:
        cancelled.fetch_add(1);
        break;
    }
  }
};

// All three ways, with callers who leave at random and work that ends on other threads. Nobody is
// told twice or never, and no more than the limit run.
TEST(Crowd, TheLimitHoldsAndTheSumsAgree) {
  constexpr std::uint32_t kLimit = 3;
  constexpr int kThreads = 12;
  constexpr int kRequests = 400;
  Opened opened = Doorkeeper::open(policy_of(kLimit, QueueSize::at_most(6), Duration::seconds(20)),
                                   {.lease = Duration::seconds(3600)});
  Doorkeeper& door = opened.door;
  Running running(kLimit);
  Counts counts;
  std::atomic<int> open{0};
  const auto work = [&](Answer answer) {
    counts.add(answer);
    if (answer) {
      running.begin();
      std::this_thread::yield();
      running.end();
      answer.permit.succeed();
    }
  };
  const auto one = [&](std::mt19937& random) {
    std::stop_source caller;
    Request request = door.request();
    request.importance = random() % 4;
    switch (random() % 4) {
      case 0:
        work(door.try_acquire(request));
        break;
      case 1:
        work(door.acquire(request, caller.get_token()));
        break;
      case 2: {
        std::thread leaves([&] { caller.request_stop(); });
        work(door.acquire(request, caller.get_token()));
        leaves.join();
        break;
      }
      default:
        open.fetch_add(1);
        Waiting waiting = door.async_acquire(request, [&](Answer answer) {
          work(std::move(answer));
          open.fetch_sub(1);
        });
        if (random() % 2 == 0) {
          waiting.cancel();
        }
    }
  };
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t + 1);
      for (int i = 0; i < kRequests; ++i) {
        one(random);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  ASSERT_TRUE(within_ten_seconds([&] { return open.load() == 0; }));
  EXPECT_EQ(running.above(), 0);
  const Snapshot all = door.snapshot();
  const Sums sums = sums_of(door);
  EXPECT_EQ(all.gate.in_flight, 0U);
  EXPECT_EQ(all.gate.waiting, 0U);
  EXPECT_EQ(all.gate.corruptions, 0U);
  EXPECT_EQ(all.gate.released_twice, 0U);
  EXPECT_EQ(all.leases_expired, 0U);
  // The callers' count against the gate's. Whoever left in the moment in which it was granted was
  // admitted to the gate, and one that left before it asked was never seen.
  EXPECT_EQ(counts.rejected.load(), sums.rejected + all.busy);
  EXPECT_LE(counts.admitted.load(), sums.admitted);
  EXPECT_LE(sums.admitted + sums.cancelled, counts.admitted.load() + counts.cancelled.load());
  EXPECT_EQ(counts.admitted + counts.rejected + counts.cancelled,
            std::uint64_t{kThreads} * kRequests);
}

// A pool's threads come and go, and what one took another gives back.
TEST(Crowd, ThreadsComeAndGoAndPermitsChangeHands) {
  DoorBox box(policy_of(64));
  for (int round = 0; round < 100; ++round) {
    Answer answer;
    std::thread([&] { answer = box.door.acquire(box.door.request()); }).join();
    ASSERT_TRUE(answer);
    std::thread([permit = std::move(answer.permit)]() mutable { permit.succeed(); }).join();
  }
  EXPECT_EQ(box.door.snapshot().gate.in_flight, 0U);
  EXPECT_EQ(sums_of(box.door).admitted, 100U);
}

// Leases run out while their holders give back: every slot comes back once.
TEST(Crowd, LeasesThatRunOutLoseNoSlotAndGainNone) {
  constexpr std::uint32_t kLimit = 4;
  DoorBox box(policy_of(kLimit, QueueSize::none()), {.lease = Duration::millis(100)});
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      while (!done.load()) {
        Answer answer = box.door.try_acquire(box.door.request());
        std::this_thread::yield();
        answer.permit.succeed();
      }
    });
  }
  // An hour an hour: whatever is out when the background thread looks is overdue.
  EXPECT_TRUE(within_ten_seconds([&] {
    box.clock.pass(Duration::seconds(3600));
    return box.door.snapshot().leases_expired > 20;
  }));
  done.store(true);
  for (std::thread& thread : threads) {
    thread.join();
  }
  ASSERT_TRUE(within_ten_seconds([&] { return box.door.snapshot().gate.in_flight == 0; }));
  std::vector<Answer> all;
  for (std::uint32_t i = 0; i < kLimit; ++i) {
    all.push_back(box.door.try_acquire(box.door.request()));
    EXPECT_TRUE(all.back());
  }
  EXPECT_FALSE(box.door.try_acquire(box.door.request()));
}

}  // namespace
}  // namespace loadline::threads::test
