// Calls to a real gRPC server on loopback, which does as it is told. Methods are known by name only
// and messages are bytes, so that no generated code is needed.
#include "loadline/grpc.h"

#include <gmock/gmock.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <mutex>
#include <thread>
#include <vector>

#include "../client/at.h"

namespace loadline::grpc::test {
namespace {

using client::Ended;
using client::Reason;
using ::grpc::ByteBuffer;
using ::grpc::Status;
using ::grpc::StatusCode;
using Kind = Outcome::Kind;

ByteBuffer bytes(const std::string& text) {
  const ::grpc::Slice slice(text);
  return {&slice, 1};
}

struct Reply {
  Status status{};
  std::string pushback{};
  bool further_down = false;
  bool hangs = false;  // until the caller has gone
};

struct Seen {
  std::string attempt{};
  Duration left{};
};

// Gives these replies, one after the other and then the last again and again.
class Server : public ::grpc::CallbackGenericService {
 public:
  explicit Server(std::vector<Reply> replies) : replies_(std::move(replies)) {
    ::grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", ::grpc::InsecureServerCredentials(), &port_);
    builder.RegisterCallbackGenericService(this);
    server_ = builder.BuildAndStart();
  }
  ~Server() override { server_->Shutdown(std::chrono::system_clock::now()); }

  [[nodiscard]] std::string target() const { return "127.0.0.1:" + std::to_string(port_); }
  std::vector<Seen> seen() {
    const std::lock_guard lock(mutex_);
    return seen_;
  }
  [[nodiscard]] bool somebody_hangs() const { return hanging_ != 0; }
  [[nodiscard]] bool somebody_has_left() const { return left_ != 0; }

  ::grpc::ServerGenericBidiReactor* CreateReactor(
      ::grpc::GenericCallbackServerContext* context) override;

 private:
  class Reactor;

  Reply next(const ::grpc::GenericCallbackServerContext& context) {
    const auto field = context.client_metadata().find("x-envoy-attempt-count");
    const bool has = field != context.client_metadata().end();
    const auto left = context.deadline() - std::chrono::system_clock::now();
    const std::lock_guard lock(mutex_);
    seen_.push_back({has ? std::string(field->second.data(), field->second.size()) : "",
                     Duration{left / std::chrono::nanoseconds(1)}});
    return replies_[std::min(seen_.size(), replies_.size()) - 1];
  }

  std::vector<Reply> replies_;
  std::mutex mutex_;
  std::vector<Seen> seen_;
  std::atomic<int> hanging_{0};
  std::atomic<int> left_{0};
  int port_ = 0;
  std::unique_ptr<::grpc::Server> server_;
};

class Server::Reactor : public ::grpc::ServerGenericBidiReactor {
 public:
  Reactor(Server& server, ::grpc::GenericCallbackServerContext& context)
      : server_(server), reply_(server.next(context)) {
    if (!reply_.pushback.empty()) {
      context.AddTrailingMetadata("grpc-retry-pushback-ms", reply_.pushback);
    }
    if (reply_.further_down) {
      context.AddTrailingMetadata("x-loadline-further-down", "1");
    }
    StartRead(&message_);
  }
  void OnReadDone(bool) override {
    if (reply_.hangs) {
      ++server_.hanging_;
    } else if (reply_.status.ok()) {
      StartWriteAndFinish(&message_, {}, reply_.status);
    } else {
      Finish(reply_.status);
    }
  }
  void OnCancel() override {
    ++server_.left_;
    Finish(Status::CANCELLED);
  }
  void OnDone() override { delete this; }

 private:
  Server& server_;
  Reply reply_;
  ByteBuffer message_;
};

::grpc::ServerGenericBidiReactor* Server::CreateReactor(
    ::grpc::GenericCallbackServerContext* context) {
  return new Reactor(*this, *context);
}

// A blocking unary call without a generated stub.
Status call(const std::shared_ptr<::grpc::Channel>& channel, ::grpc::ClientContext& context) {
  ::grpc::GenericStub stub(channel);
  const ByteBuffer request = bytes("hello");
  ByteBuffer reply;
  std::promise<Status> ended;
  stub.UnaryCall(&context, "/test.Service/Get", ::grpc::StubOptions(), &request, &reply,
                 [&](Status status) { ended.set_value(std::move(status)); });
  return ended.get_future().get();
}

client::Policy quick_policy() {
  client::Policy policy = client::test::plain_policy();
  policy.backoff.base = Duration::millis(1);
  policy.backoff.cap = Duration::millis(1);
  return policy;
}

const Reply kOk{};
const Reply kUnavailable{.status = {StatusCode::UNAVAILABLE, "no"}};
const Reply kPushedBack{.status = {StatusCode::UNAVAILABLE, "no"}, .pushback = "0"};
const Reply kHangs{.hangs = true};

struct RetriesTest : testing::Test {
  Outcome ask(Server& server, Ask what = {}) {
    const auto channel =
        ::grpc::CreateChannel(server.target(), ::grpc::InsecureChannelCredentials());
    return call_with_retries(
        caller, what, [&](::grpc::ClientContext& context) { return call(channel, context); },
        stop.get_token());
  }
  client::Counts counts() { return caller.snapshot(now()).counts; }

