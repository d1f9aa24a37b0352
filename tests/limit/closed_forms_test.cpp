// Where the published laws come to rest in front of a service of W workers that is asked for more
// than it can do: a request takes S * L / W while L are in flight.
#include <gtest/gtest.h>

#include <cmath>

#include "rig.h"

namespace loadline::test {
namespace {

constexpr LimitBounds kOpen{1, kMaxLimit};

// S = W * 100 us, so that all times are whole.
TimeOf whole_queue_of(std::uint32_t workers) {
  return queue_of(workers, Duration::micros(100) * workers);
}

Rig<Bare<EnvoyLimit>> envoy(double buffer, std::uint32_t from = 0) {
  return Rig<Bare<EnvoyLimit>>(Bare<EnvoyLimit>(EnvoyLimit(from, kOpen, 1, buffer)));
}

struct EnvoyRow {
  std::uint32_t workers;
  std::uint32_t limits[3];  // with a buffer of 0, 0.25 and 0.5
};

class EnvoyRests : public testing::TestWithParam<EnvoyRow> {};

// floor((1 + b) W + sqrt((1 + b) W)).
TEST_P(EnvoyRests, WhereTheFormulaSays) {
  const double buffers[] = {0, 0.25, 0.5};
  for (int i = 0; i < 3; ++i) {
    Rig<Bare<EnvoyLimit>> rig = envoy(buffers[i]);
    rig.run(Duration::seconds(10), {.time = whole_queue_of(GetParam().workers)});
    EXPECT_EQ(rig.limit(), GetParam().limits[i]) << "buffer " << buffers[i];
    rig.forget_extremes();
    rig.run(Duration::seconds(10), {.time = whole_queue_of(GetParam().workers)});
    EXPECT_EQ(rig.lowest(), rig.highest()) << "buffer " << buffers[i];
  }
}

INSTANTIATE_TEST_SUITE_P(Workers, EnvoyRests,
                         testing::Values(EnvoyRow{4, {6, 7, 8}}, EnvoyRow{8, {10, 13, 15}},
                                         EnvoyRow{10, {13, 16, 18}}, EnvoyRow{16, {20, 24, 28}},
                                         EnvoyRow{50, {57, 70, 83}}, EnvoyRow{100, {110, 136, 162}},
                                         EnvoyRow{400, {420, 522, 624}}),
                         [](const auto& info) { return std::to_string(info.param.workers); });

// After what was measured beside two others, one step on times ten times as long: g = 0.5.
std::uint32_t after_a_step_down(std::uint32_t from) {
  Rig<Bare<EnvoyLimit>> rig = envoy(0, from);
  while (rig.limiter().law().measures_base()) {
    rig.run(Rig<>::kTick, {.time = always(Duration::millis(1))});
  }
  EXPECT_EQ(rig.limit(), from);
  rig.run(Duration::millis(110), {.time = always(Duration::millis(10))});
  return rig.limit();
}

TEST(Envoy, StepsDownByHalfAndARoot) {
  EXPECT_EQ(after_a_step_down(100), 57U);  // 50 + 7.07
  EXPECT_EQ(after_a_step_down(3), 3U);     // 1.5 + 1.22 is 2, below the least
}

TEST(Envoy, DoesNotDriftInTenThousandSteps) {
  Rig<> rig = rig_of(Law::envoy);
  const Load load{.time = whole_queue_of(100)};
  rig.run(Duration::seconds(900), load);
  // What it has between two measurements, which go down to 3.
  rig.forget_extremes();
  rig.run(Duration::seconds(100), load);
  EXPECT_EQ(rig.lowest(), 3U);
  EXPECT_EQ(rig.highest(), 136U);
}

// What began before it let only a few in says nothing of the time of a few.
TEST(Envoy, MeasuresOnlyWhatBeganSinceItDid) {
  Rig<Bare<EnvoyLimit>> rig = envoy(0.25);
  Bare<EnvoyLimit>& envoy = rig.limiter();
  rig.run(Duration::seconds(29), {.time = whole_queue_of(100)});
  while (!envoy.law().measures_base()) {
    rig.run(Rig<>::kTick, {.time = whole_queue_of(100)});
  }
  const auto end = [&](Duration after, Duration took) {
    envoy.take({.started = rig.now() + after - took, .ended = rig.now() + after});
  };
  for (int i = 1; i <= 100; ++i) {
    end(Duration::millis(i), Duration::millis(i + 1));
  }
  EXPECT_TRUE(envoy.law().measures_base());
  for (int i = 1; i <= 50; ++i) {
    EXPECT_TRUE(envoy.law().measures_base());
    end(Duration::millis(i), Duration::millis(i));
  }
  EXPECT_FALSE(envoy.law().measures_base());
  EXPECT_EQ(envoy.limit(), 136U);
}

// Windows of a second, each of 20 times the same time, and the limit full.
template <class Windowed>
class Windows {
 public:
  explicit Windows(Windowed law) : law_(law) {}

