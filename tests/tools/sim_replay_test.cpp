#include "sim_replay.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "sim/seconds.h"
#include "sim/summary.h"
#include "sim/world.h"

namespace loadline::tools {
namespace {

using sim::Listed;
using testing::ElementsAre;
using testing::HasSubstr;

// Arrival and work in seconds; negative: not known.
Trace trace_of(const std::vector<std::pair<double, double>>& callers) {
  Trace trace;
  trace.format = TraceFormat::csv;
  for (const auto& [at, work] : callers) {
    trace.callers.push_back({sim::at(at), work < 0 ? Listed::kUnknown : sim::duration(work)});
    trace.without_time += work < 0 ? 1 : 0;
  }
  trace.lines = callers.size();
  return trace;
}

// `n` callers, evenly, each of the same work.
Trace even(int n, double per_second, double work) {
  std::vector<std::pair<double, double>> callers;
  for (int i = 0; i < n; ++i) {
    callers.emplace_back(i / per_second, work);
  }
  return trace_of(callers);
}

std::vector<std::string> names(const SimFile& file) {
  std::vector<std::string> result;
  for (const SimPolicy& policy : file.policies) {
    result.push_back(policy.name);
  }
  return result;
}

sim::Summary run(const SimFile& file, std::size_t policy) {
  sim::Selection all;
  all.span = file.measured;
  return sim::summarize(sim::run(file.policies[policy].scenario, 1).journal, all);
}

std::string fault_of(const Trace& trace, const ReplayOptions& options) {
  const SimFile file = replay_of(trace, options);
  return file.faults.empty() ? "" : file.faults.front().text;
}

// In flight as each found it: 1 2 3 3 1 2; the one that ends as another comes is gone.
TEST(TraceSummary, CountsWhatWasInFlight) {
  const Trace trace = trace_of({{0, 10}, {1, 4}, {2, 20}, {5, 3}, {30, 2}, {31, 5}});
  const TraceSummary summary = summarize_trace(trace, {});
  EXPECT_EQ(summary.callers, 6U);
  EXPECT_EQ(summary.in_flight_p50, 2U);
  EXPECT_EQ(summary.in_flight_p90, 3U);
  EXPECT_EQ(summary.in_flight_p99, 3U);
  EXPECT_EQ(summary.in_flight_most, 3U);
  EXPECT_EQ(summary.peak, 1U);
  EXPECT_DOUBLE_EQ(summary.span, 31);
  EXPECT_DOUBLE_EQ(summary.per_second, 6.0 / 31);
  EXPECT_DOUBLE_EQ(summary.work.value(), 4);
}

// Little: 100/s of 55 ms are 5.5 in flight; just arrived one finds 5 others who have not ended.
TEST(TraceSummary, AgreesWithLittle) {
  const TraceSummary summary = summarize_trace(even(10'000, 100, 0.055), {});
  EXPECT_EQ(summary.in_flight_p50, 6U);
  EXPECT_EQ(summary.in_flight_most, 6U);
  EXPECT_EQ(summary.peak, 100U);
}

TEST(TraceSummary, TheUnknownTakeTheMedianOrWhatIsSaid) {
  const Trace trace = trace_of({{0, 1}, {0.5, -1}, {1.4, 1}, {1.6, 9}});
  const TraceSummary summary = summarize_trace(trace, {});
  EXPECT_DOUBLE_EQ(summary.without_time, 0.25);
  EXPECT_EQ(summary.in_flight_most, 2U);  // gone at 1.5
  ReplayOptions longer;
  longer.unknown_work = sim::Distribution::fixed(Duration::seconds(2));
  EXPECT_EQ(summarize_trace(trace, longer).in_flight_most, 3U);
}

TEST(TraceSummary, IsDescribed) {
  Trace trace = trace_of({{0, 0.0123}, {0.25, -1}, {90, 0.0123}, {90, 0.0123}});
  trace.refused = 1;
  trace.no_calls = 3;
  EXPECT_EQ(describe_trace(trace, summarize_trace(trace, {})),
            "4 requests in 1 min 30 s (csv)\n"
            "0.04444/s, 2 in the fullest second\n"
            "in flight, as a request found it: p50 1, p90 2, p99 2, most 2\n"
            "time taken: median 12.3ms, not known of 25 % (25 % refused that night)\n"
            "left out: 3 connections without a request, 0 lines that cannot be read\n");
}

TEST(Replay, WithoutOptionsComparesTheLimitsOfTheTraceItself) {
  std::vector<std::pair<double, double>> callers;
  for (int i = 0; i < 1000; ++i) {
    callers.emplace_back(i, i % 20 == 0 ? 1.5 : 0.5);  // finds himself, or one other
  }
  for (int i = 0; i < 5; ++i) {
    callers.emplace_back(2000, 1);
  }
  const SimFile file = replay_of(trace_of(callers), {});
  EXPECT_THAT(names(file), ElementsAre("no gate", "limit 1", "limit 2", "limit 5"));
  EXPECT_TRUE(file.faults.empty());
  EXPECT_EQ(file.measured.to, sim::at(2001));
  EXPECT_EQ(file.policies[0].scenario.services[0].server.workers.at({}),
            sim::ServerModel::kUnlimited);
  EXPECT_FALSE(file.policies[0].scenario.services[0].gate);
  // The largest refuses nobody, and nobody is slower than that night.
  const auto open = run(file, 0);
  const auto widest = run(file, 3);
  EXPECT_EQ(open.useful, 1005U);
  EXPECT_EQ(widest.useful, 1005U);
  EXPECT_DOUBLE_EQ(open.latency.most, 1.5);
  EXPECT_DOUBLE_EQ(widest.latency.most, 1.5);
  // Limit 2: of five at once two are let in, and none of the three waits a second.
  EXPECT_EQ(run(file, 2).useful, 1002U);
}

// 30 come at once of 1 s each: 10 workers serve them in three rounds, which those with 2.5 s of
// patience see two of.
TEST(Replay, WorkersHaveALineOfTheirOwn) {
  ReplayOptions options;
  options.workers = 10;
  options.patience = Duration::millis(2500);
  const Trace trace = trace_of(std::vector<std::pair<double, double>>(30, {0, 1}));
  const SimFile file = replay_of(trace, options);
  EXPECT_THAT(names(file), ElementsAre("no gate", "limit 10", "limit 20"));
  EXPECT_EQ(run(file, 0).useful, 20U);
  EXPECT_EQ(run(file, 0).wasted, 10U);
  EXPECT_EQ(run(file, 1).useful, 10U);
  EXPECT_EQ(run(file, 1).wasted, 0U);
  EXPECT_EQ(run(file, 2).useful, 20U);
}

// Below capacity and evenly nobody waits. Twice as fast, 20/s come to 10/s: without a gate the k-th
// after the first is done after 100 + 50 k ms, and only the first eight in time.
TEST(Replay, FasterIsMoreTraffic) {
  ReplayOptions options;
  options.workers = 1;
  options.patience = Duration::millis(480);
  const Trace trace = even(1000, 10, 0.1);
  const auto alone = run(replay_of(trace, options), 0);
  EXPECT_EQ(alone.useful, 1000U);
  options.faster = 2;
  const SimFile file = replay_of(trace, options);
  EXPECT_EQ(file.measured.to, sim::at(50));
  EXPECT_EQ(run(file, 0).useful, 8U);
  const auto gated = run(file, 1);
  EXPECT_NEAR(static_cast<double>(gated.useful), 500, 5);
  EXPECT_THAT(file.about, HasSubstr("played 2 times as fast"));
}

TEST(Replay, TakesTheLimitsAndTheQueueGiven) {
  ReplayOptions options;
  options.limits = {7, 3, 7};
  options.queue = QueueSize::at_most(2000);
  options.wait = Duration::seconds(2);
  const SimFile file = replay_of(even(100, 10, 0.1), options);
  EXPECT_THAT(names(file), ElementsAre("no gate", "limit 3", "limit 7"));
  const auto& gate = *file.policies[1].scenario.services[0].gate;
  EXPECT_EQ(gate.policy.limit, 3U);
  EXPECT_EQ(gate.policy.wait_budget, Duration::seconds(2));
  EXPECT_EQ(gate.queue_room, 2000U);
  EXPECT_EQ(run(file, 1).useful, 100U);
  options.queue = QueueSize::none();
  EXPECT_EQ(run(replay_of(even(100, 10, 0.1), options), 1).useful, 100U);
}

TEST(Replay, TheUnknownGetADistribution) {
  const Trace trace = trace_of({{0, -1}, {1, -1}, {2, -1}});
  EXPECT_THAT(fault_of(trace, {}), HasSubstr("say how long they take"));
  ReplayOptions options;
  options.unknown_work = sim::Distribution::fixed(Duration::millis(30));
  const SimFile file = replay_of(trace, options);
  EXPECT_DOUBLE_EQ(run(file, 0).latency.most, 0.03);
}

TEST(Replay, SaysWhatCannotBeReplayed) {
  Trace refused = even(3, 1, 0.1);
  refused.refusal = "2 of 5 lines cannot be read: allowed is 1 %";
  EXPECT_EQ(fault_of(refused, {}), refused.refusal);
  EXPECT_EQ(fault_of(Trace{}, {}), "no requests in it");
  ReplayOptions options;
  for (const double faster : {0.0, -1.0, std::nan(""), 1001.0}) {
    options.faster = faster;
    EXPECT_THAT(fault_of(even(3, 1, 0.1), options), HasSubstr("allowed is 0.001 to 1000"));
  }
  options = {};
  options.workers = 0;
  EXPECT_THAT(fault_of(even(3, 1, 0.1), options), HasSubstr("allowed is 1 to 1000000"));
  options = {};
  options.wait = Duration{};
  EXPECT_THAT(fault_of(even(3, 1, 0.1), options), HasSubstr("wait"));
  options = {};
  options.queue = QueueSize::at_most(0);
  EXPECT_NE(fault_of(even(3, 1, 0.1), options), "");
}

TEST(Replay, OneRequestIsEnough) {
  const SimFile file = replay_of(trace_of({{0, 0}}), {});
  EXPECT_THAT(names(file), ElementsAre("no gate", "limit 1"));
  EXPECT_EQ(run(file, 1).useful, 1U);
}

}  // namespace
}  // namespace loadline::tools
