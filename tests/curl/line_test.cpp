// Calls over real sockets, to a server that answers as it is told.
#include <gmock/gmock.h>

#include <chrono>
#include <vector>

#include "../client/at.h"
#include "easy.h"
#include "http_server.h"

namespace loadline::curl::test {
namespace {

using client::Ended;
using client::Reason;
using Kind = Outcome::Kind;
using testing::ElementsAre;

// Three attempts after 1 ms; no breaker, budget enough.
client::Policy quick_policy() {
  client::Policy policy = client::test::plain_policy();
  policy.backoff.base = Duration::millis(1);
  policy.backoff.cap = Duration::millis(1);
  return policy;
}

// A server that gives these answers, one after the other and then the last again and again, and
// remembers what it was asked.
class Script {
 public:
  explicit Script(std::vector<Response> answers) : answers_(std::move(answers)) {}

  std::string url() { return server_.url(); }
  std::vector<Request> asked() {
    const std::lock_guard lock(mutex_);
    return asked_;
  }
  [[nodiscard]] int connections() { return server_.connections(); }

 private:
  Response answer(const Request& request) {
    const std::lock_guard lock(mutex_);
    asked_.push_back(request);
    return answers_[std::min(asked_.size(), answers_.size()) - 1];
  }

  std::vector<Response> answers_;
  std::mutex mutex_;
  std::vector<Request> asked_;
  HttpServer server_{[this](const Request& request) { return answer(request); }};
};

const Response kDone{};
const Response kRefused{.status = 503, .fields = "Retry-After: 0\r\n", .body = "overloaded"};

struct LineTest : testing::Test {
  Outcome ask(const std::string& url, Ask what = {}) {
    Easy easy(url);
    what.start_over = [&] { easy.clear(); };
    Outcome outcome = line.perform(easy.get(), what, stop.get_token());
    body = easy.body();
    return outcome;
  }
  client::Counts counts() { return caller.snapshot(now()).counts; }

