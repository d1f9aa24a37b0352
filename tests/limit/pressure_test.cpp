// What signals from outside take of a limit, and give back: by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string_view>
#include <vector>

#include "rig.h"

namespace loadline::test {
namespace {

constexpr double kSetPoint = 2;
constexpr Duration kSecond = Duration::seconds(1);

void name(LimitSignal& signal, std::string_view name) {
  std::copy(name.begin(), name.end(), signal.reading.name.begin());
}

// A limit that nothing else moves, looked at every 10 ms, and a signal that is reported every
// second, on the second.
class Pressed {
 public:
  explicit Pressed(std::uint32_t limit = 100, std::uint32_t least = 4)
      : limiter({.law = Law::fixed, .from = limit, .bounds = {least, 1000}}, kBegin) {
    for (LimitSignal& signal : view.signals) {
      signal.reading.at_most = kSetPoint;
    }
    name(view.signals[0], "queue_depth");
    name(view.signals[1], "db_latency");
  }

  void report(double value, std::uint32_t index = 0) {
    view.signals[index].reading.value = value;
    view.signals[index].at = view.now;
  }
  void look_for(Duration time) {
    for (const Instant until = view.now + time; view.now < until;) {
      view.now = view.now + Duration::millis(10);
      limiter.look(view);
    }
  }
  // The limit a second after each of so many reports.
  std::vector<std::uint32_t> limits(int reports, double value) {
    std::vector<std::uint32_t> all;
    for (int i = 0; i < reports; ++i) {
      report(value);
      look_for(kSecond);
      all.push_back(limiter.limit());
    }
    return all;
  }
  [[nodiscard]] LimitEvent last() const {
    return limiter.events().events[(limiter.events().count - 1) % LimitEvents::kKept];
  }

