// What must be true of any run: it repeats, policies meet the same callers, and the books balance.
#include "sim/world.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "rigs.h"

namespace loadline::sim::test {
namespace {

Scenario mixed() {
  Population patient = r3_callers(900);
  patient.importance = 1;
  Population hasty = r3_callers(900);
  hasty.patience = Duration::millis(50);
  hasty.departs = true;
  hasty.tells_deadline = false;
  hasty.importance = 3;
  hasty.retry = {.attempts = 3, .obeys = false};
  Population heavy = r3_callers(20);
  heavy.cost = 4;
  heavy.tenants = {.first = 7, .count = 3};
  Scenario scenario = scenario_of({patient, hasty, heavy}, kR3Workers, 5);
  scenario.services[0].gate = gate_of(12);
  return scenario;
}

TEST(AnyRun, RepeatsAndDiffersByItsSeed) {
  EXPECT_EQ(run(mixed(), 1).journal, run(mixed(), 1).journal);
  EXPECT_NE(run(mixed(), 1).journal, run(mixed(), 2).journal);
}

// First attempts by population and arrival: their work and tenant.
auto callers_of(const Journal& journal) {
  std::map<std::tuple<int, std::int64_t>, std::tuple<std::int64_t, std::uint64_t>> callers;
  for (const Ending& e : journal) {
    if (e.attempt == 1) {
      callers[{e.population, e.offered.ns}] = {e.work.ns, e.tenant};
    }
  }
  return callers;
}

TEST(AnyRun, MeetsTheSameCallersWhateverThePolicy) {
  Scenario other = mixed();
  other.services[0].gate->policy.limit = 3;
  Scenario without = mixed();
  without.services[0].gate.reset();
  const auto callers = callers_of(run(mixed(), 1).journal);
  EXPECT_GT(callers.size(), 8000U);
  EXPECT_EQ(callers, callers_of(run(other, 1).journal));
  EXPECT_EQ(callers, callers_of(run(without, 1).journal));
}

// The gate's count against the callers' own.
TEST(AnyRun, BalancesItsBooks) {
  const Result result = run(mixed(), 1);
  EXPECT_EQ(result.watch.miscounts, 0U);
  EXPECT_EQ(result.watch.idle_beside_waiter, 0U);
  for (std::uint8_t c = 0; c < 4; ++c) {
    const Snapshot::Class& gate = result.snapshots[0].classes[c];
    const auto here = [&](Fate fate) {
      return count(result.journal,
                   [&](const Ending& e) { return e.importance == c && e.fate == fate; });
    };
    std::uint64_t refused = 0;
    for (std::size_t r = 1; r < kReasons; ++r) {
      const auto reason = static_cast<Reason>(r);
      const std::uint64_t callers = count(
          result.journal, [&](const Ending& e) { return e.importance == c && e.reason == reason; });
      EXPECT_EQ(gate.rejected[r], callers) << name(reason);
      refused += callers;
    }
    const std::uint64_t offered = count(result.journal, OfClass{c});
    EXPECT_EQ(offered, gate.admitted + refused + gate.cancelled + gate.waiting);
    EXPECT_EQ(gate.cancelled, here(Fate::left));
    EXPECT_EQ(gate.admitted + gate.waiting, here(Fate::answered) + here(Fate::open));
  }
}

TEST(AnyRun, TriesAgainWhenItsCallersDo) {
  const Result result = run(mixed(), 1);
  std::map<std::uint32_t, std::uint64_t> attempts;
  for (const Ending& e : result.journal) {
    if (e.population == 1) {
      ++attempts[e.attempt];
      EXPECT_EQ((e.offered - e.called).ns >= Duration::millis(50).ns * (e.attempt - 1), true);
    } else {
      EXPECT_EQ(e.attempt, 1U);
    }
  }
  EXPECT_GT(attempts[2], 100U);
  EXPECT_GT(attempts[3], 100U);
  EXPECT_EQ(attempts[4], 0U);
}

// A waiter whose class has its share of the limit waits beside idle slots, and should.
TEST(AnyRun, LeavesSlotsIdleThatAClassMayNotFill) {
  Population callers = r3_callers(2000);
  callers.importance = 3;
  Scenario scenario = scenario_of({callers}, kR3Workers, 10);
  scenario.services[0].gate = gate_of(kR3Workers);
  scenario.services[0].gate->policy.classes[3].share = 300;
  const Result result = run(scenario, 1);
  EXPECT_EQ(result.watch.idle_beside_waiter, 0U);
  EXPECT_EQ(result.watch.peak_in_flight, 3U);
  EXPECT_GT(result.watch.peak_waiting, 3U);
}

TEST(RetryAfter, IsObeyedToTheSecond) {
  Population callers = r3_callers(2000);
  callers.retry = {.attempts = 2};
  Scenario scenario = scenario_of({callers}, kR3Workers, 10);
  scenario.services[0].gate = gate_of(kR3Workers);
  scenario.services[0].gate->policy.retry_after_min = 3;
  scenario.services[0].gate->policy.retry_after_max = 3;
  std::uint64_t again = 0;
  for (const Ending& e : run(scenario, 1).journal) {
    if (e.attempt == 2) {
      ++again;
      // A refusal came at the latest 100 ms after its offer.
      const Duration later = e.offered - e.called;
      EXPECT_GE(later, Duration::seconds(3));
      EXPECT_LE(later, Duration::millis(3100));
    }
  }
  EXPECT_GT(again, 1000U);
}

}  // namespace
}  // namespace loadline::sim::test
