// The simulator beside queueing theory, without a gate: its callers, its server and its measures.
// Formulas: Kleinrock, "Queueing Systems", volume 1 (1975). One worker does 100 a second.
#include <gtest/gtest.h>

#include <cmath>

#include "rigs.h"
#include "statistics.h"

namespace loadline::sim::test {
namespace {

struct Line {
  double per_second;
  Distribution work;
  std::uint32_t workers;
  double requests;  // of one replication
};

// The first tenth and the last hundredth do not count: the line fills, and some are not done.
Span middle(double length) {
  return {at(length / 10), at(length * 0.99)};
}

template <class Of>
Estimate of_line(const Line& line, Of of) {
  const double length = line.requests / line.per_second;
  const Population callers{.arrivals = Arrivals::poisson(line.per_second), .work = line.work};
  const Scenario scenario = scenario_of({callers}, line.workers, length);
  return estimate([&](std::uint64_t seed) -> double {
    return of(run(scenario, seed).journal, middle(length));
  });
}

double mean_wait(const Journal& journal, Span span) {
  double sum = 0;
  double n = 0;
  for (const Ending& e : journal) {
    if (e.fate == Fate::answered && span.holds(e.offered)) {
      sum += seconds(e.ended - e.offered - e.work);
      ++n;
    }
  }
  return sum / n;
}

double mean_in_system(const Journal& journal, Span span) {
  double sum = 0;
  for (const Ending& e : journal) {
    if (e.fate == Fate::answered) {
      const Duration inside = std::min(e.ended, span.to) - std::max(e.offered, span.from);
      sum += std::max(seconds(inside), 0.0);
    }
  }
  return sum / seconds(span.to - span.from);
}

// A wait is two roundings to a nanosecond away from none.
bool waited(const Ending& e) {
  return e.ended - e.offered > e.work + Duration{2};
}

double share_waiting(const Journal& journal, Span span) {
  return share(journal, span, waited);
}

double wait_at(const Journal& journal, Span span, double q) {
  Journal waits = journal;
  for (Ending& e : waits) {
    e.ended = e.ended - e.work;
  }
  return latency(waits, span, q);
}

const Distribution kExponential = Distribution::exponential(kTenMs);

TEST(OneWorker, WaitsAsMM1Does) {
  const struct {
    double per_second;
    double wait;
    double requests;
    double precision;
  } cases[] = {{50, 0.010, 4e4, 0.01},
               {80, 0.040, 1e5, 0.015},
               {90, 0.090, 1.5e5, 0.025},
               {95, 0.190, 3e5, 0.04},
               {99, 0.990, 6e5, 0.1}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.per_second);
    expect_agrees(of_line({c.per_second, kExponential, 1, c.requests}, mean_wait), c.wait,
                  c.precision);
  }
}

TEST(OneWorker, HoldsAsManyAsMM1Does) {
  expect_agrees(of_line({50, kExponential, 1, 4e4}, mean_in_system), 1, 0.01);
  expect_agrees(of_line({80, kExponential, 1, 1e5}, mean_in_system), 4, 0.02);
  expect_agrees(of_line({90, kExponential, 1, 1.5e5}, mean_in_system), 9, 0.03);
}

TEST(OneWorker, HasThePercentilesOfMM1) {
  // The time in M/M/1 is exponential of rate mu - lambda.
  const Line line{80, kExponential, 1, 1e5};
  for (const double q : {0.5, 0.95, 0.99}) {
    expect_agrees(of_line(line, [q](const Journal& j, Span s) { return latency(j, s, q); }),
                  -std::log(1 - q) / 20, 0.03);
  }
}

TEST(OneWorker, WaitsHalfAsLongForFixedWork) {
  const Distribution fixed = Distribution::fixed(kTenMs);
  expect_agrees(of_line({50, fixed, 1, 4e4}, mean_wait), 0.005, 0.01);
  expect_agrees(of_line({80, fixed, 1, 1e5}, mean_wait), 0.020, 0.01);
  expect_agrees(of_line({90, fixed, 1, 1.5e5}, mean_wait), 0.045, 0.02);
  expect_agrees(of_line({95, fixed, 1, 3e5}, mean_wait), 0.095, 0.04);
}

// A bimodal work of mean 10 ms and this cv, of which one in a hundred is the long one.
Distribution bimodal_of_cv(double cv) {
  const double share_long = 0.01;
  const double apart = 0.01 * cv / std::sqrt(share_long * (1 - share_long));
  const double shorter = 0.01 - share_long * apart;
  return Distribution::bimodal(duration(shorter), duration(shorter + apart), share_long);
}

TEST(OneWorker, WaitsByPollaczekAndKhinchinWhateverTheWork) {
  // rho / (1 - rho) * mean * (1 + cv^2) / 2 = 20 ms * (1 + cv^2)
  expect_agrees(of_line({80, Distribution::lognormal(kTenMs, 0.5), 1, 1e5}, mean_wait), 0.025,
                0.015);
  expect_agrees(of_line({80, Distribution::lognormal(kTenMs, 1), 1, 1e5}, mean_wait), 0.040, 0.025);
  expect_agrees(of_line({80, bimodal_of_cv(2), 1, 1e5}, mean_wait), 0.100, 0.025);
  expect_agrees(of_line({80, bimodal_of_cv(4), 1, 2e5}, mean_wait), 0.340, 0.035);
}

TEST(SeveralWorkers, WaitAsMMcDoes) {
  expect_agrees(of_line({800, kExponential, 10, 1e5}, mean_wait), 0.002045900754, 0.02);
  expect_agrees(of_line({900, kExponential, 10, 1.5e5}, mean_wait), 0.006687315, 0.03);
  expect_agrees(of_line({760, kExponential, 8, 3e5}, mean_wait), 0.02110421577, 0.03);
  // The table's 2 a second at workers that do one, a hundred times as fast.
  expect_agrees(of_line({200, kExponential, 3, 1e5}, mean_wait), 0.01 * 4 / 9, 0.02);
  expect_agrees(of_line({200, kExponential, 3, 1e5}, mean_in_system), 26.0 / 9, 0.01);
}

TEST(SeveralWorkers, KeepWaitingTheShareThatErlangCSays) {
  const struct {
    std::uint32_t c;
    double load;
    double waiting;
    double precision = 0.015;
  } cases[] = {{2, 1, 1.0 / 3},        {2, 1.5, 0.642857142857}, {3, 2, 4.0 / 9},
               {5, 3, 0.236151603499}, {10, 8, 0.409180150796},  {10, 9, 0.6687315241},
               {8, 7.6, 0.8441686306}, {20, 16, 0.256077793839}, {100, 90, 0.216940480906, 0.03}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.c);
    expect_agrees(of_line({100 * c.load, kExponential, c.c, 1e5}, share_waiting), c.waiting,
                  c.precision);
  }
}