  static constexpr Instant kBegin{1'000'000'000};
  LimitView view{.now = kBegin};
  Limiter limiter;
};

using Limits = std::vector<std::uint32_t>;

// Half above: a quarter less each time, of 100 exactly 75, 56.25, 42.1875, 31.640625 and so on.
TEST(Pressure, HalfAboveTakesAQuarterEachSecond) {
  Pressed gate;
  EXPECT_EQ(gate.limits(12, 1.5 * kSetPoint), (Limits{75, 56, 42, 32, 24, 18, 13, 10, 8, 6, 4, 4}));
}

// 100 * 0.95 ^ n, with n the steps.
TEST(Pressure, ATenthAboveTakesATwentieth) {
  Pressed gate(100, 1);
  const Limits limits = gate.limits(20, 1.1 * kSetPoint);
  for (std::size_t i = 0; i < limits.size(); ++i) {
    EXPECT_EQ(limits[i], std::lround(100 * std::pow(0.95, static_cast<double>(i + 1)))) << i;
  }
}

TEST(Pressure, HoweverFarAboveItTakesHalf) {
  for (const double value : {2.0, 2.5, 10.0, 1e300}) {
    Pressed gate;
    EXPECT_EQ(gate.limits(6, value * kSetPoint), (Limits{50, 25, 13, 6, 4, 4})) << value;
  }
}

TEST(Pressure, AtItsSetPointNothingIsTaken) {
  Pressed gate;
  EXPECT_EQ(gate.limits(3, kSetPoint), (Limits{100, 100, 100}));
  EXPECT_EQ(gate.limiter.events().count, 1U);
}

// What it is reported to be is in proportion to what is in flight, which is all that may be. Half
// of the excess goes with each step, and it is never passed: by hand, of an excess e there remains
// e / 2 - e^2 / 2. There it wavers by kSlowest.
TEST(Pressure, WhatIsInProportionComesToItsSetPointFromAbove) {
  for (const double in_flight : {10.0, 37.0, 60.0, 95.0}) {
    Pressed gate(100, 1);
    for (int i = 0; i < 12; ++i) {
      const double value = gate.limiter.limit() / in_flight;
      gate.report(value * kSetPoint);
      gate.look_for(kSecond);
      EXPECT_GE(gate.limiter.limit() + 1, in_flight) << "step " << i;
    }
    EXPECT_LE(gate.limiter.limit(), in_flight * (1 + Pressure::kSlowest) + 1) << in_flight;
  }
}

TEST(Pressure, WhatStaysAboveIsNotPaidForTwice) {
  Pressed gate;
  gate.report(1.5 * kSetPoint);
  gate.look_for(Duration::seconds(4));
  EXPECT_EQ(gate.limiter.limit(), 75U) << "one report, one step";
  // Reported every 10 ms: a step each kToBeSeen.
  Pressed often;
  for (int i = 0; i < 100; ++i) {
    often.report(1.5 * kSetPoint);
    often.look_for(Duration::millis(10));
  }
  EXPECT_EQ(often.limiter.limit(), 56U) << "within a second";
}

// Of 100 in flight none ends for 3 s.
TEST(Pressure, AStepHasToTakeEffectBeforeTheNext) {
  Pressed gate;
  gate.view.in_flight = 100;
  EXPECT_EQ(gate.limits(3, 1.5 * kSetPoint), (Limits{75, 75, 75}));
  gate.view.in_flight = 75;
  gate.report(1.5 * kSetPoint);
  gate.look_for(Duration::millis(10));
  EXPECT_EQ(gate.limiter.limit(), 75U) << "nothing has been seen of it yet";
  gate.look_for(kSecond);
  EXPECT_EQ(gate.limits(1, 1.5 * kSetPoint), (Limits{56}));
}

// They hang, and hold more than it allows: that is no reason to give back nothing.
TEST(Pressure, WhatWasTakenComesBackAlsoWhereItNeverTookEffect) {
  Pressed gate;
  gate.view.in_flight = 60;
  ASSERT_EQ(gate.limits(3, 2 * kSetPoint), (Limits{50, 50, 50}));
  EXPECT_EQ(gate.limits(3, 0), (Limits{75, 100, 100}));
}

// Of itself, and how fast: at half of the set-point 5/4 each second, exactly 50, 62.5, 78.125,
// 97.65625, and then it is out of the way.
TEST(Pressure, WhatWasTakenComesBack) {
  Pressed gate;
  ASSERT_EQ(gate.limits(1, 2 * kSetPoint), (Limits{50}));
  EXPECT_EQ(gate.limits(5, 0.5 * kSetPoint), (Limits{63, 78, 98, 100, 100}));
  EXPECT_EQ(gate.last().reason.cause, LimitCause::relieved);
  ASSERT_EQ(gate.limits(1, 2 * kSetPoint), (Limits{50}));
  // Nothing is pressed any more: half as much again.
  EXPECT_EQ(gate.limits(3, 0), (Limits{75, 100, 100}));
  // And slowest where it is just below: 1.05 ^ 14 is 1.98, and 1.05 ^ 15 is 2.08.
  ASSERT_EQ(gate.limits(1, 2 * kSetPoint), (Limits{50}));
  const Limits slowly = gate.limits(15, 0.99 * kSetPoint);
  EXPECT_EQ(slowly[0], 53U);  // 52.5
  EXPECT_EQ(slowly[13], 99U);
  EXPECT_EQ(slowly[14], 100U);
}

TEST(Pressure, WhatNobodyReportsAnyMoreTakesNothingAndComesBackSlowly) {
  Pressed gate;
  gate.report(2 * kSetPoint);
  gate.look_for(Duration::seconds(5));
  EXPECT_EQ(gate.limiter.limit(), 50U) << "as long as it is believed";
  gate.look_for(Duration::seconds(2));
  EXPECT_GT(gate.limiter.limit(), 50U);
  EXPECT_LE(gate.limiter.limit(), 58U);
  EXPECT_EQ(gate.last().reason.inputs.signal.name_view(), "") << "nobody says anything";
  gate.look_for(Duration::seconds(15));
  EXPECT_EQ(gate.limiter.limit(), 100U);
}

TEST(Pressure, WhatIsNoValueSaysNothing) {
  Pressed gate;
  for (const double value : {std::numeric_limits<double>::quiet_NaN(), -1.0, -1e300,
                             -std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(gate.limits(2, value), (Limits{100, 100})) << value;
  }
  gate.report(10 * kSetPoint);
  gate.view.signals[0].at = gate.view.now + Duration::seconds(100);
  gate.look_for(kSecond);
  EXPECT_EQ(gate.limiter.limit(), 100U) << "of the future";
  gate.view.signals[0].at = gate.view.now - Duration::millis(5001);
  gate.look_for(kSecond);
  EXPECT_EQ(gate.limiter.limit(), 100U) << "of long ago";
  gate.view.signals[0].at = Instant::never();
  gate.look_for(kSecond);
  EXPECT_EQ(gate.limiter.limit(), 100U) << "never";
  gate.view.signals[0].reading.at_most = 0;
  EXPECT_EQ(gate.limits(1, 5), (Limits{100})) << "without a set-point";
  EXPECT_EQ(gate.limiter.events().count, 1U);
}

// Who reports has read its clock a moment after who looks has: it is heard, and not a moment in
// which nobody says anything.
TEST(Pressure, WhatIsAMomentAheadIsOfNow) {
  Pressed gate;
  ASSERT_EQ(gate.limits(1, 2 * kSetPoint), (Limits{50}));
  for (int i = 0; i < 60; ++i) {
    gate.report(1.0001 * kSetPoint);
    gate.view.signals[0].at = gate.view.now + Duration::millis(12);
    gate.look_for(Duration::millis(10));
    EXPECT_LE(gate.limiter.limit(), 50U);
  }
}

// The one that is highest above its own speaks, and it is the one that is named.
TEST(Pressure, OfSeveralTheOneThatIsHighestSpeaks) {
  Pressed gate;
  gate.view.signals[1].reading.at_most = 0.05;
  gate.report(1.2 * kSetPoint, 0);
  gate.report(0.075, 1);
  gate.look_for(Duration::millis(10));
  EXPECT_EQ(gate.limiter.limit(), 75U);
  const LimitEvent event = gate.last();
  EXPECT_EQ(event.reason.cause, LimitCause::pressed);
  EXPECT_EQ(event.from, 100U);
  EXPECT_EQ(event.to, 75U);
  EXPECT_EQ(event.reason.inputs.signal.name_view(), "db_latency");
  EXPECT_EQ(event.reason.inputs.signal.value, 0.075);
  EXPECT_EQ(event.reason.inputs.signal.at_most, 0.05);
  // One that is well does not outweigh one that is not.
  gate.look_for(kSecond);
  gate.report(0, 0);
  gate.report(0.1, 1);
  gate.look_for(Duration::millis(10));
  EXPECT_EQ(gate.limiter.limit(), 38U);  // 37.5
}

TEST(Pressure, AClockThatGoesBackDoesNotHoldItForLong) {
  Pressed gate;
  ASSERT_EQ(gate.limits(1, 2 * kSetPoint), (Limits{50}));
  gate.view.now = gate.view.now - Duration::seconds(1000);
  EXPECT_EQ(gate.limits(5, 0)[4], 100U);
}

TEST(Pressure, ALimitBegunAnewIsFreeOfIt) {
  Pressed gate;
  ASSERT_EQ(gate.limits(1, 2 * kSetPoint), (Limits{50}));
  gate.limiter.repair(gate.limiter.rules(), 80, gate.view.now);
  EXPECT_EQ(gate.limiter.limit(), 80U);
}

// ---- With a law under it -----------------------------------------------------------------------

class EveryLawPressed : public testing::TestWithParam<Law> {};
INSTANTIATE_TEST_SUITE_P(Laws, EveryLawPressed,
                         testing::Values(Law::automatic, Law::aimd, Law::vegas, Law::gradient2,
                                         Law::brpc, Law::trpc),
                         law_name<testing::TestParamInfo<Law>>);

// 32 workers, and something behind them that bears 16.
Load with_signal(bool reported) {
  Load load{.time = queue_of(32, Duration::millis(20))};
  if (reported) {
    load.signal = [](std::uint32_t in_flight) { return in_flight / 16.0; };
  }
  return load;
}

TEST_P(EveryLawPressed, IsHeldByASignalAndLetGoByIt) {
  Rig<> rig = rig_of(GetParam(), 0, {2, 1000});
  rig.run(Duration::seconds(30), with_signal(false));
  const std::uint32_t found = rig.limit();
  ASSERT_GE(found, 20U);
  rig.run(Duration::seconds(30), with_signal(true));
  rig.forget_extremes();
  rig.run(Duration::seconds(60), with_signal(true));
  EXPECT_GE(rig.lowest(), 14U);
  EXPECT_LE(rig.highest(), 17U);
  EXPECT_GT(count_of(rig.limiter(), LimitCause::pressed), 0U);
  // 16 * 1.5 ^ n, once it is reported to be well.
  Load well = with_signal(true);
  well.signal = [](std::uint32_t) { return 0.0; };
  rig.run(Duration::seconds(12), well);
  EXPECT_GE(rig.limit() * 4, std::min(found, 64U) * 3);
}

TEST(Pressure, TheLawGoesOnFromWhatItKnew) {
  Rig<> rig = rig_of(Law::automatic, 0, {2, 1000});
  rig.run(Duration::seconds(60), with_signal(false));
  ASSERT_FALSE(rig.limiter().searching());
  const std::uint32_t found = rig.limit();
  rig.run(Duration::seconds(60), with_signal(true));
  ASSERT_LE(rig.limit(), 17U);
  EXPECT_FALSE(rig.limiter().searching());
  Load well = with_signal(true);
  well.signal = [](std::uint32_t) { return 0.5; };
  rig.run(Duration::seconds(5), well);  // 16, 20, 25, 31.25, 39.0625
  EXPECT_GE(rig.limit() + 4, found);
}

// Nobody has set a point: whatever else there is, nothing is taken.
TEST(Pressure, WhereThereIsNoSignalTheLawDoesAsWithout) {
  Rig<> without = rig_of(Law::automatic, 0, {2, 1000});
  Rig<> with = rig_of(Law::automatic, 0, {2, 1000});
  Load low = with_signal(true);
  low.signal = [](std::uint32_t) { return 1.0; };
  without.run(Duration::seconds(60), with_signal(false));
  with.run(Duration::seconds(60), low);
  ASSERT_EQ(with.limiter().events().count, without.limiter().events().count);
  EXPECT_EQ(with.limit(), without.limit());
}

}  // namespace
}  // namespace loadline::test
