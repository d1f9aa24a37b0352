#include "rules_parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace loadline::ngx {
namespace {

using testing::Eq;
using testing::Optional;

TEST(Whole, TakesPlainDigitsInItsRange) {
  EXPECT_THAT(parse_whole("1", 1, 60), Optional(1u));
  EXPECT_THAT(parse_whole("60", 1, 60), Optional(60u));
  EXPECT_THAT(parse_whole("007", 1, 60), Optional(7u));
  EXPECT_THAT(parse_whole("0000000000000000000000007", 1, 60), Optional(7u));
  EXPECT_THAT(parse_whole("4294967295", 0, 4'294'967'295), Optional(4'294'967'295u));
}

TEST(Whole, RefusesAllElse) {
  for (const char* text : {"", "0", "61", "-1", "+1", " 1", "1 ", "1.5", "0x1", "1e1", "4294967297",
                           "18446744073709551617"}) {
    EXPECT_THAT(parse_whole(text, 1, 60), Eq(std::nullopt)) << text;
  }
  EXPECT_THAT(parse_whole("4294967296", 0, 4'294'967'295), Eq(std::nullopt));
  EXPECT_THAT(parse_whole(std::string_view("1\0", 2), 1, 60), Eq(std::nullopt));
}

TEST(Percent, IsPerMille) {
  EXPECT_THAT(parse_percent("1%", 100), Optional(10));
  EXPECT_THAT(parse_percent("100%", 100), Optional(1000));
  EXPECT_THAT(parse_percent("90%", 90), Optional(900));
}

TEST(Percent, RefusesAllElse) {
  for (const char* text : {"", "%", "0%", "91%", "50", "50%%", "5 %", "-5%", "1.5%"}) {
    EXPECT_THAT(parse_percent(text, 90), Eq(std::nullopt)) << text;
  }
}

TEST(Rate, HasAUnitOfTime) {
  const auto a_second = parse_rate("100r/s");
  ASSERT_TRUE(a_second);
  EXPECT_EQ(a_second->requests, 100u);
  EXPECT_EQ(a_second->per, Duration::seconds(1));
  EXPECT_EQ(parse_rate("600r/m")->per, Duration::seconds(60));
  EXPECT_EQ(parse_rate("1000000r/h")->per, Duration::seconds(3600));
  EXPECT_EQ(parse_rate("1000000r/h")->requests, 1'000'000u);
}

TEST(Rate, RefusesAllElse) {
  for (const char* text :
       {"",       "r",       "r/",         "r/s",      "100",   "100/s",  "100r",    "100r/",
        "100rs",  "0r/s",    "1000001r/s", "1.5r/s",   "-1r/s", "100r/d", "100r/ss", "100r/S",
        "100R/s", "100rr/s", "100r //s",   "100r/s/s", " 1r/s", "1r/s "}) {
    EXPECT_FALSE(parse_rate(text)) << text;
  }
}

TEST(Floor, IsThousandthsOfOneASecond) {
  EXPECT_THAT(parse_floor("6r/m"), Optional(100u));
  EXPECT_THAT(parse_floor("1r/s"), Optional(1000u));
  EXPECT_THAT(parse_floor("10r/s"), Optional(10'000u));
  EXPECT_THAT(parse_floor("600r/m"), Optional(10'000u));
  EXPECT_THAT(parse_floor("4r/h"), Optional(1u));
  EXPECT_THAT(parse_floor("36000r/h"), Optional(10'000u));
}

TEST(Floor, RefusesWhatIsNoRateOrOutOfBounds) {
  for (const char* text :
       {"", "off", "5", "0r/s", "11r/s", "601r/m", "3r/h", "36004r/h", "-1r/m"}) {
    EXPECT_THAT(parse_floor(text), Eq(std::nullopt)) << text;
  }
}

TEST(Range, IsTwoNumbersTheSmallerFirst) {
  const auto range = parse_range("7-3600", 3600);
  ASSERT_TRUE(range);
  EXPECT_EQ(range->low, 7);
  EXPECT_EQ(range->high, 3600);
  EXPECT_TRUE(parse_range("5-5", 3600));
}

TEST(Range, RefusesAllElse) {
  for (const char* text :
       {"", "-", "5", "5-", "-5", "0-5", "5-4", "5-3601", "1-2-3", "1s-2s", "1 - 2", "1–2"}) {
    EXPECT_FALSE(parse_range(text, 3600)) << text;
  }
}

}  // namespace
}  // namespace loadline::ngx
