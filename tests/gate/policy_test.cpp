#include "loadline/policy.h"

#include <gtest/gtest.h>

#include "gate_box.h"
#include "loadline/gate/word.h"
#include "loadline/record.h"

namespace loadline::test {
namespace {

std::string refused_field(const Policy& policy) {
  const PolicyError error = validate(policy);
  return error.refused() ? error.field : "";
}

TEST(Policy, WithALimitAndDefaultsIsSound) {
  EXPECT_EQ(refused_field(policy_of(64)), "");
}

TEST(Policy, WithoutALimitIsRefused) {
  EXPECT_EQ(refused_field(policy_of(0)), "limit");
}

TEST(Policy, NamesTheFieldTheValueAndWhatIsAllowed) {
  const PolicyError error = validate(policy_of(kMaxLimit + 1));
  EXPECT_STREQ(error.text.data(), "limit 1000001: allowed is 1 to 1000000");
}

TEST(Policy, RefusesEachFieldOutOfItsRange) {
  EXPECT_EQ(refused_field(policy_of(1, QueueSize::at_most(0))), "queue");
  EXPECT_EQ(refused_field(policy_of(1, QueueSize::at_most(kMaxQueue + 1))), "queue");
  EXPECT_EQ(refused_field(policy_of(1, {}, Duration::micros(999))), "wait_budget");
  EXPECT_EQ(refused_field(policy_of(1, {}, Duration::seconds(3601))), "wait_budget");
  Policy backwards = policy_of(1);
  backwards.retry_after_min = 33;
  EXPECT_EQ(refused_field(backwards), "retry_after");
  Policy patient = policy_of(1);
  patient.death_grace = Duration::seconds(11);
  EXPECT_EQ(refused_field(patient), "death_grace");
  patient.death_grace = Duration::seconds(-1);
  EXPECT_EQ(refused_field(patient), "death_grace");
}

TEST(Policy, RefusesClassesThatMakeNoSense) {
  Policy twice;
  twice.limit = 1;
  add_class(twice, "a");
  add_class(twice, "a");
  EXPECT_EQ(refused_field(twice), "classes");

  Policy rising;
  rising.limit = 1;
  add_class(rising, "a", 500);
  add_class(rising, "b", 600);
  EXPECT_EQ(refused_field(rising), "classes");

  Policy quoted;
  quoted.limit = 1;
  add_class(quoted, "a\"b");
  EXPECT_EQ(refused_field(quoted), "classes");

  Policy beyond = policy_of(1);
  beyond.default_class = 4;
  EXPECT_EQ(refused_field(beyond), "default_class");
}

TEST(Policy, TakesEightClassesAndNotNine) {
  Policy policy;
  for (int i = 0; i < 8; ++i) {
    EXPECT_TRUE(add_class(policy, "c" + std::to_string(i)));
  }
  EXPECT_FALSE(add_class(policy, "c8"));
  EXPECT_EQ(find_class(policy, "c7"), 7);
  EXPECT_EQ(find_class(policy, "c8"), -1);
}

TEST(Policy, AClassNameHasAnEnd) {
  Policy policy;
  EXPECT_TRUE(add_class(policy, std::string(kMaxClassName, 'x')));
  EXPECT_FALSE(add_class(policy, std::string(kMaxClassName + 1, 'x')));
  EXPECT_FALSE(add_class(policy, ""));
}

TEST(Duration, SaturatesInsteadOfTurningNegative) {
  EXPECT_EQ(Duration::seconds(99'999'999LL * 3600), Duration::max());
  EXPECT_EQ(Instant{5} + Duration::max(), Instant::never());
  EXPECT_EQ((Instant{std::numeric_limits<std::int64_t>::min()} - Instant::never()).ns,
            std::numeric_limits<std::int64_t>::min());
}

TEST(Histogram, ABucketHoldsUpToItsBoundAndNotBeyond) {
  EXPECT_EQ(bucket_of(Duration{0}), 0U);
  EXPECT_EQ(bucket_of(Duration{-5}), 0U);
  for (std::uint32_t i = 0; i + 1 < kBuckets; ++i) {
    EXPECT_EQ(bucket_of(bucket_bound(i)), i);
    EXPECT_EQ(bucket_of(bucket_bound(i) + Duration{1}), i + 1);
  }
  EXPECT_EQ(bucket_of(Duration::max()), kBuckets - 1);
  EXPECT_EQ(bucket_bound(3), Duration::millis(1));
}

TEST(Word, KeepsItsPartsApart) {
  Word word = Word{}.with_in_flight_added(7).with_waiting(300, 0x82).with_next_epoch();
  EXPECT_EQ(word.in_flight(), 7U);
  EXPECT_EQ(word.waiting(), 300U);
  EXPECT_EQ(word.mask(), 0x82U);
  EXPECT_EQ(word.epoch(), 1U);
  EXPECT_TRUE(word.waits_at_or_above(1));
  EXPECT_FALSE(word.waits_at_or_above(0));
  for (int i = 0; i < 255; ++i) {
    word = word.with_next_epoch();
  }
  EXPECT_EQ(word.epoch(), 0U);  // wraps, and carries into nothing
  EXPECT_EQ(word.mask(), 0x82U);
  // A release too many wraps in_flight alone.
  EXPECT_EQ(word.with_in_flight_removed(8).waiting(), 300U);
}

}  // namespace
}  // namespace loadline::test
