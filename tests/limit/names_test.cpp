// The laws by name, and the bounds that they have of their own.
#include <gtest/gtest.h>

#include <limits>

#include "loadline/limit/baseline.h"
#include "rig.h"

namespace loadline::test {
namespace {

TEST(Laws, HaveNamesByWhichTheyAreFound) {
  const char* const names[] = {"fixed",     "auto",  "aimd", "vegas",
                               "gradient2", "envoy", "brpc", "trpc"};
  ASSERT_EQ(std::size(names), kLaws);
  for (std::uint32_t i = 0; i < kLaws; ++i) {
    EXPECT_EQ(name(static_cast<Law>(i)), names[i]);
    EXPECT_EQ(law_of(names[i]), static_cast<Law>(i));
  }
  EXPECT_EQ(name(static_cast<Law>(kLaws)), "unknown");
  for (const char* other : {"", "Auto", "automatic", "unknown", "brpc "}) {
    EXPECT_EQ(law_of(other), std::nullopt) << other;
  }
}

TEST(Laws, KeepToThePublishedBoundsWhereThePolicyGivesNone) {
  constexpr LimitBounds kOpen{1, kMaxLimit};
  constexpr LimitBounds kPublished{20, 200};
  EXPECT_EQ(or_published(kOpen, kPublished), kPublished);
  EXPECT_EQ(or_published({2, kMaxLimit}, kPublished), (LimitBounds{2, 200}));
  EXPECT_EQ(or_published({1, 500}, kPublished), (LimitBounds{20, 500}));
  EXPECT_EQ(or_published({5, 50}, kPublished), (LimitBounds{5, 50}));
}

TEST(Laws, PublishedBoundsGiveWayToOnesThatContradictThem) {
  constexpr LimitBounds kPublished{20, 200};
  EXPECT_EQ(or_published({1, 10}, kPublished), (LimitBounds{1, 10}));
  EXPECT_EQ(or_published({300, kMaxLimit}, kPublished), (LimitBounds{300, kMaxLimit}));
}

TEST(Laws, BeginAsPublishedOrAsTheyAreTold) {
  struct Row {
    Law law;
    std::uint32_t published;
    std::uint32_t told;
  };
  // envoy begins by measuring, whatever it is told.
  for (const Row& row : {Row{Law::aimd, 20, 33},
                         {Law::vegas, 20, 33},
                         {Law::gradient2, 20, 33},
                         {Law::envoy, 3, 3},
                         {Law::brpc, 40, 33},
                         {Law::trpc, kMaxLimit, 33}}) {
    EXPECT_EQ(rig_of(row.law).limit(), row.published) << name(row.law);
    EXPECT_EQ(rig_of(row.law, 33).limit(), row.told) << name(row.law);
  }
}

TEST(Laws, NeverGoBeyondTheBoundsOfThePolicy) {
  for (const Law law : kAllLaws) {
    if (law == Law::fixed) {
      continue;
    }
    Rig<> rig = rig_of(law, 0, {7, 11});
    rig.run(Duration::seconds(60), {.time = queue_of(100, Duration::millis(10))});
    EXPECT_LE(rig.highest(), 11U) << name(law);
    rig.run(Duration::seconds(60),
            {.time = always(Duration::millis(200)), .deadline = Duration::millis(100)});
    EXPECT_GE(rig.lowest(), 7U) << name(law);
    EXPECT_LE(rig.highest(), 11U) << name(law);
  }
}

TEST(Laws, WhatIsNotANumberIsTheLeast) {
  constexpr LimitBounds kBounds{3, 9};
  EXPECT_EQ(whole_within(std::numeric_limits<double>::quiet_NaN(), kBounds), 3U);
  EXPECT_EQ(whole_within(std::numeric_limits<double>::infinity(), kBounds), 9U);
  EXPECT_EQ(whole_within(-std::numeric_limits<double>::infinity(), kBounds), 3U);
  EXPECT_EQ(whole_within(8.999, kBounds), 8U);
}

// Of limiters after a controller that was given 0, -1 and the like, and stood still for ever.
TEST(Laws, RiseFromWhateverTheyAreGivenToBeginWith) {
  for (const Law law : kAllLaws) {
    if (law == Law::fixed) {
      continue;
    }
    Rig<> rig = rig_of(law, 1, {0, ~0U});
    rig.forget_extremes();
    rig.run(Duration::seconds(60), {.time = queue_of(32, Duration::millis(20))});
    EXPECT_GT(rig.limit(), 3U) << name(law);
  }
}

TEST(Laws, BoundsThatCannotBeAreRefusedByThePolicy) {
  for (const LimitBounds bounds : {LimitBounds{0, 0}, {0, ~0U}, {1, ~0U}, {10, 5}}) {
    Policy policy;
    policy.law = Law::aimd;
    policy.limit_least = bounds.least;
    policy.limit_most = bounds.most;
    fill_defaults(policy);
    EXPECT_STREQ(validate(policy).field, "limit_least");
  }
}

}  // namespace
}  // namespace loadline::test
