// A burst against the demo service and against servers that misbehave on purpose.
#include "burst.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "load_test_server.h"
#include "serve.h"

namespace loadline::tools {
namespace {

using namespace std::chrono_literals;

std::uint64_t grouped(const BurstReport& report) {
  std::uint64_t sum = 0;
  for (const auto& [group, count] : report.groups()) {
    sum += count;
  }
  return sum;
}

TEST(Burst, AllRequestsAreThereAtOnce) {
  const DemoService service{{.workers = 2, .service_time = 100ms}};
  const auto report = run_burst({.url = service.url(), .count = 10, .timeout = 20s});
  ASSERT_EQ(report.answers.size(), 10u);
  EXPECT_EQ(grouped(report), 10u);
  EXPECT_EQ(report.not_connected(), 0u);
  EXPECT_EQ(service.stats().received, 10u);
  EXPECT_GT(service.stats().max_outstanding, 2u);
  // Two at a time, 100 ms each: none can end sooner.
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_GE(report.answers[i].time, (i / 2 + 1) * 100ms - 5ms) << i;
  }
}

TEST(Burst, ShowsBodiesAndRetryAfter) {
  ScriptedServer server{[](TestSocket& socket, int number) {
    ScriptedServer::read_request(socket);
    ScriptedServer::answer(socket, "HTTP/1.1 503 Busy\r\nRetry-After: " + std::to_string(number) +
                                       "\r\nContent-Length: 4\r\n\r\nbusy");
  }};
  const auto report = run_burst({.url = server.url(), .count = 3, .timeout = 20s});
  std::uint32_t sum = 0;
  for (const auto& answer : report.answers) {
    EXPECT_EQ(answer.status, 503);
    EXPECT_EQ(answer.body_bytes, 4u);
    ASSERT_TRUE(answer.retry_after);
    sum += *answer.retry_after;
  }
  EXPECT_EQ(sum, 0u + 1 + 2);
}

TEST(Burst, SaysWhatWasNotAnswered) {
  ScriptedServer server{[](TestSocket& socket, int number) {
    ScriptedServer::read_request(socket);
    if (number == 0) {
      ScriptedServer::read_request(socket);  // until the other side gives up
    }
  }};
  const auto report = run_burst({.url = server.url(), .count = 2, .timeout = 300ms});
  ASSERT_EQ(report.answers.size(), 2u);
  EXPECT_EQ(report.answers[0].failure, "closed_early");
  EXPECT_EQ(report.answers[1].failure, "timeout");
  EXPECT_EQ(report.not_connected(), 0u);
  EXPECT_EQ(grouped(report), 0u);
}

TEST(Burst, SaysThatItCouldNotConnect) {
  Url nobody{.host = "127.0.0.1"};
  {
    const DemoService gone{{}};
    nobody.port = gone.port();
  }
  const auto report = run_burst({.url = nobody, .count = 3});
  EXPECT_EQ(report.not_connected(), 3u);
  EXPECT_THAT(report.first_connect_failure(), ::testing::HasSubstr("Connection refused"));
}

TEST(Burst, RefusesTargetsThatAreNotLoopback) {
  EXPECT_THROW(run_burst({.url = {.host = "192.0.2.1"}}), std::runtime_error);
}

TEST(FailuresTable, TellsRejectionsFromFailures) {
  EXPECT_EQ(failures_table({.answers = {{.status = 200}, {.failure = "timeout"}}}), "");
  EXPECT_EQ(failures_table({.answers = {{.status = 503, .body_bytes = 11, .retry_after = 1},
                                        {.status = 502, .body_bytes = 150},
                                        {.status = 503, .body_bytes = 11, .retry_after = 3},
                                        {.status = 429, .body_bytes = 5},
                                        {.status = 504, .body_bytes = 5},
                                        {.status = 404, .body_bytes = 9}}}),
            "\nrejected  count  body bytes    retry-after s\n"
            "429           1  5             none\n"
            "503           2  11            1 to 3\n"
            "504           1  5             none\n"
            "\nfailed    count  body bytes    retry-after s\n"
            "404           1  9             none\n"
            "502           1  150           none\n");
}

TEST(BurstAnswer, SlicesAreTenthsOfASecond) {
  EXPECT_EQ(BurstAnswer{.time = 0ns}.slice(), 0);
  EXPECT_EQ(BurstAnswer{.time = 99'999us}.slice(), 0);
  EXPECT_EQ(BurstAnswer{.time = 100ms}.slice(), 1);
  EXPECT_EQ(BurstAnswer{.time = 1050ms}.slice(), 10);
}

}  // namespace
}  // namespace loadline::tools
