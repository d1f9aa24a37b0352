// Whether answers still come in time.
#include "loadline/limit/of_use.h"

#include <gtest/gtest.h>

namespace loadline::test {
namespace {

constexpr AutoTuning kTuning{};
constexpr Instant kFrom{1'000'000'000};

class Answers : public testing::Test {
 protected:
  // How many of `count` like this were taken until it was said; -1: it was not.
  int take(int count, Outcome outcome, std::uint32_t limit, Instant started = kFrom) {
    for (int i = 1; i <= count; ++i) {
      const LimitSample sample{
          .started = started, .ended = started + Duration::millis(5), .outcome = outcome};
      if (of_use_.too_few(sample, limit, kTuning)) {
        return i;
      }
    }
    return -1;
  }
  void SetUp() override { of_use_.begin(kFrom); }

  OfUse of_use_;
};

TEST_F(Answers, TooFewIsToldOfFourAndOfAsManyAsTheLimitLetsIn) {
  EXPECT_EQ(take(10, Outcome::late, 1), 4);
  of_use_.begin(kFrom);
  EXPECT_EQ(take(100, Outcome::late, 16), 16);
  EXPECT_EQ(of_use_.judged(), 16U);
  EXPECT_EQ(of_use_.share(), 0);
}

// One of five is what is allowed at least.
TEST_F(Answers, OneOfFiveInTimeIsEnough) {
  EXPECT_EQ(take(8, Outcome::late, 10), -1);
  EXPECT_EQ(take(2, Outcome::success, 10), -1);
  EXPECT_EQ(of_use_.judged(), 0U) << "and others are judged next";
  EXPECT_EQ(take(9, Outcome::late, 10), -1);
  EXPECT_EQ(take(1, Outcome::success, 10), 1);
  EXPECT_DOUBLE_EQ(of_use_.share(), 0.1);
}

TEST_F(Answers, ThatFailedSayNothing) {
  EXPECT_EQ(take(1000, Outcome::failure, 4), -1);
  EXPECT_EQ(of_use_.judged(), 0U);
}

TEST_F(Answers, ThatBeganBeforeSayNothing) {
  EXPECT_EQ(take(1000, Outcome::late, 4, kFrom - Duration{1}), -1);
  EXPECT_EQ(take(1000, Outcome::late, 4), 4);
}

TEST_F(Answers, AreJudgedAnewOnceItBegins) {
  EXPECT_EQ(take(3, Outcome::late, 4), -1);
  of_use_.begin(kFrom);
  EXPECT_EQ(take(3, Outcome::late, 4), -1);
}

}  // namespace
}  // namespace loadline::test
