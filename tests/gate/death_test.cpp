// What happens to a gate in shared memory when those who use it die, at any moment.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <new>
#include <random>

#include "gate_box.h"

namespace loadline::test {
namespace {

Instant clock_now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return {std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec};
}

// A gate in memory that children share.
class SharedGate {
 public:
  explicit SharedGate(const Policy& policy) {
    const Capacity capacity{8, 512};
    bytes_ = Gate::bytes_for(capacity);
    memory_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    EXPECT_EQ(Gate::create(memory_, bytes_, capacity, policy, clock_now(), gate),
              Gate::OpenError::none);
  }
  ~SharedGate() { munmap(memory_, bytes_); }

  // Runs `body` in a child that never returns into the test.
  template <class Body>
  pid_t child(Body body) {
    const pid_t pid = fork();
    if (pid == 0) {
      body();
      _exit(0);
    }
    return pid;
  }

  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
  Gate gate;
};

void kill_and_reap(pid_t pid) {
  kill(pid, SIGKILL);
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
}

template <class Condition>
bool within_ten_seconds(Condition condition) {
  const Instant end = clock_now() + Duration::seconds(10);
  while (clock_now() < end) {
    if (condition()) {
      return true;
    }
    usleep(200);
  }
  return condition();
}

TEST(Death, WhatADeadWorkerHeldComesBack) {
  SharedGate shared(policy_of(100));
  const pid_t pid = shared.child([&] {
    const Participant me = shared.gate.attach(0, clock_now());
    for (int i = 0; i < 25; ++i) {
      shared.gate.offer(me, of_class(kCritical), clock_now());
    }
    pause();
  });
  ASSERT_TRUE(within_ten_seconds([&] { return shared.gate.in_flight() == 25; }));
  kill_and_reap(pid);
  const Participant me = shared.gate.attach(1, clock_now());
  shared.gate.tick(clock_now());
  EXPECT_EQ(shared.gate.in_flight(), 0U);
  EXPECT_EQ(shared.gate.snapshot().reclaimed, 1U);
  EXPECT_EQ(shared.gate.snapshot().reclaimed_units, 25U);
  shared.gate.detach(me, clock_now());
}

// Three times the limit, and enforced while it runs.
TEST(Death, WhatADeadWorkerWasLetThroughWithComesBack) {
  SharedGate shared(policy_of(10, QueueSize::none()));
  shared.gate.set_mode(Mode::observe, clock_now());
  const pid_t pid = shared.child([&] {
    const Participant me = shared.gate.attach(0, clock_now());
    for (int i = 0; i < 30; ++i) {
      shared.gate.offer(me, of_class(kCritical), clock_now());
    }
    pause();
  });
  ASSERT_TRUE(within_ten_seconds([&] { return shared.gate.in_flight() == 30; }));
  shared.gate.set_mode(Mode::on, clock_now());
  const Participant me = shared.gate.attach(1, clock_now());
  EXPECT_EQ(shared.gate.offer(me, of_class(kCritical), clock_now()).reason, Reason::limit);
  kill_and_reap(pid);
  shared.gate.tick(clock_now());
  EXPECT_EQ(shared.gate.in_flight(), 0U);
  EXPECT_EQ(shared.gate.snapshot().reclaimed_units, 30U);
  EXPECT_EQ(shared.gate.offer(me, of_class(kCritical), clock_now()).kind, Offer::Kind::admit);
  EXPECT_EQ(shared.gate.in_flight(), 1U);
  shared.gate.detach(me, clock_now());
}

// Time is the test's here, but for the child's death.
TEST(Death, WhatADeadWorkerHeldStaysItsOwnForTheGrace) {
  Policy policy = policy_of(100);
  policy.death_grace = Duration::millis(200);
  SharedGate shared(policy);
  const Instant begun = clock_now();
  const pid_t pid = shared.child([&] {
    const Participant me = shared.gate.attach(0, begun);
    for (int i = 0; i < 25; ++i) {
      shared.gate.offer(me, of_class(kCritical), begun);
    }
    pause();
  });
  ASSERT_TRUE(within_ten_seconds([&] { return shared.gate.in_flight() == 25; }));
  kill_and_reap(pid);
  const Instant seen = begun + Duration::seconds(1);
  shared.gate.tick(seen);
  EXPECT_EQ(shared.gate.in_flight(), 25U);
  shared.gate.tick(seen + Duration::millis(199));
  EXPECT_EQ(shared.gate.in_flight(), 25U);
  EXPECT_TRUE(shared.gate.is_taken(0));
  shared.gate.tick(seen + Duration::millis(210));
  EXPECT_EQ(shared.gate.in_flight(), 0U);
  EXPECT_FALSE(shared.gate.is_taken(0));
  EXPECT_EQ(shared.gate.snapshot().reclaimed, 1U);
}

TEST(Death, ThoseWhoWaitedBehindTheDeadStartAtTheNextTick) {
  SharedGate shared(policy_of(1, QueueSize::at_most(10), Duration::seconds(60)));
  const pid_t pid = shared.child([&] {
    const Participant me = shared.gate.attach(0, clock_now());
    shared.gate.offer(me, of_class(kCritical), clock_now());
    shared.gate.offer(me, of_class(kCritical), clock_now());  // waits, and dies waiting
    pause();
  });
  ASSERT_TRUE(within_ten_seconds([&] { return shared.gate.snapshot().waiting == 1; }));
  const Participant me = shared.gate.attach(1, clock_now());
  ASSERT_EQ(shared.gate.offer(me, of_class(kCritical), clock_now()).kind, Offer::Kind::wait);
  kill_and_reap(pid);
  std::array<Settled, 4> out;
  Signals signals;
  ASSERT_TRUE(within_ten_seconds([&] {
    shared.gate.tick(clock_now());
    return shared.gate.collect(me, out, clock_now(), signals) == 1;
  }));
  EXPECT_EQ(out[0].kind, Settled::Kind::admit);
  EXPECT_EQ(sums_of(shared.gate.snapshot()).cancelled, 1U);
  EXPECT_EQ(shared.gate.in_flight(), 1U);
  shared.gate.detach(me, clock_now());
}

TEST(Death, AStoppedWorkerIsNotADeadOne) {
  SharedGate shared(policy_of(10));
  const pid_t pid = shared.child([&] {
    const Participant me = shared.gate.attach(0, clock_now());
    shared.gate.offer(me, of_class(kCritical), clock_now());
    pause();
  });
  ASSERT_TRUE(within_ten_seconds([&] { return shared.gate.in_flight() == 1; }));
  kill(pid, SIGSTOP);
  const Participant me = shared.gate.attach(1, clock_now());
  for (int i = 0; i < 5; ++i) {
    shared.gate.tick(clock_now() + Duration::seconds(i));
  }
  EXPECT_EQ(shared.gate.in_flight(), 1U);
  EXPECT_EQ(shared.gate.snapshot().reclaimed, 0U);
  kill_and_reap(pid);
  shared.gate.detach(me, clock_now());
}

// A worker that does everything all the time, as fast as it can.
void churn(Gate& gate, std::uint32_t seed, std::atomic<bool>& seated) {
  Participant me = gate.attach(seed, clock_now());
  while (!me.valid()) {  // the mutex was not to be had within its bound
    me = gate.attach(seed, clock_now());
  }
  seated.store(true);
  std::mt19937 random(seed);
  std::vector<Permit> held;
  std::array<Settled, 8> some;
  while (true) {
    Offer answer = gate.offer(me, of_class(random() % 4), clock_now());
    if (answer.kind == Offer::Kind::admit) {
      held.push_back(std::move(answer.permit));
    } else if (answer.kind == Offer::Kind::wait && random() % 2 == 0) {
      gate.cancel(me, answer.ticket, clock_now());
    }
    Signals signals;  // nobody sleeps here
    const std::size_t n = gate.collect(me, some, clock_now(), signals);
    for (std::size_t i = 0; i < n; ++i) {
      if (some[i].kind == Settled::Kind::admit) {
        held.push_back(std::move(some[i].permit));
      }
    }
    while (held.size() > random() % 8) {
      gate.release(me, held.back(), Outcome::success, clock_now());
      held.pop_back();
    }
    if (random() % 32 == 0) {
      gate.tick(clock_now());
    }
  }
}

// The word never above the limit, and nothing left over when all are dead, whenever they died.
TEST(Death, AtAnyInstantLeavesTheGateWhole) {
  constexpr std::uint32_t kLimit = 12;
  SharedGate shared(policy_of(kLimit, QueueSize::at_most(16)));
  const Participant me = shared.gate.attach(7, clock_now());
  std::mt19937 random(20);
  std::array<pid_t, 3> workers{};
  void* const page = mmap(nullptr, sizeof(std::atomic<bool>), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto& seated = *::new (page) std::atomic<bool>;
  std::uint32_t seed = 0;
  // Only who has taken a seat can be missed there, so each is waited for.
  const auto start = [&](pid_t& worker) {
    ++seed;
    seated.store(false);
    worker = shared.child([&, seed] { churn(shared.gate, seed, seated); });
    ASSERT_TRUE(within_ten_seconds([&] { return seated.load(); }));
  };
  for (pid_t& worker : workers) {
    start(worker);
  }
  std::uint32_t highest = 0;
  for (int kills = 0; kills < 300; ++kills) {
    const Instant until = clock_now() + Duration::micros(200 + random() % 3000);
    while (clock_now() < until) {
      highest = std::max(highest, shared.gate.in_flight());
    }
    pid_t& victim = workers[random() % workers.size()];
    kill_and_reap(victim);
    start(victim);
  }
  for (const pid_t worker : workers) {
    kill_and_reap(worker);
  }
  ASSERT_TRUE(within_ten_seconds([&] {
    shared.gate.tick(clock_now());
    return shared.gate.in_flight() == 0 && shared.gate.snapshot().waiting == 0;
  }));
  EXPECT_LE(highest, kLimit);
  const Snapshot all = shared.gate.snapshot();
  EXPECT_EQ(all.reclaimed, 303U);
  EXPECT_EQ(all.participants, 1U);
  EXPECT_EQ(all.corruptions, 0U);
  // The gate is as good as new: exactly the limit again.
  for (std::uint32_t i = 0; i < kLimit; ++i) {
    EXPECT_EQ(shared.gate.offer(me, of_class(kCriticalPlus), clock_now()).kind, Offer::Kind::admit);
  }
  EXPECT_EQ(shared.gate.offer(me, of_class(kCriticalPlus), clock_now()).kind, Offer::Kind::wait);
  shared.gate.detach(me, clock_now());
  munmap(page, sizeof(std::atomic<bool>));
}

TEST(Open, AnotherProcessSeesTheSameGate) {
  SharedGate shared(policy_of(3));
  Gate again;
  ASSERT_EQ(Gate::open(shared.memory_, shared.bytes_, again), Gate::OpenError::none);
  EXPECT_EQ(again.limit(), 3U);
  EXPECT_EQ(again.capacity().tickets, 512U);
}

TEST(Open, RefusesWhatIsNotAGateOrIsLaidOutOtherwise) {
  SharedGate shared(policy_of(3));
  Gate again;
  EXPECT_EQ(Gate::open(static_cast<char*>(shared.memory_) + 64, shared.bytes_ - 64, again),
            Gate::OpenError::misaligned);
  EXPECT_EQ(Gate::open(shared.memory_, 64, again), Gate::OpenError::too_small);
  EXPECT_EQ(Gate::open(shared.memory_, shared.bytes_ - 1, again), Gate::OpenError::too_small);
  auto* const words = static_cast<std::uint64_t*>(shared.memory_);
  ++words[1];
  EXPECT_EQ(Gate::open(shared.memory_, shared.bytes_, again), Gate::OpenError::other_layout);
  --words[1];
  ++words[0];
  EXPECT_EQ(Gate::open(shared.memory_, shared.bytes_, again), Gate::OpenError::not_a_gate);
  --words[0];
  EXPECT_EQ(Gate::open(shared.memory_, shared.bytes_, again), Gate::OpenError::none);
}

TEST(Seats, AreAsManyAsTheCapacityAndComeBack) {
  GateBox box(policy_of(3), 2);
  const Participant a = box.gate.attach(1, box.now);
  const Participant b = box.gate.attach(1, box.now);
  EXPECT_EQ(a.index, 1U);
  EXPECT_EQ(b.index, 0U);
  EXPECT_FALSE(box.gate.attach(0, box.now).valid());
  box.gate.detach(a, box.now);
  EXPECT_EQ(box.attach(1).index, 1U);
  box.gate.detach(b, box.now);
}

}  // namespace
}  // namespace loadline::test
