// How long is waited.
#include "loadline/client/backoff.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "loadline/client/random.h"

namespace loadline::client {
namespace {

constexpr std::uint64_t kLeast = 0;
constexpr std::uint64_t kMost = ~std::uint64_t{0};

constexpr Duration ms(std::int64_t n) {
  return Duration::millis(n);
}

TEST(Envelope, DoublesUpToTheCap) {
  const BackoffPolicy policy;
  EXPECT_EQ(envelope(policy, 0), ms(100));
  EXPECT_EQ(envelope(policy, 1), ms(100));
  EXPECT_EQ(envelope(policy, 2), ms(200));
  EXPECT_EQ(envelope(policy, 7), ms(6400));
  EXPECT_EQ(envelope(policy, 8), ms(10'000));
}

TEST(Envelope, NeverDecreasesAndNeverWraps) {
  BackoffPolicy policy;
  policy.base = ms(3);
  policy.cap = Duration::seconds(3600);
  for (std::uint32_t retry = 0; retry < 10'000; ++retry) {
    ASSERT_LE(envelope(policy, retry), envelope(policy, retry + 1)) << retry;
    ASSERT_GE(envelope(policy, retry), policy.base);
    ASSERT_LE(envelope(policy, retry), policy.cap);
    for (const bool turned_away : {false, true}) {
      ASSERT_LE(backoff(policy, retry, {}, turned_away, kMost), policy.cap);
      ASSERT_GE(backoff(policy, retry, {}, turned_away, kLeast), policy.floor);
    }
  }
  EXPECT_EQ(envelope(policy, 0xffffffff), policy.cap);
}

TEST(Backoff, IsNeverBelowTheFloorAndHalfTheEnvelopeWhereTurnedAway) {
  const BackoffPolicy policy;
  EXPECT_EQ(backoff(policy, 1, {}, false, kLeast), ms(1));
  EXPECT_EQ(backoff(policy, 1, {}, false, kMost), ms(100));
  EXPECT_EQ(backoff(policy, 1, {}, true, kLeast), ms(50));
  EXPECT_EQ(backoff(policy, 1, {}, true, kMost), ms(100));
}

double mean_ms_of_a_million(const BackoffPolicy& policy, bool turned_away) {
  Random random(1);
  double sum = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    sum += static_cast<double>(backoff(policy, 1, {}, turned_away, random.draw()).ns) / 1e6;
  }
  return sum / 1e6;
}

TEST(Backoff, IsEvenBelowTheEnvelope) {
  BackoffPolicy policy;
  policy.floor = {};
  EXPECT_NEAR(mean_ms_of_a_million(policy, false), 50, 0.2);
  EXPECT_NEAR(mean_ms_of_a_million(policy, true), 75, 0.1);
}

// Own backoff is at most 200 ms here, so what was told decides where it is more.
TEST(Backoff, IsNeverShorterThanTold) {
  BackoffPolicy policy;
  policy.base = ms(200);
  const struct {
    Told told;
    Duration least;
    Duration most;
  } rows[] = {
      {Told::wait({}), ms(100), ms(200)},
      {Told{}, ms(100), ms(200)},
      {Told::never(), ms(100), ms(200)},
      {Told::wait(Duration::seconds(10)), Duration::seconds(10), Duration::seconds(12)},
      {Told::wait(ms(150)), ms(150), ms(200)},
      {Told::wait(Duration::max()), Duration::seconds(3600), Duration::seconds(4320)},
      {Told::wait({-5}), ms(100), ms(200)},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(backoff(policy, 1, row.told, true, kLeast), row.least);
    EXPECT_EQ(backoff(policy, 1, row.told, true, kMost), row.most);
  }
}

// A thousand clients are told the same ten seconds at once.
TEST(Backoff, SpreadsThoseWhoWereToldTheSame) {
  const BackoffPolicy policy;
  std::array<int, 20> bins{};
  for (std::uint64_t client = 0; client < 1000; ++client) {
    Random random(client);
    const Duration wait =
        backoff(policy, 1, Told::wait(Duration::seconds(10)), true, random.draw());
    ASSERT_GE(wait, Duration::seconds(10));
    ASSERT_LE(wait, Duration::seconds(12));
    const auto bin = static_cast<std::size_t>((wait - Duration::seconds(10)).ns / 100'000'000);
    ++bins[std::min<std::size_t>(bin, 19)];
  }
  EXPECT_LE(*std::max_element(bins.begin(), bins.end()), 85);
  EXPECT_GE(*std::min_element(bins.begin(), bins.end()), 20);
}

TEST(Random, IsSplitMix64) {
  Random random(0);  // the first values of the reference implementation
  EXPECT_EQ(random.draw(), 0xe220a8397b1dcdafU);
  EXPECT_EQ(random.draw(), 0x6e789e6aa1b965f4U);
  EXPECT_EQ(random.draw(), 0x06c45d188009454fU);
}

TEST(Random, IsScaledToItsRange) {
  EXPECT_EQ(scaled_down(kLeast, 10), 0U);
  EXPECT_EQ(scaled_down(kMost, 10), 9U);
  EXPECT_EQ(scaled_down(kMost / 2, 10), 4U);
  EXPECT_EQ(scaled_down(kMost, 0), 0U);
}

}  // namespace
}  // namespace loadline::client
