// What a handful of noisy samples says: where their middle lies, and how sure that is.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <span>

namespace loadline::bench {

// The median is the figure; the rest tells how far to believe it. `median_low` and `median_high`
// enclose the median of what was sampled with at least 95 % confidence, whatever the distribution:
// they are order statistics, chosen by the sign test (Conover, Practical Nonparametric Statistics,
// "confidence interval for a quantile"). Below six samples no pair of them reaches 95 %; then they
// are the extremes.
struct Spread {
  std::size_t count = 0;
  double median = 0;
  double median_low = 0;
  double median_high = 0;
  double min = 0;
  double q1 = 0;
  double q3 = 0;
  double max = 0;

  // Enough samples for the interval to be what it says.
  [[nodiscard]] bool has_interval() const noexcept { return count >= 6; }
};

// Of at least one sample; throws std::invalid_argument without any.
Spread spread_of(std::span<const double> samples);

// The quantile of sorted samples, interpolated between neighbours. 0 <= part <= 1.
double quantile(std::span<const double> sorted, double part);

// {"median_low":..,"median_high":..,"min":..,"q1":..,"q3":..,"max":..}: all but the median, which
// each figure calls by its own name.
nlohmann::ordered_json to_json(const Spread& spread);

// Rounded for people: four digits behind the point.
double rounded(double value);

}  // namespace loadline::bench
