// The load generator against the demo service and against servers that misbehave on purpose.
#include "load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <numeric>
#include <stdexcept>

#include "load_report.h"
#include "load_test_server.h"
#include "serve.h"

namespace loadline::tools {
namespace {

using namespace std::chrono_literals;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kOkAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n";

// Short, even, and patient: what a busy machine does to it changes no count.
LoadOptions steady(const Url& url) {
  return {.url = url,
          .rate = {{0s, 200}},
          .arrivals = Arrivals::fixed,
          .duration = 500ms,
          .timeout = 20s};
}

// What every report owes, whatever happened.
void expect_sums(const Tally& tally) {
  EXPECT_EQ(tally.offered, tally.answers() + tally.timeouts + tally.failures());
  EXPECT_LE(tally.sent, tally.offered);
  EXPECT_LE(tally.good() + tally.rejected(), tally.answers());
}

TEST(Load, CountsAgreeWithTheServiceToTheLastRequest) {
  const DemoService service{{.workers = 4, .service_time = 1ms}};
  const auto report = run_load(steady(service.url()));
  EXPECT_EQ(report.total.offered, 100u);
  EXPECT_EQ(report.total.sent, service.stats().received);
  EXPECT_EQ(report.total.answered.at(200), service.stats().completed);
  EXPECT_EQ(report.window.good(), 100u);
  EXPECT_DOUBLE_EQ(report.goodput_per_second(), 200);
  EXPECT_EQ(report.stale_retries, 0u);
  expect_sums(report.total);
}

TEST(Load, WarmUpIsSentButNotCounted) {
  const DemoService service{{.workers = 4, .service_time = 1ms}};
  auto options = steady(service.url());
  options.warmup = 300ms;
  const auto report = run_load(options);
  EXPECT_EQ(report.total.offered, 100u);
  EXPECT_EQ(report.window.offered, 40u);
  EXPECT_EQ(report.window.calls, 40u);
  EXPECT_NEAR(report.window_seconds, 0.2, 1e-9);
  EXPECT_EQ(service.stats().received, 100u);
}

TEST(Load, ThreadsShareTheSchedule) {
  const DemoService service{{.workers = 4, .service_time = 1ms}};
  auto options = steady(service.url());
  options.threads = 3;
  options.burst_size = 10;
  options.burst_every = 200ms;
  const auto report = run_load(options);
  EXPECT_EQ(report.total.offered, 120u);
  EXPECT_EQ(service.stats().received, 120u);
  const auto seconds = std::accumulate(
      report.per_second.begin(), report.per_second.end(), std::uint64_t{0},
      [](std::uint64_t sum, const SecondTally& second) { return sum + second.good; });
  EXPECT_EQ(seconds, 120u);
}

TEST(Load, CallersWhoLoseTheirPatienceLeave) {
  const DemoService service{{.workers = 1, .service_time = 50ms}};
  auto options = steady(service.url());
  options.timeout = 1ms;
  const auto report = run_load(options);
  EXPECT_EQ(report.window.timeouts, 100u);
  EXPECT_EQ(report.window.good(), 0u);
  EXPECT_EQ(report.total.sent, service.stats().received);
  EXPECT_TRUE(eventually([&] { return service.stats().connections == 0; }));
  expect_sums(report.total);
}

TEST(Load, LatencyCountsFromWhenTheRequestWasDue) {
  // One worker, requests of 20 ms due every 5 ms: the n-th waits for all before it.
  const DemoService service{{.workers = 1, .service_time = 20ms}};
  auto options = steady(service.url());
  options.duration = 100ms;
  const auto report = run_load(options);
  ASSERT_EQ(report.window.good(), 20u);
  // The last is due at 95 ms, and the first 20 need 400 ms: no machine is faster than that.
  EXPECT_GE(report.window.accepted_latency.max(), 300ms);
  EXPECT_GE(report.window.accepted_latency.percentile(50), 150ms);
}

TEST(Load, SendsClassesAndDeadlineAndCountsByClass) {
  std::mutex mutex;
  std::string seen;
  ScriptedServer server{[&](TestSocket& socket, int) {
    std::string text;
    boost::system::error_code error;
    while (boost::asio::read_until(socket, boost::asio::dynamic_buffer(text), "\r\n\r\n", error) >
           0) {
      const std::lock_guard lock{mutex};
      seen += text;
      text.clear();
      ScriptedServer::answer(socket, kOkAnswer);
    }
  }};
  auto options = steady(server.url());
  options.classes = {{"critical", 3}, {"sheddable", 1}};
  options.deadline = 1500us;
  options.headers = {{"X-More", "yes"}};
  options.method = "POST";
  options.body_bytes = 0;
  const auto report = run_load(options);
  ASSERT_EQ(report.by_class.size(), 2u);
  EXPECT_EQ(report.by_class[0].first, "critical");
  const auto critical = report.by_class[0].second.offered;
  const auto sheddable = report.by_class[1].second.offered;
  EXPECT_EQ(critical + sheddable, 100u);
  EXPECT_GT(critical, sheddable);
  const std::lock_guard lock{mutex};
  EXPECT_THAT(seen, HasSubstr("X-Request-Criticality: critical\r\n"));
  EXPECT_THAT(seen, HasSubstr("X-Request-Criticality: sheddable\r\n"));
  EXPECT_THAT(seen, HasSubstr("X-Request-Timeout-Ms: 2\r\n"));
  EXPECT_THAT(seen, HasSubstr("X-More: yes\r\n"));
  EXPECT_THAT(seen, HasSubstr("POST / HTTP/1.1\r\n"));
  EXPECT_THAT(seen, HasSubstr("Content-Length: 0\r\n"));
}

TEST(Load, SendsBodies) {
  const DemoService service{{.workers = 4, .service_time = 1ms}};
  auto options = steady(service.url());
  options.rate = {{0s, 20}};
  options.method = "POST";
  options.body_bytes = 1 << 20;
  const auto report = run_load(options);
  EXPECT_EQ(report.window.good(), 10u);
  EXPECT_EQ(report.total.sent, service.stats().received);
}

TEST(Load, TellsRejectionsFromOtherAnswers) {
  ScriptedServer server{[](TestSocket& socket, int) {
    for (int i = 0; ScriptedServer::read_request(socket); ++i) {
      const int status = std::vector{200, 204, 404, 429, 500, 503, 504}[static_cast<size_t>(i) % 7];
      ScriptedServer::answer(socket, "HTTP/1.1 " + std::to_string(status) + " X\r\n" +
                                         (status == 204 ? "\r\n" : "Content-Length: 0\r\n\r\n"));
    }
  }};
  auto options = steady(server.url());
  options.rate.clear();
  options.closed = 1;
  const auto report = run_load(options);
  const auto& answered = report.total.answered;
  ASSERT_GE(report.total.offered, 7u);
  EXPECT_EQ(report.total.good(), answered.at(200) + answered.at(204));
  EXPECT_EQ(report.total.rejected(), answered.at(429) + answered.at(503) + answered.at(504));
  EXPECT_EQ(server.accepted(), 1);
  expect_sums(report.total);
}

TEST(Load, ClosedCallersAskAgainWhenAnswered) {
  const DemoService service{{.workers = 4, .service_time = 1ms}};
  LoadOptions options{.url = service.url(), .closed = 3, .duration = 200ms, .timeout = 20s};
  options.expected_interval = 1ms;
  const auto report = run_load(options);
  EXPECT_GE(report.total.good(), 3u);
  EXPECT_LE(service.stats().max_outstanding, 3u);
  EXPECT_EQ(report.total.sent, service.stats().received);
  ASSERT_TRUE(report.corrected_latency);
  EXPECT_GE(report.corrected_latency->count(), report.window.good());
}

TEST(Load, RetriesMakeAttemptsOfOneCall) {
  ScriptedServer server{[](TestSocket& socket, int) {
    while (ScriptedServer::read_request(socket)) {
      ScriptedServer::answer(socket, "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n");
    }
  }};
  auto options = steady(server.url());
  options.retries = Retries::now;
  options.attempts = 3;
  options.rate = {{0s, 100}, {100ms, 0}};
  options.burst_size = 1;  // keeps the run going, so that no retry falls behind its end
  options.burst_every = 2s;
  options.duration = 2500ms;
  const auto report = run_load(options);
  EXPECT_EQ(report.total.calls, 11u);
  EXPECT_GE(report.total.offered, 31u);
  EXPECT_LE(report.total.offered, 33u);
  EXPECT_EQ(report.total.rejected(), report.total.offered);
}

TEST(Load, ARetryThatSucceedsCountsOnceAsGood) {
  std::atomic<int> count = 0;
  ScriptedServer server{[&](TestSocket& socket, int) {
    while (ScriptedServer::read_request(socket)) {
      const bool fail = count++ % 2 == 0;
      ScriptedServer::answer(
          socket,
          fail ? "HTTP/1.1 503 Busy\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n" : kOkAnswer);
    }
  }};
  LoadOptions options{.url = server.url(), .closed = 1, .duration = 500ms, .timeout = 20s};
  options.retries = Retries::now;
  const auto report = run_load(options);
  EXPECT_GE(report.total.calls, 1u);
  EXPECT_GE(report.total.good() + 1, report.total.calls);
  EXPECT_LE(report.total.good(), report.total.calls);
}

TEST(Load, BackoffWaitsHoweverLongItIsAskedTo) {
  ScriptedServer server{[](TestSocket& socket, int) {
    while (ScriptedServer::read_request(socket)) {
      ScriptedServer::answer(
          socket, "HTTP/1.1 503 Busy\r\nRetry-After: 99999999999\r\nContent-Length: 0\r\n\r\n");
    }
  }};
  auto options = steady(server.url());
  options.retries = Retries::backoff;
  const auto report = run_load(options);
  EXPECT_EQ(report.total.offered, report.total.calls);
}

// The second request on each connection finds it closed, without having been taken: the server
// stops reading from the first one on and closes before its kernel could have answered for it.
TEST(Load, AConnectionClosedWhileIdleIsNoFailure) {
  ScriptedServer server{[](TestSocket& socket, int) {
    if (ScriptedServer::read_request(socket)) {
      ScriptedServer::answer(socket, kOkAnswer);
    }
  }};
  const auto report = run_load(steady(server.url()));
  EXPECT_EQ(report.window.good(), 100u);
  EXPECT_EQ(report.window.failures(), 0u);
  EXPECT_EQ(report.total.sent, 100u);
}

TEST(Load, AServerThatTakesTheRequestAndHangsUpHasFailedIt) {
  ScriptedServer server{[](TestSocket& socket, int) {
    if (ScriptedServer::read_request(socket)) {
      ScriptedServer::answer(socket, kOkAnswer);
      ScriptedServer::read_request(socket);
    }
  }};
  LoadOptions options{.url = server.url(), .closed = 1, .duration = 300ms, .timeout = 20s};
  const auto report = run_load(options);
  EXPECT_GE(report.total.errors.at("closed_early"), 1u);
  EXPECT_EQ(report.stale_retries, 0u);
  expect_sums(report.total);
}

TEST(Load, NamesErrorsByKind) {
  ScriptedServer server{[](TestSocket& socket, int number) {
    if (number % 2 == 0) {
      ScriptedServer::read_request(socket);
      ScriptedServer::answer(socket, "what?\r\n\r\n");
    } else {
      ScriptedServer::read_request(socket);
      socket.set_option(boost::asio::socket_base::linger{true, 0});
      socket.close();  // a destructor would not: it takes care not to linger
    }
  }};
  const auto report = run_load(steady(server.url()));
  EXPECT_EQ(report.window.errors.at("malformed") + report.window.errors.at("reset"), 100u);
  EXPECT_FALSE(report.starved && report.why.find("port") != std::string::npos);
  expect_sums(report.total);
}

TEST(Load, RefusedConnectionsAreErrorsOfTheServer) {
  Url nobody{.host = "127.0.0.1"};
  {
    const DemoService gone{{}};
    nobody.port = gone.port();
  }
  const auto report = run_load(steady(nobody));
  EXPECT_EQ(report.window.errors.at("refused"), 100u);
  EXPECT_EQ(report.total.sent, 0u);
  EXPECT_EQ(report.window.accepted_latency.count(), 0u);
}

TEST(Load, AnAnswerThatEndsWithTheConnectionIsAnAnswer) {
  ScriptedServer server{[](TestSocket& socket, int) {
    ScriptedServer::read_request(socket);
    ScriptedServer::answer(socket, "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.0 200 OK\r\n\r\nbody");
  }};
  const auto report = run_load(steady(server.url()));
  EXPECT_EQ(report.window.answered.at(200), 100u);
}

TEST(Load, StopsEarlyWhenAsked) {
  const DemoService service{{.workers = 4, .service_time = 1ms}};
  auto options = steady(service.url());
  options.duration = 1h;
  std::stop_source stop;
  std::jthread stopper{[&] {
    EXPECT_TRUE(eventually([&] { return service.stats().completed > 5; }));
    stop.request_stop();
  }};
  const auto report = run_load(options, {}, stop.get_token());
  EXPECT_GT(report.window.good(), 5u);
  EXPECT_LT(report.window_seconds, 3600);
  expect_sums(report.total);
}

TEST(Load, ReportsProgress) {
  const DemoService service{{.workers = 4, .service_time = 1ms}};
  auto options = steady(service.url());
  options.duration = 1500ms;
  std::uint64_t seen = 0;
  run_load(options, [&](const LoadProgress& progress) { seen = progress.so_far.offered; });
  EXPECT_GT(seen, 0u);
}

TEST(Load, RefusesTargetsThatAreNotLoopback) {
  auto options = steady({.host = "192.0.2.1"});
  try {
    run_load(options);
    FAIL() << "sent load to another machine";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("--allow-remote"));
  }
}

TEST(Load, SaysWhichOptionIsWrong) {
  const LoadOptions good{.rate = {{0s, 1}}};
  EXPECT_EQ(problem_with(good), "");
  EXPECT_THAT(problem_with({}), HasSubstr("--rate"));
  auto bad = good;
  bad.warmup = bad.duration;
  EXPECT_THAT(problem_with(bad), HasSubstr("--warmup"));
  bad = good;
  bad.closed = 1;
  EXPECT_THAT(problem_with(bad), HasSubstr("--closed"));
  bad = good;
  bad.timeout = 0s;
  EXPECT_THAT(problem_with(bad), HasSubstr("--timeout"));
  bad = good;
  bad.method = "GET /\r\n";
  EXPECT_THAT(problem_with(bad), HasSubstr("--method"));
  bad = good;
  bad.classes = {{"a\r\nb", 1}};
  EXPECT_THAT(problem_with(bad), HasSubstr("--class"));
  bad = good;
  bad.rate = {{0s, 1}, {0s, 2}};
  EXPECT_THAT(problem_with(bad), HasSubstr("--rate"));
  EXPECT_THROW(run_load(bad), std::invalid_argument);
}

TEST(LoadReport, JsonHasNoFiguresForWhatWasNotMeasured) {
  LoadReport report;
  report.window_seconds = 10;
  const auto json = to_json(report, {.url = {.host = "h"}});
  EXPECT_TRUE(json["accepted_ms"]["p99"].is_null());
  EXPECT_EQ(json["offered"], 0);
  EXPECT_EQ(json["share_rejected"], 0);
  EXPECT_EQ(json["generator"]["starved"], false);
  EXPECT_EQ(json["total"]["sent"], 0);
}

TEST(LoadReport, JsonAndTableSayTheSame) {
  LoadReport report;
  report.window_seconds = 2;
  report.window.offered = 10;
  report.window.answered = {{200, 6}, {503, 3}};
  report.window.timeouts = 1;
  for (int i = 0; i < 6; ++i) {
    report.window.accepted_latency.record(10ms);
  }
  for (int i = 0; i < 3; ++i) {
    report.window.rejection_latency.record(1ms);
  }
  report.starved = true;
  report.why = "too late";
  const LoadOptions options{.url = {.host = "h"}};
  const auto json = to_json(report, options);
  EXPECT_EQ(json["good"], 6);
  EXPECT_EQ(json["goodput_per_second"], 3.0);
  EXPECT_EQ(json["rejected"]["503"], 3);
  EXPECT_EQ(json["share_rejected"], 0.3);
  EXPECT_EQ(json["accepted_ms"]["p50"], 10.0);
  EXPECT_EQ(json["generator"]["why"], "too late");
  const auto table = to_table(report, options);
  EXPECT_THAT(table, HasSubstr("goodput            3.0/s"));
  EXPECT_THAT(table, HasSubstr("30.0 %"));
  EXPECT_THAT(table, HasSubstr("COULD NOT KEEP UP"));
}

TEST(LoadReport, SaysWhoGaveUpWhenMostTimedOut) {
  const std::string hint = "most callers gave up after 1s: --timeout sets their patience\n";
  const LoadOptions options{.url = {.host = "h"}};
  LoadReport report;
  EXPECT_THAT(to_table(report, options), Not(HasSubstr(hint)));
  report.window.offered = 10;
  report.window.timeouts = 5;
  EXPECT_THAT(to_table(report, options), Not(HasSubstr(hint)));
  report.window.timeouts = 6;
  EXPECT_THAT(to_table(report, options), EndsWith(hint));
}

}  // namespace
}  // namespace loadline::tools
