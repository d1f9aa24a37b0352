// When those who were turned away come back; that they are served is in scenarios/storms.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "figures.h"
#include "rigs.h"

namespace loadline::sim::test {
namespace {

constexpr double kStorm = 40;  // by then the gate knows what usually comes

// Half of the capacity as usual, and 5,500 in the second from kStorm on, of whom 5,000 are too
// many.
Scenario storm() {
  constexpr std::uint32_t kUntilServed = 1000;
  Population usual = r3_callers(500);
  usual.retry = {.attempts = kUntilServed};
  Population many = usual;
  many.arrivals = Arrivals::even({0, {{at(kStorm), 5500}, {at(kStorm + 1), 0}}});
  Scenario scenario = scenario_of({usual, many}, kR3Workers, kStorm + 60);
  scenario.services[0].gate = gate_of(kR3Workers);
  return scenario;
}

// The fullest 100 ms of returns over the mean between their 1st and 99th percentile, wherever the
// bins begin.
double peak_over_mean(const Journal& journal) {
  std::vector<double> returns;
  for (const Ending& e : journal) {
    if (e.attempt > 1) {
      returns.push_back(seconds(e.offered));
    }
  }
  std::sort(returns.begin(), returns.end());
  const std::size_t n = returns.size();
  const double bins = (returns[n * 99 / 100] - returns[n / 100]) / 0.1;
  const double mean = 0.98 * static_cast<double>(n) / bins;
  double peak = 0;
  for (const double offset : {0.0, 0.025, 0.05, 0.075}) {
    std::size_t begin = 0;
    while (begin < n) {
      const double end = (std::floor((returns[begin] - offset) / 0.1) + 1) * 0.1 + offset;
      std::size_t next = begin + 1;
      while (next < n && returns[next] < end) {
        ++next;
      }
      peak = std::max(peak, static_cast<double>(next - begin));
      begin = next;
    }
  }
  return peak / mean;
}

TEST(TheRejected, ComeBackEvenly) {
  at_most(
      "fullest 100 ms / mean",
      over_seeds(kSeeds,
                 [](std::uint64_t seed) { return peak_over_mean(checked(storm(), seed).journal); }),
      1.5);
}

TEST(ABurstTooLarge, IsSentToAllSecondsAlike) {
  for (const double usual : {0.0, 500.0}) {
    for (const std::uint32_t size : {1500U, 5000U}) {
      Population burst = r3_callers(0);
      burst.arrivals = Arrivals::bursts({at(kStorm + 0.4)}, size);
      Scenario scenario = scenario_of({r3_callers(usual), burst}, kR3Workers, kStorm + 1);
      scenario.services[0].gate = gate_of(kR3Workers);
      std::array<double, 33> told{};
      for (const Ending& e : checked(scenario, 1).journal) {
        if (e.population == 1 && e.fate == Fate::refused && e.ended == at(kStorm + 0.4)) {
          ++told[e.retry_after];
        }
      }
      const auto [low, high] = std::minmax_element(told.begin() + 1, told.end());
      shown("told each second, of " + std::to_string(size), {*low, *high});
      EXPECT_LE(*high - *low, 2);
      EXPECT_GT(*low, 0);
    }
  }
}

}  // namespace
}  // namespace loadline::sim::test
