// Three services in a row over HTTP: the first caller asks the first, each asks the next with the
// client half, a gate in each. What is left of the deadline shrinks on its way down; when the first
// caller leaves, nobody goes on working; and a refusal at the end is retried in one layer only.
#include <chrono>

#include "../client/at.h"
#include "easy.h"
#include "http_server.h"
#include "loadline/threads.h"

namespace loadline::curl::test {
namespace {

using namespace std::chrono_literals;

constexpr const char* kTimeLeft = "x-envoy-expected-rq-timeout-ms";
constexpr Duration kPatience = Duration::seconds(30);
constexpr Duration kOwnWork = Duration::millis(20);

template <class Condition>
bool within_ten_seconds(Condition condition) {
  const Instant end = now() + Duration::seconds(10);
  while (!condition()) {
    if (now() > end) {
      return false;
    }
    std::this_thread::yield();
  }
  return true;
}

client::Policy quick_policy() {
  client::Policy policy = client::test::plain_policy();
  policy.backoff.base = Duration::millis(1);
  policy.backoff.cap = Duration::millis(1);
  return policy;
}

threads::Opened open_door() {
  Policy policy;
  policy.limit = 8;
  return threads::Doorkeeper::open(policy);
}

// A piece of work with a look at the permit in between. False: it is for nobody any more.
bool work(Duration time, const threads::Permit& permit) {
  const Instant end = now() + time;
  while (now() < end && !permit.cancelled()) {
    std::this_thread::yield();
  }
  return !permit.cancelled();
}

// A service that works a little and then asks the next one, with what is left.
class Middle {
 public:
  explicit Middle(std::string next) : next_(std::move(next)) {}

  std::string url() { return server_.url(); }
  [[nodiscard]] long got_ms() const { return got_ms_; }
  [[nodiscard]] std::int64_t left_at() const { return left_at_; }
  client::Counts counts() { return caller_.snapshot(now()).counts; }

 private:
  std::optional<Response> serve(const Request& request) {
    got_ms_ = request.number(kTimeLeft);
    threads::Answer answer =
        opened_.door.acquire(opened_.door.request(Duration::millis(got_ms_)), request.caller);
    if (!answer) {
      return Response{.status = answer.rejection.http_status()};
    }
    if (!work(kOwnWork, answer.permit)) {
      return std::nullopt;
    }
    Line line(caller_);
    Easy easy(next_);
    Ask ask;
    ask.deadline = answer.permit.deadline();
    ask.kind = client::Call::idempotent;
    const Outcome outcome = line.perform(easy.get(), ask, request.caller);
    left_at_ = outcome.kind == Outcome::Kind::stopped ? now().ns : 0;
    if (outcome.answered()) {
      return Response{};
    }
    return Response{.status = 503, .fields = "X-Loadline-Further-Down: 1\r\nRetry-After: 0\r\n"};
  }

  std::string next_;
  threads::Opened opened_ = open_door();
  client::Caller caller_{quick_policy(), now()};
  std::atomic<long> got_ms_{0};
  std::atomic<std::int64_t> left_at_{0};
  HttpServer server_{[this](const Request& request) { return serve(request); }};
};

// The end of the chain: works until its caller leaves, or says that it has no room.
class Last {
 public:
  std::string url() { return server_.url(); }
  [[nodiscard]] long got_ms() const { return got_ms_; }
  [[nodiscard]] std::int64_t left_at() const { return left_at_; }
  [[nodiscard]] int requests() const { return server_.requests(); }
  void refuse() { refuse_ = true; }

 private:
  std::optional<Response> serve(const Request& request) {
    if (refuse_) {
      return Response{.status = 503, .fields = "Retry-After: 0\r\nX-Loadline-Refused: limit\r\n"};
    }
    left_at_ = 0;
    threads::Answer answer = opened_.door.acquire(
        opened_.door.request(Duration::millis(request.number(kTimeLeft))), request.caller);
    got_ms_ = request.number(kTimeLeft);
    work(kPatience, answer.permit);
    left_at_ = now().ns;
    return std::nullopt;
  }

  threads::Opened opened_ = open_door();
  std::atomic<bool> refuse_{false};
  std::atomic<long> got_ms_{0};
  std::atomic<std::int64_t> left_at_{0};
  HttpServer server_{[this](const Request& request) { return serve(request); }};
};

struct Chain : testing::Test {
  Last third;
  Middle second{third.url()};
  Middle first{second.url()};
  client::Caller caller{quick_policy(), now()};
  std::stop_source leave;

  Outcome ask() {
    Line line(caller);
    Easy easy(first.url());
    Ask what;
    what.deadline = now() + kPatience;
    what.kind = client::Call::idempotent;
    return line.perform(easy.get(), what, leave.get_token());
  }
};

TEST_F(Chain, WhatIsLeftShrinksAndAllStopWhenTheFirstCallerLeaves) {
  std::jthread caller_thread([this] { EXPECT_EQ(ask().kind, Outcome::Kind::stopped); });
  ASSERT_TRUE(within_ten_seconds([this] { return third.got_ms() != 0; }));
  // Each layer's own work and margin (5 ms) are gone.
  EXPECT_LE(first.got_ms(), 29'995);
  EXPECT_LE(second.got_ms(), first.got_ms() - 25);
  EXPECT_LE(third.got_ms(), second.got_ms() - 25);
  EXPECT_GT(third.got_ms(), 0);

  const std::int64_t left = now().ns;
  leave.request_stop();
  ASSERT_TRUE(within_ten_seconds(
      [this] { return first.left_at() != 0 && second.left_at() != 0 && third.left_at() != 0; }));
  // Their own patience is 30 s: they have been told. A busy machine may take its time.
  for (const std::int64_t at : {first.left_at(), second.left_at(), third.left_at()}) {
    EXPECT_LT(at - left, Duration::seconds(5).ns);
  }
}

TEST_F(Chain, ARefusalAtTheEndIsTriedAgainByOneLayer) {
  third.refuse();
  const Outcome outcome = ask();
  EXPECT_EQ(outcome.kind, Outcome::Kind::gave_up);
  EXPECT_EQ(outcome.reason, client::Reason::further_down);
  EXPECT_EQ(third.requests(), 3);  // not 27
  EXPECT_EQ(second.counts().sent, 3);
  EXPECT_EQ(first.counts().sent, 1);
  EXPECT_EQ(outcome.attempts, 1);
}

}  // namespace
}  // namespace loadline::curl::test