  client::Caller caller{quick_policy(), now()};
  Line line{caller};
  std::stop_source stop;
  std::string body;
};

TEST_F(LineTest, AnAnswerIsOneAttempt) {
  Script server({kDone});
  const Outcome outcome = ask(server.url());
  EXPECT_TRUE(outcome.answered());
  EXPECT_EQ(outcome.status, 200);
  EXPECT_EQ(outcome.attempts, 1);
  EXPECT_EQ(body, "done");
  EXPECT_EQ(counts().done, 1);
}

TEST_F(LineTest, ARefusalIsTriedAgainAndTheBodyBeginsAnew) {
  Script server({kRefused, kRefused, kDone});
  const Outcome outcome = ask(server.url());
  EXPECT_TRUE(outcome.answered());
  EXPECT_EQ(outcome.attempts, 3);
  EXPECT_EQ(body, "done");
}

TEST_F(LineTest, EachAttemptSaysWhichItIsAndWhatIsLeftAndWhatTheProgramWants) {
  Script server({kRefused, kDone});
  char field[] = "X-Mine: yes";
  curl_slist own{.data = field, .next = nullptr};
  Ask what;
  what.deadline = now() + Duration::seconds(20);
  what.headers = &own;
  ask(server.url(), what);
  const std::vector<Request> asked = server.asked();
  ASSERT_EQ(asked.size(), 2);
  EXPECT_EQ(asked[0].number("x-envoy-attempt-count"), 1);
  EXPECT_EQ(asked[1].number("x-envoy-attempt-count"), 2);
  EXPECT_EQ(asked[0].field("x-mine"), "yes");
  EXPECT_EQ(asked[1].field("x-mine"), "yes");
  const long first = asked[0].number("x-envoy-expected-rq-timeout-ms");
  const long second = asked[1].number("x-envoy-expected-rq-timeout-ms");
  EXPECT_LE(first, 19'995);  // less the margin
  EXPECT_GT(first, 0);
  EXPECT_LT(second, first);  // the wait was a millisecond at least
}

TEST_F(LineTest, WithoutADeadlineNoneIsSent) {
  Script server({kDone});
  ask(server.url());
  EXPECT_EQ(server.asked()[0].field("x-envoy-expected-rq-timeout-ms"), "");
}

TEST_F(LineTest, OfSeveralRetryAfterTheLatestCounts) {
  Script server({{.status = 503, .fields = "Retry-After: 0\r\nRetry-After: 30\r\n"}});
  Ask what;
  what.deadline = now() + Duration::seconds(20);
  const Outcome outcome = ask(server.url(), what);
  EXPECT_EQ(outcome.kind, Kind::gave_up);
  EXPECT_EQ(outcome.reason, Reason::deadline_unmeetable);
  EXPECT_EQ(outcome.ended, Ended::refused);
  EXPECT_EQ(outcome.attempts, 1);
}

TEST_F(LineTest, TheWaitIsAsLongAsTold) {
  Script server({{.status = 503, .fields = "Retry-After: 1\r\n"}, kDone});
  const Instant begin = now();
  EXPECT_EQ(ask(server.url()).attempts, 2);
  EXPECT_GE(now() - begin, Duration::seconds(1));
}

TEST_F(LineTest, AMarkMakesARefusalOfAnyUnavailable) {
  Script server({{.status = 503, .fields = "X-Loadline-Refused: limit\r\n"}, kDone});
  EXPECT_EQ(ask(server.url()).attempts, 2);
  EXPECT_EQ(counts().ended[std::size_t(Ended::refused)], 1);
}

TEST_F(LineTest, AFailureFromFurtherDownIsNotTriedAgain) {
  Script server({{.status = 503, .fields = "Retry-After: 0\r\nX-Loadline-Further-Down: 1\r\n"}});
  const Outcome outcome = ask(server.url());
  EXPECT_EQ(outcome.reason, Reason::further_down);
  EXPECT_TRUE(outcome.further_down);
  EXPECT_EQ(outcome.attempts, 1);
}

TEST_F(LineTest, WhatMayHaveBeenDoneIsOnlyTriedAgainIfIdempotent) {
  Script server({{.status = 502}, kDone});
  EXPECT_EQ(ask(server.url()).reason, Reason::not_idempotent);
  Script again({{.status = 502}, kDone});
  Ask what;
  what.kind = client::Call::idempotent;
  EXPECT_TRUE(ask(again.url(), what).answered());
}

TEST_F(LineTest, OneThatTakesTooLongIsCutOff) {
  HttpServer server([](const Request& request) -> std::optional<Response> {
    while (!request.caller.stop_requested()) {
      std::this_thread::yield();
    }
    return std::nullopt;
  });
  Ask what;
  what.deadline = now() + Duration::millis(100);
  const Outcome outcome = ask(server.url(), what);
  EXPECT_EQ(outcome.kind, Kind::gave_up);
  EXPECT_EQ(outcome.ended, Ended::timed_out);
  EXPECT_EQ(outcome.status, 0);
  EXPECT_GE(now(), what.deadline - Duration::millis(1));  // whole milliseconds, rounded down
}

TEST_F(LineTest, ABrokenConnectionIsLostAndNoConnectionIsUnreached) {
  std::string gone;
  {
    HttpServer server([](const Request&) { return std::nullopt; });
    gone = server.url();
    EXPECT_EQ(ask(gone).ended, Ended::lost);
    EXPECT_EQ(server.requests(), 1);  // not idempotent
  }
  const Outcome outcome = ask(gone);
  EXPECT_EQ(outcome.ended, Ended::unreached);
  EXPECT_EQ(outcome.attempts, 3);  // nothing was done, so again
}

TEST_F(LineTest, AFaultOfTheProgramsOwnCountsForNobody) {
  const Outcome outcome = ask("nonsense://x/");
  EXPECT_EQ(outcome.kind, Kind::gave_up);
  EXPECT_EQ(outcome.ended, Ended::cancelled);
  EXPECT_EQ(outcome.code, CURLE_UNSUPPORTED_PROTOCOL);
}

TEST_F(LineTest, AStopEndsATransferAtOnce) {
  HttpServer server([this](const Request& request) -> std::optional<Response> {
    stop.request_stop();
    while (!request.caller.stop_requested()) {
      std::this_thread::yield();
    }
    return std::nullopt;
  });
  EXPECT_EQ(ask(server.url()).kind, Kind::stopped);  // or it would never end
  EXPECT_EQ(counts().ended[std::size_t(Ended::cancelled)], 1);
}

TEST_F(LineTest, AStopEndsTheWaitAndGivesBackWhatTheRetryCost) {
  Script server({{.status = 503, .fields = "Retry-After: 3000\r\n"}});
  const std::uint32_t before = caller.snapshot(now()).budget;
  std::jthread leaver([&] {
    while (caller.snapshot(now()).retries == 0) {
      std::this_thread::yield();
    }
    stop.request_stop();
  });
  EXPECT_EQ(ask(server.url()).kind, Kind::stopped);
  const client::Snapshot after = caller.snapshot(now());
  EXPECT_EQ(after.budget, before);
  EXPECT_EQ(after.counts.abandoned, 1);
  EXPECT_EQ(after.active, 0);
}

TEST_F(LineTest, OneThatHasLeftBeforeSendsNothing) {
  Script server({kDone});
  stop.request_stop();
  EXPECT_EQ(ask(server.url()).kind, Kind::stopped);
  EXPECT_TRUE(server.asked().empty());
}

TEST_F(LineTest, TheConnectionIsKept) {
  Script server({kRefused, kDone});
  ask(server.url());
  ask(server.url());
  EXPECT_EQ(server.asked().size(), 3);
  EXPECT_EQ(server.connections(), 1);
}

TEST_F(LineTest, WhatStartOverThrowsLeavesNothingBehind) {
  Script server({kRefused});
  Easy easy(server.url());
  Ask what;
  int calls = 0;
  what.start_over = [&] {
    if (++calls == 2) {
      throw std::runtime_error("no");
    }
  };
  EXPECT_THROW(line.perform(easy.get(), what), std::runtime_error);
  const client::Snapshot after = caller.snapshot(now());
  EXPECT_EQ(after.active, 0);
  EXPECT_EQ(after.counts.abandoned, 1);
  EXPECT_EQ(after.counts.misused, 0);
}

TEST(Line, AnOpenBreakerRefusesBeforeAnythingIsSent) {
  client::Policy policy = quick_policy();
  policy.breaker.on = true;
  policy.breaker.consecutive = 3;
  policy.breaker.open = Duration::seconds(100);
  client::Caller caller(policy, now());
  Line line(caller);
  HttpServer server([](const Request&) { return Response{.status = 500}; });
  Easy easy(server.url());
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(line.perform(easy.get(), {}).kind, Kind::gave_up);
  }
  const Outcome outcome = line.perform(easy.get(), {});
  EXPECT_EQ(outcome.kind, Kind::refused);
  EXPECT_EQ(outcome.reason, Reason::breaker_open);
  EXPECT_GT(outcome.come_back, now());
  EXPECT_EQ(server.requests(), 3);
}

TEST(Line, ThreadsShareACaller) {
  client::Caller caller(quick_policy(), now());
  HttpServer server([](const Request& request) {
    return request.number("x-envoy-attempt-count") == 1 ? kRefused : kDone;
  });
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        Line line(caller);
        Easy easy(server.url());
        for (int n = 0; n < 25; ++n) {
          EXPECT_TRUE(line.perform(easy.get(), {}).answered());
        }
      });
    }
  }
  const client::Counts counts = caller.snapshot(now()).counts;
  EXPECT_EQ(counts.done, 100);
  EXPECT_EQ(counts.sent, 200);
  EXPECT_EQ(server.requests(), 200);
}

}  // namespace
}  // namespace loadline::curl::test
