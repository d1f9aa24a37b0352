// The suite's verdicts: what is asked for, what is listed as open, and when a run goes through.
#include "sim_suite.h"

#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "sim_run.h"
#include "sim_suite_open.h"
#include "sim_suite_report.h"

namespace loadline::tools {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Kind = SimBound::Kind;

const SimBound kAtLeast{.kind = Kind::at_least, .value = 10};
const SimBound kAtMost{.kind = Kind::at_most, .value = 10};
const SimBound kIs{.kind = Kind::is, .value = 10, .tolerance = 0.1};
constexpr double kNothing = sim::Summary::kNothing;

TEST(Suite, TheWorstOfSeedsIsByWhatIsAskedFor) {
  EXPECT_EQ(worst_for(kAtLeast, {12, 9, 11}), 9);
  EXPECT_EQ(worst_for(kAtMost, {12, 9, 11}), 12);
  EXPECT_EQ(worst_for(kIs, {12, 7, 11}), 7);
  EXPECT_TRUE(std::isnan(worst_for(kAtLeast, {12, kNothing})));
  EXPECT_TRUE(std::isnan(worst_for(kAtLeast, {})));
}

TEST(Suite, WorseIsBeyondWhatTheSeedsDiffer) {
  EXPECT_TRUE(is_worse(kAtLeast, 8, 9));
  EXPECT_FALSE(is_worse(kAtLeast, 8, 9, 1));
  EXPECT_FALSE(is_worse(kAtLeast, 10, 9));
  EXPECT_TRUE(is_worse(kAtMost, 12, 11));
  EXPECT_FALSE(is_worse(kAtMost, 12, 11, 1));
  EXPECT_TRUE(is_worse(kIs, 7, 12));
  EXPECT_FALSE(is_worse(kIs, 8, 12));
  EXPECT_TRUE(is_worse(kAtMost, kNothing, 11));
  EXPECT_FALSE(is_worse(kAtMost, kNothing, kNothing));
}

struct ASuite : testing::Test {
  ASuite() { std::filesystem::create_directories(folder); }
  ~ASuite() override { std::filesystem::remove_all(folder); }
  ASuite(const ASuite&) = delete;
  ASuite& operator=(const ASuite&) = delete;

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder / name) << text;
  }
  std::vector<std::string> names(const std::vector<std::string>& wanted = {}) const {
    std::vector<std::string> all;
    for (const SuiteRow& row : named_rows(read_suite(folder.string(), SimLength::usual), wanted)) {
      all.push_back(row.name);
    }
    return all;
  }
  SuiteRowOutcome run_only(const SuiteOptions& options) const {
    return run_suite(read_suite(folder.string(), SimLength::usual), options,
                     [](const SuiteRowOutcome&, std::size_t) {}, {})
        .at(0);
  }

  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / ("suite" + std::to_string(getpid()));
};

// Ten workers of exactly 10 ms, asked for twice what they can do: 1,000 a second, by a limit of 10
// or more; by one of 5, half of it.
constexpr const char* kTwiceTooMuch = R"(version: 1
duration: 10s
lengths: {full: 20s}
service: {workers: 10, work: 10ms}
callers: {all: {arrivals: {even: 2000/s}, patience: 1s}}
policies: {learned: {limit: {law: auto, from: 10, at_least: 10, at_most: 10}}, half: {limit: 5}}
oracle: {limits: [5, 10]}
)";

TEST_F(ASuite, RowsComeInTheOrderInWhichPeopleCount) {
  for (const char* const name : {"l10.yaml", "l2_3x.yaml", "l2_10x.yaml", "l1.yaml", "x.txt"}) {
    write(name, kTwiceTooMuch);
  }
  EXPECT_THAT(names(), ElementsAre("l1", "l2_3x", "l2_10x", "l10"));
  EXPECT_THAT(names({"L2", "l10"}), ElementsAre("l2_3x", "l2_10x", "l10"));
  EXPECT_THAT(names({"l2_3x"}), ElementsAre("l2_3x"));
  EXPECT_THROW(names({"l"}), std::runtime_error);
  EXPECT_THROW(read_suite((folder / "none").string(), SimLength::usual), std::runtime_error);
  write("l3.yaml", "version: 2");
  EXPECT_THROW(names(), std::runtime_error);
}

