// Many threads at one gate. Run under ThreadSanitizer as well.
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <random>
#include <thread>

#include "gate_box.h"

namespace loadline::test {
namespace {

Instant clock_now() {
  return {std::chrono::duration_cast<std::chrono::nanoseconds>(
              std::chrono::steady_clock::now().time_since_epoch())
              .count()};
}

class Crowd {
 public:
  Crowd(std::uint32_t limit, std::uint32_t threads)
      : limit_(limit), box_(policy_of(limit, QueueSize::at_most(8)), threads, 512) {}

  // What is really running, counted outside of the gate.
  void enter(std::uint32_t cost) {
    const std::uint32_t now_running = running_.fetch_add(cost) + cost;
    if (now_running > limit_) {
      above_.fetch_add(1);
    }
  }
  void leave(std::uint32_t cost) { running_.fetch_sub(cost); }

  void work(std::uint32_t seat, int requests) {
    const Participant me = box_.gate.attach(seat, clock_now());
    ASSERT_TRUE(me.valid());
    std::mt19937 random(seat + 1);
    for (int i = 0; i < requests; ++i) {
      one(me, random);
      collect(me, random);
    }
    const Instant patience = clock_now() + Duration::seconds(30);
    while (waiting_of(me) != 0) {
      ASSERT_LT(clock_now(), patience) << "someone who waits is never told";
      box_.gate.tick(clock_now());
      collect(me, random);
      std::this_thread::yield();
    }
    box_.gate.detach(me, clock_now());
  }

  void one(Participant me, std::mt19937& random) {
    const Request request = of_class(random() % 4, 1 + random() % 2);
    offered_.fetch_add(1);
    Offer answer = box_.gate.offer(me, request, clock_now());
    if (answer.kind == Offer::Kind::admit) {
      run(me, answer.permit);
    } else if (answer.kind == Offer::Kind::wait) {
      mine_[me.index].push_back(answer.ticket);
      if (random() % 3 == 0) {
        cancel_last(me);
      }
    }
    if (random() % 64 == 0) {
      box_.gate.tick(clock_now());
    }
  }

  void cancel_last(Participant me) {
    box_.gate.cancel(me, mine_[me.index].back(), clock_now());
    mine_[me.index].pop_back();
  }

  void run(Participant me, Permit& permit) {
    const std::uint32_t cost = permit.cost();
    enter(cost);
    std::this_thread::yield();
    leave(cost);
    box_.gate.release(me, permit, Outcome::success, clock_now());
  }

  void collect(Participant me, std::mt19937&) {
    std::array<Settled, 4> some;
    Signals signals;  // nobody sleeps here
    while (const std::size_t n = box_.gate.collect(me, some, clock_now(), signals)) {
      for (std::size_t i = 0; i < n; ++i) {
        std::erase(mine_[me.index], some[i].ticket);
        if (some[i].kind == Settled::Kind::admit) {
          run(me, some[i].permit);
        }
      }
    }
  }

  std::size_t waiting_of(Participant me) const { return mine_[me.index].size(); }

  std::uint32_t limit_;
  GateBox box_;
  std::atomic<std::uint32_t> running_{0};
  std::atomic<std::uint32_t> above_{0};
  std::atomic<std::uint64_t> offered_{0};
  std::array<std::vector<Ticket>, kMaxParticipants> mine_;
};

TEST(Threads, NeverRunMoreThanTheLimitAndLoseNobody) {
  constexpr std::uint32_t kThreads = 4;
  Crowd crowd(3, kThreads);
  std::vector<std::thread> threads;
  for (std::uint32_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&crowd, t] { crowd.work(t, 10'000); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(crowd.above_.load(), 0U);
  EXPECT_EQ(crowd.box_.gate.in_flight(), 0U);
  const Snapshot all = crowd.box_.gate.snapshot();
  EXPECT_EQ(all.waiting, 0U);
  EXPECT_EQ(sums_of(all).offered(), crowd.offered_.load());
  EXPECT_EQ(all.corruptions, 0U);
  EXPECT_EQ(all.reclaimed, 0U);
}

TEST(Threads, ThatComeAtTheSameInstantShareExactlyTheLimit) {
  constexpr std::uint32_t kThreads = 64;
  GateBox box(policy_of(10, QueueSize::none()), kThreads);
  std::barrier together(kThreads);
  std::atomic<int> admitted{0};
  std::vector<std::thread> threads;
  for (std::uint32_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const Participant me = box.gate.attach(t, box.now);
      together.arrive_and_wait();
      Offer answer = box.gate.offer(me, of_class(kCritical), box.now);
      admitted += answer.kind == Offer::Kind::admit;
      together.arrive_and_wait();
      box.gate.detach(me, box.now);
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(admitted.load(), 10);
  EXPECT_EQ(box.gate.in_flight(), 0U);  // a seat that is left gives back what it held
}

TEST(Threads, ALimitThatMovesUnderLoadIsKeptByEveryAdmissionAfterIt) {
  constexpr int kLow = 2;
  GateBox box(policy_of(kLow, QueueSize::none()), 2);
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> phase{0};  // even: the limit was set to kLow, and not touched since
  std::atomic<int> above{0};
  std::thread worker([&] {
    const Participant me = box.gate.attach(1, box.now);
    while (!stop.load()) {
      const std::uint64_t before = phase.load();
      std::vector<Offer> running;
      for (int i = 0; i < 12; ++i) {
        running.push_back(box.gate.offer(me, of_class(kCriticalPlus), box.now));
      }
      const auto admitted = std::count_if(running.begin(), running.end(), [](const Offer& answer) {
        return answer.kind == Offer::Kind::admit;
      });
      above += admitted > kLow && before % 2 == 0 && phase.load() == before;
      for (Offer& answer : running) {
        if (answer.permit.held()) {
          box.gate.release(me, answer.permit, Outcome::success, box.now);
        }
      }
    }
    box.gate.detach(me, box.now);
  });
  Signals signals;
  for (int i = 0; i < 3'000; ++i) {
    phase.fetch_add(1);
    ASSERT_TRUE(box.gate.set_limit(8, box.now, signals));
    std::this_thread::yield();
    ASSERT_TRUE(box.gate.set_limit(kLow, box.now, signals));
    phase.fetch_add(1);
    std::this_thread::yield();
  }
  stop.store(true);
  worker.join();
  EXPECT_EQ(above.load(), 0);
}

}  // namespace
}  // namespace loadline::test
