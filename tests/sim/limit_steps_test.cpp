// What is kept of how a law found the limit of a run: every step, and each leads on from the one
// before it.
#include <gtest/gtest.h>

#include <bit>

#include "rigs.h"

namespace loadline::sim::test {
namespace {

Scenario learned(double overload, double length) {
  Scenario scenario = scenario_of({r1_callers(overload * kR1Capacity)}, kR1Workers, length);
  scenario.services[0].gate = gate_of(0);
  scenario.services[0].gate->policy.law = Law::automatic;
  return scenario;
}

TEST(LimitSteps, AreAllKept) {
  const Result result = run(learned(1.5, 180), 1);
  ASSERT_EQ(result.limit_steps.size(), 1U);
  const std::vector<LimitEvent>& events = result.limit_steps[0].events;
  EXPECT_GT(events.size(), LimitEvents::kKept);
  EXPECT_EQ(events.size(), result.snapshots[0].limit_events);
  EXPECT_EQ(events.front().reason.cause, LimitCause::began);
  for (std::size_t i = 1; i < events.size(); ++i) {
    EXPECT_EQ(events[i].from, events[i - 1].to) << i;
    EXPECT_GE(events[i].at, events[i - 1].at) << i;
  }
  EXPECT_EQ(events.back().to, result.snapshots[0].limit);
}

TEST(LimitSteps, AreTheSameTwice) {
  const auto once = run(learned(1.5, 20), 3).limit_steps[0].events;
  const auto twice = run(learned(1.5, 20), 3).limit_steps[0].events;
  ASSERT_EQ(once.size(), twice.size());
  for (std::size_t i = 0; i < once.size(); ++i) {
    EXPECT_EQ(once[i].at, twice[i].at);
    EXPECT_EQ(once[i].to, twice[i].to);
    EXPECT_EQ(std::bit_cast<std::uint64_t>(once[i].reason.inputs.slope),
              std::bit_cast<std::uint64_t>(twice[i].reason.inputs.slope));
  }
}

TEST(LimitSteps, AreNoneWhereSomebodyChose) {
  Scenario scenario = learned(1.5, 5);
  scenario.services[0].gate->policy = gate_of(40).policy;
  EXPECT_TRUE(run(scenario, 1).limit_steps[0].events.empty());
}

}  // namespace
}  // namespace loadline::sim::test
