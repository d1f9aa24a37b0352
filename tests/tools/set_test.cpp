#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "set_change.h"
#include "set_client.h"

namespace loadline::tools {
namespace {

using testing::HasSubstr;

TEST(SetRequest, AsksTheModule) {
  EXPECT_EQ(set_request({"limit=20"}).target, "/set?limit=20");
  EXPECT_EQ(set_request({"off"}).target, "/set?mode=off");
  EXPECT_EQ(set_request({"limit=20", "observe", "draining=on"}).target,
            "/set?limit=20&mode=observe&draining=on");
}

TEST(SetRequest, RefusesWhatItDoesNotKnow) {
  for (const char* change : {"limit=0", "limit=", "limit=1 ", "limit=1&mode=off", "draining",
                             "draining=yes", "mode", "", "queue=5"}) {
    EXPECT_THAT(set_request({change}).fault, HasSubstr("allowed is limit=N")) << change;
  }
  EXPECT_EQ(set_request({"on", "off"}).fault, "'off': contradicts a word before it");
}

TEST(DescribeState, IsOneLine) {
  const std::string gate =
      R"({"gates":[{"name":"service","mode":"on","draining":false,"limit":64,"in_flight":3,)"
      R"("waiting":1}]})";
  EXPECT_EQ(describe_state(gate), "mode on, limit 64, 3 in flight, 1 waiting");
  EXPECT_THROW(describe_state("{"), std::runtime_error);
  EXPECT_THROW(describe_state("{\"gates\":[]}"), std::runtime_error);
  EXPECT_THROW(describe_state("{\"gates\":[{\"mode\":5}]}"), std::runtime_error);
}

TEST(AskControl, NobodyIsThere) {
  EXPECT_THROW(ask_control("/nonexistent/control.sock", "GET", "/status", std::chrono::seconds(1)),
               NotRunning);
}

}  // namespace
}  // namespace loadline::tools
