// What any law is protected from, and that what it did can be done again.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <variant>
#include <vector>

#include "rig.h"

namespace loadline::test {
namespace {

constexpr LimitBounds kBounds{5, 77};
constexpr Duration kWork = Duration::millis(20);

LimitRules rules_of(Law law) {
  return {.law = law, .from = law == Law::fixed ? 40U : 0U, .bounds = kBounds, .seed = 7};
}

class EveryLaw : public testing::TestWithParam<Law> {
 protected:
  // A law that has been at work for a minute, and is: its limit is full.
  Rig<> busy() {
    Rig<> rig(Limiter(rules_of(GetParam()), Rig<>::kBegin));
    rig.run(Duration::seconds(60), load_);
    limit_ = rig.limit();
    disturbed_ = count_of(rig.limiter(), LimitCause::disturbed);
    EXPECT_EQ(disturbed_, 0U);
    return rig;
  }

  void expect_disturbed(const Limiter& limiter) const {
    EXPECT_EQ(limiter.limit(), limit_);
    EXPECT_GT(count_of(limiter, LimitCause::disturbed), disturbed_);
    const LimitEvent said = last_of(limiter, LimitCause::disturbed);
    EXPECT_EQ(said.from, limit_);
    EXPECT_EQ(said.to, limit_);
  }

  // Goes on from `view`, as if that were where it began.
  void expect_it_goes_on(Limiter limiter, LimitView view) const {
    for (int tick = 0; tick < 6000; ++tick) {
      view.now = view.now + Duration::millis(10);
      view.in_flight = limiter.limit();
      const Duration time = load_.time(view.in_flight);
      for (int i = 1; i <= 16; ++i) {
        const Instant ended = view.now - Duration::micros(600) * (16 - i);
        limiter.take({.started = ended - time, .ended = ended, .bound = true});
        ++view.ended;
      }
      limiter.look(view);
      ASSERT_GE(limiter.limit(), kBounds.least);
      ASSERT_LE(limiter.limit(), kBounds.most);
    }
    EXPECT_GE(limiter.limit(), std::min(limit_, 20U));
  }

