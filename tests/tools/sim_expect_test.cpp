// Whether what a file expects has come true, and what must hold whatever it expects.
#include "sim_expect.h"

#include <gmock/gmock.h>

#include "sim_file.h"
#include "sim_run.h"

namespace loadline::tools {
namespace {

using testing::ElementsAre;

SimExpectation p99_at_most_twice(std::string of) {
  SimExpectation expectation;
  expectation.figure = "p99";
  expectation.text = "p99 at most 200% of b's";
  expectation.bound = {.kind = SimBound::Kind::at_most, .value = 2, .of = std::move(of)};
  return expectation;
}

TEST(SimExpect, ComparesSeedBySeed) {
  const SimExpectation expectation = p99_at_most_twice("b");
  const SimVerdict held = judge(expectation, {0.01, 0.05}, {0.01, 0.03});
  EXPECT_TRUE(held.holds);
  EXPECT_EQ(held.seen, "50 ms (10 ms to 50 ms), 166.7 % of b's");
  // The means would hold.
  EXPECT_FALSE(judge(expectation, {0.03, 0.01}, {0.01, 0.03}).holds);
  EXPECT_EQ(judge(expectation, {0.01}, {}).seen, "10 ms, but the oracle was not looked for");
  EXPECT_EQ(judge(p99_at_most_twice("oracle"), {0.01}, {0.01}).seen,
            "10 ms, 100.0 % of the best fixed limit's");
  // Nothing is no share of nothing.
  EXPECT_EQ(judge(expectation, {0.01}, {0}).seen, "10 ms; b's 0 ms");
  EXPECT_TRUE(judge(expectation, {0}, {0}).holds);
  const SimVerdict none = judge(expectation, {sim::Summary::kNothing}, {0.01});
  EXPECT_FALSE(none.holds);
  EXPECT_EQ(none.seen, "-; b's 10 ms");
}

TEST(SimExpect, AMeanIsJudgedByTheSpreadBetweenSeeds) {
  SimExpectation expectation = p99_at_most_twice("");
  expectation.bound = {.kind = SimBound::Kind::errors, .value = 0.02, .tolerance = 3, .of = {}};
  // Of 10 and 20 ms the mean is 15 and its standard error 5.
  const SimVerdict held = judge(expectation, {0.01, 0.02}, {});
  EXPECT_TRUE(held.holds);
  EXPECT_EQ(held.seen, "15 ms, 1.0 standard errors of 5 ms away");
  EXPECT_EQ(judge(expectation, {0.02}, {}).seen, "20 ms, of one seed, which has no standard error");
  EXPECT_EQ(judge(expectation, {0.01, 0.01}, {}).seen, "10 ms with every seed");
  EXPECT_FALSE(judge(expectation, {0.01, 0.01}, {}).holds);
  EXPECT_TRUE(judge(expectation, {0.02, 0.02}, {}).holds);
  EXPECT_EQ(judge(expectation, {0.01, sim::Summary::kNothing}, {}).seen,
            "-, nothing to measure with some seed");
}

std::vector<std::string> texts(const std::vector<SimVerdict>& verdicts) {
  std::vector<std::string> texts;
  for (const SimVerdict& verdict : verdicts) {
    EXPECT_FALSE(verdict.holds);
    texts.push_back(verdict.text + ": " + verdict.seen);
  }
  return texts;
}

TEST(SimExpect, RulesOfAnyRunAreNamedWhereTheyAreBroken) {
  sim::Scenario scenario;
  scenario.services[0].gate.emplace();
  sim::Watch idle;
  idle.idle_beside_waiter = 3;
  idle.passed = 1;
  sim::Watch miscounted;
  miscounted.miscounts = 2;
  EXPECT_THAT(texts(broken_rules(scenario, {{}, {}}, 1)), ElementsAre());
  EXPECT_THAT(texts(broken_rules(scenario, {{}, idle, miscounted}, 5)),
              ElementsAre("a slot is never idle beside a waiter: broken 3 times with seed 6",
                          "the gate's count is right: broken 2 times with seed 7",
                          "nobody is passed by a less important one: broken 1 times with seed 6"));
  // A guarantee lets the less important pass.
  scenario.services[0].gate->policy.classes[3].guarantee = 50;
  EXPECT_EQ(texts(broken_rules(scenario, {idle}, 1)).size(), 1U);
}

// One worker of 1 s, and two who come at once: the second is refused, and served when it comes
// again.
TEST(SimExpect, LooksAtOneAttemptOfACall) {
  const SimFile file = read_sim_text(R"(version: 1
duration: 10s
service: {workers: 1, work: 1s}
callers: {all: {arrivals: {bursts: 2, at: 1s}, retries: {attempts: 2, pause: 2s, obeys: off}}}
policies: {a: {limit: 1, queue: off}, nobody: {limit: 1, callers: {all: off}}}
expect:
  - {policy: a, attempt: 1, calls: 2, admitted: 50%}
  - {policy: a, attempt: 2, calls: 0, attempts: 1, admitted: 100%}
  - {policy: a, attempt: [1, 2], attempts: 3, refused: 1}
  - {policy: a, served: 100%, to: 2s}
  - {policy: a, useful: 1, calls: 0, from: 2s}
  - {policy: nobody, attempts: 0}
)",
                                     "");
  ASSERT_TRUE(file.faults.empty());
  for (const SimPolicyOutcome& policy : run_sim(file, {}, {}, {}).policies) {
    for (const SimVerdict& verdict : policy.verdicts) {
      EXPECT_TRUE(verdict.holds) << verdict.text << ": " << verdict.seen;
    }
  }
}

}  // namespace
}  // namespace loadline::tools
