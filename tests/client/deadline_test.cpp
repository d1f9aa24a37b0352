// The time that is left, and how it is told.
#include "loadline/client/deadline.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "at.h"

namespace loadline::client::test {
namespace {

constexpr Duration ms(std::int64_t n) {
  return Duration::millis(n);
}

TEST(TimeLeft, IsNeverNegativeAndNeverEndsWithoutADeadline) {
  EXPECT_EQ(time_left(at_ms(10), at_ms(3)), ms(7));
  EXPECT_EQ(time_left(at_ms(10), at_ms(10)), Duration{});
  EXPECT_EQ(time_left(at_ms(10), at_ms(11)), Duration{});
  EXPECT_EQ(time_left(Instant::never(), at_ms(11)), Duration::max());
}

TEST(ToHandOn, KeepsAMarginThatIsAtMostAnEighth) {
  EXPECT_EQ(to_hand_on(ms(1000), ms(5)), ms(995));
  EXPECT_EQ(to_hand_on(ms(8), ms(5)), ms(7));
  EXPECT_EQ(to_hand_on({1}, ms(5)), Duration{1});
  EXPECT_EQ(to_hand_on({}, ms(5)), Duration{});
  EXPECT_EQ(to_hand_on(Duration::max(), ms(5)), Duration::max());
  EXPECT_EQ(to_hand_on(ms(1000), {}), ms(1000));
}

std::string grpc(Duration left) {
  std::array<char, 9> out{};
  return std::string(write_grpc_timeout(left, out));
}

TEST(GrpcTimeout, HasAtMostEightDigitsAndNeverPromisesMore) {
  EXPECT_EQ(grpc(ms(100)), "100000u");
  EXPECT_EQ(grpc({99'999'999}), "99999999n");
  EXPECT_EQ(grpc({100'000'000}), "100000u");
  EXPECT_EQ(grpc({1'999'999'999}), "1999999u");
  EXPECT_EQ(grpc(Duration::seconds(99)), "99000000u");
  EXPECT_EQ(grpc(Duration::seconds(100)), "100000m");
  EXPECT_EQ(grpc(Duration::seconds(86'400 * 365)), "31536000S");
  EXPECT_EQ(grpc({Duration::max().ns - 1}), "2562047H");
  EXPECT_EQ(grpc({}), "1n");
  EXPECT_EQ(grpc({-5}), "1n");
  EXPECT_EQ(grpc(Duration::max()), "");
}

std::string millis(Duration left) {
  std::array<char, 20> out{};
  return std::string(write_milliseconds(left, out));
}

TEST(Milliseconds, AreRoundedDown) {
  EXPECT_EQ(millis({1'999'999}), "1");
  EXPECT_EQ(millis({999'999}), "0");
  EXPECT_EQ(millis({-1}), "0");
  EXPECT_EQ(millis({Duration::max().ns - 1}), "9223372036854");
  EXPECT_EQ(millis(Duration::max()), "");
}

TEST(TimeEstimate, IsTheMeanOfAboutTwentySuccesses) {
  TimeEstimate estimate(kBegin);
  for (int i = 0; i < 19; ++i) {
    estimate.take(ms(10), at_ms(i));
    EXPECT_EQ(estimate.mean(at_ms(i)), Duration{});
  }
  estimate.take(ms(10), at_ms(20));
  EXPECT_NEAR(static_cast<double>(estimate.mean(at_ms(20)).ns), 10e6, 64);
  for (int i = 0; i < 20; ++i) {
    estimate.take(ms(110), at_ms(21));
  }
  const double expected = 110e6 - 100e6 * 0.3584859;  // 0.95^20 of the old is left
  EXPECT_NEAR(static_cast<double>(estimate.mean(at_ms(21)).ns), expected, 2000);
}

TEST(TimeEstimate, IsNotKnownAnyMoreWhenNoSuccessComes) {
  TimeEstimate estimate(kBegin);
  for (int i = 0; i < 20; ++i) {
    estimate.take(ms(10), at_ms(0));
  }
  EXPECT_NE(estimate.mean(at_ms(1900)), Duration{});
  EXPECT_EQ(estimate.mean(at_ms(2200)), Duration{});
  EXPECT_NE(estimate.mean(at_ms(-100)), Duration{});  // a clock that goes back
  estimate.take(ms(50), at_ms(5000));                 // begins anew
  EXPECT_EQ(estimate.mean(at_ms(5000)), Duration{});
}

TEST(TimeEstimate, TakesAnyTime) {
  TimeEstimate estimate(kBegin);
  for (int i = 0; i < 20; ++i) {
    estimate.take(Duration::max(), kBegin);
  }
  EXPECT_GT(estimate.mean(kBegin), Duration::seconds(270));
  TimeEstimate other(kBegin);
  for (int i = 0; i < 20; ++i) {
    other.take({-1}, kBegin);
  }
  EXPECT_EQ(other.mean(kBegin), Duration{64});
}

}  // namespace
}  // namespace loadline::client::test