  const Load load_{.time = queue_of(32, kWork)};
  std::uint32_t limit_ = 0;
  std::uint64_t disturbed_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Laws, EveryLaw, testing::ValuesIn(kAllLaws),
                         law_name<testing::TestParamInfo<Law>>);

TEST_P(EveryLaw, LeavesOutSamplesThatCannotBe) {
  Rig<> rig = busy();
  const Instant now = rig.now();
  constexpr Duration kAges{std::int64_t{1} << 62};
  const LimitSample impossible[] = {
      {.started = now, .ended = now - Duration{1}},
      {.started = now, .ended = now},
      {.started = now - kAges, .ended = now},
      {.started = now, .ended = now + kAges},
      {.started = now, .ended = now - kAges},
      {.started = now + kAges, .ended = now},
      {.started = {std::numeric_limits<std::int64_t>::min()}, .ended = Instant::never()},
  };
  const std::uint64_t before = rig.limiter().left_out();
  for (const Outcome outcome : {Outcome::success, Outcome::late, Outcome::failure}) {
    for (LimitSample sample : impossible) {
      sample.outcome = outcome;
      sample.bound = true;
      rig.limiter().take(sample);
      EXPECT_EQ(rig.limit(), limit_);
    }
  }
  EXPECT_EQ(rig.limiter().left_out(), before + 3 * std::size(impossible));
  LimitView view = rig.view();
  view.now = view.now + Duration::millis(1);
  rig.limiter().look(view);
  EXPECT_EQ(count_of(rig.limiter(), LimitCause::disturbed), 0U);
  expect_it_goes_on(rig.limiter(), view);
}

TEST_P(EveryLaw, IsDisturbedByAClockThatGoesBack) {
  Rig<> rig = busy();
  LimitView view = rig.view();
  view.now = view.now - Duration::seconds(10);
  rig.limiter().take({.started = rig.now() - Duration::millis(5), .ended = view.now});
  rig.limiter().look(view);
  expect_disturbed(rig.limiter());
  expect_it_goes_on(rig.limiter(), view);
}

TEST_P(EveryLaw, IsDisturbedByAClockThatGoesAhead) {
  Rig<> rig = busy();
  LimitView view = rig.view();
  view.now = view.now + Duration::seconds(10);
  // In flight meanwhile: 10 s longer than they took.
  for (std::uint32_t i = 0; i < limit_; ++i) {
    ++view.ended;
    rig.limiter().take({.started = rig.now() - Duration::millis(5),
                        .ended = view.now,
                        .outcome = Outcome::late,
                        .bound = true});
    EXPECT_EQ(rig.limit(), limit_);
  }
  rig.limiter().look(view);
  expect_disturbed(rig.limiter());
  // And those that end after it has been seen.
  const std::uint64_t before = rig.limiter().left_out();
  rig.limiter().take({.started = rig.now(), .ended = view.now + Duration::millis(5)});
  EXPECT_EQ(rig.limiter().left_out(), before + 1);
  EXPECT_EQ(rig.limit(), limit_);
  expect_it_goes_on(rig.limiter(), view);
}

TEST_P(EveryLaw, IsDisturbedWhereNobodyLooksForFiveSeconds) {
  Rig<> rig = busy();
  LimitView view = rig.view();
  view.now = view.now + Duration::seconds(5);
  rig.limiter().look(view);
  expect_disturbed(rig.limiter());
  EXPECT_EQ(last_of(rig.limiter(), LimitCause::disturbed).at, view.now);
  expect_it_goes_on(rig.limiter(), view);
}

// Hosts that have nothing to do need not look.
TEST_P(EveryLaw, IsNotDisturbedWhileThereIsNothingToSee) {
  Rig<> rig = busy();
  LimitView view = rig.view();
  const auto look_after = [&](Duration time, std::uint32_t in_flight) {
    view.now = view.now + time;
    view.in_flight = in_flight;
    rig.limiter().look(view);
  };
  look_after(Duration::millis(10), 0);
  look_after(Duration::seconds(3600), 0);
  EXPECT_EQ(count_of(rig.limiter(), LimitCause::disturbed), 0U) << "nothing came";
  look_after(Duration::seconds(3600), 1);
  EXPECT_EQ(count_of(rig.limiter(), LimitCause::disturbed), 0U) << "one came just now";
  const auto end_at = [&](Instant ended, Duration time) {
    ++view.ended;
    rig.limiter().take({.started = ended - time, .ended = ended});
  };
  end_at(view.now + Duration::millis(5), Duration::millis(10));
  look_after(Duration::millis(10), 0);
  const std::uint64_t left_out = rig.limiter().left_out();
  end_at(view.now + Duration::seconds(1800), Duration::millis(10));
  view.now = view.now + Duration::seconds(1800);
  look_after(Duration::millis(5), 0);
  EXPECT_EQ(count_of(rig.limiter(), LimitCause::disturbed), 0U) << "one came and went just now";
  EXPECT_EQ(rig.limiter().left_out(), left_out) << "and is believed";

  end_at(view.now + Duration::seconds(1800), Duration::millis(10));
  look_after(Duration::seconds(3600), 0);
  EXPECT_EQ(count_of(rig.limiter(), LimitCause::disturbed), 1U) << "one came long ago";
  look_after(Duration::millis(10), 1);
  look_after(Duration::seconds(2), 1);
  EXPECT_EQ(count_of(rig.limiter(), LimitCause::disturbed), 2U) << "one was there all along";
  view.waiting = 1;
  look_after(Duration::millis(10), 0);
  look_after(Duration::seconds(2), 0);
  EXPECT_EQ(count_of(rig.limiter(), LimitCause::disturbed), 3U) << "one waited all along";
}

TEST_P(EveryLaw, BeginsAnewFromTheLimitInForce) {
  Rig<> rig = busy();
  const std::uint32_t first = GetParam() == Law::envoy ? kBounds.least : 33;  // it measures first
  rig.limiter().repair(rules_of(GetParam()), 33, rig.now());
  EXPECT_EQ(rig.limit(), first);
  EXPECT_EQ(last_of(rig.limiter(), LimitCause::repaired).to, first);
  EXPECT_EQ(rig.limiter().rules(), rules_of(GetParam()));
}

TEST_P(EveryLaw, ClampsBoundsThatCannotBe) {
  for (const LimitBounds bounds : {LimitBounds{0, 0}, {0, ~0U}, {~0U, ~0U}, {10, 5}}) {
    for (const std::uint32_t from : {0U, 1U, ~0U}) {
      Rig<> rig(Limiter({.law = GetParam(), .from = from, .bounds = bounds}, Rig<>::kBegin));
      rig.run(Duration::seconds(2), load_);
      EXPECT_GE(rig.lowest(), 1U);
      EXPECT_LE(rig.highest(), kMaxLimit);
    }
  }
}

// ---- Again ------------------------------------------------------------------------------------

using Call = std::variant<LimitSample, LimitView>;

void make(Limiter& limiter, const Call& call) {
  if (const auto* sample = std::get_if<LimitSample>(&call)) {
    limiter.take(*sample);
  } else {
    limiter.look(std::get<LimitView>(call));
  }
}

// Nothing that a service would do: loads, times and outcomes that change at any time, and a clock
// that jumps now and then.
class AnyService {
 public:
  explicit AnyService(std::uint64_t seed) : random_(seed) {}

