// Users who think and call again beside exact mean value analysis (Reiser and Lavenberg, JACM 27,
// 1980): one worker of 20 ms, users who think for a second.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "rigs.h"
#include "statistics.h"

namespace loadline::sim::test {
namespace {

constexpr double kWork = 0.020;
constexpr double kThink = 1.0;

struct Closed {
  double response = 0;
  double throughput = 0;
};

// A caller finds the station as it is with one user less.
Closed mean_value_analysis(std::uint32_t users) {
  Closed closed;
  double in_station = 0;
  for (std::uint32_t n = 1; n <= users; ++n) {
    closed.response = kWork * (1 + in_station);
    closed.throughput = n / (closed.response + kThink);
    in_station = closed.throughput * closed.response;
  }
  return closed;
}

Scenario closed_loop(std::uint32_t users, double calls, const Distribution& think) {
  const Population callers{.arrivals = Arrivals::closed(users, think),
                           .work = Distribution::exponential(duration(kWork))};
  return scenario_of({callers}, 1, 20 + calls / mean_value_analysis(users).throughput);
}

// The first ten seconds do not count: users begin in thought.
Span settled(const Scenario& scenario) {
  return {at(10), Instant{} + scenario.length - Duration::seconds(10)};
}

struct Seen {
  Estimate response;
  Estimate throughput;
};

Seen seen_in(const Scenario& scenario) {
  const auto runs = over_seeds(kReplications, [&](std::uint64_t seed) {
    const Journal journal = run(scenario, seed).journal;
    double sum = 0;
    double n = 0;
    for (const Ending& e : journal) {
      if (settled(scenario).holds(e.offered) && e.fate == Fate::answered) {
        sum += seconds(e.ended - e.offered);
        ++n;
      }
    }
    return Closed{sum / n, goodput(journal, settled(scenario))};
  });
  std::vector<double> responses;
  std::vector<double> throughputs;
  for (const Closed& one : runs) {
    responses.push_back(one.response);
    throughputs.push_back(one.throughput);
  }
  return {estimate_of(responses), estimate_of(throughputs)};
}

TEST(AClosedLoop, RespondsAsMeanValueAnalysisSays) {
  const struct {
    std::uint32_t users;
    double response;
    double throughput;
    double precision;
  } cases[] = {{1, 0.020, 0.980392, 0.01},       {10, 0.024152, 9.764175, 0.01},
               {25, 0.036304, 24.124199, 0.012}, {51, 0.124787, 45.3419, 0.02},
               {60, 0.226578, 48.916576, 0.02},  {100, 1.0, 50.0, 0.01}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.users);
    const Closed computed = mean_value_analysis(c.users);
    EXPECT_NEAR(computed.response, c.response, 1e-6);
    EXPECT_NEAR(computed.throughput, c.throughput, 1e-4);
    const Seen seen =
        seen_in(closed_loop(c.users, 20'000, Distribution::exponential(duration(kThink))));
    expect_agrees(seen.response, computed.response, c.precision);
    expect_agrees(seen.throughput, computed.throughput, 0.005);
  }
}

// The station's responses do not depend on how long users think, only on how long in the mean.
TEST(AClosedLoop, DoesNotMindHowThoughtsAreSpread) {
  const Closed computed = mean_value_analysis(51);
  for (const Distribution& think :
       {Distribution::fixed(duration(kThink)), Distribution::lognormal(duration(kThink), 2)}) {
    const Seen seen = seen_in(closed_loop(51, 20'000, think));
    expect_agrees(seen.response, computed.response, 0.025);
    expect_agrees(seen.throughput, computed.throughput, 0.005);
  }
}

// With as many users as fit side by side, 1 + think / work, the two bounds meet.
TEST(AClosedLoop, HasItsKneeWhereTheAsymptotesMeet) {
  const double knee = (kWork + kThink) / kWork;
  EXPECT_NEAR(knee, 51, 1e-9);
  for (const std::uint32_t users : {10U, 51U, 100U}) {
    const double throughput =
        seen_in(closed_loop(users, 5'000, Distribution::exponential(duration(kThink))))
            .throughput.mean;
    EXPECT_LT(throughput, 1.01 * std::min(users / (kWork + kThink), 1 / kWork));
  }
}

// Every user calls, and only when his call before has ended and he has thought for a second.
TEST(AClosedLoop, HasItsUsersInItOnceEach) {
  constexpr std::uint32_t kUsers = 500;
  Scenario scenario = closed_loop(kUsers, 1, Distribution::fixed(Duration::seconds(1)));
  scenario.services[0].server.workers = ServerModel::kUnlimited;
  scenario.populations[0].work = Distribution::fixed(Duration::millis(500));
  scenario.length = at(30) - Instant{};
  std::map<std::int64_t, int> calls;
  for (const Ending& e : run(scenario, 1).journal) {
    ++calls[e.called.ns];
  }
  ASSERT_EQ(calls.size(), 20U);  // 1, 2.5, 4, ... 29.5 s
  for (const auto& [when, n] : calls) {
    EXPECT_EQ(n, static_cast<int>(kUsers));
    EXPECT_EQ((when - 1'000'000'000) % 1'500'000'000, 0);
  }
}

// He whose patience has run out, and he who was refused, think before they call again.
TEST(AClosedLoop, IsKeptUpByThoseWhoGaveUpOrWereRefused) {
  Scenario scenario = closed_loop(3, 1, Distribution::fixed(Duration::seconds(1)));
  scenario.populations[0].work = Distribution::fixed(Duration::seconds(100));
  scenario.populations[0].patience = Duration::millis(500);
  scenario.services[0].gate = gate_of(1);
  scenario.services[0].gate->policy.queue = QueueSize::none();
  scenario.length = at(16) - Instant{};
  const Journal journal = run(scenario, 1).journal;
  // All call at 1 s. Two are refused there, and call each second. The third gives up after half a
  // second, is refused from 2.5 s on, and then calls each second too.
  EXPECT_EQ(count(journal, [](const Ending& e) { return e.fate == Fate::refused; }), 2 * 15 + 14U);
  EXPECT_EQ(count(journal, [](const Ending& e) { return e.fate == Fate::open; }), 1U);
}

// Kleinrock's power, throughput over response, of M/M/1 is rho * (1 - rho) and has its peak at 1/2.
TEST(Power, OfOneWorkerPeaksAtHalfItsCapacity) {
  const auto power = [](double load) {
    const Population callers{.arrivals = Arrivals::poisson(load * 100),
                             .work = Distribution::exponential(kTenMs)};
    const double length = 50'000 / (load * 100);
    const Scenario scenario = scenario_of({callers}, 1, length);
    return estimate([&](std::uint64_t seed) {
      const Journal journal = run(scenario, seed).journal;
      const Span span{at(length / 10), at(length * 0.99)};
      double sum = 0;
      double n = 0;
      for (const Ending& e : journal) {
        if (span.holds(e.offered)) {
          sum += seconds(e.ended - e.offered);
          ++n;
        }
      }
      return goodput(journal, span) / (sum / n);
    });
  };
  for (const double load : {0.3, 0.4, 0.5, 0.6, 0.7}) {
    expect_agrees(power(load), load * (1 - load) * 1e4, 0.006);
  }
}

}  // namespace
}  // namespace loadline::sim::test
