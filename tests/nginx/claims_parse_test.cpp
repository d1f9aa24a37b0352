#include "claims_parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace loadline::ngx {
namespace {

using testing::Eq;
using testing::Optional;

Policy policy_of(std::initializer_list<const char*> names) {
  Policy policy;
  for (const char* name : names) {
    add_class(policy, name);
  }
  return policy;
}

const Policy kPolicy = policy_of({"critical_plus", "critical", "sheddable_plus", "sheddable"});

TEST(GrpcTimeout, ReadsEveryUnit) {
  EXPECT_THAT(parse_grpc_timeout("2H"), Optional(Duration::seconds(7200)));
  EXPECT_THAT(parse_grpc_timeout("3M"), Optional(Duration::seconds(180)));
  EXPECT_THAT(parse_grpc_timeout("10S"), Optional(Duration::seconds(10)));
  EXPECT_THAT(parse_grpc_timeout("100m"), Optional(Duration::millis(100)));
  EXPECT_THAT(parse_grpc_timeout("250u"), Optional(Duration::micros(250)));
  EXPECT_THAT(parse_grpc_timeout("1n"), Optional(Duration{1}));
}

TEST(GrpcTimeout, SaturatesAtTheLongestAndIsNeverNegative) {
  EXPECT_THAT(parse_grpc_timeout("99999999H"), Optional(Duration::max()));
  EXPECT_THAT(parse_grpc_timeout("99999999M"), Optional(Duration::seconds(5'999'999'940)));
}

TEST(GrpcTimeout, TakesLeadingZeros) {
  EXPECT_THAT(parse_grpc_timeout("00000001S"), Optional(Duration::seconds(1)));
}

class MalformedGrpcTimeout : public testing::TestWithParam<const char*> {};

TEST_P(MalformedGrpcTimeout, IsRefused) {
  EXPECT_THAT(parse_grpc_timeout(GetParam()), Eq(std::nullopt));
}

INSTANTIATE_TEST_SUITE_P(Table, MalformedGrpcTimeout,
                         testing::Values("", "123456789m", "0S", "00000000n", "-1S", "+1S", "10",
                                         "S", "10s", "10h", "10 S", " 10S", "10S ", "1.5S", "1e3m",
                                         "0x1S", "10SS", "10S,5S"));

TEST(Milliseconds, ReadsWholeNumbers) {
  EXPECT_THAT(parse_milliseconds("1500"), Optional(Duration::millis(1500)));
  EXPECT_THAT(parse_milliseconds("999999999999999999"), Optional(Duration::max()));
}

TEST(Milliseconds, NothingOrLessIsLeft) {
  EXPECT_THAT(parse_milliseconds("0"), Optional(Duration{}));
  EXPECT_THAT(parse_milliseconds("-20"), Optional(Duration{}));
}

class MalformedMilliseconds : public testing::TestWithParam<const char*> {};

TEST_P(MalformedMilliseconds, IsRefused) {
  EXPECT_THAT(parse_milliseconds(GetParam()), Eq(std::nullopt));
}

INSTANTIATE_TEST_SUITE_P(Table, MalformedMilliseconds,
                         testing::Values("", "-", "+5", "--5", "1.5", "1e3", "0x10", "abc", "10ms",
                                         " 10", "10 ", "1000000000000000000", "NaN", "inf"));

TEST(FindClass, DoesNotMindCase) {
  EXPECT_EQ(find_class_in_any_case(kPolicy, "sheddable"), 3);
  EXPECT_EQ(find_class_in_any_case(kPolicy, "CRITICAL_PLUS"), 0);
  EXPECT_EQ(find_class_in_any_case(kPolicy, "crit"), -1);
  EXPECT_EQ(find_class_in_any_case(kPolicy, ""), -1);
}

TEST(HeaderClaims, TakesTheLeastImportantOfSeveralClasses) {
  HeaderClaims claims;
  claims.see_class(kPolicy, "sheddable");
  claims.see_class(kPolicy, "critical_plus");
  EXPECT_EQ(claims.importance(), 3);
  EXPECT_EQ(claims.malformed(), 0U);
}

TEST(HeaderClaims, TakesTheShortestOfSeveralTimes) {
  HeaderClaims claims;
  claims.see_grpc_timeout("10S");
  claims.see_grpc_timeout("1S");
  claims.see_milliseconds("5000");
  EXPECT_THAT(claims.time_left(), Optional(Duration::seconds(1)));
}

TEST(HeaderClaims, CountsWhatItIgnores) {
  HeaderClaims claims;
  for (const char* value : {"-1", "99999999999", "abc", "", "0"}) {
    claims.see_class(kPolicy, value);
  }
  claims.see_grpc_timeout("soon");
  claims.see_milliseconds("soon");
  EXPECT_EQ(claims.malformed(), 7U);
  EXPECT_FALSE(claims.any());
}

TEST(HeaderClaims, AValidValueCountsBesideAMalformedOne) {
  HeaderClaims claims;
  claims.see_class(kPolicy, "abc");
  claims.see_class(kPolicy, "sheddable_plus");
  EXPECT_EQ(claims.importance(), 2);
  EXPECT_EQ(claims.malformed(), 1U);
}

HeaderClaims claiming_class(const char* name) {
  HeaderClaims claims;
  claims.see_class(kPolicy, name);
  return claims;
}

TEST(BelievedClass, AStrangerMayOnlyLowerIt) {
  EXPECT_EQ(believed_class(1, claiming_class("sheddable"), false), 3);
  EXPECT_EQ(believed_class(1, claiming_class("critical_plus"), false), 1);
}

TEST(BelievedClass, ATrustedPeerDecides) {
  EXPECT_EQ(believed_class(1, claiming_class("sheddable"), true), 3);
  EXPECT_EQ(believed_class(1, claiming_class("critical_plus"), true), 0);
}

TEST(BelievedClass, WithoutAValidClaimItIsItsOwn) {
  EXPECT_EQ(believed_class(1, HeaderClaims{}, true), 1);
  EXPECT_EQ(believed_class(1, claiming_class("abc"), true), 1);
}

HeaderClaims claiming_time(const char* grpc_timeout) {
  HeaderClaims claims;
  claims.see_grpc_timeout(grpc_timeout);
  return claims;
}

TEST(BelievedTime, AStrangerMayOnlyShortenIt) {
  const Duration own = Duration::seconds(2);
  EXPECT_THAT(believed_time(own, claiming_time("1S"), false), Optional(Duration::seconds(1)));
  EXPECT_THAT(believed_time(own, claiming_time("9S"), false), Optional(own));
  EXPECT_THAT(believed_time(std::nullopt, claiming_time("9S"), false),
              Optional(Duration::seconds(9)));
}

TEST(BelievedTime, ATrustedPeerDecides) {
  const Duration own = Duration::seconds(2);
  EXPECT_THAT(believed_time(own, claiming_time("1S"), true), Optional(Duration::seconds(1)));
  EXPECT_THAT(believed_time(own, claiming_time("9S"), true), Optional(Duration::seconds(9)));
}

TEST(BelievedTime, WithoutAValidClaimItIsItsOwn) {
  EXPECT_THAT(believed_time(std::nullopt, HeaderClaims{}, true), Eq(std::nullopt));
  EXPECT_THAT(believed_time(Duration::seconds(2), claiming_time("abc"), true),
              Optional(Duration::seconds(2)));
}

}  // namespace
}  // namespace loadline::ngx