TEST(SeveralWorkers, HaveTheWaitsOfMMc) {
  const Line line{800, kExponential, 10, 1e5};
  expect_agrees(of_line(line, [](const Journal& j, Span s) { return wait_at(j, s, 0.95); }),
                0.010511, 0.025);
  expect_agrees(of_line(line, [](const Journal& j, Span s) { return wait_at(j, s, 0.99); }),
                0.018558, 0.03);
  expect_agrees(of_line(line, mean_in_system), 9.636720603, 0.01);
}

// What of a server's speed is known exactly: 10 ms of work, begun 5 ms before it stands still for a
// second, end 5 ms after that; begun at a quarter of the speed, they take 40 ms.
TEST(Server, SpeedHoldsForTheWorkInHand) {
  const Population callers{.arrivals = Arrivals::bursts({at(0.995), at(3)}, 1),
                           .work = Distribution::fixed(kTenMs)};
  Scenario scenario = scenario_of({callers}, 1, 10);
  scenario.services[0].server.speed = {1.0, {{at(1), 0.0}, {at(2), 1.0}, {at(3), 0.25}}};
  const Journal journal = run(scenario, 1).journal;
  ASSERT_EQ(journal.size(), 2U);
  EXPECT_EQ(journal[0].ended, at(2.005));
  EXPECT_EQ(journal[1].ended, at(3.040));
}

