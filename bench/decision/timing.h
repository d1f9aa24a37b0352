// How long operations take, two at a time: one is what the other is compared with.
//
// A shared machine changes its speed from one moment to the next, and takes the processor away for
// longer than an operation lasts by far. So the two take turns in slices of a millisecond or two,
// which are timed by the thread's own CPU clock; each pair of slices is a sample.
#pragma once

#include <time.h>

#include <cstdint>

#include "decision/operations.h"

namespace loadline::bench {

// Nanoseconds a step.
struct Pair {
  double ours = 0;
  double base = 0;
};

// CPU time of the calling thread, in nanoseconds.
inline double thread_cpu_ns() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

// Nanoseconds a step over a slice; a tenth of it is run before, to warm. A function of its own for
// each operation, so that all loops are compiled alike, with nothing in them but the step.
template <class Operation>
[[gnu::noinline]] double time_slice(Operation& operation, std::uint64_t steps) {
  for (std::uint64_t i = 0; i < steps / 10; ++i) {
    operation.step();
  }
  const double begin = thread_cpu_ns();
  for (std::uint64_t i = 0; i < steps; ++i) {
    operation.step();
  }
  return (thread_cpu_ns() - begin) / static_cast<double>(steps);
}

// One pair by this thread. `base_first` should be random.
template <class Ours, class Base>
Pair time_alone(bool base_first) {
  Ours ours;
  Base base;
  Pair pair;
  if (base_first) {
    pair.base = time_slice(base, Base::kSteps);
    pair.ours = time_slice(ours, Ours::kSteps);
  } else {
    pair.ours = time_slice(ours, Ours::kSteps);
    pair.base = time_slice(base, Base::kSteps);
  }
  return pair;
}

// One pair by each of two threads, on processors of their own, that contend for the same counter
// and then for the same gate, or the other way round: the mean of the two. Throws
// std::runtime_error with fewer than two processors.
Pair time_contended_gate(bool base_first);
// The same with a second counter in place of the gate.
Pair time_contended_same(bool base_first);

// Leaves this thread on the first processor it may use.
void pin_to_first_cpu();

}  // namespace loadline::bench
