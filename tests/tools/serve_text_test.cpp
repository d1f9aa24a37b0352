// Times, sizes, addresses and URLs as a person writes them.
#include <gtest/gtest.h>

#include <string>

#include "text.h"

namespace loadline::tools {
namespace {

using namespace std::chrono_literals;

TEST(ParseTime, TakesEveryUnit) {
  EXPECT_EQ(parse_time("7ns"), 7ns);
  EXPECT_EQ(parse_time("250us"), 250us);
  EXPECT_EQ(parse_time("20ms"), 20ms);
  EXPECT_EQ(parse_time("1s"), 1s);
  EXPECT_EQ(parse_time("2m"), 2min);
  EXPECT_EQ(parse_time("3h"), 3h);
  EXPECT_EQ(parse_time("1.5s"), 1500ms);
  EXPECT_EQ(parse_time("0.1ms"), 100us);
  EXPECT_EQ(parse_time("0"), 0ns);
  EXPECT_EQ(parse_time("0s"), 0ns);
}

TEST(ParseTime, RefusesWhatCouldBeMeantOtherwise) {
  for (const char* text :
       {"", "20", "ms", "20 ms", " 20ms", "20ms ", "-1s", "+1s", "1e3ms", "inf", "infs", ".5s",
        "5.s", "1.2.3s", "1m30s", "20MS", "20sec", "11y", "999999999h"}) {
    EXPECT_FALSE(parse_time(text)) << text;
  }
}

TEST(FormatTime, IsReadBackAsTheSameTime) {
  EXPECT_EQ(format_time(20ms), "20ms");
  EXPECT_EQ(format_time(1500ms), "1.5s");
  EXPECT_EQ(format_time(2min), "2m");
  EXPECT_EQ(format_time(90s), "90s");
  EXPECT_EQ(format_time(0ns), "0s");
  for (const auto time : {1ns, 999ns, 1001ns, 123'456'789ns, 3'600'000'000'001ns}) {
    EXPECT_EQ(parse_time(format_time(time)), time) << format_time(time);
  }
}

// What is no plain number slips through a comparison with a smallest and a largest.
TEST(ParseDecimal, TakesPlainNumbersOnly) {
  EXPECT_EQ(parse_decimal("0"), 0.0);
  EXPECT_EQ(parse_decimal("12.5"), 12.5);
  for (const std::string& text :
       {std::string(""), std::string("nan"), std::string("NaN"), std::string("-nan"),
        std::string("inf"), std::string("infinity"), std::string("-1"), std::string("+1"),
        std::string("1e308"), std::string("0x10"), std::string("1."), std::string(" 1"),
        std::string(400, '9')}) {
    EXPECT_FALSE(parse_decimal(text)) << text;
  }
}

TEST(ParseSize, TakesBytesAndPowersOf1024) {
  EXPECT_EQ(parse_size("0"), 0u);
  EXPECT_EQ(parse_size("512"), 512u);
  EXPECT_EQ(parse_size("64k"), 65536u);
  EXPECT_EQ(parse_size("1M"), 1u << 20);
  EXPECT_EQ(parse_size("2g"), 2ull << 30);
  for (const char* text : {"", "k", "-1", "1.5k", "1kb", "1 k", "99999999999g"}) {
    EXPECT_FALSE(parse_size(text)) << text;
  }
}

TEST(ParseListen, IsLoopbackUnlessAnAddressIsGiven) {
  const auto port_alone = parse_listen("8080");
  ASSERT_TRUE(port_alone);
  EXPECT_EQ(port_alone->address, "127.0.0.1");
  EXPECT_EQ(port_alone->port, 8080);
  const auto everywhere = parse_listen("0.0.0.0:80");
  ASSERT_TRUE(everywhere);
  EXPECT_EQ(everywhere->address, "0.0.0.0");
  const auto six = parse_listen("[::1]:0");
  ASSERT_TRUE(six);
  EXPECT_EQ(six->address, "::1");
  EXPECT_EQ(six->port, 0);
  for (const char* text : {"", ":80", "65536", "-1", "localhost:80", "::1:80", "[::1]", "1.2.3.4",
                           "1.2.3.4:", "1.2.3:80", "[::1]80"}) {
    EXPECT_FALSE(parse_listen(text)) << text;
  }
}

TEST(ParseUrl, SplitsHostPortAndTarget) {
  const auto url = parse_url("http://localhost:8080/a/b?c=d#e");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->host, "localhost");
  EXPECT_EQ(url->port, 8080);
  EXPECT_EQ(url->target, "/a/b?c=d");
  EXPECT_EQ(url->authority(), "localhost:8080");
  EXPECT_EQ(parse_url("http://h")->target, "/");
  EXPECT_EQ(parse_url("http://h")->authority(), "h");
  EXPECT_EQ(parse_url("http://h?x=1")->target, "/?x=1");
  EXPECT_EQ(parse_url("http://[::1]:81/")->authority(), "[::1]:81");
  EXPECT_EQ(parse_url("HTTP://h/")->text(), "http://h/");
}

TEST(ParseUrl, RefusesOtherSchemesAndWhatCouldSmuggle) {
  for (const char* text :
       {"", "localhost", "localhost:80", "https://h/", "ftp://h", "http://", "http:///x",
        "http://u:p@h/", "http://u@h/", "http://h:0/", "http://h:99999/", "http://h:/",
        "http://h/a b", "http://h/\r\nX: y", "http://::1/", "http://h:80:81/"}) {
    EXPECT_FALSE(parse_url(text)) << text;
  }
}

}  // namespace
}  // namespace loadline::tools
