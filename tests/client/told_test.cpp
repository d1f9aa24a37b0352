// Retry-After and the pushback: every form that is sent, and what is made of it.
#include "loadline/client/told.h"

#include <gtest/gtest.h>

#include <time.h>

#include <array>
#include <random>
#include <string>

namespace loadline::client {
namespace {

constexpr WallTime kNewYear = WallTime::seconds(1'735'689'600);  // 2025-01-01T00:00:00Z

std::optional<Duration> seconds(std::int64_t n) {
  return Duration::seconds(n);
}

struct Row {
  std::string text;
  std::optional<Duration> told;
};

TEST(RetryAfter, IsReadInAllItsForms) {
  const Row rows[] = {
      {"0", seconds(0)},
      {"10", seconds(10)},
      {" 10 ", seconds(10)},
      {"\t10", seconds(10)},
      {"0010", seconds(10)},
      {"Wed, 01 Jan 2025 00:00:10 GMT", seconds(10)},
      {"Wednesday, 01-Jan-25 00:00:10 GMT", seconds(10)},
      {"Wed Jan  1 00:00:10 2025", seconds(10)},
      {" Wed, 01 Jan 2025 00:00:10 GMT ", seconds(10)},
      {"Sat, 01 Mar 2025 00:00:00 GMT", seconds(59 * 86'400)},
      {"Tue, 29 Feb 2028 12:30:00 GMT", seconds((365 + 365 + 365 + 59) * 86'400 + 45'000)},
      {"Tue Jan 14 00:00:00 2025", seconds(13 * 86'400)},
      {"Wed, 01 Jan 2025 00:00:60 GMT", seconds(60)},  // a leap second
  };
  for (const Row& row : rows) {
    EXPECT_EQ(parse_retry_after(row.text, kNewYear), row.told) << row.text;
  }
}

TEST(RetryAfter, OfAPastDateIsNothing) {
  for (const char* past : {"Wed, 21 Oct 2015 07:28:00 GMT", "Tue, 31 Dec 2024 23:59:59 GMT",
                           "Thursday, 31-Dec-99 23:59:59 GMT", "Thu Jan  1 00:00:00 1970",
                           "Sat, 01 Jan 0000 00:00:00 GMT"}) {
    EXPECT_EQ(parse_retry_after(past, kNewYear), Duration{}) << past;
  }
}

TEST(RetryAfter, CountsFromTheInstantAndNotFromItsSecond) {
  const WallTime half_past{kNewYear.ns + 500'000'000};
  EXPECT_EQ(parse_retry_after("Wed, 01 Jan 2025 00:00:10 GMT", half_past), Duration::millis(9500));
}

TEST(RetryAfter, OfTwoDigitsOfAYearIsAtMostFiftyYearsAhead) {
  const Row rows[] = {
      {"Wednesday, 01-Jan-75 00:00:00 GMT", seconds(18'262 * std::int64_t{86'400})},  // 2075
      {"Thursday, 01-Jan-76 00:00:00 GMT", seconds(0)},                               // 1976
  };
  for (const Row& row : rows) {
    EXPECT_EQ(parse_retry_after(row.text, kNewYear), row.told) << row.text;
  }
}

TEST(RetryAfter, OfAFractionIsRoundedUp) {
  EXPECT_EQ(parse_retry_after("1.5", kNewYear), seconds(2));
  EXPECT_EQ(parse_retry_after("1.0", kNewYear), seconds(1));
  EXPECT_EQ(parse_retry_after("0.001", kNewYear), seconds(1));
}

TEST(RetryAfter, ThatIsHugeSaturates) {
  EXPECT_EQ(parse_retry_after("2147484", kNewYear), seconds(2'147'484));
  EXPECT_EQ(parse_retry_after("9223372036", kNewYear), seconds(9'223'372'036));
  for (const std::string& huge : {std::string("9223372037"), std::string("9999999999"),
                                  std::string(400, '9'), std::string(400, '9') + ".5"}) {
    EXPECT_EQ(parse_retry_after(huge, kNewYear), Duration::max()) << huge;
  }
  for (const WallTime now : {WallTime{-1}, kNewYear, WallTime{kNewYear.ns + 1}}) {
    EXPECT_EQ(parse_retry_after("Fri, 31 Dec 9999 23:59:59 GMT", now), Duration::max());
  }
  EXPECT_EQ(parse_retry_after("Wed, 01 Jan 2025 00:00:10 GMT", {-Duration::max().ns - 1}),
            Duration::max());
  EXPECT_EQ(parse_retry_after("Thu, 01 Jan 1970 00:00:00 GMT", {-1}), Duration{1});
}

TEST(RetryAfter, ThatIsNotWellFormedIsNone) {
  for (const char* text : {"-1",
                           "+5",
                           "1e3",
                           "0x10",
                           "",
                           " ",
                           "abc",
                           "NaN",
                           "inf",
                           "1.",
                           ".5",
                           ".",
                           "1.5.5",
                           "1 0",
                           "10s",
                           "Wed, 01 Jan 2025 00:00:10",
                           "Wed, 01 Jan 2025 00:00:10 UTC",
                           "Wed, 01 Jan 2025 00:00:10 gmt",
                           "Mon, 31 Feb 2025 00:00:00 GMT",
                           "31 Feb",
                           "Wed, 00 Jan 2025 00:00:00 GMT",
                           "Wed, 01 Jan 2025 24:00:00 GMT",
                           "Wed, 01 Jan 2025 00:60:00 GMT",
                           "Wed, 01 Jan 2025 00:00:61 GMT",
                           "Sat, 29 Feb 2025 00:00:00 GMT",
                           "Xyz, 01 Jan 2025 00:00:10 GMT",
                           "Wed, 01 Jax 2025 00:00:10 GMT",
                           "Wed, 1 Jan 2025 00:00:10 GMT",
                           "Wed, 01 Jan 25 00:00:10 GMT",
                           "Wed, 01-Jan-25 00:00:10 GMT",
                           "Wednesday, 01-Jan-2025 00:00:10 GMT",
                           "Wed Jan 1 00:00:10 2025",
                           "Wed Jan  1 00:00:10 2025 GMT",
                           "Wed, 01 Jan 2025 00:00:10 GMT+1",
                           "Wed, "}) {
    EXPECT_EQ(parse_retry_after(text, kNewYear), std::nullopt) << text;
  }
}

std::string written(std::int64_t seconds, const char* format) {
  const time_t when = seconds;
  tm parts{};
  gmtime_r(&when, &parts);
  std::array<char, 64> text{};
  return {text.data(), strftime(text.data(), text.size(), format, &parts)};
}

// What the C library writes.
TEST(RetryAfter, ReadsEveryDate) {
  constexpr std::int64_t kLastYear = 253'402'300'800;  // 10000-01-01
  constexpr std::int64_t kFiftyYears = std::int64_t{50} * 365 * 86'400;
  std::mt19937_64 random(11);
  for (int i = 0; i < 100'000; ++i) {
    const auto now = static_cast<std::int64_t>(random() % 4'000'000'000);
    const auto then = static_cast<std::int64_t>(random() % kLastYear);
    const Duration wait = std::max(Duration::seconds(then - now), Duration{});
    const std::int64_t near = now - now % 86'400 + then % kFiftyYears;
    for (const char* format : {"%a, %d %b %Y %H:%M:%S GMT", "%a %b %e %H:%M:%S %Y"}) {
      const std::string text = written(then, format);
      ASSERT_EQ(parse_retry_after(text, WallTime::seconds(now)), wait) << text;
    }
    const std::string text = written(near, "%A, %d-%b-%y %H:%M:%S GMT");
    ASSERT_EQ(parse_retry_after(text, WallTime::seconds(now)),
              std::max(Duration::seconds(near - now), Duration{}))
        << text << " at " << now;
  }
}

TEST(Pushback, IsAWaitOrForbids) {
  EXPECT_EQ(parse_pushback("0"), Told::wait(Duration{}));
  EXPECT_EQ(parse_pushback("250"), Told::wait(Duration::millis(250)));
  EXPECT_EQ(parse_pushback(std::string(40, '9')), Told::wait(Duration::max()));
  for (const char* text : {"-1", "-99999999999999999999", "", "abc", "1.5", "+5", "10s", "-"}) {
    EXPECT_EQ(parse_pushback(text), Told::never()) << text;
  }
}

TEST(Signs, OfSeveralTimesTheLongestCounts) {
  Signs signs;
  signs.see("Retry-After", "5", kNewYear);
  signs.see("retry-after", "20", kNewYear);
  signs.see("RETRY-AFTER", "7", kNewYear);
  EXPECT_EQ(signs.told(), Told::wait(Duration::seconds(20)));
  signs.see("grpc-retry-pushback-ms", "25000", kNewYear);
  EXPECT_EQ(signs.told(), Told::wait(Duration::seconds(25)));
  EXPECT_EQ(signs.malformed(), 0);
}

TEST(Signs, WhatIsNotWellFormedIsCountedAndAsGoodAsAbsent) {
  Signs signs;
  signs.see("retry-after", "soon", kNewYear);
  EXPECT_EQ(signs.told(), Told{});
  signs.see("retry-after", "3", kNewYear);
  signs.see("retry-after", "-3", kNewYear);
  EXPECT_EQ(signs.told(), Told::wait(Duration::seconds(3)));
  EXPECT_EQ(signs.malformed(), 2);
  for (int i = 0; i < 300; ++i) {
    signs.see("retry-after", "?", kNewYear);
  }
  EXPECT_EQ(signs.malformed(), 255);
}

TEST(Signs, OneNeverOutweighsAllTimes) {
  Signs signs;
  signs.see("grpc-retry-pushback-ms", "-1", kNewYear);
  EXPECT_EQ(signs.malformed(), 0);
  signs.see("retry-after", "3", kNewYear);
  EXPECT_EQ(signs.told(), Told::never());
  Signs other;
  other.see("retry-after", "3", kNewYear);
  other.see("grpc-retry-pushback-ms", "later", kNewYear);
  EXPECT_EQ(other.told(), Told::never());
  EXPECT_EQ(other.malformed(), 1);
}

TEST(Signs, TellARefusalAndAFailureFromFurtherDown) {
  Signs signs;
  signs.see("content-type", "text/plain", kNewYear);
  signs.see("", "", kNewYear);
  EXPECT_FALSE(signs.refused() || signs.further_down());
  signs.see("X-Loadline-Further-Down", "", kNewYear);
  EXPECT_TRUE(signs.further_down());
  signs.see("X-Loadline-Refused", "limit", kNewYear);
  EXPECT_TRUE(signs.refused());
  Signs envoy;
  envoy.see("x-envoy-overloaded", "true", kNewYear);
  EXPECT_TRUE(envoy.refused());
  EXPECT_EQ(envoy.told(), Told{});
}

}  // namespace
}  // namespace loadline::client
