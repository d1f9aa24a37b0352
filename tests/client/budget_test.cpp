// Retries that are affordable. The cases are those in which others' budgets failed.
#include "loadline/client/budget.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "at.h"

namespace loadline::client::test {
namespace {

constexpr std::uint32_t kRetry = 1000;

BudgetPolicy without_floor(std::uint32_t cap, std::uint16_t share) {
  BudgetPolicy policy;
  policy.cap = cap;
  policy.share = share;
  policy.floor = 0;
  return policy;
}

int take_all(RetryBudget& budget, Instant now, std::uint32_t cost = kRetry) {
  int taken = 0;
  while (taken < 100'000 && budget.take(cost, now)) {
    ++taken;
  }
  return taken;
}

TEST(RetryBudget, PaysASharePerSuccessAndNeverMoreThanTheCap) {
  RetryBudget budget(without_floor(10, 100), kBegin);
  EXPECT_EQ(take_all(budget, kBegin), 10);
  for (int i = 0; i < 9; ++i) {
    budget.succeeded(kBegin);
  }
  EXPECT_EQ(take_all(budget, kBegin), 0);
  budget.succeeded(kBegin);
  EXPECT_EQ(take_all(budget, kBegin), 1);
  for (int i = 0; i < 1000; ++i) {
    budget.succeeded(kBegin);
  }
  EXPECT_EQ(budget.level(kBegin), 10'000U);
  EXPECT_EQ(take_all(budget, kBegin), 10);
}

TEST(RetryBudget, TimePaysTheFloor) {
  BudgetPolicy policy;
  policy.share = 0;
  policy.floor = 300;  // three in ten seconds
  RetryBudget budget(policy, kBegin);
  EXPECT_EQ(take_all(budget, kBegin), 10);
  int taken = 0;
  for (std::int64_t ms = 1; ms <= 100'000; ++ms) {  // asked each millisecond, it is paid the same
    taken += budget.take(kRetry, at_ms(ms)) ? 1 : 0;
  }
  EXPECT_EQ(taken, 30);
  EXPECT_EQ(take_all(budget, at_ms(1'000'000'000)), 10);
}

TEST(RetryBudget, TimeThatGoesBackPaysNothing) {
  BudgetPolicy policy;
  policy.floor = 10'000;
  RetryBudget budget(policy, kBegin);
  EXPECT_EQ(take_all(budget, at_ms(10'000)), 10);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_FALSE(budget.take(kRetry, at_ms(0)));
    EXPECT_FALSE(budget.take(kRetry, at_ms(10'000)));
  }
  EXPECT_EQ(take_all(budget, at_ms(10'500)), 5);
}

// Six calls, all reset together: a budget of all that is active must not shrink as they fail.
TEST(RetryBudget, OfActiveCallsDoesNotShrinkAsTheyFailTogether) {
  Policy policy = plain_policy();
  policy.budget.at_once_share = 1000;
  policy.budget.at_once_floor = 0;
  Caller caller(policy, kBegin);
  std::array<Call, 6> calls;
  std::array<Start, 6> starts;
  for (std::size_t i = 0; i < 6; ++i) {
    calls[i] = Call(Instant::never(), Call::idempotent);
    starts[i] = caller.begin(calls[i], kBegin);
  }
  int retried = 0;
  for (std::size_t i = 0; i < 6; ++i) {
    const Next next = caller.ended(calls[i], starts[i].attempt, answer_of(Ended::lost), at_ms(1));
    retried += next.retry() ? 1 : 0;
  }
  EXPECT_EQ(retried, 6);
}

TEST(RetryBudget, OfActiveCallsIsAShareOrTheFloor) {
  BudgetPolicy policy = without_floor(10'000, 0);
  policy.at_once_share = 200;
  policy.at_once_floor = 3;
  RetryBudget few(policy, kBegin);
  few.call_begins();
  few.call_begins();
  EXPECT_EQ(take_all(few, kBegin), 3);
  RetryBudget many(policy, kBegin);
  for (int i = 0; i < 25; ++i) {
    many.call_begins();
  }
  EXPECT_EQ(take_all(many, kBegin), 5);
  many.retry_ends();
  EXPECT_EQ(take_all(many, kBegin), 1);
}

int retries_of_a_thousand_that_fail_together(const BudgetPolicy& budget) {
  Policy policy = plain_policy();
  policy.budget = budget;
  Caller caller(policy, kBegin);
  std::vector<Call> calls(1000, Call(Instant::never(), Call::idempotent));
  std::vector<Start> starts;
  for (Call& call : calls) {
    starts.push_back(caller.begin(call, kBegin));
  }
  int retried = 0;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const Next next = caller.ended(calls[i], starts[i].attempt, answer_of(Ended::lost), at_ms(1));
    retried += next.retry() ? 1 : 0;  // and waits in backoff
  }
  EXPECT_TRUE(adds_up(caller.snapshot(kBegin), 0));
  EXPECT_EQ(caller.snapshot(kBegin).retries, static_cast<std::uint32_t>(retried));
  return retried;
}

TEST(RetryBudget, CountsWhatWaitsInBackoff) {
  BudgetPolicy at_once = without_floor(10'000, 1000);
  at_once.at_once_share = 200;
  EXPECT_EQ(retries_of_a_thousand_that_fail_together(at_once), 200);
  EXPECT_EQ(retries_of_a_thousand_that_fail_together(without_floor(200, 200)), 200);
  EXPECT_EQ(retries_of_a_thousand_that_fail_together({}), 10);
}

// Capacity 500, a retry costs 5 and one after a timeout 10, a success pays 1.
TEST(RetryBudget, IsFullAgainAfterAnOutage) {
  BudgetPolicy policy = without_floor(100, 200);
  policy.timeout_cost = 2000;
  RetryBudget budget(policy, kBegin);
  EXPECT_EQ(take_all(budget, kBegin), 100);
  for (int i = 0; i < 500; ++i) {
    EXPECT_LT(budget.level(kBegin), 100'000U);
    budget.succeeded(kBegin);
  }
  EXPECT_EQ(budget.level(kBegin), 100'000U);
  budget.succeeded(kBegin);
  EXPECT_EQ(budget.level(kBegin), 100'000U);
  EXPECT_EQ(take_all(budget, kBegin, policy.timeout_cost), 50);
}

TEST(RetryBudget, BoundsTheAttemptsOfCallsThatAllFail) {
  Policy policy = plain_policy();
  policy.budget = without_floor(100, 200);
  Caller caller(policy, kBegin);
  Instant now = kBegin;
  for (int i = 0; i < 10'000; ++i) {
    Call call(Instant::never(), Call::idempotent);
    run(caller, call, now, Duration::millis(1),
        [](const Attempt&) { return answer_of(Ended::unavailable); });
  }
  EXPECT_EQ(caller.snapshot(now).counts.sent, 10'100U);
}

TEST(RetryBudget, GivesBackWhatWasNotSent) {
  RetryBudget budget(without_floor(2, 0), kBegin);
  EXPECT_EQ(take_all(budget, kBegin), 2);
  budget.give_back(kRetry, kBegin);
  budget.retry_ends();
  EXPECT_EQ(budget.retries(), 1U);
  EXPECT_EQ(take_all(budget, kBegin), 1);
  budget.give_back(9 * kRetry, kBegin);
  EXPECT_EQ(budget.level(kBegin), 2 * kRetry);
}

}  // namespace
}  // namespace loadline::client::test
