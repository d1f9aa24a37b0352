#include "sim_plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "markup_check.h"
#include "sim_outcomes.h"
#include "sim_panel.h"

namespace loadline::tools {
namespace {

using test::MarkupCheck;
using test::outcome_of;
using test::two_kinds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

const SimOutcome& two() {
  static const SimOutcome kTwo = outcome_of(
      {outcome_of("no gate", two_kinds(4, {})), outcome_of("fixed 12", two_kinds(4, 12))});
  return kTwo;
}

SimPolicyOutcome named(std::string name) {
  SimPolicyOutcome outcome;
  outcome.policy = std::move(name);
  return outcome;
}

std::vector<std::string> titles(const SimOutcome& outcome) {
  std::vector<std::string> titles;
  for (const SimPanel& panel : sim_panels(outcome)) {
    titles.push_back(panel.title);
  }
  return titles;
}

std::vector<std::string> keys(const SimPanel& panel) {
  std::vector<std::string> keys;
  for (const SimKey& key : panel.keys) {
    keys.push_back(key.label);
  }
  return keys;
}

TEST(SimPanels, AreOfWhatThereIs) {
  EXPECT_THAT(titles(two()), ElementsAre("Requests a second", "Rejections a second", "In flight",
                                         "Waiting at the gate", "Wait of those let through",
                                         "Latency of useful answers"));
  const SimOutcome open = outcome_of({outcome_of("no gate", two_kinds(4, {}))});
  EXPECT_THAT(titles(open),
              ElementsAre("Requests a second", "In flight", "Latency of useful answers"));
  EXPECT_THAT(keys(sim_panels(open)[1]), ElementsAre("in flight"));  // and no limit
}

TEST(SimPanels, InstancesHaveOneWhereTheyChange) {
  SimOutcome scaled = outcome_of({named("a"), named("b")});
  scaled.policies[0].timeline.in_turn = {1, 1, 1};
  EXPECT_THAT(titles(scaled), IsEmpty());
  scaled.policies[1].timeline.in_turn = {1, 2, 3};
  EXPECT_THAT(titles(scaled), ElementsAre("Instances in turn"));
}

TEST(SimPanels, PoliciesShareTheirAxes) {
  for (const SimPanel& panel : sim_panels(two())) {
    double most = 0;
    ASSERT_THAT(panel.by_policy, SizeIs(2));
    for (const auto& series : panel.by_policy) {
      for (const SimSeries& one : series) {
        for (const double value : one.values) {
          most = std::isfinite(value) ? std::max(most, value) : most;
        }
      }
    }
    EXPECT_GE(panel.axis.high, most) << panel.title;
    EXPECT_LE(panel.axis.high, 5 * most) << panel.title;
  }
}

TEST(SimPanels, RejectionsStandOnEachOther) {
  SimOutcome one = outcome_of({named("a")});
  one.policies[0].timeline.rejected[std::size_t(Reason::limit)] = {1, 2};
  one.policies[0].timeline.rejected[std::size_t(Reason::quota)] = {10, 0};
  const std::vector<SimPanel> panels = sim_panels(one);
  ASSERT_THAT(panels, SizeIs(1));
  EXPECT_THAT(keys(panels[0]), ElementsAre("limit", "quota"));
  const auto& series = panels[0].by_policy[0];
  EXPECT_THAT(series[0].values, ElementsAre(1, 2));
  EXPECT_THAT(series[1].below, ElementsAre(1, 2));
  EXPECT_THAT(series[1].values, ElementsAre(11, 2));
  EXPECT_NE(series[0].colour, series[1].colour);
}

TEST(SimPanels, TimesAreLogarithmicBeyondTwoDecades) {
  SimOutcome one = outcome_of({named("a")});
  one.policies[0].timeline.wait_p50 = {0, 0.001, NAN};
  one.policies[0].timeline.wait_p99 = {0, 0.1, NAN};
  EXPECT_FALSE(sim_panels(one)[0].axis.logarithmic);
  one.policies[0].timeline.wait_p99 = {0, 0.11, NAN};
  EXPECT_TRUE(sim_panels(one)[0].axis.logarithmic);
}

// One that lets all in has thousands in flight.
TEST(SimPanels, CountsFarApartAreLogarithmic) {
  SimOutcome pair = outcome_of({named("a"), named("b")});
  pair.policies[0].timeline.in_flight = {10, 10};
  pair.policies[1].timeline.in_flight = {10, 50};
  EXPECT_FALSE(sim_panels(pair)[0].axis.logarithmic);
  pair.policies[1].timeline.in_flight = {10, 5000};
  EXPECT_TRUE(sim_panels(pair)[0].axis.logarithmic);
}

// Without the whole markup in the message.
void expect_without(const std::string& markup, const std::string& what) {
  EXPECT_EQ(markup.find(what), std::string::npos) << what;
}

void expect_well_made(const std::string& markup) {
  EXPECT_EQ(MarkupCheck::fault_of(markup), "");
  for (const char* const no_number : {"Mnan", "Hnan", "Vnan", " nan", "\"nan", "inf\"", "-inf"}) {
    expect_without(markup, no_number);
  }
  for (const char* const loads : {"<script", "href", "src=", "url(", "@import", "onload"}) {
    expect_without(markup, loads);
  }
}

TEST(SimSvg, ShowsEachPolicyAndWhatItsColoursMean) {
  const std::string svg = sim_svg(two());
  expect_well_made(svg);
  EXPECT_THAT(svg, testing::StartsWith("<svg xmlns=\"http://www.w3.org/2000/svg\""));
  for (const char* const shown :
       {">two-kinds.yaml<", ">no gate<", ">fixed 12<", "Ten workers", ">offered<",
        ">useful answers<", ">too late or failed<", ">limit<", ">in flight<", ">p99<",
        ">queue_timeout<", "Share of all answers that took longer", ">4 s<", ">10 ms<", ">1 %<"}) {
    EXPECT_THAT(svg, HasSubstr(shown));
  }
  EXPECT_THAT(svg, Not(HasSubstr("prefers-color-scheme")));
}

TEST(SimHtml, HasTheFiguresAndTheVerdicts) {
  SimOutcome outcome = two();
  outcome.policies[0].verdicts = {{"p99 at most 110ms", "200 ms", false}};
  outcome.policies[1].verdicts = {{"p99 at most 110ms", "100 ms", true}};
  outcome.oracle = SimOracleFound{{14}, outcome.policies[1].parts[0].by_seed};
  const std::string html = sim_html(outcome);
  expect_well_made(html);
  for (const char* const shown :
       {"<!DOCTYPE html>", "<h1>two-kinds.yaml</h1>", "<td>best fixed limit (14)</td>",
        "<h2>By callers</h2>", "FAILED</span> no gate: p99 at most 110ms: 200 ms",
        "held</span> fixed 12: p99", "prefers-color-scheme:dark", "charset=\"utf-8\"", "<svg "}) {
    EXPECT_THAT(html, HasSubstr(shown));
  }
}

TEST(SimPlot, NamesCannotBecomeMarkup) {
  SimOutcome outcome = two();
  const std::string name = "<script>alert(\"1\")</script> & 'x' ]]> \x01\xff";
  outcome.title = outcome.about = name;
  outcome.policies[0].policy = name;
  outcome.policies[0].verdicts = {{name, name, false}};
  outcome.policies[0].parts[1].name = name;
  expect_well_made(sim_svg(outcome));
  expect_well_made(sim_html(outcome));
  EXPECT_THAT(sim_html(outcome), HasSubstr("&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;"));
}

TEST(SimPlot, TheSameOutcomeIsTheSameBytes) {
  SimOutcome later = two();
  later.wall_seconds = 5;
  EXPECT_EQ(sim_svg(two()), sim_svg(later));
  EXPECT_EQ(sim_html(two()), sim_html(later));
}

TEST(SimPlot, StaysSmallWithManyPolicies) {
  std::vector<SimPolicyOutcome> policies;
  for (int i = 0; i < 6; ++i) {
    policies.push_back(two().policies[static_cast<std::size_t>(i % 2)]);
    // As much detail as there can be: nothing stays as it was.
    auto& line = policies.back().timeline;
    for (auto* const of :
         {&line.offered, &line.goodput, &line.late, &line.in_flight, &line.waiting, &line.limit,
          &line.wait_p50, &line.wait_p99, &line.latency_p50, &line.latency_p99, &line.in_turn}) {
      of->resize(240);
      for (std::size_t k = 0; k < of->size(); ++k) {
        (*of)[k] = 1 + std::abs(std::sin(static_cast<double>(k * 7 + 1)) * 1000);
      }
    }
    line.rejected.fill(line.offered);
  }
  const SimOutcome six = outcome_of(std::move(policies));
  expect_well_made(sim_html(six));
  EXPECT_LT(sim_html(six).size(), 2'000'000U);
}

TEST(SimPlot, PoliciesBeyondARowGoBelow) {
  std::vector<SimPolicyOutcome> policies;
  for (int i = 0; i < 8; ++i) {
    policies.push_back(two().policies[1]);
    policies.back().policy = "policy " + std::to_string(i);
  }
  const std::string svg = sim_svg(outcome_of(std::move(policies)));
  expect_well_made(svg);
  EXPECT_THAT(svg, HasSubstr(">policy 7<"));
  EXPECT_THAT(svg, HasSubstr("class=\"l s0 d\""));  // there are seven colours
  EXPECT_THAT(svg, testing::ContainsRegex("<svg [^>]*width=\"9[0-9][0-9]\""));  // of four columns
}

TEST(SimPlot, GapsBreakLines) {
  SimOutcome one = outcome_of({named("a")});
  sim::Timeline& line = one.policies[0].timeline;
  line.slice = Duration::seconds(1);
  line.offered = {4, 4, 4, 4};
  line.latency_p50 = {0.1, NAN, 0.1, 0.2};
  const std::string svg = sim_svg(one);
  expect_well_made(svg);
  // Two of 900 pixels' quarters each, with a quarter between: 66 to 291, and 516 on.
  EXPECT_THAT(svg, testing::ContainsRegex("class=\"l s4\" d=\"M66 [0-9.]+H291\""));
  EXPECT_THAT(svg, testing::ContainsRegex("class=\"l s4\" d=\"M516 [0-9.]+H741V[0-9.]+H966\""));
}

TEST(SimPlot, NothingAtAllIsStillAPicture) {
  expect_well_made(sim_svg(SimOutcome{}));
  expect_well_made(sim_html(SimOutcome{}));
  const SimOutcome empty = outcome_of({named("a")});
  expect_well_made(sim_svg(empty));
  expect_well_made(sim_html(empty));
  expect_well_made(sim_svg(outcome_of({outcome_of("silent", two_kinds(0, 12))})));
}

}  // namespace
}  // namespace loadline::tools
