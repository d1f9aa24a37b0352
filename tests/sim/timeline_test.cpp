// What a run looks like over time, against journals small enough to be counted by hand.
#include "sim/timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <numeric>

#include "rigs.h"
#include "sim/summary.h"

namespace loadline::sim::test {
namespace {

using ::testing::DoubleEq;
using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsNan;

Ending answered(double offered, double started, double ended) {
  return {.called = at(offered),
          .offered = at(offered),
          .deadline = at(offered + 1),
          .started = at(started),
          .ended = at(ended),
          .fate = Fate::answered};
}

Ending refused(double offered, double ended, Reason reason) {
  return {.offered = at(offered), .ended = at(ended), .fate = Fate::refused, .reason = reason};
}

Ending left(double offered, double ended) {
  return {.offered = at(offered), .ended = at(ended), .fate = Fate::left};
}

Ending open(double offered, Instant started = Instant::never()) {
  return {.offered = at(offered), .started = started, .fate = Fate::open};
}

// Four slices of one second.
Timeline of(const Journal& journal, const std::vector<LimitChange>& limits = {},
            const std::vector<Fleet::Turnout>& turnouts = {}) {
  return timeline_of(journal, at(4), limits, turnouts, 4);
}

TEST(Timeline, CountsWhatCameAndWhatWasGivenASecond) {
  const Timeline seen = of({
      answered(0.0, 0.1, 0.5),  // useful
      answered(0.5, 1.0, 1.5),  // at its deadline: useful still
      answered(0.9, 1.5, 2.5),  // late
      Ending{.offered = at(2), .started = at(2), .ended = at(3.5), .fate = Fate::failed},
      refused(3, 3, Reason::limit),
      refused(1, 3.25, Reason::queue_timeout),
      refused(2, 2.75, Reason::queue_timeout),
      open(3.5),
  });
  EXPECT_EQ(seen.from, Instant{});
  EXPECT_EQ(seen.slice, Duration::seconds(1));
  EXPECT_THAT(seen.offered, ElementsAre(3, 1, 2, 2));
  EXPECT_THAT(seen.goodput, ElementsAre(1, 1, 0, 0));
  EXPECT_THAT(seen.late, ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(seen.rejected[std::size_t(Reason::limit)], ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(seen.rejected[std::size_t(Reason::queue_timeout)], ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(seen.rejected[std::size_t(Reason::quota)], IsEmpty());
}

TEST(Timeline, AveragesWhatIsThereOverTheTimeThatItIs) {
  const Timeline seen = of({
      answered(0.25, 0.5, 2.25),                  // waits 0.25 of the first; in flight 0.5, 1, 0.25
      answered(0.5, 0.5, 0.75),                   // in flight 0.25 of the first
      refused(1.5, 3.25, Reason::queue_timeout),  // waits 0.5, 1, 0.25 from the second on
      left(2.0, 3.0),                             // waits all of the third
      open(2.5),                                  // waits 0.5 of the third, and to the end
      open(3.25, at(3.5)),                        // waits 0.25, in flight 0.5
  });
  EXPECT_THAT(seen.in_flight, ElementsAre(0.75, 1, 0.25, 0.5));
  EXPECT_THAT(seen.waiting, ElementsAre(0.25, 0.5, 2.5, 1.5));
}

TEST(Timeline, IsOfWhatCallersOffered) {
  Ending of_service = answered(0, 0, 1);
  of_service.origin = Origin::service;
  Ending probe = answered(0, 0, 1);
  probe.origin = Origin::probe;
  const Timeline seen = of({of_service, probe});
  EXPECT_THAT(seen.offered, Each(0));
  EXPECT_THAT(seen.in_flight, Each(0));
  EXPECT_THAT(seen.beyond, IsEmpty());
}

TEST(Timeline, TimesStandWhereTheirRequestsWereOffered) {
  const Timeline seen = of({
      answered(0.5, 0.6, 1.25), answered(0.5, 0.7, 1.0),  // waits 0.1, 0.2; takes 0.75, 0.5
      answered(0.9, 1.5, 2.5),                            // waits 0.6; late
      refused(1, 3, Reason::queue_timeout),               // was not let through
      open(3, at(3.5)),                                   // was
  });
  EXPECT_THAT(seen.wait_p50, ElementsAre(DoubleNear(0.2, 1e-12), IsNan(), IsNan(), DoubleEq(0.5)));
  EXPECT_THAT(seen.wait_p99, ElementsAre(DoubleNear(0.6, 1e-12), IsNan(), IsNan(), DoubleEq(0.5)));
  EXPECT_THAT(seen.latency_p50, ElementsAre(DoubleEq(0.5), IsNan(), IsNan(), IsNan()));
  EXPECT_THAT(seen.latency_p99, ElementsAre(DoubleEq(0.75), IsNan(), IsNan(), IsNan()));
}

TEST(Timeline, LimitsAndTurnoutsAreAveraged) {
  const Timeline seen = of({}, {{at(0.75), 10}, {at(1.5), 20}, {at(1.75), 40}, {at(3.5), 0}},
                           {{at(0), 0, 1}, {at(0), 0, 2}, {at(0), 1, 9}, {at(2.5), 0, 1}});
  // 10 until 1.5, since a limit is there before it is looked at; 20 for 0.25; 40.
  EXPECT_THAT(seen.limit, ElementsAre(10, 20, 40, 20));
  EXPECT_THAT(seen.in_turn, ElementsAre(2, 2, 1.5, 1));
}

TEST(Timeline, WithoutAGateThereIsNoLimit) {
  EXPECT_THAT(of({}).limit, IsEmpty());
  EXPECT_THAT(of({}).in_turn, IsEmpty());
}

TEST(Timeline, SlicesAreRoundAndAtMostSoMany) {
  const auto slice = [](double seconds, std::size_t slices) {
    const Timeline seen = timeline_of({}, at(seconds), {}, {}, slices);
    EXPECT_LE(seen.offered.size(), slices);
    return seen.slice;
  };
  EXPECT_EQ(slice(10, 240), Duration::millis(50));
  EXPECT_EQ(slice(12, 240), Duration::millis(50));
  EXPECT_EQ(slice(12.001, 240), Duration::millis(100));
  EXPECT_EQ(slice(21600, 240), Duration::seconds(100));
  EXPECT_EQ(slice(1e-9, 240), Duration{1});
  EXPECT_EQ(slice(9e9, 240), Duration::seconds(50'000'000));
  EXPECT_EQ(slice(5, 1), Duration::seconds(5));
}

// A run that drains ends whenever the last answer is given: right behind a slice, that one answer
// would look like thousands a second.
TEST(Timeline, TheLastSliceIsNeverASliver) {
  const Ending late = open(2.25, at(2.25));
  const Timeline shorter = timeline_of({late}, at(2.5), {{at(0), 4}}, {}, 3);
  EXPECT_EQ(shorter.slice, Duration::seconds(1));
  EXPECT_THAT(shorter.offered, ElementsAre(0, 0, 2));
  EXPECT_THAT(shorter.in_flight, ElementsAre(0, 0, 0.5));
  EXPECT_THAT(shorter.limit, ElementsAre(4, 4, 4));

  const Timeline longer = timeline_of({late}, at(2.4), {{at(0), 4}}, {}, 3);
  EXPECT_EQ(longer.slice, Duration::seconds(1));
  EXPECT_THAT(longer.offered, ElementsAre(0, DoubleNear(1 / 1.4, 1e-12)));
  EXPECT_THAT(longer.in_flight, ElementsAre(0, DoubleNear(0.15 / 1.4, 1e-12)));
  EXPECT_THAT(longer.limit, ElementsAre(4, 4));
}

TEST(Timeline, TheEndBelongsToIt) {
  const Timeline seen = of({answered(3.5, 3.5, 4), answered(5, 5, 5.5)});
  EXPECT_THAT(seen.offered, ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(seen.goodput, ElementsAre(0, 0, 0, 1));
  EXPECT_EQ(seen.beyond.size(), 1U);
}

TEST(Timeline, NothingHasNoSlices) {
  const Timeline seen = timeline_of({refused(0, 0, Reason::limit)}, Instant{}, {{at(0), 4}}, {});
  EXPECT_THAT(seen.offered, IsEmpty());
  EXPECT_THAT(seen.wait_p99, IsEmpty());
  EXPECT_THAT(seen.limit, IsEmpty());
}

std::vector<std::pair<double, double>> pairs(const std::vector<Timeline::Beyond>& points) {
  std::vector<std::pair<double, double>> result;
  for (const Timeline::Beyond& point : points) {
    result.emplace_back(point.seconds, point.share);
  }
  return result;
}

TEST(Beyond, IsTheShareThatTookLonger) {
  using ::testing::Pair;
  const Timeline seen = of({answered(0, 0, 0.25), answered(0, 1, 1.5), answered(1, 1, 1.25),
                            answered(2, 2, 2.5), refused(0, 3, Reason::queue_timeout)});
  EXPECT_THAT(pairs(seen.beyond), ElementsAre(Pair(0.25, 0.5), Pair(0.5, 0.25), Pair(1.5, 0)));
}

// Exponential by its quantiles: the share beyond t is exp(-t).
TEST(Beyond, FewPointsAreCloseInTheTail) {
  constexpr int kAnswers = 1'000'000;
  Journal journal;
  for (int i = 0; i < kAnswers; ++i) {
    journal.push_back(answered(0, 0, -std::log(1 - (i + 0.5) / kAnswers)));
  }
  const Timeline seen = timeline_of(journal, at(20), {}, {});
  const auto& points = seen.beyond;
  EXPECT_LE(points.size(), 300U);
  EXPECT_GT(points.size(), 200U);
  for (std::size_t i = 0; i + 1 < points.size(); ++i) {
    EXPECT_LT(points[i].seconds, points[i + 1].seconds);
    EXPECT_NEAR(points[i].share, std::exp(-points[i].seconds), 1.0 / kAnswers);
    // A step that a picture of a few hundred pixels and six decades can still show.
    if (points[i + 1].share > 20.0 / kAnswers) {
      EXPECT_GT(points[i + 1].share, points[i].share * 0.85);
    }
  }
  EXPECT_EQ(points.back().share, 0);
}

double sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

// A run's timeline and its summary are counted apart, and must agree; Little's law ties what was in
// flight to how long it took.
TEST(Timeline, AgreesWithTheSummaryOfARun) {
  Scenario scenario = scenario_of({r3_callers(1500)}, kR3Workers, 20);
  scenario.services[0].gate = gate_of(12);
  scenario.drains = true;
  const Result result = run(scenario, 1);
  const Instant end = result.journal.back().ended;
  ASSERT_LT(end, at(20.25));
  const Timeline seen = timeline_of(result.journal, end, result.limits, result.turnouts, 50);
  Selection all;
  all.span = {Instant{}, end + Duration{1}};
  const Summary summary = summarize(result.journal, all);

  ASSERT_EQ(seen.offered.size(), 40U);  // of 500 ms; the last is a little longer
  const double last = seconds(end) - 19.5;
  const auto total = [&](const std::vector<double>& rates) {
    return (sum(rates) - rates.back()) * 0.5 + rates.back() * last;
  };
  EXPECT_NEAR(total(seen.offered), static_cast<double>(summary.attempts), 1e-6);
  EXPECT_NEAR(total(seen.goodput), static_cast<double>(summary.useful), 1e-6);
  for (std::size_t reason = 0; reason < kReasons; ++reason) {
    const auto& rates = seen.rejected[reason];
    const double refusals = rates.empty() ? 0 : total(rates);
    EXPECT_NEAR(refusals, static_cast<double>(summary.refused[reason]), 1e-6);
  }
  double in_flight = 0;
  for (const Ending& e : result.journal) {
    in_flight += e.admitted() ? seconds(e.ended - e.started) : 0;
  }
  EXPECT_NEAR(total(seen.in_flight), in_flight, 1e-6);
  EXPECT_THAT(seen.limit, Each(DoubleNear(12, 1e-9)));
  EXPECT_THAT(seen.in_turn, Each(DoubleNear(1, 1e-9)));
}

// Attempts that are there for all of many slices cost no more than others do.
TEST(Timeline, LongStaysCostNoMore) {
  const Journal journal(200'000, open(0, at(1)));
  const auto begun = std::chrono::steady_clock::now();
  const Timeline seen = timeline_of(journal, at(1000), {}, {}, 100'000);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(5));
  EXPECT_EQ(seen.in_flight[99'999], 200'000);
}

}  // namespace
}  // namespace loadline::sim::test
