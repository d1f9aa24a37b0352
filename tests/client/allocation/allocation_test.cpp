// Nothing is allocated once a Caller has been made, whatever is asked of it.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <random>

#include "../../counted_allocations.h"
#include "../at.h"

namespace loadline::client::test {
namespace {

Policy with_everything() {
  Policy policy;
  policy.throttle.on = true;
  policy.throttle.most = 500;
  policy.budget.share = 500;
  policy.hedge.after = Duration::millis(5);
  policy.deadline.attempt = Duration::millis(50);
  policy.budget.at_once_share = 200;
  policy.breaker.slow = Duration::millis(20);
  policy.breaker.open = Duration::millis(100);
  return policy;
}

TEST(Allocation, TheCounterCounts) {
  const std::uint64_t before = allocations;
  int* volatile number = new int(1);  // volatile, or a compiler may leave the pair out
  delete number;
  void* volatile memory = std::malloc(8);
  std::free(memory);
  EXPECT_EQ(allocations - before, 2U);
}

TEST(Allocation, NoneOnACallsWay) {
  std::mt19937_64 random(1);
  Caller caller(with_everything(), kBegin);
  Instant now = kBegin;
  std::array<Event, 8> events;
  std::array<char, 160> text;
  const std::uint64_t before = allocations;
  for (int i = 0; i < 100'000; ++i) {
    now = now + Duration::millis(static_cast<std::int64_t>(random() % 20));
    Signs signs;
    signs.see("retry-after", "Wed, 01 Jan 2025 00:00:10 GMT", WallTime::seconds(1'735'689'600));
    Call call(now + Duration::millis(static_cast<std::int64_t>(random() % 100)), Call::idempotent);
    Start start = caller.begin(call, now);
    while (start.send()) {
      now = now + Duration::millis(static_cast<std::int64_t>(random() % 10));
      Start hedge = caller.hedge(call, start.attempt, now);
      if (hedge.send()) {
        caller.ended(call, hedge.attempt, answer_of(Ended::lost), now);
      }
      Answer answer = random() % 2 == 0 ? answer_of_http(503, signs) : answer_of(Ended::success);
      answer.ended = random() % 8 == 0 ? static_cast<Ended>(random() % kEnds) : answer.ended;
      if (!caller.ended(call, start.attempt, answer, now).retry()) {
        break;
      }
      now = call.retry_at();
      start = caller.retry(call, now);
    }
    caller.abandon(call, now);
    const std::size_t n = caller.events(events);
    describe(events[n == 0 ? 0 : n - 1], text);
  }
  EXPECT_EQ(allocations - before, 0U);
  const Snapshot seen = caller.snapshot(now);
  EXPECT_GT(seen.counts.sent, 10'000U);
  EXPECT_TRUE(adds_up(seen, 0));
}

}  // namespace
}  // namespace loadline::client::test
