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

TEST(Weight, IsAWholeNumberInItsRange) {
  EXPECT_EQ(parse_weight("1"), 1U);
  EXPECT_EQ(parse_weight("1000000"), 1'000'000U);
  for (const char* wrong : {"", "0", "-1", "1000001", "1.5", " 1", "1 ", "0x1", "99999999999"}) {
    EXPECT_EQ(parse_weight(wrong), std::nullopt) << wrong;
  }
}

// Envoy counts from one, gRPC counts those before, and the AWS SDKs have a list of fields.
TEST(Attempt, IsCountedFromOneWhoeverCounts) {
  EXPECT_EQ(parse_attempt_count("1"), 1U);
  EXPECT_EQ(parse_attempt_count("3"), 3U);
  EXPECT_EQ(parse_previous_attempts("0"), 1U);
  EXPECT_EQ(parse_previous_attempts("2"), 3U);
  EXPECT_EQ(parse_sdk_attempt("attempt=2"), 2U);
  EXPECT_EQ(parse_sdk_attempt("ttl=20250101T000000Z; attempt=2; max=3"), 2U);
  EXPECT_EQ(parse_sdk_attempt("max=9;attempt=4"), 4U);
}

TEST(Attempt, IsIgnoredWhereMalformed) {
  for (const char* wrong : {"", "0", "-1", "abc", "1.0", " 2", "9999999999"}) {
    EXPECT_EQ(parse_attempt_count(wrong), std::nullopt) << wrong;
  }
  for (const char* wrong : {"", "-1", "abc", "9999999999"}) {
    EXPECT_EQ(parse_previous_attempts(wrong), std::nullopt) << wrong;
  }
  for (const char* wrong :
       {"", "attempt", "attempt=", "attempt=0", "attempt=x", "max=3", ";;", "attempt =2"}) {
    EXPECT_EQ(parse_sdk_attempt(wrong), std::nullopt) << wrong;
  }
}

TEST(HeaderClaims, TakeARequestForARetryIfAnyHeaderSaysSo) {
  HeaderClaims claims;
  EXPECT_FALSE(claims.retry());
  claims.see_attempt(1);
  EXPECT_FALSE(claims.retry());
  claims.see_attempt(2);
  claims.see_attempt(1);
  EXPECT_TRUE(claims.retry());
  EXPECT_EQ(claims.malformed(), 0U);
  claims.see_attempt(std::nullopt);
  EXPECT_EQ(claims.malformed(), 1U);
}

TEST(HeaderClaims, HaveATenantOnlyWhereAllValuesAgree) {
  HeaderClaims one;
  one.see_tenant("a");
  one.see_tenant("a");
  EXPECT_EQ(one.tenant(), "a");
  EXPECT_EQ(one.malformed(), 0U);

  HeaderClaims two;
  two.see_tenant("a");
  two.see_tenant("b");
  two.see_tenant("a");
  EXPECT_EQ(two.tenant(), "");
  EXPECT_EQ(two.malformed(), 2U);

  HeaderClaims none;
  none.see_tenant("");
  EXPECT_EQ(none.tenant(), "");
  EXPECT_EQ(none.malformed(), 1U);
}

TEST(RetriedClass, IsOneLowerUnlessThereIsNone) {
  EXPECT_EQ(retried_class(0, kPolicy), 1);
  EXPECT_EQ(retried_class(kPolicy.class_count - 1, kPolicy), kPolicy.class_count - 1);
}

}  // namespace
}  // namespace loadline::ngx
