// The demo service, asked over real connections on a free port.
#include "serve.h"
#include "net_beast.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "load_test_server.h"
#include "serve_work.h"

namespace loadline::tools {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

ServiceOptions quick() {
  return {.workers = 4, .service_time = 1ms};
}

TEST(DemoService, WorksAndCounts) {
  const DemoService service{quick()};
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(ask(service.port(), "GET /any"), StartsWith("HTTP/1.1 200 OK\r\n"));
  }
  const auto stats = service.stats();
  EXPECT_EQ(stats.received, 3u);
  EXPECT_EQ(stats.started, 3u);
  EXPECT_EQ(stats.completed, 3u);
  EXPECT_EQ(stats.abandoned, 0u);
  EXPECT_EQ(stats.in_service, 0u);
  EXPECT_EQ(stats.queued, 0u);
  EXPECT_EQ(stats.max_in_service, 1u);
  EXPECT_NEAR(stats.busy_seconds, 0.003, 1e-6);
}

TEST(DemoService, QueuesWithoutBoundBehindItsWorkers) {
  const DemoService service{{.workers = 2, .service_time = 1ms}};
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 50; ++i) {
    clients.push_back(std::make_unique<RawClient>(service.port()));
    clients.back()->send("GET /sleep?ms=20 HTTP/1.1\r\nHost: h\r\n\r\n");
  }
  for (auto& client : clients) {
    EXPECT_THAT(client->read_until("done\n"), StartsWith("HTTP/1.1 200"));
  }
  const auto stats = service.stats();
  EXPECT_EQ(stats.completed, 50u);
  EXPECT_EQ(stats.max_in_service, 2u);
  EXPECT_GT(stats.max_outstanding, 2u);
  EXPECT_NEAR(stats.busy_seconds, 1.0, 1e-6);
}

TEST(DemoService, GoesOnWorkingForCallersWhoLeft) {
  const DemoService service{{.workers = 1, .service_time = 1ms}};
  RawClient first{service.port()};
  first.send("GET /sleep?ms=50 HTTP/1.1\r\nHost: h\r\n\r\n");
  RawClient second{service.port()};
  second.send("GET /sleep?ms=10 HTTP/1.1\r\nHost: h\r\n\r\n");
  RawClient third{service.port()};
  third.send("GET /sleep?ms=10 HTTP/1.1\r\nHost: h\r\n\r\n");
  ASSERT_TRUE(eventually([&] { return service.stats().received == 3; }));
  first.reset();
  second.close();
  EXPECT_THAT(third.read_until("done\n"), HasSubstr("done"));
  const auto stats = service.stats();
  EXPECT_EQ(stats.completed, 3u);
  EXPECT_EQ(stats.abandoned, 2u);
  EXPECT_NEAR(stats.busy_seconds, 0.07, 1e-6);
  EXPECT_EQ(stats.connections, 1u);
}

TEST(DemoService, AnswersHealthAndStatsWhileAllWorkersAreBusy) {
  const DemoService service{{.workers = 1, .service_time = 1ms}};
  RawClient busy{service.port()};
  busy.send("GET /sleep?ms=3600000 HTTP/1.1\r\nHost: h\r\n\r\n");
  RawClient queued{service.port()};
  queued.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  ASSERT_TRUE(eventually([&] { return service.stats().queued == 1; }));
  EXPECT_THAT(ask(service.port(), "GET /healthz"), EndsWith("ok\n"));
  const auto stats = json::parse(body_of(ask(service.port(), "GET /stats")));
  EXPECT_EQ(stats["in_service"], 1);
  EXPECT_EQ(stats["queued"], 1);
  EXPECT_EQ(stats["max_outstanding"], 2);
  EXPECT_GT(stats["busy_seconds"], 0.0);
}

