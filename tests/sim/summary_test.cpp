// What a run amounts to: each figure on a few attempts whose sum can be done by hand, and the
// pieces of a run as if each were looked at alone.
#include "sim/summary.h"

#include <gtest/gtest.h>

#include <cmath>

#include "rigs.h"

namespace loadline::sim::test {
namespace {

Ending answered(double offered, double ended, double deadline, double work,
                std::uint32_t cost = 1) {
  Ending e;
  e.called = e.offered = e.started = at(offered);
  e.ended = at(ended);
  e.deadline = at(deadline);
  e.work = duration(work);
  e.cost = cost;
  e.fate = Fate::answered;
  return e;
}

Ending refused(double when, std::uint32_t instance = 0) {
  Ending e;
  e.called = e.offered = e.ended = at(when);
  e.instance = instance;
  e.fate = Fate::refused;
  e.reason = Reason::limit;
  return e;
}

Summary of(const Journal& journal, double from, double to,
           const std::vector<LimitChange>& limits = {}) {
  return summarize(journal, {.span = {at(from), at(to)}}, limits);
}

TEST(Summary, SharesOfWhatWasRefusedAndLate) {
  const Journal journal = {answered(0.1, 0.2, 1, 0.01), answered(0.2, 0.5, 0.5, 0.03), refused(0.6),
                           answered(0.3, 1.5, 1, 0.04), refused(1.6)};
  const Summary all = of(journal, 0, 2);
  EXPECT_DOUBLE_EQ(all.refused_share, 2.0 / 5);
  EXPECT_DOUBLE_EQ(all.late_share, 1.0 / 3);
  EXPECT_DOUBLE_EQ(all.useful_work, 0.04 / 2);  // the late one's is none
  EXPECT_TRUE(std::isnan(of(journal, 5, 6).refused_share));
  EXPECT_TRUE(std::isnan(of(journal, 5, 6).late_share));
}

TEST(Summary, TheMostInFlightAreThoseWhoAreThereTogether) {
  // The second comes in the instant in which the first goes.
  const Journal journal = {answered(0.1, 0.2, 9, 0), answered(0.2, 0.5, 9, 0),
                           answered(0.3, 1.5, 9, 0, 4), answered(0.6, 1.6, 9, 0)};
  EXPECT_EQ(of(journal, 0, 0.25).in_flight_peak, 1);
  EXPECT_EQ(of(journal, 0, 0.4).in_flight_peak, 5);
  EXPECT_EQ(of(journal, 0.5, 2).in_flight_peak, 5);  // who began before is there
  EXPECT_EQ(of(journal, 1.5, 2).in_flight_peak, 1);
  EXPECT_EQ(of(journal, 2, 3).in_flight_peak, 0);
}

TEST(Summary, TheLimitIsWeighedByTime) {
  const std::vector<LimitChange> limits = {{at(0.5), 10}, {at(1), 20}, {at(3), 5}};
  EXPECT_DOUBLE_EQ(of({}, 0, 2, limits).limit_mean, 15);  // the first since the beginning
  EXPECT_EQ(of({}, 0, 2, limits).limit_peak, 20);
  EXPECT_DOUBLE_EQ(of({}, 0, 1, limits).limit_mean, 10);
  EXPECT_EQ(of({}, 0, 1, limits).limit_peak, 10);
  EXPECT_DOUBLE_EQ(of({}, 2, 4, limits).limit_mean, 12.5);
  EXPECT_DOUBLE_EQ(of({}, 8, 9, limits).limit_mean, 5);
  EXPECT_TRUE(std::isnan(of({}, 0, 2).limit_mean));
  EXPECT_TRUE(std::isnan(of({}, 0, 2).limit_peak));
}

TEST(Summary, InstancesInUnisonVaryMoreThanApart) {
  // Four each in the first second and none in the second: 8, 0 vary by 16, and 4, 0 by 4 each.
  Journal together;
  Journal in_turn;
  for (const double when : {0.1, 0.2, 0.3, 0.9}) {
    for (const std::uint32_t instance : {0U, 1U}) {
      together.push_back(refused(when, instance));
    }
    in_turn.push_back(refused(when, 0));
  }
  for (const double when : {1.1, 1.2, 1.3, 1.9}) {
    in_turn.push_back(refused(when, 1));
  }
  EXPECT_DOUBLE_EQ(of(together, 0, 2).unison, 2);
  EXPECT_DOUBLE_EQ(of(in_turn, 0, 2).unison, 0);
  EXPECT_TRUE(std::isnan(of({refused(0.1), refused(1.5)}, 0, 2).unison)) << "of one";
  EXPECT_TRUE(std::isnan(of(together, 0, 1).unison)) << "in a second";
}

// Every figure of every piece, of a run in which all kinds of things happen.
TEST(Summary, APieceIsAsIfItWereLookedAtAlone) {
  Population callers = r1_callers(Steps<double>(2000, {{at(3), 5000}, {at(7), 500}}));
  callers.retry.attempts = 2;
  callers.retry.obeys = false;
  Scenario scenario = scenario_of({callers}, kR1Workers, 10);
  scenario.services[0].gate = gate_of(36);
  scenario.services[0].gate->limits = {{at(4.5), 20}, {at(6), 40}};
  const Result result = run(scenario, 1);
  const Selection whole{.span = {at(1), at(10)}};
  const auto pieces = summarize_each(result.journal, whole, Duration::millis(700),
                                     Duration::millis(1000), result.limits);
  ASSERT_EQ(pieces.size(), 9U);  // what is left at the end is long enough
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const double from = 1 + static_cast<double>(i);
    const Summary alone = of(result.journal, from, from + 0.7, result.limits);
    EXPECT_EQ(pieces[i].calls, alone.calls);
    EXPECT_EQ(pieces[i].useful, alone.useful);
    EXPECT_EQ(pieces[i].refused, alone.refused);
    EXPECT_EQ(pieces[i].goodput, alone.goodput);
    EXPECT_EQ(pieces[i].served, alone.served);
    EXPECT_EQ(pieces[i].in_flight, alone.in_flight);
    EXPECT_EQ(pieces[i].in_flight_peak, alone.in_flight_peak);
    EXPECT_EQ(pieces[i].limit_mean, alone.limit_mean);
    EXPECT_EQ(pieces[i].useful_work, alone.useful_work);
    EXPECT_EQ(pieces[i].wait.p99, alone.wait.p99);
    EXPECT_EQ(pieces[i].of_starts, alone.of_starts);
  }
  EXPECT_EQ(
      summarize_each(result.journal, whole, Duration::seconds(4), Duration::seconds(5)).size(), 2U);
  EXPECT_EQ(
      summarize_each(result.journal, whole, Duration::seconds(5), Duration::seconds(5)).size(), 1U);
}

}  // namespace
}  // namespace loadline::sim::test