TEST_F(ASuite, WhatTheOracleMissesIsNotAskedFor) {
  write("l1.yaml", std::string(kTwiceTooMuch) + R"(expect:
  - {policy: learned, goodput: {at_least: 990/s}, from: 1s}
  - {policy: learned, goodput: {at_least: 1100/s}, from: 1s}
  - {policy: half, goodput: {at_least: 1100/s}, from: 1s}
  - {policy: learned, refused_share: {at_most: 10%}, from: 1s}
  - {policy: half, goodput: {at_least: 97%, of: oracle}, from: 1s}
  - {policy: half, goodput: {is: 100%, within: 1%, of: {from: 1s, to: 5s}}, from: 5s}
)");
  const SuiteRowOutcome row = run_only({.seeds = 2, .laws = {}});
  ASSERT_EQ(row.figures.size(), 6U);
  EXPECT_THAT(row.limits, ElementsAre(10));
  EXPECT_TRUE(row.broken.empty());
  const auto& f = row.figures;
  EXPECT_TRUE(f[0].holds);
  EXPECT_FALSE(f[0].by_oracle);
  EXPECT_NEAR(f[0].worst, 1000, 1);
  EXPECT_NEAR(f[0].oracle, 1000, 1);
  // 97 % of 1,000.
  EXPECT_TRUE(f[1].by_oracle);
  EXPECT_NEAR(f[1].wanted, 970, 1);
  EXPECT_TRUE(f[1].holds);
  EXPECT_FALSE(f[2].holds);
  EXPECT_NEAR(f[2].worst, 500, 1);
  // Half is refused, whatever is done.
  EXPECT_TRUE(f[3].by_oracle);
  EXPECT_NEAR(f[3].wanted, 0.5 / 0.97, 0.01);
  EXPECT_TRUE(f[3].holds);
  // What is compared with it is a share already.
  EXPECT_FALSE(f[4].by_oracle);
  EXPECT_NEAR(f[4].worst, 0.5, 0.001);
  EXPECT_EQ(suite_value(f[4].expectation, f[4].worst), "50.0 %");
  EXPECT_TRUE(f[5].holds);
  EXPECT_NEAR(f[5].oracle, 1, 0.01);
}

TEST_F(ASuite, OtherLawsAreRunInThePlaceOfThoseThatFindLimits) {
  write("l1.yaml", std::string(kTwiceTooMuch) + R"(expect:
  - {policy: learned, limit_mean: {at_most: 20}}
  - {policy: half, limit_mean: {at_most: 20}}
)");
  const SuiteRowOutcome row = run_only({.seeds = 1, .laws = {Law::aimd}});
  EXPECT_EQ(row.figures[0].laws.at(Law::aimd), 10);  // by its bounds
  EXPECT_EQ(row.figures[1].laws.at(Law::aimd), 5);
  const sim::Scenario scenario =
      with_law(read_suite(folder.string(), SimLength::usual)[0].file.policies[1].scenario,
               Law::automatic, true);
  EXPECT_EQ(scenario.services[0].gate->policy.law, Law::automatic);
}

SuiteFigure figure(double worst, bool holds) {
  SuiteFigure one;
  one.row = "l1";
  one.expectation.figure = "useful";
  one.expectation.what = "useful";
  one.expectation.text = "useful at least 10";
  one.expectation.bound = kAtLeast;
  one.wanted = 10;
  one.worst = worst;
  one.spread = 1;
  one.oracle = kNothing;
  one.holds = holds;
  return one;
}

TEST(OpenFigures, AreMissedAsTheyWereAndNoWorse) {
  const SuiteOptions options{.first_seed = 1, .seeds = 5, .laws = {}};
  const OpenList::Part none{};
  OpenList::Part open{.seed = 1, .seeds = 5, .figures = {{"l1", "useful at least 10", 9, 1}}};
  EXPECT_EQ(verdict_on(figure(12, true), none, options), SuiteVerdict::held);
  EXPECT_EQ(verdict_on(figure(9, false), none, options), SuiteVerdict::missed);
  EXPECT_EQ(verdict_on(figure(9, false), open, options), SuiteVerdict::open);
  EXPECT_EQ(verdict_on(figure(8, false), open, options), SuiteVerdict::open);
  EXPECT_EQ(verdict_on(figure(7.9, false), open, options), SuiteVerdict::worse);
  EXPECT_EQ(verdict_on(figure(12, true), open, options), SuiteVerdict::closed);
  open.seed = 90'001;  // chance may make it hold with others
  EXPECT_EQ(verdict_on(figure(12, true), open, options), SuiteVerdict::held);
  EXPECT_EQ(verdict_on(figure(7.9, false), open, options), SuiteVerdict::worse);
}

