// What a policy may be, and what is said when it is not.
#include "loadline/client/policy.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace loadline::client {
namespace {

std::string text_of(const Policy& policy) {
  return validate(policy).text.data();
}

TEST(Policy, IsSoundByDefault) {
  EXPECT_FALSE(validate({}).refused());
}

TEST(Policy, RefusalsNameFieldValueAndWhatIsAllowed) {
  Policy policy;
  policy.retry.attempts = 0;
  EXPECT_STREQ(validate(policy).field, "retry.attempts");
  EXPECT_EQ(text_of(policy), "retry.attempts is 0: allowed is 1 to 100");
  policy = {};
  policy.breaker.window = Duration::millis(50);
  EXPECT_EQ(text_of(policy), "breaker.window is 50 ms: allowed is 100 ms to 1 h");
  policy = {};
  policy.hedge.after = Duration::micros(10);
  EXPECT_EQ(text_of(policy), "hedge.after is 10 us: allowed is 0 (off) or 1 ms to 1 h");
  policy = {};
  policy.backoff.cap = Duration::millis(99);
  EXPECT_EQ(text_of(policy), "backoff.cap is 99 ms: allowed is 100 ms to 1 h");
  policy = {};
  policy.backoff.floor = Duration::millis(101);
  EXPECT_EQ(text_of(policy), "backoff.floor is 101 ms: allowed is 0 ms to 100 ms");
}

TEST(Policy, EveryMemberIsChecked) {
  const struct {
    const char* field;
    std::function<void(Policy&)> spoil;
  } rows[] = {
      {"retry.attempts", [](Policy& p) { p.retry.attempts = 101; }},
      {"backoff.base", [](Policy& p) { p.backoff.base = {}; }},
      {"backoff.base", [](Policy& p) { p.backoff.base = Duration::seconds(61); }},
      {"backoff.cap", [](Policy& p) { p.backoff.cap = Duration::seconds(3601); }},
      {"backoff.floor", [](Policy& p) { p.backoff.floor = {-1}; }},
      {"backoff.told_jitter", [](Policy& p) { p.backoff.told_jitter = 1001; }},
      {"backoff.longest_told", [](Policy& p) { p.backoff.longest_told = {}; }},
      {"budget.share", [](Policy& p) { p.budget.share = 1001; }},
      {"budget.floor", [](Policy& p) { p.budget.floor = 10'001; }},
      {"budget.cap", [](Policy& p) { p.budget.cap = 0; }},
      {"budget.cap", [](Policy& p) { p.budget.cap = 10'001; }},
      {"budget.timeout_cost", [](Policy& p) { p.budget.timeout_cost = 999; }},
      {"budget.at_once_share", [](Policy& p) { p.budget.at_once_share = 1001; }},
      {"budget.at_once_floor", [](Policy& p) { p.budget.at_once_floor = 1001; }},
      {"breaker.window", [](Policy& p) { p.breaker.window = Duration::max(); }},
      {"breaker.failures", [](Policy& p) { p.breaker.failures = 0; }},
      {"breaker.minimum", [](Policy& p) { p.breaker.minimum = 0; }},
      {"breaker.consecutive", [](Policy& p) { p.breaker.consecutive = 10'001; }},
      {"breaker.slow", [](Policy& p) { p.breaker.slow = {1}; }},
      {"breaker.open", [](Policy& p) { p.breaker.open = {}; }},
      {"breaker.open_jitter", [](Policy& p) { p.breaker.open_jitter = 1001; }},
      {"breaker.probes", [](Policy& p) { p.breaker.probes = 0; }},
      {"breaker.probes", [](Policy& p) { p.breaker.probes = kMaxProbes + 1; }},
      {"breaker.probe_limit", [](Policy& p) { p.breaker.probe_limit = {}; }},
      {"throttle.k", [](Policy& p) { p.throttle.k = 999; }},
      {"throttle.window", [](Policy& p) { p.throttle.window = {}; }},
      {"throttle.most", [](Policy& p) { p.throttle.most = 1000; }},
      {"throttle.minimum", [](Policy& p) { p.throttle.minimum = 10'001; }},
      {"deadline.attempt", [](Policy& p) { p.deadline.attempt = {-1}; }},
      {"deadline.margin", [](Policy& p) { p.deadline.margin = {-1}; }},
      {"deadline.least", [](Policy& p) { p.deadline.least = {-1}; }},
      {"deadline.needed", [](Policy& p) { p.deadline.needed = 4001; }},
      {"deadline.expected", [](Policy& p) { p.deadline.expected = {-1}; }},
      {"hedge.after", [](Policy& p) { p.hedge.after = {-1}; }},
  };
  for (const auto& row : rows) {
    Policy policy;
    row.spoil(policy);
    const PolicyError error = validate(policy);
    ASSERT_TRUE(error.refused()) << row.field;
    EXPECT_STREQ(error.field, row.field);
    EXPECT_EQ(std::string(error.text.data()).rfind(row.field, 0), 0U) << error.text.data();
  }
}

}  // namespace
}  // namespace loadline::client