  [[nodiscard]] Instant now() const { return view_.now; }

  template <class Tell>
  void tick(std::uint32_t limit, Tell tell) {
    if (one_in(500)) {
      per_tick_ = below(80);
      time_ = Duration::micros(1 + static_cast<std::int64_t>(below(200'000)));
      in_time_ = below(101);
      failing_ = one_in(3) ? below(101) : 0;
      load_ = below(3);
    }
    view_.now = view_.now + (one_in(2000)   ? Duration::seconds(10)
                             : one_in(2000) ? Duration::seconds(-10)
                                            : Duration::millis(1 + std::int64_t(below(20))));
    view_.in_flight = load_ == 0 ? 0 : load_ == 1 ? limit / 2 : limit;
    view_.waiting = load_ == 2 ? below(100) : 0;
    for (std::uint32_t i = 0; i < (load_ == 0 ? 0 : per_tick_); ++i) {
      const Instant ended = view_.now - Duration::micros(below(10'000));
      const auto took = static_cast<std::int64_t>(below(1000) * below(1000));
      ++view_.ended;
      tell(Call(LimitSample{.started = ended - Duration{time_.ns / 250'000 * took},
                            .ended = ended,
                            .outcome = below(100) < failing_   ? Outcome::failure
                                       : below(100) < in_time_ ? Outcome::success
                                                               : Outcome::late,
                            .bound = load_ == 2 && !one_in(10)}));
    }
    tell_signals();
    tell(Call(view_));
  }

 private:
  // Seldom, so that the law has its time too; and what cannot be a value among them.
  void tell_signals() {
    constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
    constexpr double kValues[] = {kNone, -1, 0, 0.1, 0.5, 1, 1.01, 1.5, 3, 1000};
    for (LimitSignal& signal : view_.signals) {
      if (one_in(200)) {
        signal.reading.at_most = one_in(4) ? 0 : 1;
        signal.reading.value = kValues[below(std::size(kValues))];
        signal.at = view_.now + Duration::millis(std::int64_t(below(2000)) - 1900);
      }
    }
  }

  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }
  bool one_in(std::uint32_t n) { return below(n) == 0; }

  std::mt19937_64 random_;
  LimitView view_{};
  std::uint32_t per_tick_ = 20;
  Duration time_ = Duration::millis(10);
  std::uint32_t in_time_ = 100;
  std::uint32_t failing_ = 0;
  std::uint32_t load_ = 2;
};

auto bits_of(const LimitEvent& event) {
  const LimitInputs& inputs = event.reason.inputs;
  return std::make_tuple(
      event.at, event.from, event.to, event.reason.cause, inputs.low, inputs.high, inputs.time_low,
      inputs.time_high, inputs.samples, std::bit_cast<std::uint64_t>(inputs.rate),
      std::bit_cast<std::uint64_t>(inputs.slope), std::bit_cast<std::uint64_t>(inputs.share),
      inputs.signal.name_view(), std::bit_cast<std::uint64_t>(inputs.signal.value));
}

void expect_finite(const LimitEvents& all) {
  for (const LimitEvent& event : all.events) {
    EXPECT_TRUE(std::isfinite(event.reason.inputs.rate));
    EXPECT_TRUE(std::isfinite(event.reason.inputs.slope));
    EXPECT_TRUE(std::isfinite(event.reason.inputs.share));
    EXPECT_GE(event.reason.inputs.time_low, Duration{});
    EXPECT_GE(event.reason.inputs.time_high, Duration{});
  }
}

TEST_P(EveryLaw, KeepsToItsBoundsAndDoesTheSameAgainBitForBit) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const LimitRules rules = rules_of(GetParam());
    Limiter first(rules, {});
    std::vector<Call> calls;
    std::vector<std::uint32_t> limits;
    bool pressed = false;
    AnyService service(seed);
    for (int i = 0; i < 6'000; ++i) {
      service.tick(first.limit(), [&](const Call& call) {
        make(first, call);
        calls.push_back(call);
        limits.push_back(first.limit());
        pressed |= last_of(first, LimitCause::pressed).at == service.now();
        ASSERT_GE(first.limit(), kBounds.least);
        ASSERT_LE(first.limit(), kBounds.most);
      });
    }
    expect_finite(first.events());
    Limiter again(rules, {});
    for (std::size_t i = 0; i < calls.size(); ++i) {
      make(again, calls[i]);
      ASSERT_EQ(again.limit(), limits[i]) << "call " << i << ", seed " << seed;
    }
    EXPECT_EQ(again.events().count, first.events().count);
    for (std::uint32_t i = 0; i < LimitEvents::kKept; ++i) {
      EXPECT_EQ(bits_of(again.events().events[i]), bits_of(first.events().events[i]));
    }
    EXPECT_EQ(again.left_out(), first.left_out());
    EXPECT_EQ(again.searching(), first.searching());
    EXPECT_TRUE(pressed || GetParam() == Law::envoy) << "it stays at the least, measuring";
    if (GetParam() != Law::fixed) {
      EXPECT_GT(first.events().count, 10U) << "it was a run in which something happened";
    }
  }
}

TEST_P(EveryLaw, IsToldOfManyAtOnceAsOfEach) {
  Limiter each(rules_of(GetParam()), {});
  Limiter many(rules_of(GetParam()), {});
  std::vector<LimitSample> samples;
  AnyService service(4);
  for (int i = 0; i < 6'000; ++i) {
    service.tick(each.limit(), [&](const Call& call) {
      make(each, call);
      if (const auto* sample = std::get_if<LimitSample>(&call)) {
        samples.push_back(*sample);
        return;
      }
      many.take(samples);
      samples.clear();
      make(many, call);
    });
    ASSERT_EQ(many.limit(), each.limit());
  }
  EXPECT_EQ(many.events().count, each.events().count);
  for (std::uint32_t i = 0; i < LimitEvents::kKept; ++i) {
    EXPECT_EQ(bits_of(many.events().events[i]), bits_of(each.events().events[i]));
  }
  EXPECT_EQ(many.left_out(), each.left_out());
  EXPECT_GT(each.left_out(), 0U);
}

// What moves a limit is told with it, and says which way.
TEST_P(EveryLaw, SaysWhyAtEachChange) {
  Limiter limiter(rules_of(GetParam()), {});
  AnyService service(3);
  std::uint64_t told = 0;
  for (int i = 0; i < 6'000; ++i) {
    service.tick(limiter.limit(), [&](const Call& call) {
      std::uint32_t limit = limiter.limit();
      make(limiter, call);
      const LimitEvents& all = limiter.events();
      for (; told != all.count; ++told) {
        const LimitEvent& event = all.events[told % LimitEvents::kKept];
        ASSERT_NE(event.reason.cause, LimitCause::none) << event.from << " to " << event.to;
        if (event.reason.cause == LimitCause::healthy ||
            event.reason.cause == LimitCause::relieved) {
          ASSERT_GT(event.to, event.from);
        }
        if (event.reason.cause == LimitCause::slow || event.reason.cause == LimitCause::failing ||
            event.reason.cause == LimitCause::pressed) {
          ASSERT_LT(event.to, event.from);
        }
        if (event.reason.cause != LimitCause::began) {
          ASSERT_EQ(event.from, limit);
        }
        limit = event.to;
      }
      ASSERT_EQ(limit, limiter.limit());
    });
  }
}

}  // namespace
}  // namespace loadline::test
