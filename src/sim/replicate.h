// The same with several seeds, on two threads: a figure is the worst of five.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <type_traits>
#include <vector>

namespace loadline::sim {

// of(seed) for each of `seeds` = 1 ... n, in order of the seeds. `of` is called on two threads.
template <class Of>
auto over_seeds(std::uint64_t seeds, Of of)
    -> std::vector<std::invoke_result_t<Of, std::uint64_t>> {
  std::vector<std::invoke_result_t<Of, std::uint64_t>> results(seeds);
  std::atomic<std::uint64_t> next = 0;
  const auto work = [&] {
    for (std::uint64_t i = next++; i < seeds; i = next++) {
      results[i] = of(i + 1);
    }
  };
  std::jthread other(work);
  work();
  other.join();
  return results;
}

inline double least(const std::vector<double>& values) {
  return *std::min_element(values.begin(), values.end());
}
inline double greatest(const std::vector<double>& values) {
  return *std::max_element(values.begin(), values.end());
}

}  // namespace loadline::sim
