// What is refused at home.
#include "loadline/client/throttle.h"

#include <gtest/gtest.h>

#include "at.h"
#include "loadline/client/random.h"

namespace loadline::client::test {
namespace {

TEST(RefusalProbability, IsTheBooksFormula) {
  const struct {
    std::uint32_t requests;
    std::uint32_t accepts;
    std::uint32_t k;
    double expected;
  } rows[] = {
      {1000, 0, 1000, 1000 / 1001.0},
      {1000, 500, 1000, 500 / 1001.0},
      {100, 50, 1000, 50 / 101.0},
      {1, 0, 1000, 0.5},
      {0, 0, 2000, 0},
      {1000, 500, 2000, 0},
      {1000, 250, 2000, 500 / 1001.0},
      {1000, 900, 1000, 100 / 1001.0},
      {10, 20, 1000, 0},
  };
  for (const auto& row : rows) {
    EXPECT_DOUBLE_EQ(refusal_probability(row.requests, row.accepts, row.k), row.expected)
        << row.requests << " " << row.accepts << " " << row.k;
  }
  EXPECT_NEAR(refusal_probability(1000, 0, 1000), 0.9990, 5e-5);
  EXPECT_NEAR(refusal_probability(1000, 500, 1000), 0.4995, 5e-5);
  EXPECT_NEAR(refusal_probability(100, 50, 1000), 0.4950, 5e-5);
}

ThrottlePolicy switched_on() {
  ThrottlePolicy policy;
  policy.on = true;
  return policy;
}

void send(AdaptiveThrottle& throttle, int sent, int accepted, Instant now) {
  for (int i = 0; i < sent; ++i) {
    throttle.sent(now);
  }
  for (int i = 0; i < accepted; ++i) {
    throttle.accepted(now);
  }
}

TEST(AdaptiveThrottle, DoesNothingUntilItIsSwitchedOn) {
  AdaptiveThrottle throttle({}, kBegin);
  send(throttle, 1000, 0, kBegin);
  EXPECT_EQ(throttle.probability(kBegin), 0);
  EXPECT_FALSE(throttle.refuses(0, kBegin));
}

TEST(AdaptiveThrottle, RefusesNothingBelowItsMinimumAndNeverMoreThanItsMost) {
  AdaptiveThrottle throttle(switched_on(), kBegin);
  send(throttle, 19, 0, kBegin);
  EXPECT_EQ(throttle.probability(kBegin), 0);
  send(throttle, 1, 0, kBegin);
  EXPECT_DOUBLE_EQ(throttle.probability(kBegin), 0.9);  // of 20/21
  EXPECT_TRUE(throttle.refuses(0, kBegin));
  EXPECT_FALSE(throttle.refuses(~std::uint64_t{0}, kBegin));
}

TEST(AdaptiveThrottle, RefusesAsOftenAsItSays) {
  AdaptiveThrottle throttle(switched_on(), kBegin);
  send(throttle, 1000, 250, kBegin);
  Random random(7);
  int refused = 0;
  for (int i = 0; i < 100'000; ++i) {
    refused += throttle.refuses(random.draw(), kBegin) ? 1 : 0;
  }
  EXPECT_NEAR(refused / 100'000.0, 500 / 1001.0, 0.005);
}

TEST(AdaptiveThrottle, ForgetsInFourSeconds) {
  AdaptiveThrottle throttle(switched_on(), kBegin);
  send(throttle, 1000, 0, kBegin);
  EXPECT_GT(throttle.probability(at_ms(3999)), 0.8);
  EXPECT_EQ(throttle.probability(at_ms(4000)), 0);
}

// What is refused at home is not sent, so it is no request.
TEST(AdaptiveThrottle, DoesNotFeedOnItsOwnRefusals) {
  Policy policy = plain_policy();
  policy.retry.attempts = 1;
  policy.throttle = switched_on();
  Caller caller(policy, kBegin);
  std::uint64_t refused = 0;
  for (int i = 0; i < 10'000; ++i) {
    Call call;
    Start start = caller.begin(call, kBegin);
    if (start.send()) {
      caller.ended(call, start.attempt, answer_of(Ended::refused), kBegin);
    } else {
      EXPECT_EQ(start.reason, Reason::throttled);
      ++refused;
    }
  }
  const Snapshot seen = caller.snapshot(kBegin);
  EXPECT_EQ(seen.requests + refused, 10'000U);
  EXPECT_EQ(seen.counts.sent, seen.requests);
  EXPECT_NEAR(static_cast<double>(seen.requests), 1000, 100);  // at most 0.9 are refused
  EXPECT_EQ(seen.accepts, 0U);
}

TEST(AdaptiveThrottle, CountsWhatWasTurnedAwayOrNeverAnsweredAsNotAccepted) {
  Policy policy = plain_policy();
  policy.retry.attempts = 1;
  policy.throttle = switched_on();
  Caller caller(policy, kBegin);
  Answer marked = answer_of(Ended::unavailable);
  marked.further_down = true;
  const struct {
    Answer answer;
    bool accepted;
  } rows[] = {
      {answer_of(Ended::success), true},
      {answer_of(Ended::caller_fault), true},
      {answer_of(Ended::failed), true},
      {answer_of(Ended::cancelled), true},
      {answer_of(Ended::refused), false},
      {answer_of(Ended::quota), false},
      {answer_of(Ended::unreached), false},
      {answer_of(Ended::unavailable), false},
      {answer_of(Ended::timed_out), false},
      {answer_of(Ended::lost), false},
      {marked, true},
  };
  std::uint32_t accepted = 0;
  for (const auto& row : rows) {
    Call call;
    Start start = caller.begin(call, kBegin);
    ASSERT_TRUE(start.send());
    caller.ended(call, start.attempt, row.answer, kBegin);
    accepted += row.accepted ? 1 : 0;
    EXPECT_EQ(caller.snapshot(kBegin).accepts, accepted) << name(row.answer.ended);
  }
}

}  // namespace
}  // namespace loadline::client::test