// Ten come at once to two workers, of whom one leaves after 15 ms and five join after 35.
TEST(Server, WorkersLeaveWhenTheyHaveFinishedAndBeginWhenTheyCome) {
  const Population callers{.arrivals = Arrivals::bursts({Instant{}}, 10),
                           .work = Distribution::fixed(kTenMs)};
  Scenario scenario = scenario_of({callers}, 2, 1);
  scenario.services[0].server.workers = {2, {{at(0.015), 1}, {at(0.035), 6}}};
  std::vector<double> ends;
  for (const Ending& e : run(scenario, 1).journal) {
    ends.push_back(std::round(seconds(e.ended) * 1000));
  }
  EXPECT_EQ(ends, (std::vector<double>{10, 10, 20, 20, 30, 40, 45, 45, 45, 45}));
}

TEST(Arrivals, PoissonKeepsItsRateThroughItsChanges) {
  const Population callers{.arrivals = Arrivals::poisson({100, {{at(10), 0}, {at(20), 1000}}}),
                           .work = Distribution::fixed(Duration{1})};
  const Scenario scenario = scenario_of({callers}, ServerModel::kUnlimited, 30);
  const auto offered = [](const Ending& e) { return e.offered; };
  std::vector<double> slow;
  std::vector<double> fast;
  for (std::uint64_t seed = 1; seed <= kReplications; ++seed) {
    const auto tens =
        slices(run(scenario, seed).journal, {at(0), at(30)}, Duration::seconds(10), offered);
    slow.push_back(static_cast<double>(tens[0]));
    EXPECT_EQ(tens[1], 0U);
    fast.push_back(static_cast<double>(tens[2]));
  }
  expect_agrees(estimate_of(slow), 1000, 0.02);
  expect_agrees(estimate_of(fast), 10'000, 0.005);
}

// A server of 1 ms that stands still for 100 s (HdrHistogram's own example). One who calls again
// when he has been answered, each 10 ms, does not call while it stands still: of his 10,001 calls
// one took long. Callers who come each 10 ms in any case have waited for half of the time.
TEST(Percentiles, SayWhatCallersMeetOnlyIfCallersDoNotWaitForEachOther) {
  const double standing = 100;
  Population user{.arrivals = Arrivals::closed(1, Distribution::fixed(Duration::millis(9))),
                  .work = Distribution::fixed(Duration::millis(1))};
  Scenario scenario = scenario_of({user}, ServerModel::kUnlimited, 201);
  // In the midst of his call number 10,001.
  scenario.services[0].server.speed = {1.0, {{at(standing + 0.0095), 0.0}, {at(200.0085), 1.0}}};
  const Journal closed = run(scenario, 1).journal;
  const Span first{at(0), at(100.0095)};
  const auto mean_ms = [](const Journal& journal, Span span) {
    double sum = 0;
    double n = 0;
    for (const Ending& e : journal) {
      if (span.holds(e.offered)) {
        sum += seconds(e.ended - e.offered) * 1000;
        ++n;
      }
    }
    return sum / n;
  };
  EXPECT_EQ(count(closed, [&](const Ending& e) { return first.holds(e.offered); }), 10'001U);
  for (const double q : {0.30, 0.99, 0.9999}) {
    EXPECT_NEAR(latency(closed, first, q), 0.001, 1e-9);
  }
  EXPECT_NEAR(latency(closed, first, 0.99999), 100, 0.001);
  EXPECT_NEAR(mean_ms(closed, first), 10.9989, 0.001);

  Population callers{.arrivals = Arrivals::even(100),
                     .work = Distribution::fixed(Duration::millis(1))};
  scenario.populations = {callers};
  scenario.services[0].server.speed = {1.0, {{at(standing), 0.0}, {at(200), 1.0}}};
  scenario.length = Duration::seconds(200);
  scenario.drains = true;
  const Journal open = run(scenario, 1).journal;
  const Span all{at(0), at(200)};
  EXPECT_EQ(open.size(), 20'000U);
  EXPECT_NEAR(latency(open, all, 0.5), 0.001, 1e-9);
  EXPECT_NEAR(latency(open, all, 0.75), 50, 0.05);
  EXPECT_NEAR(latency(open, all, 0.9), 80, 0.08);
  EXPECT_NEAR(latency(open, all, 0.99), 98, 0.098);
  EXPECT_NEAR(latency(open, all, 1), 100, 0.1);
  EXPECT_NEAR(mean_ms(open, all), 25'003, 25);
}

}  // namespace
}  // namespace loadline::sim::test