TEST(DemoService, ResetClearsWhatWasCounted) {
  const DemoService service{{.workers = 1, .service_time = 1ms}};
  ask(service.port(), "GET /");
  EXPECT_THAT(ask(service.port(), "GET /reset"), StartsWith("HTTP/1.1 405"));
  EXPECT_EQ(service.stats().received, 1u);
  EXPECT_THAT(ask(service.port(), "POST /reset"), StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(service.stats().received, 0u);
  EXPECT_EQ(service.stats().max_in_service, 0u);
  EXPECT_EQ(service.stats().busy_seconds, 0.0);
}

TEST(DemoService, ResetKeepsTrackOfWhatIsUnderWay) {
  DemoService service{{.workers = 1, .service_time = 1ms}};
  RawClient client{service.port()};
  client.send("GET /sleep?ms=3600000 HTTP/1.1\r\nHost: h\r\n\r\n");
  RawClient queued{service.port()};
  queued.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  ASSERT_TRUE(eventually([&] { return service.stats().queued == 1; }));
  service.reset();
  const auto stats = service.stats();
  EXPECT_EQ(stats.received, stats.completed + stats.in_service + stats.queued);
  EXPECT_EQ(stats.max_outstanding, 2u);
}

TEST(DemoService, EchoKeepsOrderCaseAndRepetition) {
  const DemoService service{quick()};
  const auto answer = ask(service.port(), "PUT /echo?a=b&c",
                          "x-B: 1\r\nX-A: 2\r\nx-b: 3\r\nContent-Length: 5\r\n\r\nhello");
  const auto echo = json::parse(body_of(answer));
  EXPECT_EQ(echo["method"], "PUT");
  EXPECT_EQ(echo["target"], "/echo?a=b&c");
  EXPECT_EQ(echo["body_bytes"], 5);
  const auto expected = json::parse(R"([["Host","h"],["Connection","close"],["x-B","1"],
                                        ["X-A","2"],["x-b","3"],["Content-Length","5"]])");
  EXPECT_EQ(echo["headers"], expected);
}

TEST(DemoService, EchoSurvivesBytesThatAreNoText) {
  const DemoService service{quick()};
  const auto echo =
      json::parse(body_of(ask(service.port(), "GET /echo", "X-Bytes: \xff\xfe\r\n\r\n")));
  EXPECT_EQ(echo["headers"][2][0], "X-Bytes");
}

TEST(DemoService, ReadsBodiesOfAnySizeAndCoding) {
  const DemoService service{quick()};
  const std::string large(8 << 20, 'x');
  const auto echo = json::parse(
      body_of(ask(service.port(), "POST /echo",
                  "Content-Length: " + std::to_string(large.size()) + "\r\n\r\n" + large)));
  EXPECT_EQ(echo["body_bytes"], large.size());
  const auto chunked = json::parse(
      body_of(ask(service.port(), "POST /echo",
                  "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n3\r\nyou\r\n0\r\n\r\n")));
  EXPECT_EQ(chunked["body_bytes"], 8);
}

