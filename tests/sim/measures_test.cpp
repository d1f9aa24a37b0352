#include "sim/measures.h"

#include <gtest/gtest.h>

#include "sim/oracle.h"
#include "sim/replicate.h"

namespace loadline::sim::test {
namespace {

Ending answered(double offered, double ended, double deadline, double work = 0.01) {
  Ending e;
  e.offered = at(offered);
  e.started = at(offered);
  e.ended = at(ended);
  e.deadline = at(deadline);
  e.work = duration(work);
  e.fate = Fate::answered;
  return e;
}

Ending refused_at(double offered, Reason reason) {
  Ending e;
  e.offered = at(offered);
  e.ended = at(offered);
  e.fate = Fate::refused;
  e.reason = reason;
  return e;
}

// In time, in time to the instant, late; two refused; one that goes on.
const Journal kJournal = {answered(0.1, 0.2, 1),          answered(0.2, 0.5, 0.5, 0.03),
                          answered(0.3, 1.5, 1, 0.04),    refused_at(0.4, Reason::queue_full),
                          refused_at(1.2, Reason::limit), Ending{.offered = at(1.4)}};
const Span kAll{at(0), at(2)};

TEST(Measures, CountWhatSomebodyWaitedFor) {
  EXPECT_DOUBLE_EQ(goodput(kJournal, kAll), 1.0);
  EXPECT_DOUBLE_EQ(goodput(kJournal, {at(0), at(0.5)}), 2.0);  // the end is outside
  EXPECT_DOUBLE_EQ(waste(kJournal, kAll), 0.5);
  EXPECT_DOUBLE_EQ(waste(kJournal, {at(0), at(1)}), 0.0);
}

TEST(Measures, ShareThoseWhoseFateIsKnown) {
  EXPECT_DOUBLE_EQ(admitted(kJournal, kAll), 0.6);
  EXPECT_DOUBLE_EQ(in_time(kJournal, kAll), 0.4);
  EXPECT_DOUBLE_EQ(admitted(kJournal, {at(0), at(0.35)}), 1.0);
}

TEST(Measures, TakePercentilesByRank) {
  EXPECT_DOUBLE_EQ(latency(kJournal, kAll, 0.5), 0.3);
  EXPECT_DOUBLE_EQ(latency(kJournal, kAll, 0.99), 1.2);
  EXPECT_DOUBLE_EQ(latency(kJournal, kAll, 0), 0.1);
}

TEST(Measures, CountByReasonAndBySlice) {
  const auto counts = refused(kJournal, kAll);
  EXPECT_EQ(counts[static_cast<std::size_t>(Reason::queue_full)], 1U);
  EXPECT_EQ(counts[static_cast<std::size_t>(Reason::limit)], 1U);
  EXPECT_EQ(counts[static_cast<std::size_t>(Reason::busy)], 0U);
  const auto ends = slices(kJournal, kAll, Duration::seconds(1), [](const Ending& e) {
    return e.fate == Fate::answered ? e.ended : Instant::never();
  });
  EXPECT_EQ(ends, (std::vector<std::uint64_t>{2, 1}));
}

TEST(Oracle, FindsTheKneeAndTheBest) {
  const auto all = sweep({8, 9, 10, 11}, [](std::uint32_t limit) {
    return limit == 10 ? 1000.0 : 100.0 * (limit < 10 ? limit : 9.9);
  });
  EXPECT_EQ(best(all).limit, 10U);
  EXPECT_EQ(knee(all, 1000), 10U);
  EXPECT_EQ(knee(all, 2000), 0U);
}

TEST(Oracle, TurnsTheLimitPhaseByPhase) {
  // Each phase wants one more than the phase before it.
  const auto limits = best_of_phases(3, {1, 2, 3, 4}, [](const auto& tried, std::size_t phase) {
    const std::uint32_t before = phase == 0 ? 1 : tried[phase - 1];
    return tried[phase] == before + 1 ? 1.0 : 0.0;
  });
  EXPECT_EQ(limits, (std::vector<std::uint32_t>{2, 3, 4}));
}

TEST(Seeds, AreRunOnceEachAndKeepTheirOrder) {
  EXPECT_EQ(over_seeds(5, [](std::uint64_t seed) { return seed * seed; }),
            (std::vector<std::uint64_t>{1, 4, 9, 16, 25}));
}

}  // namespace
}  // namespace loadline::sim::test
