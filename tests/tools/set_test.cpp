#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/streambuf.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>

#include "set_change.h"
#include "set_client.h"

namespace loadline::tools {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(SetRequest, AsksTheModule) {
  EXPECT_EQ(set_request({"limit=20"}).target, "/set?limit=20");
  EXPECT_EQ(set_request({"limit=auto"}).target, "/set?limit=auto");
  EXPECT_EQ(set_request({"off"}).target, "/set?mode=off");
  EXPECT_EQ(set_request({"limit=20", "observe", "draining=on"}).target,
            "/set?limit=20&mode=observe&draining=on");
}

TEST(SetRequest, RefusesWhatItDoesNotKnow) {
  for (const char* change :
       {"limit=0", "limit=fixed", "limit=some", "limit=", "limit=1 ", "limit=1&mode=off",
        "draining", "draining=yes", "mode", "", "queue=5"}) {
    EXPECT_THAT(set_request({change}).fault, HasSubstr("allowed is limit=N")) << change;
  }
  EXPECT_EQ(set_request({"on", "off"}).fault, "'off': contradicts a word before it");
}

// The status of a gate with two classes, each with these counts.
std::string state_of(const std::string& mode, const std::string& rejected,
                     const std::string& observed) {
  const std::string counts = R"(,"rejected":)" + rejected + R"(,"observed":)" + observed + "}";
  return R"({"gates":[{"name":"service",)" + mode +
         R"(,"limit":64,"in_flight":3,"waiting":1,"classes":[{"name":"a","admitted":10)" + counts +
         R"(,{"name":"b","admitted":5)" + counts + "]}]}";
}

TEST(DescribeState, CountsOverAllClasses) {
  const std::string reasons = R"({"queue_timeout":2,"queue_full":15})";
  EXPECT_THAT(describe_state(state_of(R"("mode":"on","draining":false)", reasons, "{}")),
              EndsWith("15 admitted, 34 rejected (queue_full 30, queue_timeout 4)"));
  EXPECT_THAT(describe_state(state_of(R"("mode":"observe","draining":false)", "{}", reasons)),
              EndsWith("15 admitted, 0 rejected, would have rejected 34 (queue_full 30, "
                       "queue_timeout 4)"));
  EXPECT_THAT(describe_state(state_of(R"("mode":"observe","draining":false)", "{}", "{}")),
              EndsWith(", would have rejected 0"));
}

TEST(DescribeState, SaysWhoFindsTheLimit) {
  const std::string before = R"("mode":"on","draining":false,"law":)";
  EXPECT_THAT(describe_state(state_of(before + R"("auto","searching":true)", "{}", "{}")),
              HasSubstr("limit 64 (auto, still searching), 3 in flight"));
  EXPECT_THAT(describe_state(state_of(before + R"("auto","searching":false)", "{}", "{}")),
              HasSubstr("limit 64 (auto), 3 in flight"));
  EXPECT_THAT(describe_state(state_of(before + R"("fixed","searching":false)", "{}", "{}")),
              HasSubstr("limit 64, 3 in flight"));
}

TEST(DescribeLimitSteps, TellsTheLastOnesOldestFirst) {
  const auto step = [](const char* ago, const char* cause, const char* from_to) {
    return std::string(R"({"ago_ms":)") + ago + R"(,"cause":")" + cause + R"(",)" + from_to +
           R"(,"low":0,"high":0,"time_low_ms":0,"time_high_ms":1.5,"samples":16,"rate":0,"slope":0,"share":0.125})";
  };
  const std::string gates = R"({"gates":[{"limit_events":{"count":2,"last":[)" +
                            step("800.5", "late", R"("from":12,"to":6)") + "," +
                            step("2500", "newer", R"("from":6,"to":12)") + "]}}]}";
  EXPECT_EQ(describe_limit_steps(gates),
            "  2.5 s ago: The limit goes from 6 to 12, and nothing is known of why.\n"
            "  0.8 s ago: Only 12 % of the last 16 answers were in time, so the limit goes from 12 "
            "to 6.\n");
  const std::string pressed =
      R"({"gates":[{"limit_events":{"count":1,"last":[)" +
      step("100", "pressed", R"("from":20,"to":15,"signal":"db","value":0.075,"at_most":0.05)") +
      "]}}]}";
  EXPECT_EQ(describe_limit_steps(pressed),
            "  0.1 s ago: The signal db is 0.075 and is to be 0.05 at most, so the limit goes from "
            "20 to 15.\n");
  EXPECT_EQ(describe_limit_steps(R"({"gates":[{}]})"), "");
  EXPECT_THROW(describe_limit_steps("{}"), std::runtime_error);
}

TEST(DescribeState, IsOneLine) {
  EXPECT_EQ(describe_state(state_of(R"("mode":"on","draining":false)", "{}", "{}")),
            "mode on, limit 64, 3 in flight, 1 waiting, 15 admitted, 0 rejected");
  EXPECT_EQ(describe_state(state_of(R"("mode":"off","draining":true)", "{}", "{}")),
            "mode off, limit 64, 3 in flight, 1 waiting, 15 admitted, 0 rejected, draining: new "
            "requests are refused");
  EXPECT_THROW(describe_state("{"), std::runtime_error);
  EXPECT_THROW(describe_state("{\"gates\":[]}"), std::runtime_error);
  EXPECT_THROW(describe_state("{\"gates\":[{\"mode\":5}]}"), std::runtime_error);
}

TEST(WhyNobodyAnswers, SaysWhatTheFolderShows) {
  EXPECT_EQ(why_nobody_answers("nc", "/run/nc", {}, "No such file"),
            "'nc' does not run: looked for /run/nc/control.sock (No such file); --name and "
            "--runtime must be those of `loadline run`");
  EXPECT_EQ(why_nobody_answers("nc", "/run/nc", {.pid = 12}, "No such file"),
            "'nc' is draining or starting (pid 12)");
  EXPECT_EQ(why_nobody_answers("nc", "/run/nc", {.forbidden = true}, "Permission denied"),
            "'nc' belongs to another user, who alone may enter /run/nc");
}

TEST(AskControl, NobodyIsThere) {
  EXPECT_THROW(ask_control("/nonexistent/control.sock", "GET", "/status", std::chrono::seconds(1)),
               NotRunning);
}

// A listener at a unix socket that does with a connection what a test tells it.
class SilentServer {
 public:
  explicit SilentServer(const char* answer) {
    thread_ = std::thread{[this, answer] {
      Local::socket connection = acceptor_.accept();
      if (answer != nullptr) {
        boost::asio::streambuf request;
        boost::asio::read_until(connection, request, "\r\n\r\n");
        boost::asio::write(connection, boost::asio::buffer(std::string(answer)));
        return;
      }
      char end = 0;
      boost::system::error_code ignored;
      while (connection.read_some(boost::asio::buffer(&end, 1), ignored) > 0) {
      }
    }};
  }
  ~SilentServer() {
    thread_.join();
    std::remove(path_.c_str());
  }

