// The load generator's callers with the client half: what it makes of answers is in tests/client.
#include <gtest/gtest.h>

#include <chrono>
#include <mutex>
#include <string>
#include <vector>

#include "load.h"
#include "load_test_server.h"
#include "load_text.h"

namespace loadline::tools {
namespace {

using namespace std::chrono_literals;

constexpr const char* kOkAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n";
constexpr const char* kUnavailable = "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n";

// Twenty calls in a tenth of a second, and one two seconds later: it keeps the run going, so that
// no retry falls behind its end.
LoadOptions twenty_calls(const Url& url) {
  LoadOptions options{.url = url,
                      .rate = {{0s, 200}, {100ms, 0}},
                      .arrivals = Arrivals::fixed,
                      .burst_size = 1,
                      .burst_every = 2s,
                      .duration = 2500ms,
                      .timeout = 20s};
  options.retries = Retries::loadline;
  options.client.breaker.on = false;
  options.client.budget.floor = 0;
  return options;
}

std::uint64_t sum(const std::map<std::string, std::uint64_t>& counts) {
  std::uint64_t sum = 0;
  for (const auto& [reason, count] : counts) {
    sum += count;
  }
  return sum;
}

ScriptedServer::Script always(const char* answer) {
  return [answer](TestSocket& socket, int) {
    while (ScriptedServer::read_request(socket)) {
      ScriptedServer::answer(socket, answer);
    }
  };
}

// Nothing succeeds, so each program spends the ten retries that it has saved up, and no more.
TEST(LoadClientHalf, RetriesComeFromTheBudgetOfEachProgram) {
  for (const unsigned programs : {1U, 2U}) {
    ScriptedServer server{always(kUnavailable)};
    auto options = twenty_calls(server.url());
    options.programs = programs;
    const auto report = run_load(options);
    ASSERT_TRUE(report.client);
    EXPECT_EQ(report.total.offered, report.total.calls + 10 * programs);
    EXPECT_EQ(report.client->calls, report.total.calls);
    EXPECT_EQ(report.client->attempts, report.total.offered);
    EXPECT_GT(report.client->gave_up.at("budget"), 0u);
    EXPECT_EQ(sum(report.client->gave_up), report.total.calls);
  }
}

TEST(LoadClientHalf, WhatMayMatterIsNotDoneTwice) {
  ScriptedServer server{always(kUnavailable)};
  auto options = twenty_calls(server.url());
  options.method = "POST";
  const auto report = run_load(options);
  EXPECT_EQ(report.total.offered, report.total.calls);
  EXPECT_EQ(report.client->gave_up.at("not_idempotent"), report.total.calls);
}

TEST(LoadClientHalf, AnOpenBreakerHoldsCallsBack) {
  ScriptedServer server{always(kUnavailable)};
  auto options = twenty_calls(server.url());
  options.attempts = 1;
  options.client.breaker.on = true;
  const auto report = run_load(options);
  EXPECT_GE(report.client->breaker_opened, 1u);
  EXPECT_GE(report.client->breaker_open, 500ms);
  EXPECT_GT(report.client->held_back.at("breaker_open"), 0u);
  EXPECT_EQ(report.total.offered + sum(report.client->held_back), report.total.calls);
  EXPECT_LT(report.client->attempts_per_call(), 1);
}

// Callers who wait for their answers do not spin while nothing is let go.
TEST(LoadClientHalf, ClosedCallersGoOnBehindAnOpenBreaker) {
  ScriptedServer server{[](TestSocket& socket, int) { ScriptedServer::read_request(socket); }};
  LoadOptions options{.url = server.url(), .closed = 2, .duration = 700ms, .timeout = 20s};
  options.retries = Retries::loadline;
  options.attempts = 1;
  const auto report = run_load(options);
  EXPECT_GT(report.client->held_back.at("breaker_open"), 0u);
  EXPECT_LE(report.total.calls, 2 * 80u);  // one in 10 ms each
}

TEST(LoadClientHalf, WaitsAsLongAsItIsToldAndSaysWhichAttemptItIs) {
  struct Seen {
    std::chrono::steady_clock::time_point when;
    std::string request;
  };
  std::mutex mutex;
  std::vector<Seen> seen;
  ScriptedServer server{[&](TestSocket& socket, int) {
    for (;;) {
      std::string request;
      boost::system::error_code error;
      boost::asio::read_until(socket, boost::asio::dynamic_buffer(request), "\r\n\r\n", error);
      if (error) {
        return;
      }
      const std::lock_guard lock{mutex};
      seen.push_back({std::chrono::steady_clock::now(), request});
      ScriptedServer::answer(
          socket, seen.size() == 1
                      ? "HTTP/1.1 503 Busy\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n"
                      : kOkAnswer);
    }
  }};
  LoadOptions options{.url = server.url(), .rate = {{0s, 10}}, .arrivals = Arrivals::fixed};
  options.duration = 1900ms;
  options.timeout = 20s;
  options.deadline = 10s;
  options.retries = Retries::loadline;
  const auto report = run_load(options);
  EXPECT_EQ(report.client->attempts, report.client->calls + 1);
  std::size_t retries = 0;
  for (const Seen& one : seen) {
    const bool first = one.request.find("x-envoy-attempt-count: 1\r\n") != std::string::npos;
    const bool second = one.request.find("x-envoy-attempt-count: 2\r\n") != std::string::npos;
    EXPECT_NE(first, second);
    EXPECT_NE(one.request.find("X-Request-Timeout-Ms: "), std::string::npos);
    if (second) {
      ++retries;
      EXPECT_GE(one.when - seen.front().when, 1s);
      // What is left of the call's ten seconds.
      EXPECT_EQ(one.request.find("X-Request-Timeout-Ms: 10000"), std::string::npos);
    }
  }
  EXPECT_EQ(retries, 1U);
}

TEST(LoadClientHalf, IsWrittenWithItsSettings) {
  LoadOptions options;
  EXPECT_EQ(set_retries(options, "loadline"), "");
  EXPECT_EQ(options.retries, Retries::loadline);
  EXPECT_EQ(set_retries(options, "loadline:attempts=4,budget.share=5%,breaker=off,processes=7"),
            "");
  EXPECT_EQ(options.attempts, 4U);
  EXPECT_EQ(options.client.budget.share, 50);
  EXPECT_FALSE(options.client.breaker.on);
  EXPECT_EQ(options.programs, 7U);
  EXPECT_EQ(set_retries(options, "off"), "");
  EXPECT_EQ(options.retries, Retries::off);

  EXPECT_EQ(set_retries(options, "never"),
            "off, now, backoff, loadline, or loadline:NAME=VALUE,... as in loadline:attempts=3");
  EXPECT_EQ(set_retries(options, "loadline:attempts=0"),
            "for attempts a whole number from 1 to 100");
  EXPECT_EQ(set_retries(options, "loadline:processes=0"),
            "for processes a whole number from 1 to 10000");
  EXPECT_EQ(set_retries(options, "loadline:budget.share"),
            "for budget.share a share from 0% to 100%");
  EXPECT_TRUE(set_retries(options, "loadline:").starts_with("for  one of attempts, "));
}

}  // namespace
}  // namespace loadline::tools
