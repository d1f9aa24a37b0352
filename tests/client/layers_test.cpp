// Retries multiply: by attempt, and by layer. The closed forms, and how a mark ends it.
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

#include "at.h"

namespace loadline::client::test {
namespace {

// 1 + p + p^2 of three attempts that each fail with probability p.
TEST(Layers, ThreeAttemptsMakeTheLoadOfTheClosedForm) {
  const struct {
    double p;
    double load;
  } rows[] = {{0.1, 1.11}, {0.5, 1.75}, {0.9, 2.71}, {1, 3}};
  for (const auto& row : rows) {
    Caller caller(plain_policy(), kBegin);
    std::mt19937_64 random(5);
    std::bernoulli_distribution fails(row.p);
    constexpr int kCalls = 4000;
    Instant now = kBegin;
    for (int i = 0; i < kCalls; ++i) {
      Call call(Instant::never(), Call::idempotent);
      run(caller, call, now, Duration::millis(1), [&](const Attempt&) {
        return answer_of(fails(random) ? Ended::unavailable : Ended::success);
      });
    }
    const double load = static_cast<double>(caller.snapshot(now).counts.sent) / kCalls;
    EXPECT_NEAR(load, row.load, 0.04) << row.p;
  }
}

// Callers in a row, each asking the next; the last asks a leaf that always refuses.
class Chain {
 public:
  Chain(int layers, int retries, bool marks) : marks_(marks) {
    Policy policy = plain_policy();
    policy.retry.attempts = static_cast<std::uint8_t>(1 + retries);
    for (int i = 0; i < layers; ++i) {
      callers_.push_back(std::make_unique<Caller>(policy, kBegin));
    }
  }

  int leaf_calls() {
    ask(0);
    return leaf_calls_;
  }

 private:
  Answer ask(std::size_t layer) {
    if (layer == callers_.size()) {
      ++leaf_calls_;
      return answer_of(Ended::refused);
    }
    Call call(Instant::never(), Call::idempotent);
    Instant now = now_;
    run(*callers_[layer], call, now, Duration::millis(1),
        [&](const Attempt&) { return ask(layer + 1); });
    Answer failed = answer_of(Ended::unavailable);
    failed.further_down = marks_;
    return failed;
  }

  bool marks_;
  int leaf_calls_ = 0;
  Instant now_ = kBegin;
  std::vector<std::unique_ptr<Caller>> callers_;
};

TEST(Layers, WithoutAMarkMultiply) {
  EXPECT_EQ(Chain(3, 1, false).leaf_calls(), 8);
  EXPECT_EQ(Chain(3, 2, false).leaf_calls(), 27);
  EXPECT_EQ(Chain(3, 3, false).leaf_calls(), 64);
  EXPECT_EQ(Chain(5, 3, false).leaf_calls(), 1024);
}

TEST(Layers, WithAMarkOnlyTheOneNextToTheLeafRetries) {
  EXPECT_EQ(Chain(3, 1, true).leaf_calls(), 2);
  EXPECT_EQ(Chain(3, 3, true).leaf_calls(), 4);
  EXPECT_EQ(Chain(5, 3, true).leaf_calls(), 4);
}

}  // namespace
}  // namespace loadline::client::test
