#include "net_http.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>

namespace loadline::tools {
namespace {

constexpr std::time_t kNewYear = 1'735'689'600;  // Wed, 01 Jan 2025 00:00:00 GMT
constexpr std::uint32_t kMost = UINT32_MAX;

std::optional<std::uint32_t> retry_after(const std::string& text) {
  return parse_retry_after(text, kNewYear);
}

TEST(RetryAfter, SecondsOfAnyLengthNeverMeanAtOnce) {
  EXPECT_EQ(retry_after("0"), 0u);
  EXPECT_EQ(retry_after("10"), 10u);
  EXPECT_EQ(retry_after("007"), 7u);
  EXPECT_EQ(retry_after("2147484"), 2'147'484u);
  for (const std::string& text : {std::string("4294967295"), std::string("4294967296"),
                                  std::string("9223372037000"), std::string(400, '9')}) {
    EXPECT_EQ(retry_after(text), kMost) << text;
  }
}

TEST(RetryAfter, TakesTheThreeFormsOfADate) {
  EXPECT_EQ(retry_after("Wed, 01 Jan 2025 00:00:10 GMT"), 10u);
  EXPECT_EQ(retry_after("Wednesday, 01-Jan-25 00:00:10 GMT"), 10u);
  EXPECT_EQ(retry_after("Wed Jan  1 00:00:10 2025"), 10u);
  EXPECT_EQ(retry_after("Wed, 21 Oct 2015 07:28:00 GMT"), 0u);
  EXPECT_EQ(retry_after("Fri, 31 Dec 9999 23:59:59 GMT"), kMost);
}

TEST(RetryAfter, WhatCannotBeReadAsksForNothing) {
  for (const char* text : {"", "-1", "+5", "1e3", "0x10", "1.5", "abc", "NaN", "inf", "10 s",
                           "5, 20", "Wed, 01 Jan 2025 00:00:10", "Wed, 01 Jan 2025 00:00:10 GMT+1",
                           "Mon, 31 Feb 2025 00:00:00 GMT", "Wed, 01 Jan 2025 25:00:00 GMT"}) {
    EXPECT_EQ(retry_after(text), std::nullopt) << text;
  }
}

TEST(AnswerReader, TakesTheLongestOfSeveralRetryAfters) {
  AnswerReader reader;
  const std::string answer =
      "HTTP/1.1 503 Busy\r\nRetry-After: 5\r\nRetry-After:  20 \r\nRetry-After: soon\r\n"
      "Content-Length: 0\r\n\r\n";
  boost::beast::error_code error;
  reader.put(boost::asio::buffer(answer), error);
  EXPECT_FALSE(error);
  EXPECT_EQ(reader.retry_after(), 20u);
}

}  // namespace
}  // namespace loadline::tools
