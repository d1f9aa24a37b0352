// A scenario's figure: the worst of five seeds against what it must reach, printed either way.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "rigs.h"

namespace loadline::sim::test {

inline constexpr std::uint64_t kSeeds = 5;

// Runs, and looks at what must hold at any instant of any run: no slot idle beside an eligible
// waiter (Q9), nobody passed by a less important one, and a gate whose count of its slots is right.
inline Result checked(const Scenario& scenario, std::uint64_t seed) {
  Result result = run(scenario, seed);
  EXPECT_EQ(result.watch.idle_beside_waiter, 0U) << "seed " << seed;
  EXPECT_EQ(result.watch.miscounts, 0U) << "seed " << seed;
  EXPECT_EQ(result.watch.passed, 0U) << "seed " << seed;
  return result;
}

template <class Row>
std::vector<double> column(const std::vector<Row>& rows, double Row::*of) {
  std::vector<double> values;
  for (const Row& row : rows) {
    values.push_back(row.*of);
  }
  return values;
}

inline double mean_of(const std::vector<double>& values) {
  double mean = 0;
  for (const double v : values) {
    mean += v / static_cast<double>(values.size());
  }
  return mean;
}

inline void print_figure(const std::string& what, const std::vector<double>& values, double worst,
                         const char* bound, double figure) {
  std::printf("  %-54s %8.5g (mean %8.5g)  %s %g\n", what.c_str(), worst, mean_of(values), bound,
              figure);
}

// Beside a figure, to judge it by.
inline void shown(const std::string& what, const std::vector<double>& values) {
  std::printf("  %-54s %8.5g to %.5g\n", what.c_str(), least(values), greatest(values));
}

inline void at_least(const std::string& what, const std::vector<double>& values, double figure) {
  print_figure(what, values, least(values), ">=", figure);
  EXPECT_GE(least(values), figure) << what;
}

inline void at_most(const std::string& what, const std::vector<double>& values, double figure) {
  print_figure(what, values, greatest(values), "<=", figure);
  EXPECT_LE(greatest(values), figure) << what;
}

}  // namespace loadline::sim::test
