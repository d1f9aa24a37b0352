// What has gone wrong with limits that were found by a law, in practice. A test whose name begins
// with KnownWeakness shows what a published law is known to do, so that a comparison with it is one
// with the law that people know; the right outcome stands beside it, for `auto` and those that
// reach it.
#include <gtest/gtest.h>

#include <vector>

#include "rig.h"

namespace loadline::test {
namespace {

constexpr Duration kWork = Duration::millis(20);

Load healthy(std::uint32_t workers) {
  return {.time = queue_of(workers, kWork)};
}

// Answers that all come after 5 s, to callers who wait for less.
Load hung() {
  return {.time = always(Duration::seconds(5)), .callers = 2000, .deadline = Duration::seconds(4)};
}

// ---- Times that are not times ----------------------------------------------------------------

class AnyLaw : public testing::TestWithParam<Law> {};
INSTANTIATE_TEST_SUITE_P(Laws, AnyLaw, testing::ValuesIn(kAllLaws),
                         law_name<testing::TestParamInfo<Law>>);

// A host that says a request is done before it has begun it.
TEST_P(AnyLaw, LeavesOutTimesOfNothingAndCountsThem) {
  Rig<> rig = rig_of(GetParam());
  const std::uint32_t before = rig.limit();
  rig.run(Duration::seconds(1), {.time = always(Duration{}), .per_second = 100});
  EXPECT_EQ(rig.limiter().left_out(), 100U);
  EXPECT_EQ(rig.limit(), before);
  rig.run(Duration::seconds(10), {.time = always(kWork), .per_second = 100});
  EXPECT_EQ(rig.limiter().left_out(), 100U);
}

TEST(Envoy, MeasuresItsBaseOfTimesThatAre) {
  Rig<> rig = rig_of(Law::envoy, 10);
  rig.run(Duration::seconds(1), {.time = always(Duration{}), .per_second = 100});
  rig.run(Duration::seconds(1), {.time = always(kWork), .per_second = 100});
  EXPECT_EQ(last_of(rig.limiter(), LimitCause::probing).reason.inputs.time_low, kWork);
}

// One failure of one at a tenth of a second, and then nothing, is no reason to let in less.
TEST_P(AnyLaw, OneFailureAtTheStartChangesNothing) {
  Rig<> rig = rig_of(GetParam());
  const std::uint32_t before = rig.limit();
  rig.run(Duration::millis(110),
          {.time = always(kWork), .per_second = 10, .outcome = Outcome::failure});
  EXPECT_EQ(rig.view().ended, 1U);
  rig.run(Duration::seconds(60), {.time = always(kWork), .per_second = 1e-3});
  EXPECT_EQ(rig.limit(), before);
}

// ---- Every answer is late ---------------------------------------------------------------------

class WhereAllIsLate : public testing::TestWithParam<Law> {};
INSTANTIATE_TEST_SUITE_P(Laws, WhereAllIsLate, testing::Values(Law::automatic, Law::aimd),
                         law_name<testing::TestParamInfo<Law>>);

TEST_P(WhereAllIsLate, TheLimitFallsToItsLeastAndRisesAgain) {
  Rig<> rig = rig_of(GetParam());
  rig.run(Duration::seconds(60), healthy(320));
  const std::uint32_t before = rig.limit();
  rig.forget_extremes();
  rig.run(Duration::seconds(600), hung());
  EXPECT_LE(rig.highest(), before);
  const std::uint32_t least = GetParam() == Law::aimd ? AimdLimit::kPublished.least : 1;
  EXPECT_EQ(rig.limit(), least);
  rig.run(Duration::seconds(120), healthy(320));
  EXPECT_GT(rig.limit(), least);
}

// Windows of a second tell nothing with fewer than 10 in them, or 100, and what is in flight ends
// only each 5 s: so far it falls, and there it stays.
TEST(KnownWeakness, VegasFallsWhileTenEndInASecond) {
  Rig<> rig = rig_of(Law::vegas);
  rig.run(Duration::seconds(60), healthy(320));
  const std::uint32_t before = rig.limit();
  rig.forget_extremes();
  rig.run(Duration::seconds(600), hung());
  EXPECT_LE(rig.highest(), before);
  EXPECT_LE(rig.limit(), 10U * 5);
  EXPECT_GT(rig.limit(), 8U * 5);
  rig.run(Duration::seconds(120), healthy(320));
  EXPECT_GT(rig.limit(), 320U);
}

TEST(KnownWeakness, BrpcFallsWhileAHundredEndInASecond) {
  Rig<> rig = rig_of(Law::brpc, 0, {1, 1600});
  rig.run(Duration::seconds(20), healthy(1600));
  EXPECT_EQ(rig.limit(), 1600U);
  rig.forget_extremes();
  rig.run(Duration::seconds(600), hung());
  EXPECT_LE(rig.highest(), 1600U);
  EXPECT_LE(rig.limit(), 100U * 5);
  EXPECT_GE(rig.limit(), 100U * 5 / 2);
  EXPECT_EQ(last_of(rig.limiter(), LimitCause::failing).to, rig.limit());
}

// It falls with the good answers a second, by a hundredth for each 30 that end.
TEST(KnownWeakness, TrpcFallsTheMoreSlowlyTheLessEnds) {
  Rig<> rig = rig_of(Law::trpc, 0, {1, 1000});
  rig.run(Duration::seconds(60), {.time = queue_of(320, kWork), .callers = 640});
  rig.run(Duration::seconds(600), hung());
  EXPECT_LT(rig.limit(), 30U);
  EXPECT_GT(rig.limit(), 1U);
  rig.run(Duration::seconds(3600), hung());
  EXPECT_LE(rig.limit(), 10U);
  rig.run(Duration::seconds(120), {.time = queue_of(320, kWork), .callers = 640});
  EXPECT_GT(rig.limit(), 320U);
}

// Times that stay the same look well to a law that knows only how they change.
TEST(KnownWeakness, Gradient2RisesToItsMostWhileAllIsLate) {
  Rig<> rig = rig_of(Law::gradient2);
  rig.run(Duration::seconds(60), healthy(320));
  const Load late{.time = always(Duration::seconds(1)), .deadline = Duration::millis(500)};
  rig.run(Duration::seconds(60), late);
  const std::uint32_t after_a_minute = rig.limit();
  rig.run(Duration::seconds(3600), late);
  EXPECT_LT(after_a_minute, 30U);
  EXPECT_EQ(rig.limit(), 200U);
}

TEST(KnownWeakness, EnvoyRisesToItsMostWhileAllIsLate) {
  Rig<> rig = rig_of(Law::envoy);
  rig.run(Duration::seconds(29), healthy(320));
  const Load late{.time = always(Duration::seconds(1)), .deadline = Duration::millis(500)};
  rig.run(Duration::seconds(3), late);
  EXPECT_EQ(rig.limit(), 3U);
  rig.run(Duration::seconds(60), late);
  EXPECT_EQ(rig.highest(), 1000U);
}

// An hour of 2 s is what is usual by then, and the limit of before it comes back.
TEST(KnownWeakness, Gradient2TakesALongIncidentForTheUsual) {
  Rig<> rig = rig_of(Law::gradient2);
  rig.run(Duration::seconds(600), healthy(400));
  rig.run(Duration::seconds(60), {.time = always(Duration::seconds(2))});
  const std::uint32_t after_a_minute = rig.limit();
  rig.run(Duration::seconds(3540), {.time = always(Duration::seconds(2))});
  EXPECT_GT(rig.limit(), 2 * after_a_minute);
}

// ---- One quick request --------------------------------------------------------------------------

// Health checks of 0.2 ms, and then work of 20 ms at 400 a second, which is 8 in flight.
constexpr Duration kCheck = Duration::micros(200);
Load traffic() {
  return {.time = queue_of(10, kWork), .per_second = 400};
}

TEST(KnownWeakness, VegasTakesAWindowOfHealthChecksForTheService) {
  Rig<> rig = rig_of(Law::vegas);
  rig.run(Duration::seconds(5), {.time = always(kCheck), .per_second = 12});
  rig.run(Duration::seconds(60), {.time = queue_of(20, kWork), .per_second = 800});
  EXPECT_LT(rig.limit(), 8U) << "and 16 are needed";
}

class AfterOneQuickRequest : public testing::TestWithParam<Law> {};
INSTANTIATE_TEST_SUITE_P(Laws, AfterOneQuickRequest,
                         testing::Values(Law::automatic, Law::aimd, Law::vegas, Law::gradient2,
                                         Law::envoy, Law::brpc, Law::trpc),
                         law_name<testing::TestParamInfo<Law>>);

TEST_P(AfterOneQuickRequest, TheLimitHasRoomForAllWithinAMinute) {
  Rig<> rig = rig_of(GetParam());
  rig.run(Duration::seconds(1), {.time = always(kCheck), .per_second = 1});
  rig.run(Duration::seconds(60), traffic());
  EXPECT_GE(rig.limit(), 10U);
}

// ---- Overload that goes on ------------------------------------------------------------------

// g is 1 while times are below 1.5 times the usual ones, which follow.
TEST(KnownWeakness, Gradient2CreepsUpUnderOverload) {
  Rig<> rig = rig_of(Law::gradient2);
  rig.run(Duration::seconds(60), healthy(20));
  const std::uint32_t after_a_minute = rig.limit();
  rig.run(Duration::seconds(3600), healthy(20));
  EXPECT_GE(rig.limit(), after_a_minute * 3 / 2);
}

// It grows where nobody asks for more.
TEST(KnownWeakness, EnvoyRisesToItsMostWhileNobodyNeedsIt) {
  Rig<> rig = rig_of(Law::envoy);
  rig.run(Duration::seconds(20), {.time = queue_of(32, kWork), .per_second = 300});
  EXPECT_EQ(rig.limit(), 1000U);
}

// ---- One bound for two things ---------------------------------------------------------------

// At 500 in flight 100 workers take 5 times as long, which is what is measured for the base.
TEST(KnownWeakness, EnvoyStaysAtALeastAboveWhatTheServiceCanDo) {
  Rig<> rig = rig_of(Law::envoy, 0, {500, kMaxLimit});
  rig.run(Duration::seconds(300), healthy(100));
  EXPECT_GE(rig.lowest(), 500U);
  EXPECT_GE(rig.highest(), 600U);
}

TEST(Envoy, MeasuresAnewAfterFiveStepsAtItsLeast) {
  Rig<> rig = rig_of(Law::envoy);
  rig.run(Duration::seconds(20), healthy(100));
  ASSERT_EQ(rig.limit(), 136U);
  // Ten times as slow: 136 -> 76 -> 44 -> 26 -> 16 -> 10 -> 7 -> 5 -> 4 -> 3.
  rig.forget_extremes();
  rig.run(Duration::seconds(8), {.time = queue_of(100, kWork * 10)});
  EXPECT_EQ(rig.lowest(), 3U);
  EXPECT_EQ(rig.limit(), 136U) << "as the base is ten times as long, too";
}

TEST(Envoy, ComesBackWithinTwentyStepsOfMeasuringARecoveredService) {
  Rig<> rig = rig_of(Law::envoy);
  rig.run(Duration::seconds(60), {.time = queue_of(100, kWork * 10)});
  const Load load = healthy(100);
  const Instant recovered = rig.now();
  rig.run(Duration::seconds(1), load);
  EXPECT_GT(rig.limit(), 136U) << "until it is measured";
  LimitEvent measured;
  do {
    rig.run(Rig<>::kTick, load);
    measured = last_of(rig.limiter(), LimitCause::probing);
  } while (measured.at < recovered || measured.to == 3);
  EXPECT_LE(measured.at, recovered + Duration::seconds(36));
  rig.run(Duration::seconds(2), load);
  EXPECT_EQ(rig.limit(), 136U);
}

// ---- Measuring in step
// ----------------------------------------------------------------------------

// Twenty instances that began together, and so measure together: a third of a second each, and up
// to 4.5 s later than 30 s each time. From the fifth time on not more than 4 do at once.
TEST(Envoy, InstancesComeOutOfStep) {
  std::vector<Rig<Bare<EnvoyLimit>>> replicas;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    replicas.emplace_back(Bare<EnvoyLimit>(EnvoyLimit(0, {1, kMaxLimit}, seed)));
  }
  const Load load = healthy(100);
  const auto measure_after = [&](Duration time) {
    int measure = 0;
    for (auto& replica : replicas) {
      replica.run(time, load);
      measure += replica.limiter().law().measures_base() ? 1 : 0;
    }
    return measure;
  };
  EXPECT_EQ(measure_after(Rig<>::kTick), 20);
  measure_after(Duration::seconds(150));
  int most = 0;
  for (int tick = 0; tick < 450 * 100; ++tick) {
    most = std::max(most, measure_after(Rig<>::kTick));
  }
  EXPECT_GE(most, 1);
  EXPECT_LE(most, 4);
}

}  // namespace
}  // namespace loadline::test
