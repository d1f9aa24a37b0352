#include "sim_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "sim_outcomes.h"
#include "sim_text.h"

namespace loadline::tools {
namespace {

using nlohmann::json;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

sim::Summary summary(std::uint64_t useful, double p99) {
  sim::Summary summary;
  summary.calls = summary.attempts = useful + 100;
  summary.useful = useful;
  summary.rejected = 60;
  summary.expired = 40;
  summary.refused[std::size_t(Reason::limit)] = 60;
  summary.refused[std::size_t(Reason::queue_timeout)] = 40;
  summary.goodput = static_cast<double>(useful) / 10;
  summary.waste = 0;
  summary.latency.p50 = 0.012345678;
  summary.latency.p99 = p99;
  summary.wait.p99 = 0.001;
  return summary;
}

SimPolicyOutcome policy(std::string name, std::vector<sim::Summary> by_seed) {
  SimPolicyOutcome outcome;
  outcome.policy = std::move(name);
  outcome.parts = {{"", SimPart::Kind::all, std::move(by_seed)}};
  return outcome;
}

SimOutcome outcome(std::vector<SimPolicyOutcome> policies) {
  SimOutcome result;
  result.title = "scenario.yaml";
  result.policies = std::move(policies);
  return result;
}

std::string shown(std::string_view figure, double value) {
  return format_figure(*find_sim_figure(figure), value);
}

std::vector<std::string> lines(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    lines.push_back(line);
  }
  return lines;
}

std::size_t widest(const std::string& text) {
  std::size_t most = 0;
  for (const std::string& line : lines(text)) {
    most = std::max(most, columns_of(line));
  }
  return most;
}

TEST(SimTable, HasARowAPolicyAndOneForTheOracle) {
  SimOutcome two =
      outcome({policy("none", {summary(900, 0.2)}), policy("auto", {summary(950, 0.1)})});
  two.oracle = SimOracleFound{{14}, {summary(960, 0.09)}};
  const SimGrid grid = sim_grids(two).front();
  EXPECT_THAT(grid.header, ElementsAre("policy", "useful", "wasted", "rejected", "expired",
                                       "goodput", "waste", "p50", "p99", "wait p99"));
  ASSERT_EQ(grid.rows.size(), 3U);
  EXPECT_THAT(grid.rows[1],
              ElementsAre("auto", "950", "0", "60", "40", shown("goodput", 95), shown("waste", 0),
                          shown("p50", 0.012345678), shown("p99", 0.1), shown("wait_p99", 0.001)));
  EXPECT_EQ(grid.rows[2][0], "best fixed limit (14)");
  EXPECT_EQ(grid.rows[2][1], "960");
  EXPECT_EQ(sim_grids(two).size(), 1U);
}

TEST(SimTable, NamesOneLimitAPhase) {
  SimOutcome one = outcome({policy("auto", {summary(950, 0.1)})});
  one.oracle = SimOracleFound{{14, 20, 8}, {summary(960, 0.09)}};
  EXPECT_THAT(sim_table(one), HasSubstr("best fixed limits (14, 20, 8)"));
}

TEST(SimTable, DepartedAndFailedOnesHaveColumnsWhereThereAreSome) {
  sim::Summary some = summary(900, 0.2);
  some.left = 7;
  EXPECT_THAT(
      sim_grids(outcome({policy("a", {summary(900, 0.2)}), policy("b", {some})})).front().header,
      ElementsAre("policy", "useful", "wasted", "rejected", "expired", "left", "goodput", "waste",
                  "p50", "p99", "wait p99"));
  some.left = 0;
  some.failed = 1;
  EXPECT_THAT(sim_grids(outcome({policy("a", {some})})).front().header,
              ElementsAre("policy", "useful", "wasted", "rejected", "expired", "failed", "goodput",
                          "waste", "p50", "p99", "wait p99"));
}

TEST(SimTable, OfSeveralSeedsTheWorstStandsThere) {
  const SimOutcome three = outcome({policy(
      "auto", {summary(900, 0.2), summary(800, 0.1), summary(1000, sim::Summary::kNothing)})});
  const SimGrid grid = sim_grids(three).front();
  EXPECT_EQ(grid.rows[0][1], "800");
  EXPECT_EQ(grid.rows[0][8], shown("p99", 0.2));
  EXPECT_THAT(sim_table(three), HasSubstr("\nEach figure is the worst of seeds 1 to 3"));
  EXPECT_THAT(sim_table(outcome({policy("auto", {summary(900, 0.2)})})), Not(HasSubstr("seeds")));
}

TEST(SimTable, NeitherBetterNorWorseIsTheMedian) {
  const SimFigure* const calls = find_sim_figure("calls");
  ASSERT_EQ(calls->better, SimFigure::Better::neither);
  EXPECT_EQ(figure_over_seeds(*calls, {summary(3, 0), summary(9, 0), summary(4, 0)}), 104);
  EXPECT_EQ(figure_over_seeds(*calls, {summary(9, 0), summary(3, 0)}), 103);  // one of them
  EXPECT_TRUE(std::isnan(figure_over_seeds(*calls, {})));
}

TEST(SimTable, NothingToMeasureIsADash) {
  SimOutcome nothing = outcome({policy("auto", {sim::Summary{}})});
  EXPECT_THAT(sim_table(nothing), ContainsRegex("auto +0 +0 +0 +0 +0/s +- +- +- +-\n"));
}

TEST(SimTable, PartsHaveTablesOfTheirOwn) {
  SimOutcome two =
      outcome({policy("none", {summary(900, 0.2)}), policy("auto", {summary(950, 0.1)})});
  for (SimPolicyOutcome& each : two.policies) {
    each.parts.push_back({"web", SimPart::Kind::callers, {summary(500, 0.1)}});
    each.parts.push_back({"batch", SimPart::Kind::callers, {summary(400, 0.1)}});
    each.parts.push_back({"critical", SimPart::Kind::of_class, {summary(500, 0.1)}});
    each.parts.push_back({"sheddable", SimPart::Kind::of_class, {summary(400, 0.1)}});
  }
  const std::vector<SimGrid> grids = sim_grids(two);
  ASSERT_EQ(grids.size(), 3U);
  EXPECT_EQ(grids[1].title, "By callers");
  ASSERT_EQ(grids[1].rows.size(), 4U);
  EXPECT_EQ(grids[1].rows[1][0], "");
  EXPECT_EQ(grids[1].rows[1][1], "batch");
  EXPECT_EQ(grids[1].rows[2][0], "auto");
  EXPECT_EQ(grids[2].title, "By class");
  EXPECT_THAT(sim_table(two), ContainsRegex("\n\nBy class\npolicy +class +useful"));
}

TEST(SimTable, VerdictsStandBelow) {
  SimOutcome two =
      outcome({policy("none", {summary(900, 0.2)}), policy("auto", {summary(950, 0.1)})});
  two.policies[0].verdicts = {{"p99 at most 110ms", "200 ms", false}};
  two.policies[1].verdicts = {{"p99 at most 110ms", "100 ms (98 to 100)", true}};
  EXPECT_THAT(sim_table(two), HasSubstr("\n1 of 2 expectations held\n"
                                        "FAILED  none: p99 at most 110ms: 200 ms\n"
                                        "held    auto: p99 at most 110ms: 100 ms (98 to 100)\n"));
  two.policies.erase(two.policies.begin());
  EXPECT_THAT(sim_table(two), HasSubstr("\nheld    p99 at most 110ms: 100 ms (98 to 100)\n"));
}

// Every column there is, of runs of hundreds of thousands, with names that are longer than a line.
TEST(SimTable, IsNoWiderThanAPageButForNames) {
  sim::Summary big = summary(123'456, 0.1234);
  big.wasted = big.rejected = big.expired = 123'456;
  big.left = big.failed = 12'345;
  big.goodput = 123'456;
  big.waste = 0.5;
  SimOutcome wide = outcome({policy("auto", {big}), policy(std::string(70, 'n') + " long", {big})});
  wide.about = std::string(60, 'a') + " " + std::string(60, 'b');
  wide.oracle = SimOracleFound{{100, 200, 300, 400}, {big}};
  for (SimPolicyOutcome& each : wide.policies) {
    each.parts.push_back({std::string(30, 'w') + " and so on", SimPart::Kind::callers, {big}});
    each.parts.push_back({"batch", SimPart::Kind::callers, {big}});
    each.verdicts = {{std::string(60, 'e') + " " + std::string(60, 'f'), "1", true}};
  }
  const std::string table = sim_table(wide);
  EXPECT_LE(widest(table), 100U);
  EXPECT_THAT(table, HasSubstr("\n" + std::string(70, 'n') + " long\n"));  // not cut off
  EXPECT_THAT(table, HasSubstr(std::string(30, 'w') + " and so on\n"));
}

TEST(SimTable, OfAUsualRunStandsOnALineEach) {
  SimOutcome usual = test::outcome_of({test::outcome_of("no gate", test::two_kinds(4, {})),
                                       test::outcome_of("fixed 12", test::two_kinds(4, 12))});
  usual.oracle = SimOracleFound{{14}, usual.policies[1].parts[0].by_seed};
  EXPECT_LE(widest(sim_table(usual)), 100U);
  EXPECT_THAT(sim_table(usual), HasSubstr("\nbest fixed limit (14) "));
}

TEST(SimTable, ColumnsStandInLine) {
  const SimOutcome two =
      outcome({policy("n\u00f6ne", {summary(9, 0.2)}), policy("auto", {summary(95000, 0.1)})});
  const std::vector<std::string> all = lines(sim_table(two));
  ASSERT_GE(all.size(), 5U);
  EXPECT_EQ(columns_of(all[2]), columns_of(all[3]));
  EXPECT_EQ(columns_of(all[2]), columns_of(all[4]));
}

TEST(SimJson, IsAnArrayOfPolicies) {
  const json array =
      sim_json(outcome({policy("none", {summary(900, 0.2)}), policy("auto", {summary(950, 0.1)})}));
  ASSERT_TRUE(array.is_array());
  ASSERT_EQ(array.size(), 2U);
  EXPECT_EQ(array[0]["policy"], "none");
  EXPECT_EQ(array[0]["scenario"], "scenario.yaml");
  const json& one = array[1];
  EXPECT_EQ(one["policy"], "auto");
  EXPECT_EQ(one["useful"], 950);
  EXPECT_TRUE(one["useful"].is_number_integer());
  EXPECT_EQ(one["wasted"], 0);
  EXPECT_EQ(one["rejected"], 60);
  EXPECT_EQ(one["expired"], 40);
  EXPECT_EQ(one["p50_ms"].dump(), "12.345678");
  EXPECT_EQ(one["p99_ms"], 100);
  EXPECT_EQ(one["wait_p99_ms"], 1);
  EXPECT_EQ(one["goodput_per_s"], 95);
  EXPECT_EQ(one["waste"], 0);
  EXPECT_EQ(one["attempts_per_call"], 1);
  EXPECT_EQ(one["rejected_by_reason"], json({{"limit", 60}, {"queue_timeout", 40}}));
  EXPECT_EQ(one["expectations"], json::array());
  EXPECT_FALSE(one.contains("seeds"));
  EXPECT_FALSE(one.contains("oracle"));
  EXPECT_FALSE(one.contains("callers"));
}

TEST(SimJson, NothingToMeasureIsNull) {
  const json array = sim_json(outcome({policy("auto", {sim::Summary{}})}));
  EXPECT_TRUE(array[0]["p50_ms"].is_null());
  EXPECT_TRUE(array[0]["waste"].is_null());
  EXPECT_EQ(array[0]["rejected_by_reason"], json::object());
}

TEST(SimJson, TimesAreWholeNanoseconds) {
  for (const std::int64_t ns : {1LL, 123'456'789LL, 98'400'000LL, 7'000'000'001LL}) {
    const json array = sim_json(outcome({policy("a", {summary(1, sim::seconds(Duration{ns}))})}));
    const double ms = array[0]["p99_ms"];
    EXPECT_EQ(ms, static_cast<double>(ns) / 1e6);
  }
}

TEST(SimJson, AFractionOfACountIsKept) {
  sim::Summary retried = summary(100, 0.1);
  retried.calls = 80;  // of 200 attempts
  EXPECT_EQ(sim_json(outcome({policy("a", {retried})}))[0]["attempts_per_call"], 2.5);
}

TEST(SimJson, HasSeedsPartsOracleAndExpectations) {
  SimOutcome all = outcome({policy("auto", {summary(900, 0.2), summary(800, 0.1)})});
  all.first_seed = 5;
  all.policies[0].parts.push_back(
      {"web", SimPart::Kind::callers, {summary(500, 0.1), summary(600, 0.1)}});
  all.policies[0].parts.push_back({"critical", SimPart::Kind::of_class, {summary(300, 0.1)}});
  all.policies[0].parts.push_back({"shop", SimPart::Kind::service, {summary(200, 0.1)}});
  all.policies[0].verdicts = {{"p99 at most 110ms", "200 ms", false}};
  all.oracle = SimOracleFound{{14, 20}, {summary(960, 0.09), summary(970, 0.08)}};
  const json one = sim_json(all)[0];
  EXPECT_EQ(one["useful"], 800);
  EXPECT_EQ(one["p99_ms"], 200);
  ASSERT_EQ(one["seeds"].size(), 2U);
  EXPECT_EQ(one["seeds"][1]["seed"], 6);
  EXPECT_EQ(one["seeds"][1]["p99_ms"], 100);
  EXPECT_EQ(one["callers"]["web"]["useful"], 500);
  EXPECT_EQ(one["classes"]["critical"]["useful"], 300);
  EXPECT_EQ(one["services"]["shop"]["useful"], 200);
  EXPECT_EQ(one["expectations"],
            json::array({{{"text", "p99 at most 110ms"}, {"seen", "200 ms"}, {"holds", false}}}));
  EXPECT_EQ(one["oracle"]["limits"], json({14, 20}));
  EXPECT_EQ(one["oracle"]["useful"], 960);
}

TEST(SimJson, TheSameRunIsTheSameBytes) {
  SimOutcome once = test::outcome_of({test::outcome_of("fixed", test::two_kinds(2, 12), 2)});
  SimOutcome again = test::outcome_of({test::outcome_of("fixed", test::two_kinds(2, 12), 2)});
  once.wall_seconds = 1;
  again.wall_seconds = 2;
  EXPECT_EQ(sim_json(once).dump(), sim_json(again).dump());
}

TEST(SimJson, NamesOfAnyBytesCanBeWritten) {
  const json array = sim_json(outcome({policy("bad \xff name", {summary(1, 1)})}));
  EXPECT_THAT(array.dump(), HasSubstr("bad \ufffd name"));
}

}  // namespace
}  // namespace loadline::tools
