#include "sim/random.h"

#include <gtest/gtest.h>

#include <cmath>

#include "sim/arrivals.h"
#include "sim/distribution.h"
#include "sim/seconds.h"
#include "statistics.h"

namespace loadline::sim::test {
namespace {

constexpr std::uint64_t kDraws = 100'000;

struct Moments {
  Estimate mean;
  Estimate cv;
};

Moments moments_of(const Distribution& distribution) {
  std::vector<double> means;
  std::vector<double> cvs;
  for (std::uint64_t seed = 1; seed <= kReplications; ++seed) {
    double sum = 0;
    double squares = 0;
    for (std::uint64_t i = 0; i < kDraws; ++i) {
      Draws draws(seed, 0, i);
      const double x = seconds(distribution.draw(draws));
      sum += x;
      squares += x * x;
    }
    const double mean = sum / kDraws;
    means.push_back(mean);
    cvs.push_back(std::sqrt(squares / kDraws - mean * mean) / mean);
  }
  return {estimate_of(means), estimate_of(cvs)};
}

TEST(Random, BelongsToSeedStreamAndNumberAlone) {
  EXPECT_EQ(Draws(1, 2, 3).bits(), Draws(1, 2, 3).bits());
  EXPECT_NE(Draws(1, 2, 3).bits(), Draws(2, 2, 3).bits());
  EXPECT_NE(Draws(1, 2, 3).bits(), Draws(1, 3, 3).bits());
  EXPECT_NE(Draws(1, 2, 3).bits(), Draws(1, 2, 4).bits());
}

TEST(Random, UniformFillsTheUnitIntervalEvenly) {
  std::vector<double> inside(10);
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const double u = Draws(1, 1, i).uniform();
    ASSERT_GT(u, 0);
    ASSERT_LT(u, 1);
    ++inside[static_cast<std::size_t>(u * 10)];
  }
  // Pearson's chi-square with 9 degrees of freedom: above 27.9 once in a thousand.
  double chi_square = 0;
  for (const double n : inside) {
    chi_square += (n - kDraws / 10.0) * (n - kDraws / 10.0) / (kDraws / 10.0);
  }
  EXPECT_LT(chi_square, 27.9);
}

TEST(Distributions, HaveTheMeanAndCvTheyAreAskedFor) {
  const Duration mean = Duration::millis(10);
  const struct {
    Distribution distribution;
    double mean;
    double cv;
  } cases[] = {
      {Distribution::exponential(mean), 0.01, 1},
      {Distribution::lognormal(mean, 1), 0.01, 1},
      {Distribution::lognormal(mean, 0.5), 0.01, 0.5},
      {Distribution::gamma(mean, 0.5), 0.01, 0.5},
      {Distribution::gamma(mean, 1.5), 0.01, 1.5},
      // 0.95 * 2 + 0.05 * 200 = 11.9 ms; variance 0.95 * 0.05 * 198^2
      {Distribution::bimodal(Duration::millis(2), Duration::millis(200), 0.05), 0.0119,
       std::sqrt(0.95 * 0.05) * 198 / 11.9},
      // cv^2 = 1 / (shape * (shape - 2))
      {Distribution::pareto(mean, 6), 0.01, 1 / std::sqrt(24.0)},
      // of 1, 2 and 6: squares of deviations from 3 are 4, 1 and 9
      {Distribution::empirical({Duration::millis(1), Duration::millis(2), Duration::millis(6)}),
       0.003, std::sqrt(14.0 / 3) / 3},
  };
  for (const auto& c : cases) {
    const Moments simulated = moments_of(c.distribution);
    expect_agrees(simulated.mean, c.mean, 0.004);
    expect_agrees(simulated.cv, c.cv, 0.005);
    EXPECT_NEAR(seconds(c.distribution.mean()), c.mean, 1e-9);
  }
}

// The share of draws that is at most `x` seconds.
double share_up_to(const Distribution& distribution, double x) {
  std::uint64_t below = 0;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    Draws draws(7, 0, i);
    below += seconds(distribution.draw(draws)) <= x ? 1 : 0;
  }
  return static_cast<double>(below) / static_cast<double>(kDraws);
}

TEST(Distributions, AGammaHasTheQuantilesOfOne) {
  const Duration mean = Duration::millis(10);
  // Quantiles of the chi-square distribution, tabled: one of n degrees of freedom is a gamma of the
  // shape n / 2 and the scale 2, whose mean is n and whose cv is sqrt(2 / n).
  const struct {
    int freedom;
    double quantile;
    double share;
  } cases[] = {{1, 0.0039321, 0.05}, {1, 0.4549364, 0.5}, {1, 6.6348966, 0.99},
               {8, 2.7326368, 0.05}, {8, 7.3441215, 0.5}, {8, 20.0902350, 0.99}};
  for (const auto& c : cases) {
    const auto gamma = Distribution::gamma(mean, std::sqrt(2.0 / c.freedom));
    // 4 standard errors of a share of 200,000.
    const double near = 4 * std::sqrt(c.share * (1 - c.share) / static_cast<double>(kDraws));
    EXPECT_NEAR(share_up_to(gamma, c.quantile / c.freedom * 0.01), c.share, near)
        << c.freedom << " " << c.share;
  }
}

TEST(Distributions, AnEmpiricalOneIsNothingButItsValues) {
  const auto values =
      Distribution::empirical({Duration::millis(1), Duration::millis(1), Duration::millis(4)});
  EXPECT_EQ(share_up_to(values, 0.000999), 0);
  EXPECT_NEAR(share_up_to(values, 0.001), 2.0 / 3, 0.0043);
  EXPECT_NEAR(share_up_to(values, 0.003999), 2.0 / 3, 0.0043);
  EXPECT_EQ(share_up_to(values, 0.004), 1);
  EXPECT_EQ(values.mean(), Duration::millis(2));
}

// 1 / 700,000 s is no whole number of nanoseconds: what each is rounded by must not add up.
TEST(EvenArrivals, AreAsManyAsTheirRateSays) {
  const Arrivals even = Arrivals::even({700000, {{at(2), 0}, {at(3), 300000}}});
  std::uint64_t number = 0;
  Instant last{};
  for (Instant next = even.next({}, 0, Draws(1, 0, 0)); next < at(4);
       next = even.next(last, number, Draws(1, 0, number))) {
    EXPECT_FALSE(next > at(2) && next < at(3));
    last = next;
    ++number;
  }
  EXPECT_EQ(number, 2U * 700000 + 300000);
}

}  // namespace
}  // namespace loadline::sim::test