SuiteReport report_of(std::vector<SuiteFigure> figures) {
  SuiteReport report;
  report.title = "A suite";
  report.rows.emplace_back();
  report.rows[0].name = "l1";
  report.rows[0].figures = std::move(figures);
  return report;
}

TEST(OpenFigures, AreListedAnewForTheRowsThatWereRun) {
  const std::vector<SuiteRowOutcome> rows = report_of({figure(9, false), figure(12, true)}).rows;
  const OpenList::Part before{
      .seed = 1, .seeds = 2, .figures = {{"l1", "old", 1, 0}, {"l2", "kept", 2, 0.5}}};
  EXPECT_THAT(listed_for_nothing(rows, before), ElementsAre("l1: old"));
  OpenList list;
  list.of(SimLength::shortened) =
      listed_anew(rows, before, {.first_seed = 3, .seeds = 4, .laws = {}});
  const std::string path = testing::TempDir() + "open" + std::to_string(getpid()) + ".yaml";
  std::ofstream(path) << write_open_list(list);
  const OpenList again = read_open_list(path);
  EXPECT_EQ(again.of(SimLength::usual).seeds, 0U);
  const OpenList::Part& part = again.of(SimLength::shortened);
  EXPECT_EQ(part.seed, 3U);
  EXPECT_EQ(part.seeds, 4U);
  ASSERT_EQ(part.figures.size(), 2U);
  EXPECT_EQ(part.figures[0].row, "l2");
  EXPECT_EQ(part.figures[0].spread, 0.5);
  EXPECT_EQ(part.figures[1].figure, "useful at least 10");
  EXPECT_EQ(part.figures[1].worst, 9);
  std::ofstream(path) << "short: {figures: [{row: l1, worst: x}]}";
  try {
    read_open_list(path);
    FAIL() << "it has faults";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr(path + ":1:19: key 'short.figures[1].figure': missing"));
    EXPECT_THAT(error.what(), HasSubstr(":1:36: key 'short.figures[1].worst': value 'x'"));
  }
  std::filesystem::remove(path);
  EXPECT_EQ(read_open_list(path).of(SimLength::usual).seeds, 0U);
}

TEST(SuiteReport, FailsForWhatIsMissedOrBrokenOrListedForNothing) {
  SuiteReport report = report_of({figure(12, true), figure(9, false)});
  EXPECT_EQ(count(report).held, 1U);
  EXPECT_EQ(count(report).failed, 1U);
  report.open = {.seed = 1, .seeds = 5, .figures = {{"l1", "useful at least 10", 9, 1}}};
  report.options = {.first_seed = 2, .seeds = 5, .laws = {}};
  EXPECT_EQ(count(report).held, 1U);
  EXPECT_EQ(count(report).open, 1U);
  EXPECT_EQ(count(report).failed, 0U);
  report.rows[0].broken = {"a: the gate's count is right: broken 3 times"};
  report.open.figures.push_back({"l1", "renamed", 9, 1});
  EXPECT_EQ(count(report).failed, 2U);
  const std::string table = suite_table(report);
  EXPECT_THAT(table, HasSubstr("l1: a: the gate's count is right: broken 3 times"));
  EXPECT_THAT(table, HasSubstr("listed as open, and no figure of the row: l1: renamed"));
  EXPECT_THAT(table, HasSubstr("1 figures held, 1 are open, 2 FAILED"));
}

TEST(SuiteReport, TellsWhatIsAskedForByTheOracle) {
  SuiteFigure one = figure(9.5, false);
  one.by_oracle = true;
  one.wanted = 9.7;
  one.oracle = 9.8;
  one.laws[Law::aimd] = 3;
  SuiteReport report = report_of({one});
  report.options.laws = {Law::aimd};
  report.again = {{"queue/q1", 3, {"a: useful 5: 4"}, 0}};
  EXPECT_THAT(suite_table(report),
              HasSubstr("l1   useful  at least 9.7 *  9.5   9.8     3     MISSED"));
  const std::string page = suite_page(report, "./dev suite limit");
  EXPECT_THAT(page, HasSubstr("| l1 | useful | at least 9.7 * | 9.5 | 9.8 | 3 | MISSED |"));
  EXPECT_THAT(page, HasSubstr("| queue/q1 | 2 of 3 | a: useful 5: 4 |"));
  const nlohmann::json json = suite_json(report);
  EXPECT_EQ(json["rows"][0]["laws"]["aimd"], 3);
  EXPECT_EQ(json["rows"][0]["by_oracle"], true);
  EXPECT_EQ(json["again"][0]["expected"], 3);
}

}  // namespace
}  // namespace loadline::tools
