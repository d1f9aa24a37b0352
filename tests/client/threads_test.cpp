// Many threads at one Caller. Run under ThreadSanitizer as well.
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "at.h"

namespace loadline::client::test {
namespace {

#if defined(__SANITIZE_THREAD__)
constexpr int kCalls = 5'000;
#else
constexpr int kCalls = 50'000;
#endif
constexpr int kThreads = 4;

Policy with_everything() {
  Policy policy;
  policy.throttle.on = true;
  policy.throttle.most = 500;
  policy.hedge.after = Duration::millis(1);
  policy.budget.share = 500;
  policy.budget.at_once_share = 500;
  policy.breaker.open = Duration::millis(20);
  return policy;
}

// All live in the same time, which moves as they work.
struct World {
  explicit World(const Policy& policy) : caller(policy, kBegin) {}

  Instant now() { return {clock.fetch_add(20'000) + 20'000}; }

  Caller caller;
  std::atomic<std::int64_t> clock{kBegin.ns};
};

Answer any_answer(std::mt19937_64& random) {
  Answer answer =
      answer_of(random() % 2 == 0 ? Ended::success : static_cast<Ended>(random() % kEnds));
  answer.another_instance = random() % 2 == 0;
  if (random() % 4 == 0) {
    answer.told = Told::wait(Duration::micros(static_cast<std::int64_t>(random() % 100)));
  }
  return answer;
}

void one_call(World& world, std::mt19937_64& random) {
  Call call(world.now() + Duration::seconds(100), Call::idempotent);
  Start start = world.caller.begin(call, world.now());
  while (start.send()) {
    Start hedge = world.caller.hedge(call, start.attempt, world.now());
    if (hedge.send()) {
      world.caller.ended(call, hedge.attempt, any_answer(random), world.now());
    }
    const Next next = world.caller.ended(call, start.attempt, any_answer(random), world.now());
    if (!next.retry()) {
      break;
    }
    if (random() % 10 == 0) {
      world.caller.abandon(call, world.now());
      break;
    }
    start = world.caller.retry(call, std::max(next.at, world.now()));
  }
  EXPECT_FALSE(call.active());
}

TEST(Threads, NothingIsLostAmongThem) {
  World world(with_everything());
  std::atomic<bool> stop{false};
  std::thread reader([&] {
    std::array<Event, EventRing::kEvents> events{};
    std::uint64_t last = 0;
    while (!stop) {
      const Snapshot seen = world.caller.snapshot(world.now());
      EXPECT_LE(seen.budget, world.caller.policy().budget.cap * 1000);
      const std::size_t n = world.caller.events(events);
      for (std::size_t i = 0; i < n; ++i) {
        EXPECT_GT(static_cast<int>(events[i].kind), 0);
        EXPECT_LT(static_cast<std::uint32_t>(events[i].kind), kEventKinds);
        EXPECT_TRUE(i == 0 || events[i].number > events[i - 1].number);
      }
      EXPECT_TRUE(n == 0 || events[n - 1].number >= last || n < events.size());
      last = n == 0 ? last : events[n - 1].number;
    }
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&world, t] {
      std::mt19937_64 random(static_cast<std::uint64_t>(t));
      for (int i = 0; i < kCalls; ++i) {
        one_call(world, random);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  stop = true;
  reader.join();
  const Snapshot seen = world.caller.snapshot(world.now());
  EXPECT_EQ(seen.counts.begun, std::uint64_t{kThreads} * kCalls);
  EXPECT_EQ(seen.active, 0U);
  EXPECT_EQ(seen.retries, 0U);
  EXPECT_EQ(seen.counts.misused, 0U);
  EXPECT_TRUE(adds_up(seen, 0));
  EXPECT_GT(seen.counts.retries, 0U);
  EXPECT_GT(seen.counts.hedges, 0U);
}

// However many come at once, no more than the probes pass.
TEST(Threads, NoMoreProbesThanAllowed) {
  for (std::uint64_t round = 0; round < 200; ++round) {
    BreakerPolicy policy;
    policy.open_jitter = 0;
    CircuitBreaker breaker(policy, round, kBegin);
    CircuitBreaker::Changes changes;
    for (int i = 0; i < 10; ++i) {
      breaker.settle(breaker.ask(kBegin, changes), CircuitBreaker::Result::bad, kBegin, changes);
    }
    std::atomic<int> passed{0};
    std::atomic<int> ready{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        ++ready;
        while (ready != kThreads) {
          std::this_thread::yield();
        }
        CircuitBreaker::Changes mine;
        for (int i = 0; i < 10; ++i) {
          passed += breaker.ask(at_ms(1000), mine).allowed ? 1 : 0;
        }
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    ASSERT_EQ(passed, 3);
  }
}

}  // namespace
}  // namespace loadline::client::test
