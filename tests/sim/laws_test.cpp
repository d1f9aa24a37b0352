// The published laws that find a limit, through the gate and in front of a queue: 32 workers, work
// of 10 ms with a deviation as large as the mean, callers with 100 ms. What each is worth there,
// roughly: a change of one of them should be noticed.
#include <gtest/gtest.h>

#include <string>

#include "loadline/limiter.h"
#include "rigs.h"
#include "sim/summary.h"

namespace loadline::sim::test {
namespace {

class PublishedLaw : public testing::TestWithParam<Law> {};
INSTANTIATE_TEST_SUITE_P(Laws, PublishedLaw,
                         testing::Values(Law::aimd, Law::vegas, Law::gradient2, Law::envoy,
                                         Law::brpc, Law::trpc),
                         [](const auto& info) { return std::string(name(info.param)); });

Result run_under(Law law, double load) {
  Scenario scenario = scenario_of({r1_callers(load * kR1Capacity)}, kR1Workers, 60);
  GateModel gate = gate_of(0);
  gate.policy.law = law;
  scenario.services[0].gate = gate;
  return run(scenario, 1);
}

TEST_P(PublishedLaw, TurnsHardlyAnyoneAwayBelowCapacity) {
  const Result result = run_under(GetParam(), 0.7);
  const Summary settled = summarize(result.journal, {.span = {at(20), at(60)}});
  EXPECT_LT(double(settled.rejected + settled.expired) / double(settled.attempts), 0.01);
}

TEST_P(PublishedLaw, KeepsNineTenthsOfTheCapacityUnderOverload) {
  for (const double load : {1.5, 3.0}) {
    const Result result = run_under(GetParam(), load);
    const Summary settled = summarize(result.journal, {.span = {at(20), at(60)}});
    EXPECT_GT(settled.goodput, 0.9 * kR1Capacity) << "at " << load;
  }
}

}  // namespace
}  // namespace loadline::sim::test
