// How long operations take, two at a time: one is what the other is compared with.
//
// A shared machine changes its speed from one moment to the next, and takes the processor away for
// longer than an operation lasts by far. So the two take turns in slices of a millisecond or two,
// which are timed by the thread's own CPU clock; each pair of slices is a sample.
#pragma once

#include <time.h>

#include <cstdint>

#include "gate/operations.h"

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

// Nanoseconds a step over a slice; a tenth of it is run before, to warm.
template <class Step>
double time_slice(std::uint64_t steps, Step&& step) {
  for (std::uint64_t i = 0; i < steps / 10; ++i) {
    step();
  }
  const double begin = thread_cpu_ns();
  for (std::uint64_t i = 0; i < steps; ++i) {
    step();
  }
  return (thread_cpu_ns() - begin) / static_cast<double>(steps);
}

// One pair by this thread. `base_first` should be random.
template <class Ours, class Base>
Pair time_alone(bool base_first) {
  Ours ours;
  Base base;
  const auto slice_of = [](auto& operation) {
    return time_slice(operation.kSteps, [&] { operation.step(); });
  };
  Pair pair;
  if (base_first) {
    pair.base = slice_of(base);
    pair.ours = slice_of(ours);
  } else {
    pair.ours = slice_of(ours);
    pair.base = slice_of(base);
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
