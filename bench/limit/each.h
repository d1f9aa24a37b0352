// Does a number of jobs on all processors.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace loadline::bench {

// job(i) for each i below `count`, in no order. Throws what the first that failed has thrown.
template <class Job>
void for_each_at_once(std::size_t count, Job job) {
  std::atomic<std::size_t> next = 0;
  std::exception_ptr failure;
  std::mutex mutex;
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        job(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        failure = failure ? failure : std::current_exception();
        next = count;
      }
    }
  };
  {
    std::vector<std::jthread> others;
    for (unsigned n = std::max(std::thread::hardware_concurrency(), 1U); n > 1; --n) {
      others.emplace_back(work);
    }
    work();
  }
  if (failure) {
    std::rethrow_exception(failure);
  }
}

}  // namespace loadline::bench
