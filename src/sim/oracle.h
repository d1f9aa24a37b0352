// The oracle: the same gate with the best fixed limit, found by trying them all.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace loadline::sim {

struct Tried {
  std::uint32_t limit;
  double value;  // the more the better
};

template <class Measure>
std::vector<Tried> sweep(const std::vector<std::uint32_t>& limits, Measure measure) {
  std::vector<Tried> all;
  all.reserve(limits.size());
  for (const std::uint32_t limit : limits) {
    all.push_back({limit, measure(limit)});
  }
  return all;
}

// The first of the best.
inline Tried best(const std::vector<Tried>& all) {
  return *std::max_element(all.begin(), all.end(),
                           [](const Tried& a, const Tried& b) { return a.value < b.value; });
}

// The least limit that reaches 0.99 of the capacity; 0 if none does. `all` by rising limit.
inline std::uint32_t knee(const std::vector<Tried>& all, double capacity) {
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const Tried& t) { return t.value >= 0.99 * capacity; });
  return found == all.end() ? 0 : found->limit;
}

// Does a number of jobs, one after the other.
struct InTurn {
  template <class Job>
  void operator()(std::size_t count, Job job) const {
    for (std::size_t i = 0; i < count; ++i) {
      job(i);
    }
  }
};

// A workload of several phases: each phase's best limit, with the best of the phases before it in
// force. `measure(limits, phase)` is given one limit a phase; later phases have the first
// candidate. `each(count, job)` may do the jobs at the same time.
template <class Measure, class Each = InTurn>
std::vector<std::uint32_t> best_of_phases(std::size_t phases,
                                          const std::vector<std::uint32_t>& candidates,
                                          Measure measure, Each each = {}) {
  std::vector<std::uint32_t> limits(phases, candidates.front());
  for (std::size_t phase = 0; phase < phases; ++phase) {
    std::vector<Tried> all(candidates.size());
    each(all.size(), [&](std::size_t i) {
      std::vector<std::uint32_t> tried = limits;
      tried[phase] = candidates[i];
      all[i] = {candidates[i], measure(tried, phase)};
    });
    limits[phase] = best(all).limit;
  }
  return limits;
}

}  // namespace loadline::sim
