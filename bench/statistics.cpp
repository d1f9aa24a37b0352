#include "statistics.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

namespace loadline::bench {
namespace {

// How many samples may be left out at each end while the rest still encloses the median with 95 %
// confidence: the median lies outside only if at most that many of n fair coins fall one way.
std::size_t samples_outside(std::size_t n) {
  constexpr double kEachSide = 0.025;
  double probability = std::pow(0.5, static_cast<double>(n));  // of exactly `k` coins
  double at_most = probability;
  std::size_t k = 0;
  while (at_most <= kEachSide) {
    probability *= static_cast<double>(n - k) / static_cast<double>(k + 1);
    at_most += probability;
    ++k;
  }
  return k == 0 ? 0 : k - 1;
}

}  // namespace

double quantile(std::span<const double> sorted, double part) {
  const double place = part * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], place - static_cast<double>(below));
}

Spread spread_of(std::span<const double> samples) {
  if (samples.empty()) {
    throw std::invalid_argument("no samples");
  }
  std::vector<double> sorted(samples.begin(), samples.end());
  std::ranges::sort(sorted);
  const std::size_t outside = samples_outside(sorted.size());
  return {.count = sorted.size(),
          .median = quantile(sorted, 0.5),
          .median_low = sorted[outside],
          .median_high = sorted[sorted.size() - 1 - outside],
          .min = sorted.front(),
          .q1 = quantile(sorted, 0.25),
          .q3 = quantile(sorted, 0.75),
          .max = sorted.back()};
}

double rounded(double value) {
  constexpr double kPlaces = 1e4;
  return std::round(value * kPlaces) / kPlaces;
}

nlohmann::ordered_json to_json(const Spread& spread) {
  return {{"median_low", rounded(spread.median_low)},
          {"median_high", rounded(spread.median_high)},
          {"min", rounded(spread.min)},
          {"q1", rounded(spread.q1)},
          {"q3", rounded(spread.q3)},
          {"max", rounded(spread.max)}};
}

}  // namespace loadline::bench
