// Goodput of a limit that is found over goodput of the best that could have been set, for many
// workloads.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

#include "limit/workload.h"

namespace loadline::bench {

// Told how many are done.
using Done = std::function<void(std::size_t)>;

struct RandomStudy {
  Family family;
  std::vector<Match> matches;  // by ratio, the worst first
  double seconds = 0;          // that it took

  // Of the ratios; 0 <= part <= 1.
  [[nodiscard]] double quantile(double part) const;
  [[nodiscard]] double mean() const;
  [[nodiscard]] std::size_t shortened() const;
};

RandomStudy study_at_random(const Family& family, std::size_t workloads, const Done& done);

// How many ratios lie from each bound on, up to the next.
struct Bar {
  double from = 0;
  std::size_t count = 0;
};
std::vector<Bar> histogram_of(const RandomStudy& study);

nlohmann::ordered_json to_json(const RandomStudy& study);

}  // namespace loadline::bench
