#include "sim_explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace loadline::tools {
namespace {

using testing::HasSubstr;

LimitEvent event_at(std::int64_t ms, LimitCause cause, std::uint32_t from, std::uint32_t to) {
  return {.at = Instant{} + Duration::millis(ms), .from = from, .to = to, .reason = {cause, {}}};
}

TEST(SimExplanation, TellsWhenAndWhatOfEachGate) {
  SimOutcome outcome;
  outcome.first_seed = 7;
  outcome.policies.resize(2);
  outcome.policies[0].policy = "mine";
  outcome.policies[0].limit_steps = {
      {"", {event_at(0, LimitCause::began, 0, 6), event_at(1234, LimitCause::late, 6, 3)}}};
  outcome.policies[1].policy = "fixed";
  EXPECT_EQ(sim_explanation(outcome, Probes::folded),
            "\nHow mine found the limit (seed 7):\n"
            "    0.000 s  The limit begins at 6.\n"
            "    1.234 s  Only 0 % of the last 0 answers were in time, so the limit goes from 6 to "
            "3.\n");
  outcome.policies[0].limit_steps[0].gate = "api, instance 3";
  EXPECT_THAT(sim_explanation(outcome, Probes::told),
              HasSubstr("How mine found the limit of api, instance 3 (seed 7):"));
}

TEST(SimExplanation, SaysThatThereIsNothingToExplain) {
  EXPECT_THAT(sim_explanation({}, Probes::folded), HasSubstr("nothing to explain"));
}

}  // namespace
}  // namespace loadline::tools