  client::Caller caller{quick_policy(), now()};
  std::stop_source stop;
};

TEST_F(RetriesTest, AnAnswerIsOneAttempt) {
  Server server({kOk});
  const Outcome outcome = ask(server);
  EXPECT_TRUE(outcome.answered()) << outcome.status.error_message();
  EXPECT_EQ(outcome.attempts, 1);
}

TEST_F(RetriesTest, APushbackIsARefusalAndTriedAgainWhateverTheCall) {
  Server server({kPushedBack, kPushedBack, kOk});
  EXPECT_TRUE(ask(server).answered());
  EXPECT_EQ(counts().ended[std::size_t(Ended::refused)], 2);
  const std::vector<Seen> seen = server.seen();
  ASSERT_EQ(seen.size(), 3);
  EXPECT_EQ(seen[0].attempt, "1");
  EXPECT_EQ(seen[1].attempt, "2");
  EXPECT_EQ(seen[2].attempt, "3");
}

TEST_F(RetriesTest, TheWaitIsAsLongAsThePushbackSays) {
  Server server({{.status = {StatusCode::UNAVAILABLE, ""}, .pushback = "300"}, kOk});
  const Instant begin = now();
  EXPECT_EQ(ask(server).attempts, 2);
  EXPECT_GE(now() - begin, Duration::millis(300));
}

TEST_F(RetriesTest, ANegativePushbackForbids) {
  Server server({{.status = {StatusCode::UNAVAILABLE, ""}, .pushback = "-1"}, kOk});
  EXPECT_EQ(ask(server).reason, Reason::told_not_to);
  EXPECT_EQ(server.seen().size(), 1);
}

TEST_F(RetriesTest, WithoutOneItMayHaveBeenDone) {
  Server server({kUnavailable, kOk});
  EXPECT_EQ(ask(server).reason, Reason::not_idempotent);
  Server again({kUnavailable, kOk});
  EXPECT_TRUE(ask(again, {.kind = client::Call::idempotent}).answered());
}

TEST_F(RetriesTest, AFailureFromFurtherDownIsNotTriedAgain) {
  Server server({{.status = {StatusCode::UNAVAILABLE, ""}, .pushback = "0", .further_down = true}});
  const Outcome outcome = ask(server);
  EXPECT_EQ(outcome.reason, Reason::further_down);
  EXPECT_TRUE(outcome.further_down);
}

// gRPC sends three digits of it, rounded up; the margin must survive that. Of 20.05 s it is 5 ms:
// to be handed on are 20.045 s, which gRPC would make 20.1 s.
TEST_F(RetriesTest, TheServerSeesLessThanIsLeft) {
  Server server({kOk});
  EXPECT_TRUE(ask(server, {.deadline = now() + Duration::millis(20'050)}).answered());
  EXPECT_LE(server.seen()[0].left, Duration::millis(20'000));
  EXPECT_GT(server.seen()[0].left, Duration::seconds(5));
}

TEST_F(RetriesTest, OneThatTakesTooLongIsCutOff) {
  Server server({kHangs});
  const Outcome outcome = ask(server, {.deadline = now() + Duration::millis(200)});
  EXPECT_EQ(outcome.kind, Kind::gave_up);
  EXPECT_EQ(outcome.ended, Ended::timed_out);
  EXPECT_EQ(outcome.status.error_code(), StatusCode::DEADLINE_EXCEEDED);
}

TEST_F(RetriesTest, AStopEndsACallAtOnce) {
  Server server({kHangs});
  std::jthread leaver([&] {
    while (!server.somebody_hangs()) {
      std::this_thread::yield();
    }
    stop.request_stop();
  });
  EXPECT_EQ(ask(server).kind, Kind::stopped);  // or it would never end
  while (!server.somebody_has_left()) {
    std::this_thread::yield();
  }
}

TEST_F(RetriesTest, AStopEndsTheWait) {
  Server server({{.status = {StatusCode::UNAVAILABLE, ""}, .pushback = "3000000"}});
  std::jthread leaver([&] {
    while (caller.snapshot(now()).retries == 0) {
      std::this_thread::yield();
    }
    stop.request_stop();
  });
  EXPECT_EQ(ask(server).kind, Kind::stopped);
  EXPECT_EQ(counts().abandoned, 1);
}

TEST(Retries, AnOpenBreakerRefusesBeforeAnythingIsSent) {
  client::Policy policy = quick_policy();
  policy.breaker.on = true;
  policy.breaker.consecutive = 2;
  policy.breaker.open = Duration::seconds(100);
  client::Caller caller(policy, now());
  const auto fail = [](::grpc::ClientContext&) { return Status(StatusCode::INTERNAL, ""); };
  EXPECT_EQ(call_with_retries(caller, {}, fail).reason, Reason::not_retryable);
  EXPECT_EQ(call_with_retries(caller, {}, fail).reason, Reason::not_retryable);
  const Outcome outcome = call_with_retries(caller, {}, fail);
  EXPECT_EQ(outcome.kind, Kind::refused);
  EXPECT_EQ(outcome.reason, Reason::breaker_open);
  EXPECT_EQ(outcome.status.error_code(), StatusCode::UNAVAILABLE);
}

// ---- The interceptor ---------------------------------------------------------------------------

struct WatchTest : testing::Test {
  static client::Policy watching() {
    client::Policy policy = client::test::plain_policy();
    policy.retry.attempts = 1;
    policy.breaker.on = true;
    policy.breaker.consecutive = 3;
    policy.breaker.open = Duration::seconds(100);
    return policy;
  }
  std::shared_ptr<::grpc::Channel> channel(const Server& server) {
    std::vector<std::unique_ptr<::grpc::experimental::ClientInterceptorFactoryInterface>> watch;
    watch.push_back(std::make_unique<Watch>(caller));
    return ::grpc::experimental::CreateCustomChannelWithInterceptors(
        server.target(), ::grpc::InsecureChannelCredentials(), {}, std::move(watch));
  }
  Status ask(const Server& server, Duration patience = Duration::seconds(20)) {
    const auto to = channel(server);
    ::grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::nanoseconds(patience.ns));
    return call(to, context);
  }
  client::Counts counts() { return caller.snapshot(now()).counts; }

  client::Caller caller{watching(), now()};
};

TEST_F(WatchTest, EveryEndIsCounted) {
  Server server({kOk, kPushedBack, kUnavailable, {.status = {StatusCode::NOT_FOUND, ""}}});
  for (int i = 0; i < 4; ++i) {
    ask(server);
  }
  const auto ended = counts().ended;
  EXPECT_EQ(ended[std::size_t(Ended::success)], 1);
  EXPECT_EQ(ended[std::size_t(Ended::refused)], 1);
  EXPECT_EQ(ended[std::size_t(Ended::unavailable)], 1);
  EXPECT_EQ(ended[std::size_t(Ended::caller_fault)], 1);
  EXPECT_EQ(counts().begun, 4);
  EXPECT_EQ(caller.snapshot(now()).active, 0);
}

TEST_F(WatchTest, WhatTheBreakerHoldsBackNeverLeaves) {
  Server server({kUnavailable});
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(ask(server).error_code(), StatusCode::UNAVAILABLE);
  }
  const Status status = ask(server);
  EXPECT_EQ(status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_EQ(status.error_message(), "not sent: breaker_open");
  EXPECT_EQ(server.seen().size(), 3);
}

TEST_F(WatchTest, RefusalsDoNotOpenIt) {
  Server server({kPushedBack});
  for (int i = 0; i < 10; ++i) {
    ask(server);
  }
  EXPECT_EQ(server.seen().size(), 10);
  EXPECT_EQ(caller.snapshot(now()).breaker, client::BreakerState::closed);
}

TEST_F(WatchTest, ADeadlineThatHasPassedIsNotSent) {
  Server server({kOk});
  const Status status = ask(server, Duration::millis(-10));
  EXPECT_EQ(status.error_code(), StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(status.error_message(), "not sent: deadline_expired");
  EXPECT_TRUE(server.seen().empty());
}

TEST_F(WatchTest, OneThatTakesTooLongIsCounted) {
  Server server({kHangs});
  EXPECT_EQ(ask(server, Duration::millis(100)).error_code(), StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(counts().ended[std::size_t(Ended::timed_out)], 1);
}

TEST_F(WatchTest, OneThatIsDroppedIsCancelled) {
  Server server({kHangs});
  const auto to = channel(server);
  ::grpc::GenericStub stub(to);
  ::grpc::CompletionQueue queue;
  {
    ::grpc::ClientContext context;
    const ByteBuffer request = bytes("hello");
    auto reader = stub.PrepareUnaryCall(&context, "/test.Service/Get", request, &queue);
    reader->StartCall();
    reader->ReadInitialMetadata(nullptr);  // which sends it
    EXPECT_EQ(caller.snapshot(now()).active, 1);
    context.TryCancel();
    void* tag = nullptr;
    bool ok = false;
    queue.Next(&tag, &ok);
  }
  EXPECT_EQ(counts().ended[std::size_t(Ended::cancelled)], 1);
  EXPECT_EQ(caller.snapshot(now()).active, 0);
  queue.Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue.Next(&tag, &ok)) {
  }
}

}  // namespace
}  // namespace loadline::grpc::test