  std::string refusal() const {
    try {
      ask_control(path_, "GET", "/status", std::chrono::milliseconds(100));
      return "";
    } catch (const std::runtime_error& error) {
      const std::string text = error.what();
      EXPECT_THAT(text, StartsWith(path_ + ": "));
      return text.substr(path_.size() + 2);
    }
  }

 private:
  using Local = boost::asio::local::stream_protocol;

  std::string path_ = testing::TempDir() + "set_test_" + std::to_string(getpid());
  boost::asio::io_context context_;
  Local::acceptor acceptor_{context_, Local::endpoint(path_)};
  std::thread thread_;
};

TEST(AskControl, WhyThereIsNoAnswerIsAPlainSentence) {
  EXPECT_EQ(SilentServer(nullptr).refusal(),
            "no answer within 100ms: is the nginx behind it stopped, or very busy?");
  for (const char* cut : {"", "HTTP/1.1 200 OK\r\nContent-Le",
                          "HTTP/1.1 200 OK\r\n"
                          "Content-Length: 9\r\n\r\nhalf"}) {
    EXPECT_EQ(SilentServer(cut).refusal(),
              "closed before it answered: it may be ending, try again");
  }
  const std::string odd = SilentServer("what?\r\n\r\n").refusal();
  EXPECT_THAT(odd, StartsWith("no answer: "));
  EXPECT_THAT(odd, Not(HasSubstr("/usr")));
}

}  // namespace
}  // namespace loadline::tools