  void window(double time_ns, Outcome outcome = Outcome::success) {
    const Duration took{std::llround(time_ns)};
    LimitReason why;
    if (now_ == Instant{}) {
      law_.look({.now = now_}, why);
    }
    for (int i = 0; i < 20; ++i) {
      law_.take({.started = now_, .ended = now_ + took, .outcome = outcome, .bound = true}, why);
    }
    now_ = now_ + Duration::seconds(1);
    law_.look({.now = now_, .in_flight = law_.limit()}, why);
  }
  [[nodiscard]] std::uint32_t limit() const { return law_.limit(); }

 private:
  Windowed law_;
  Instant now_{};
};

// Times that grow so that g stays as it is: `usual` follows them by 2/601.
TEST(Gradient2, RestsAtItsQueueOverOneMinusTheGradient) {
  struct Row {
    double gradient;
    std::uint32_t limit;
  };
  for (const Row& row : {Row{0.5, 8}, {0.8, 20}, {0.9, 40}, {0.95, 80}}) {
    for (const std::uint32_t from : {2U, 200U}) {
      Windows windows(Gradient2Limit(from, {2, kMaxLimit}, 1));
      double usual = 1e6;
      for (int i = 0; i < 10; ++i) {
        windows.window(usual);
      }
      constexpr double kGain = 2.0 / 601;
      for (int i = 0; i < 1500; ++i) {
        const double time =
            1.5 * (1 - kGain) * usual / (row.gradient - 1.5 * kGain);  // g = 1.5 usual' / time
        usual += kGain * (time - usual);
        windows.window(time);
      }
      EXPECT_NEAR(windows.limit(), row.limit, 1) << row.gradient << " from " << from;
    }
  }
}

TEST(Gradient2, SoonTakesAQuickerServiceForTheUsual) {
  Rig<> rig = rig_of(Law::gradient2);
  rig.run(Duration::seconds(20), {.time = always(Duration::millis(100))});
  rig.run(Duration::seconds(20), {.time = always(Duration::millis(40))});
  const LimitEvent last = last_of(rig.limiter(), LimitCause::healthy);
  EXPECT_EQ(last.reason.inputs.time_high, Duration::millis(40));
  EXPECT_LE(last.reason.inputs.time_low, Duration::millis(80));
  EXPECT_GE(last.reason.inputs.time_low, Duration::millis(70));
}

// q = L - W stays between 3 and 6 logarithms.
TEST(Vegas, RestsWithAFewLogarithmsWaiting) {
  for (const std::uint32_t workers : {4U, 10U, 50U, 100U, 400U}) {
    Rig<> rig = rig_of(Law::vegas, 2);
    rig.run(Duration::seconds(100), {.time = whole_queue_of(workers)});
    const std::uint32_t lg = VegasLimit::lg(rig.limit());
    EXPECT_GE(rig.limit(), workers + 3 * lg) << workers;
    EXPECT_LE(rig.limit(), workers + 6 * lg) << workers;
  }
}

// Of 100 with a logarithm of 2: how many of them wait, and what is then changed.
TEST(Vegas, StepsByHowManyWait) {
  struct Row {
    double waiting;
    std::uint32_t limit;
  };
  for (const Row& row : {Row{0.5, 112},
                         {2, 112},
                         {2.01, 102},
                         {4.99, 102},
                         {5.01, 100},
                         {11.99, 100},
                         {12.01, 98},
                         {50, 98}}) {
    Windows windows(VegasLimit(100, kOpen, 1));
    windows.window(1e9);
    windows.window(1e9 / (1 - row.waiting / 100));
    EXPECT_EQ(windows.limit(), row.limit) << row.waiting;
  }
  Windows late(VegasLimit(100, kOpen, 1));
  late.window(1e9);
  late.window(1e9 + 1, Outcome::late);
  EXPECT_EQ(late.limit(), 98U);
}

TEST(Vegas, ItsLogarithmIsTheDecimalOneRoundedDown) {
  for (std::uint32_t n = 1; n <= kMaxLimit; ++n) {
    const auto expected = std::max(1U, static_cast<std::uint32_t>(std::floor(std::log10(n))));
    ASSERT_EQ(VegasLimit::lg(n), expected) << n;
  }
}

TEST(Aimd, StepsUpByOneAndDownByATenth) {
  Bare<AimdLimit> law(AimdLimit(20, {1, kMaxLimit}, 1));
  const auto sample = [](Duration took, Outcome outcome = Outcome::success) {
    return LimitSample{.started = {}, .ended = Instant{} + took, .outcome = outcome};
  };
  law.look({.in_flight = 9});
  law.take(sample(Duration::millis(10)));
  EXPECT_EQ(law.limit(), 20U);
  law.look({.in_flight = 10});
  law.take(sample(Duration::millis(10)));
  EXPECT_EQ(law.limit(), 21U);
  law.look({.in_flight = 100});
  law.take(sample(Duration::seconds(5)));
  EXPECT_EQ(law.limit(), 22U);
  law.take(sample(Duration::seconds(5) + Duration{1}));
  EXPECT_EQ(law.limit(), 20U);  // 19.8 is 19, below the least
  for (int i = 0; i < 80; ++i) {
    law.take(sample(Duration::millis(10)));
  }
  EXPECT_EQ(law.limit(), 100U);
  law.take(sample(Duration::millis(10), Outcome::late));
  EXPECT_EQ(law.limit(), 90U);
  law.take(sample(Duration::millis(10), Outcome::failure));
  EXPECT_EQ(law.limit(), 90U);
  for (int i = 0; i < 1000; ++i) {
    law.take(sample(Duration::millis(10)));
  }
  EXPECT_EQ(law.limit(), 200U);
}

// With a deadline of 100 ms and L ms for L in flight it goes to and fro below 100 of them.
TEST(Aimd, GoesToAndFroBelowTheDeadline) {
  Rig<> rig = rig_of(Law::aimd);
  const Load load{.time = whole_queue_of(10), .deadline = Duration::millis(10)};
  rig.run(Duration::seconds(10), load);
  rig.forget_extremes();
  rig.run(Duration::seconds(60), load);
  EXPECT_GE(rig.highest(), 100U);
  EXPECT_LE(rig.highest(), 120U);  // what ended in one tick was all let in
  EXPECT_LT(rig.lowest(), 90U);
}

// 10,000 a second of 25 us each are 0.25 in flight, and of 2500 us 25: and 30 % more.
TEST(Brpc, IsLittlesLawOrItsLeast) {
  const Load quick{.time = always(Duration::micros(25)), .per_second = 10'000};
  const Load slow{.time = always(Duration::micros(2500)), .per_second = 10'000};
  Rig<> rig = rig_of(Law::brpc);
  rig.run(Duration::seconds(2), quick);
  EXPECT_EQ(rig.limit(), 9U);
  rig.run(Duration::seconds(20), slow);
  EXPECT_EQ(rig.limit(), 9U) << "the least time is remembered";
  rig.run(Duration::seconds(30), slow);
  EXPECT_GE(rig.limit(), 26U) << "and forgotten within 50 s";  // 25 * 1.06
  EXPECT_LE(rig.limit(), 33U);

  Rig<> other = rig_of(Law::brpc);
  other.run(Duration::seconds(20), slow);
  EXPECT_EQ(other.limit(), 33U);
}

// 25 * 0.9, for as long as two requests take.
TEST(Brpc, LetsFewerInToMeasureTheLeastTime) {
  Rig<> rig = rig_of(Law::brpc);
  rig.run(Duration::seconds(50), {.time = always(Duration::micros(2500)), .per_second = 10'000});
  const LimitEvent measured = last_of(rig.limiter(), LimitCause::probing);
  EXPECT_EQ(measured.from, 33U);
  EXPECT_EQ(measured.to, 23U);
  EXPECT_GE(measured.at, Instant{} + Duration::seconds(25));
  EXPECT_EQ(measured.reason.inputs.time_low, Duration::micros(2500));
  EXPECT_NEAR(measured.reason.inputs.rate, 10'000, 1);
}

TEST(Brpc, AWindowWithoutAGoodOneHalvesTheLimit) {
  Rig<> rig = rig_of(Law::brpc, 160);
  rig.run(Duration::seconds(1) + Rig<>::kTick,
          {.time = always(Duration::millis(10)), .per_second = 150, .outcome = Outcome::failure});
  EXPECT_EQ(rig.limit(), 80U);
  EXPECT_EQ(last_of(rig.limiter(), LimitCause::failing).reason.inputs.share, 0);
}

TEST(Brpc, TwoLooksAtOneMomentAreNoWindow) {
  Bare<BrpcLimit> law(BrpcLimit(0, kOpen, 1));
  law.look({.now = {}, .ended = 0});
  for (int i = 1; i <= 300; ++i) {
    law.take({.started = {}, .ended = Instant{} + Duration::millis(i)});
  }
  law.look({.now = {}, .ended = 300});
  EXPECT_EQ(law.limit(), 40U);
}

// A clock that goes back while it is about to forget what it measures, and while it takes samples.
TEST(Brpc, GoesOnAfterADisturbance) {
  Rig<Bare<BrpcLimit>> rig{Bare<BrpcLimit>(BrpcLimit(0, kOpen, 1))};
  const Load load{.time = always(Duration::millis(20)), .per_second = 1000};
  rig.run(Duration::seconds(24), load);
  const std::uint32_t usual = rig.limit();
  EXPECT_EQ(usual, 26U);
  while (rig.limit() >= usual) {
    rig.run(Rig<>::kTick, load);
  }
  EXPECT_EQ(rig.limit(), 18U);
  rig.set_back(Duration::seconds(20));
  rig.run(Duration::seconds(1), load);
  EXPECT_GE(rig.limit(), 22U);
}

// E = 20 ms of delay on top of S: L = (S + E) / S * W.
TEST(Trpc, RestsWhereTheDelayIsWhatIsSaid) {
  for (const std::uint32_t workers : {10U, 100U}) {
    Rig<> rig = rig_of(Law::trpc);
    const TimeOf time = queue_of(workers, Duration::millis(20));
    rig.run(Duration::seconds(10), {.time = time, .per_second = 25.0 * workers});  // half of it
    EXPECT_EQ(rig.limit(), kMaxLimit) << "healthy";
    // It lets all of them in before it sees that.
    rig.run(Duration::seconds(120), {.time = time, .callers = 4 * workers});
    EXPECT_NEAR(rig.limit(), 2.0 * workers, 0.1 * workers);
  }
}

// E / 4 is no queue; 3 E / 4 is one, and so is 3 E: 4/3 and sqrt(1/3) of what is in flight.
TEST(Trpc, CorrectsByHowLongTheDelayIs) {
  struct Row {
    std::int64_t delay_ms;
    double limit;
  };
  for (const Row& row : {Row{5, kMaxLimit}, {15, 4.0 / 3 * 35}, {60, 0.57735 * 80}}) {
    Bare<TrpcLimit> law(TrpcLimit(0, kOpen, 1));
    LimitView view;
    const auto answer_for = [&](Duration length, Duration time) {
      for (const Instant until = view.now + length; view.now < until; ++view.ended) {
        view.now = view.now + Duration::millis(1);
        law.take({.started = view.now - time, .ended = view.now});
        law.look(view);
      }
    };
    answer_for(Duration::seconds(1), Duration::millis(20));
    // A minute, for the mean time to be the longer one.
    answer_for(Duration::seconds(60), Duration::millis(20 + row.delay_ms));
    EXPECT_NEAR(law.limit(), row.limit, row.limit / 50) << row.delay_ms;
  }
}

}  // namespace
}  // namespace loadline::test
