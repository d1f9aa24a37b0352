#include <pthread.h>
#include <sched.h>

#include <array>
#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "cpus.h"
#include "decision/timing.h"

namespace loadline::bench {
namespace {

std::vector<int> cpus_of_process() {
  static const std::vector<int> kCpus = allowed_cpus();  // before anyone was pinned
  return kCpus;
}

void pin_this_thread(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

constexpr int kThreads = 2;

// What both threads do at once. Whoever has been timed goes on until the other has been, too, so
// that no part of either's time is without contention.
class Contention {
 public:
  template <class Operation>
  double time(Operation& operation) {
    constexpr std::uint64_t kSteps = 40'000;
    constexpr int kBetweenLooks = 64;
    arrived_.fetch_add(1);
    while (arrived_.load(std::memory_order_relaxed) < kThreads) {  // a sleeper would start late
    }
    const double ns = time_slice(operation, kSteps);
    timed_.fetch_add(1);
    while (timed_.load(std::memory_order_relaxed) < kThreads) {
      for (int i = 0; i < kBetweenLooks; ++i) {
        operation.step();
      }
    }
    return ns;
  }

 private:
  alignas(128) std::atomic<int> arrived_{0};
  alignas(128) std::atomic<int> timed_{0};
};

// Each thread calls `contend(contention)` on its own processor; the mean of what they give.
template <class Contend>
double in_two_threads(Contend contend) {
  const std::vector<int> cpus = cpus_of_process();
  if (cpus.size() < kThreads) {
    throw std::runtime_error("contention needs two processors");
  }
  Contention contention;
  std::array<double, kThreads> times{};
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < times.size(); ++i) {
    threads.emplace_back([&, i] {
      pin_this_thread(cpus[i]);
      times[i] = contend(contention);
    });
  }
  threads.clear();  // joins
  return (times[0] + times[1]) / kThreads;
}

// One thread's part of what both do.
class PairAtCounter {
 public:
  explicit PairAtCounter(BareCounter& counter) : counter_(counter) {}
  [[gnu::always_inline]] void step() noexcept { counter_.pair(); }

 private:
  BareCounter& counter_;
};

class PairAtGate {
 public:
  explicit PairAtGate(Gate gate) : seat_(gate) {}  // by the thread that uses it
  [[gnu::always_inline]] void step() noexcept {
    seat_.pair(request_, Outcome::success, now_);
    now_ = now_ + kService;
  }

 private:
  Seat seat_;
  Request request_{.importance = kCritical};
  Instant now_ = kBegin;
};

double contend_for_counter() {
  BareCounter counter;
  return in_two_threads([&](Contention& contention) {
    PairAtCounter pair(counter);
    return contention.time(pair);
  });
}

double contend_for_gate() {
  GateBox box(policy_of(1000, QueueSize::sized_by_budget()));
  return in_two_threads([&](Contention& contention) {
    PairAtGate pair(box.gate);
    return contention.time(pair);
  });
}

Pair in_turn(double (*ours)(), bool base_first) {
  Pair pair;
  if (base_first) {
    pair.base = contend_for_counter();
    pair.ours = ours();
  } else {
    pair.ours = ours();
    pair.base = contend_for_counter();
  }
  return pair;
}

}  // namespace

void pin_to_first_cpu() {
  pin_this_thread(cpus_of_process().front());
}

Pair time_contended_gate(bool base_first) {
  return in_turn(contend_for_gate, base_first);
}

Pair time_contended_same(bool base_first) {
  return in_turn(contend_for_counter, base_first);
}

}  // namespace loadline::bench