TEST(DemoService, AsksForABodyThatWaitsToBeAskedFor) {
  const DemoService service{quick()};
  RawClient client{service.port()};
  client.send(
      "POST /echo HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_THAT(client.read_until("\r\n\r\n"), StartsWith("HTTP/1.1 100 Continue"));
  client.send("hi");
  EXPECT_THAT(client.read_until("\"body_bytes\":2}\n"), StartsWith("HTTP/1.1 200"));
}

TEST(DemoService, KeepsConnectionsAliveAndAnswersInOrder) {
  const DemoService service{quick()};
  RawClient client{service.port()};
  client.send(
      "GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n"
      "GET /sleep?ms=5 HTTP/1.1\r\nHost: h\r\n\r\n"
      "HEAD /healthz HTTP/1.1\r\nHost: h\r\n\r\n"
      "GET /healthz HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(client.read_until("ok\n"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(client.read_until("done\n"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(client.read_until("\r\n\r\n"), HasSubstr("Content-Length: 3"));
  const auto last = client.read_all();
  EXPECT_THAT(last, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(last, HasSubstr("Connection: close"));
  EXPECT_THAT(last, EndsWith("ok\n"));
}

TEST(DemoService, SpeaksHttp10) {
  const DemoService service{quick()};
  RawClient client{service.port()};
  client.send("GET /stream?chunks=2&interval=1ms HTTP/1.0\r\n\r\n");
  const auto answer = client.read_all();
  EXPECT_THAT(answer, Not(HasSubstr("chunked")));
  EXPECT_THAT(answer, EndsWith("\r\n\r\nchunk 1\nchunk 2\n"));
}

TEST(DemoService, StreamsInChunks) {
  const DemoService service{quick()};
  RawClient client{service.port()};
  client.send("GET /stream?chunks=3&interval=1ms HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_THAT(client.read_until("0\r\n\r\n"),
              EndsWith("\r\n\r\n8\r\nchunk 1\n\r\n8\r\nchunk 2\n\r\n8\r\nchunk 3\n\r\n0\r\n\r\n"));
  client.send("GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_THAT(client.read_until("ok\n"), StartsWith("HTTP/1.1 200"));
}

TEST(DemoService, SaysWhatIsWrongWithARequest) {
  const DemoService service{quick()};
  EXPECT_THAT(ask(service.port(), "GET /sleep?ms=-1"), HasSubstr("400 Bad Request"));
  EXPECT_THAT(ask(service.port(), "GET /sleep"), HasSubstr("ms=N"));
  EXPECT_THAT(ask(service.port(), "GET /stream?chunks=0"), HasSubstr("chunks=N"));
  EXPECT_THAT(ask(service.port(), "GET /stream?chunks=1&interval=5"), HasSubstr("interval=TIME"));
  RawClient garbage{service.port()};
  garbage.send("not http at all\r\n\r\n");
  EXPECT_THAT(garbage.read_all(), StartsWith("HTTP/1.1 400"));
  EXPECT_EQ(service.stats().received, 0u);
}

TEST(DemoService, EchoesWebSocketMessages) {
  namespace websocket = boost::beast::websocket;
  const DemoService service{quick()};
  boost::asio::io_context context;
  websocket::stream<TestSocket> stream{context};
  stream.next_layer().connect({boost::asio::ip::make_address("127.0.0.1"), service.port()});
  stream.handshake("h", "/ws");
  for (const std::string message : {"hello", "again"}) {
    stream.write(boost::asio::buffer(message));
    boost::beast::flat_buffer buffer;
    stream.read(buffer);
    EXPECT_EQ(boost::beast::buffers_to_string(buffer.data()), message);
  }
  stream.close(websocket::close_code::normal);
}

TEST(DemoService, WorksWithThreadsThatBurnCpu) {
  const DemoService service{{.workers = 2, .service_time = 1ms, .cpu = true}};
  for (int i = 0; i < 4; ++i) {
    EXPECT_THAT(ask(service.port(), "GET /"), EndsWith("done\n"));
  }
  EXPECT_EQ(service.stats().completed, 4u);
  EXPECT_GE(service.stats().busy_seconds, 0.004);
}

TEST(DemoService, StopsWithWorkUnderWay) {
  for (const bool cpu : {false, true}) {
    auto service =
        std::make_unique<DemoService>(ServiceOptions{.workers = 1, .service_time = 1h, .cpu = cpu});
    RawClient busy{service->port()};
    busy.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    RawClient queued{service->port()};
    queued.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    RawClient streaming{service->port()};
    streaming.send("GET /stream?chunks=9&interval=1h HTTP/1.1\r\nHost: h\r\n\r\n");
    ASSERT_TRUE(eventually([&] { return service->stats().received == 2; }));
    service.reset();
    EXPECT_EQ(busy.read_all(), "");
  }
}

TEST(DemoService, SaysWhereItCannotListen) {
  const DemoService service{quick()};
  auto options = quick();
  options.listen.port = service.port();
  try {
    const DemoService second{options};
    FAIL() << "listened twice on one port";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("cannot listen on 127.0.0.1:"));
    EXPECT_THAT(error.what(), HasSubstr("Address already in use"));
  }
}

TEST(DemoService, ListensOnIpv6) {
  try {
    const DemoService service{{.listen = {"::1", 0}, .workers = 1}};
    EXPECT_THAT(service.url().text(), StartsWith("http://[::1]:"));
  } catch (const std::runtime_error&) {
    GTEST_SKIP() << "no IPv6 here";
  }
}

struct Moments {
  double mean = 0;
  double cv = 0;
};

Moments moments_of(ServiceTime service_time) {
  constexpr int kDraws = 200'000;
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double ms = std::chrono::duration<double, std::milli>(service_time.draw()).count();
    sum += ms;
    squares += ms * ms;
  }
  const double mean = sum / kDraws;
  return {mean, std::sqrt(squares / kDraws - mean * mean) / mean};
}

// Standard errors at 200,000 draws are about 0.2 % of the mean; the bounds are ten times that.
TEST(ServiceTime, HasTheMeanAndSpreadThatWereAskedFor) {
  const auto fixed = moments_of(ServiceTime{{.service_time = 20ms}});
  EXPECT_DOUBLE_EQ(fixed.mean, 20);
  const auto exponential =
      moments_of(ServiceTime{{.service_time = 20ms, .distribution = Distribution::exponential}});
  EXPECT_NEAR(exponential.mean, 20, 0.4);
  EXPECT_NEAR(exponential.cv, 1, 0.03);
  const auto lognormal = moments_of(
      ServiceTime{{.service_time = 20ms, .distribution = Distribution::lognormal, .cv = 0.5}});
  EXPECT_NEAR(lognormal.mean, 20, 0.4);
  EXPECT_NEAR(lognormal.cv, 0.5, 0.015);
}

TEST(ServiceTime, IsTheSameForTheSameSeed) {
  const ServiceOptions options{.distribution = Distribution::lognormal, .seed = 7};
  auto other = options;
  other.seed = 8;
  ServiceTime one{options};
  ServiceTime two{options};
  ServiceTime three{other};
  const auto first = one.draw();
  EXPECT_EQ(first, two.draw());
  EXPECT_NE(first, three.draw());
}

}  // namespace
}  // namespace loadline::tools
