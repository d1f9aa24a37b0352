// `auto` in front of services without chance, where the right limit is known from their formula:
// `workers` at work and the others waiting, the knee is at `workers`.
#include "loadline/limit/auto_limit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <vector>

#include "loadline/limit/cohort.h"
#include "rig.h"

namespace loadline::test {
namespace {

constexpr Duration kWork = Duration::millis(10);

Limiter found_by_auto(std::uint32_t from = 0, std::uint32_t most = 1'000'000) {
  return Limiter({.law = Law::automatic, .from = from, .bounds = {1, most}, .seed = 7},
                 Rig<>::kBegin);
}

class Knee : public testing::TestWithParam<std::uint32_t> {};

// Hardly below, where workers would be idle: by what is looked down, an eighth. And no more than a
// fifth, or two, above.
TEST_P(Knee, IsFound) {
  const std::uint32_t workers = GetParam();
  Rig rig(found_by_auto());
  rig.run(Duration::seconds(20), {.time = queue_of(workers, kWork)});
  rig.forget_extremes();
  rig.run(Duration::seconds(20), {.time = queue_of(workers, kWork)});
  EXPECT_GE(rig.lowest(), workers * 17 / 20);
  EXPECT_LE(rig.highest(), std::max(workers * 6 / 5, workers + 2));
}

// At most twice what was compared: the service never has more than that above its knee.
TEST_P(Knee, IsNeverPassedFar) {
  const std::uint32_t workers = GetParam();
  Rig rig(found_by_auto());
  rig.run(Duration::seconds(40), {.time = queue_of(workers, kWork)});
  EXPECT_LE(rig.highest(), std::max(3 * workers, 12U));
}

INSTANTIATE_TEST_SUITE_P(Of, Knee, testing::Values(4U, 10U, 32U, 100U, 400U),
                         [](const auto& info) { return std::to_string(info.param) + "Workers"; });

TEST(AutoLimit, FollowsAKneeThatMoves) {
  Rig rig(found_by_auto());
  rig.run(Duration::seconds(20), {.time = queue_of(64, kWork)});
  rig.run(Duration::seconds(30), {.time = queue_of(16, kWork)});
  EXPECT_LE(rig.limit(), 20U);
  rig.run(Duration::seconds(30), {.time = queue_of(64, kWork)});
  EXPECT_GE(rig.limit(), 58U);
}

// It may be slower for all, and is not crowded: 20 ms to 100 ms, 400 a second need 40 in flight.
TEST(AutoLimit, GrowsWhereAServiceBecomesSlowForAll) {
  Rig rig(found_by_auto());
  rig.run(Duration::seconds(20), {.time = always(Duration::millis(20)), .per_second = 400});
  rig.run(Duration::seconds(5), {.time = always(Duration::millis(100)), .per_second = 400});
  EXPECT_GE(rig.limit(), 40U);
}

// It was raised once, and then was not full for seconds. When all come at once, those who came just
// before tell that more in flight take no longer: there is no need to look down.
TEST(AutoLimit, GoesUpByWhatCameBeforeItWasFull) {
  const Load full{.time = queue_of(1000, kWork)};
  const Load few{.time = queue_of(1000, kWork), .per_second = 640};
  Rig rig(found_by_auto(24));
  rig.run(Duration::seconds(3), few);
  rig.run(Duration::millis(30), full);
  rig.run(Duration::seconds(5), few);
  const std::uint32_t unproven = rig.limit();
  ASSERT_GT(unproven, 24U);
  rig.forget_extremes();
  rig.run(Duration::millis(50), full);
  EXPECT_EQ(rig.lowest(), unproven);
  EXPECT_GE(rig.limit(), 2 * unproven);
  const LimitEvent up = last_of(rig.limiter(), LimitCause::doubled);
  EXPECT_NE(up.at, Instant::never());
}

// Half a request in flight, and each 5 s a burst of a tenth of a second. With 96 in flight each
// takes ten times as long as with few: 24, which is more than twice the knee, is never doubled.
TEST(AutoLimit, BurstsAfterALullDoNotDoubleItBeyondItsKnee) {
  for (const int burst : {30, 50, 100, 200}) {
    Rig rig(found_by_auto());
    for (int i = 0; i < 20; ++i) {
      rig.run(Duration::seconds(5), {.time = queue_of(10, kWork), .per_second = 50});
      rig.run(Duration::millis(burst), {.time = queue_of(10, kWork)});
    }
    EXPECT_LE(rig.highest(), 30U) << burst << " ms";
  }
}

// Forty at work at once, forty in flight while all is calm; then a limit of 64 is full for moments.
class Lull : public testing::Test {
 protected:
  static constexpr std::uint32_t kWorkers = 40;
  static constexpr std::uint32_t kLimit = 64;

  Lull() { expect_no_reason(); }

  void pass(Duration length, Duration time, std::uint32_t in_flight = kWorkers) {
    for (const Instant until = view_.now + length; view_.now < until;) {
      tick(in_flight, time, false);
    }
  }
  void fill(int ticks) {
    for (int i = 0; i < ticks; ++i) {
      const std::uint32_t limit = law_.limit();
      tick(limit, queue_of(kWorkers, kWork)(limit), true);
    }
  }
  void set_back(Duration by, std::uint32_t in_flight = kWorkers) {
    view_.now = view_.now - by;
    view_.in_flight = in_flight;
    law_.look(view_);
  }
  // 64 take 1.6 times as long as 40: what was taken while it was calm is no reason to double.
  void expect_no_reason() const {
    EXPECT_EQ(last_of(law_, LimitCause::doubled).at, Instant::never());
  }

  int fails_each_ = 0;  // every so many; 0: none

 private:
  void tick(std::uint32_t in_flight, Duration time, bool full) {
    const auto count = static_cast<std::int64_t>(in_flight * Rig<>::kTick.ns / time.ns);
    for (std::int64_t i = 1; i <= count; ++i) {
      const Instant ended = view_.now + Duration{Rig<>::kTick.ns * i / count};
      const bool fails = fails_each_ != 0 && ++view_.ended % fails_each_ == 0;
      law_.take({.started = ended - time,
                 .ended = ended,
                 .outcome = fails ? Outcome::failure : Outcome::success,
                 .bound = full});
    }
    view_.ended += fails_each_ == 0 ? static_cast<std::uint64_t>(count) : 0;
    view_.refused += full ? static_cast<std::uint64_t>(count) : 0;
    view_.now = view_.now + Rig<>::kTick;
    view_.in_flight = in_flight;
    law_.look(view_);
  }

  Limiter law_ = found_by_auto(kLimit);
  LimitView view_{.now = Rig<>::kBegin};
};

TEST_F(Lull, IsComparedWithWhatIsFull) {
  pass(Duration::seconds(3), kWork);
  fill(12);
  expect_no_reason();
}

// Failures say nothing: those who failed in the lull are no answers that came too late.
TEST_F(Lull, FailuresInItAreNoReasonToDouble) {
  fails_each_ = 2;
  pass(Duration::seconds(3), kWork);
  fill(12);
  expect_no_reason();
}

// It took three times as long for an hour, and has not any more for two minutes.
TEST_F(Lull, OfAnHourTellsOfItsLastMoments) {
  pass(Duration::seconds(3600), Duration::millis(30));
  pass(Duration::seconds(120), kWork);
  fill(12);
  expect_no_reason();
}

// What was before the clock was set back is not of the same moment for the next hour.
TEST_F(Lull, IsForgottenWhenTheClockIsSetBack) {
  pass(Duration::seconds(20), Duration::millis(30));
  set_back(Duration::seconds(3600));
  pass(Duration::seconds(120), kWork);
  fill(12);
  expect_no_reason();
}

// 60 in flight for -400 ms, after four for 500: fewer than none on average.
TEST_F(Lull, HasNeverFewerThanNoneInFlight) {
  pass(Duration::millis(500), Duration::millis(1), 4);
  set_back(Duration::millis(400), 60);
  fill(1);
  expect_no_reason();
}

// Requests one by one in front of forty workers, each 10 ms at work.
class Pool {
 public:
  explicit Pool(std::uint32_t from) : law_(found_by_auto(from)) {}

  [[nodiscard]] const Limiter& law() const { return law_; }
  // So many in flight, where the limit lets them: who ends makes room for the next.
  void keep(std::uint32_t in_flight, Duration length) {
    const bool too_many = in_flight > law_.limit();
    for (const Instant until = now_ + length;;) {
      while (view_.in_flight < std::min(in_flight, law_.limit())) {
        let_in();
      }
      const Instant next = std::min(work_.empty() ? Instant::never() : work_.front().due, tick_);
      if (next > until) {
        now_ = until;
        return;
      }
      now_ = next;
      if (next == tick_) {
        tick_ = tick_ + Rig<>::kTick;
        view_.now = now_;
        law_.look(view_);
      } else {
        end_one();
        view_.refused += too_many ? 1 : 0;  // as many as are let in
      }
    }
  }

 private:
  static constexpr std::size_t kWorkers = 40;

  struct Request {
    Instant started;
    bool bound = false;
    Instant due{};
  };

  void let_in() {
    ++view_.in_flight;
    waits_.push_back({.started = now_, .bound = view_.in_flight == law_.limit()});
    begin_one();
  }
  void begin_one() {
    if (work_.size() < kWorkers && !waits_.empty()) {
      work_.push_back(waits_.front());
      work_.back().due = now_ + kWork;
      waits_.pop_front();
    }
  }
  void end_one() {
    const Request one = work_.front();
    work_.pop_front();
    --view_.in_flight;
    ++view_.ended;
    law_.take({.started = one.started, .ended = now_, .bound = one.bound});
    begin_one();
  }

  Limiter law_;
  LimitView view_{.now = Rig<>::kBegin};
  Instant now_ = Rig<>::kBegin;
  Instant tick_ = Rig<>::kBegin + Rig<>::kTick;
  std::deque<Request> waits_;
  std::deque<Request> work_;
};

// 200 were crowded, and no fewer than 80 are five seconds later, in a burst so short that it is
// over when it is known how long they took. That it is full no more is no reason to have forgotten.
TEST(AutoLimit, WhatWasComparedSecondsAgoIsNotForgottenWhenItIsFullNoMore) {
  Pool pool(200);
  pool.keep(10, Duration::seconds(3));
  pool.keep(1000, Duration::millis(120));
  pool.keep(5, Duration::seconds(3));
  const std::uint32_t before = pool.law().limit();
  ASSERT_GT(before, 80U);
  pool.keep(1000, Duration::millis(20));
  pool.keep(80, Duration::millis(2500));
  pool.keep(1000, Duration::millis(110));
  pool.keep(0, Duration::millis(300));
  EXPECT_LE(pool.law().limit(), before);
}

// A service that is never full says nothing about how much it could do.
TEST(AutoLimit, StaysWhereItIsWhileItIsNotFull) {
  Rig rig(found_by_auto(50));
  rig.run(Duration::seconds(60), {.time = queue_of(32, kWork), .per_second = 300});
  EXPECT_EQ(rig.limit(), 50U);
  EXPECT_EQ(rig.limiter().events().count, 1U);  // that it began
}

TEST(AutoLimit, FailuresThatAreFastNeverRaiseIt) {
  Rig rig(found_by_auto(16));
  rig.run(Duration::seconds(30),
          {.time = always(Duration::micros(500)), .outcome = Outcome::failure});
  EXPECT_EQ(rig.limit(), 16U);
}

TEST(AutoLimit, GoesOnAfterAllHaveFailed) {
  Rig rig(found_by_auto(8));
  rig.run(Duration::seconds(10),
          {.time = always(Duration::millis(1)), .outcome = Outcome::failure});
  rig.run(Duration::seconds(20), {.time = queue_of(32, kWork)});
  EXPECT_GE(rig.limit(), 27U);
}

// A generation, and four at least: those that take long end together, and where one request in
// five takes longer than its caller waits, two of them may well follow each other.
TEST(AutoLimit, AFewThatAreLateInARowAreNoReason) {
  for (const std::uint32_t from : {1U, 2U, 40U}) {
    Limiter limiter = found_by_auto(from);
    const std::uint32_t generation = std::max(from, 4U);
    const auto end = [&](Outcome outcome) {
      limiter.take({.started = Rig<>::kBegin + Duration::millis(1),
                    .ended = Rig<>::kBegin + Duration::millis(200),
                    .outcome = outcome});
    };
    for (std::uint32_t i = 0; i < generation; ++i) {
      end(i * 4 < generation * 3 ? Outcome::late : Outcome::success);
    }
    EXPECT_EQ(limiter.limit(), from);
    for (std::uint32_t i = 0; i < generation; ++i) {
      EXPECT_EQ(limiter.limit(), from);
      end(Outcome::late);
    }
    EXPECT_EQ(limiter.limit(), std::max((from + 1) / 2, 1U));
  }
}

// A hung service answers as late with one in flight as with many. From 64 to 2 each halving takes
// two seconds, in which those who were in flight end, and then a generation; and the last three.
TEST(AutoLimit, GoesToItsLeastWhereAllIsLateAndComesBack) {
  Rig rig(found_by_auto(64));
  const Load hung{.time = always(Duration::seconds(1)), .deadline = Duration::millis(500)};
  rig.run(Duration::seconds(14), hung);
  EXPECT_EQ(rig.limit(), 1U);
  rig.forget_extremes();
  rig.run(Duration::seconds(600), hung);
  EXPECT_LE(rig.highest(), 2U);
  rig.run(Duration::seconds(5), {.time = queue_of(32, kWork), .deadline = Duration::millis(500)});
  EXPECT_GE(rig.limit(), 30U);
}

// Runs until it has just gone down to see what less bring; that step.
LimitEvent look_down(Rig<>& rig, const Load& load) {
  const Instant until = rig.now() + Duration::seconds(60);
  const std::uint64_t before = rig.limiter().events().count;
  while (rig.now() < until) {
    rig.run(Rig<>::kTick, load);
    const LimitEvents& all = rig.limiter().events();
    const LimitEvent& last = all.events[(all.count - 1) % LimitEvents::kKept];
    if (all.count != before && last.reason.cause == LimitCause::looked_down) {
      return last;
    }
  }
  ADD_FAILURE() << "it never looked down";
  return {};
}

// Those who were there are gone before the lower limit was full even once.
TEST(AutoLimit, WhereNobodyComesAnyMoreItIsNotKeptDown) {
  const Load full{.time = queue_of(32, kWork)};
  Rig rig(found_by_auto());
  rig.run(Duration::seconds(20), full);
  const LimitEvent step = look_down(rig, full);
  rig.run(Duration::seconds(30), {.time = queue_of(32, kWork), .per_second = 300});
  EXPECT_EQ(rig.limit(), step.from);
  EXPECT_EQ(last_of(rig.limiter(), LimitCause::emptied).from, step.to);
}

// What it was to be compared with is given up as well, so there is no reason to stay lower.
TEST(AutoLimit, GoesOnWhereItIsDisturbedWhileItLooksDown) {
  const Load full{.time = queue_of(32, kWork)};
  Rig rig(found_by_auto());
  rig.run(Duration::seconds(20), full);
  const LimitEvent step = look_down(rig, full);
  rig.set_back(Duration::seconds(2));
  EXPECT_EQ(rig.limit(), step.from);
  EXPECT_EQ(last_of(rig.limiter(), LimitCause::disturbed).to, step.from);
  const std::uint64_t before = rig.limiter().events().count;
  rig.run(Duration::seconds(20), full);
  EXPECT_GT(rig.limiter().events().count, before);
  rig.run(Duration::seconds(60), {.time = queue_of(100, kWork)});
  EXPECT_GE(rig.limit(), 85U);
}

TEST(AutoLimit, KeepsToItsBounds) {
  Rig low(found_by_auto(0, 20));
  low.run(Duration::seconds(20), {.time = queue_of(100, kWork)});
  EXPECT_EQ(low.highest(), 20U);
}

// The shorter three quarters of 1, 2, ... 100 ms are 1 to 75: 38 on average.
TEST(Cohort, TellsTheMeanOfTheShorterThreeQuarters) {
  Cohort cohort(10);
  LimitView view{.now = Instant{0}, .in_flight = 10};
  cohort.open(view);
  view.now = Instant{1'000'000'000};
  view.ended = 100;
  cohort.close(view);
  for (int i = 1; i <= 100; ++i) {
    const Instant started{1'000'000};
    cohort.take({.started = started, .ended = started + Duration::millis(i), .bound = true});
  }
  Level level;
  view.now = Instant{2'000'000'000};
  ASSERT_TRUE(cohort.level(view, level));
  EXPECT_NEAR(level.time_ns * 1e-6, 38, 0.5);
  EXPECT_DOUBLE_EQ(level.rate, 100);
  EXPECT_EQ(level.samples, 100U);
}

// Open for so long, under a limit that stays full, while so many ended; now is its end.
Cohort closed_after(Duration length, std::uint32_t limit, std::uint64_t ended, LimitView& view) {
  Cohort cohort(limit);
  view = {.now = Instant{0}, .in_flight = limit};
  cohort.open(view);
  view.now = view.now + length;
  view.ended = ended;
  cohort.close(view);
  return cohort;
}

// Let in within the first millisecond, of a hundred in flight.
Cohort hundred_in_a_millisecond(LimitView& view) {
  return closed_after(Duration::millis(1), 100, 100, view);
}

// Three quarters of 100 are back; the rest is known to be longer only once it is older.
TEST(Cohort, IsFinishedOnceTheOthersAreOlder) {
  LimitView view;
  Cohort cohort = hundred_in_a_millisecond(view);
  for (int i = 1; i <= 75; ++i) {
    cohort.take({.started = Instant{0}, .ended = Instant{0} + Duration::millis(i)});
  }
  Level level;
  view.now = Instant{0} + Duration::millis(60);
  EXPECT_FALSE(cohort.level(view, level));
  view.now = Instant{0} + Duration::millis(90);
  ASSERT_TRUE(cohort.level(view, level));
  EXPECT_NEAR(level.time_ns * 1e-6, 38, 0.5);
}

// A hundred let in within a millisecond, of which fifty are answered from a cache in 200 us: the
// shorter three quarters are those and 25 of the others, 30 ms each, however soon one looks.
TEST(Cohort, HalfThatIsBackAtOnceSaysNothingOfTheOtherHalf) {
  LimitView view;
  Cohort cohort = hundred_in_a_millisecond(view);
  const auto half_is_back = [&](Duration after) {
    for (int i = 0; i < 50; ++i) {
      cohort.take({.started = Instant{0}, .ended = Instant{0} + after});
    }
  };
  half_is_back(Duration::micros(200));
  Level level;
  view.now = Instant{0} + Duration::millis(29);
  EXPECT_FALSE(cohort.level(view, level));
  half_is_back(Duration::millis(30));
  view.now = Instant{0} + Duration::millis(30);
  ASSERT_TRUE(cohort.level(view, level));
  EXPECT_NEAR(level.time_ns * 1e-6, (50 * 0.2 + 25 * 30) / 75, 0.1);
}

// Ten in flight and ten ended in each millisecond: a millisecond each in the mean. After four of
// them those who are not back were none of the cohort.
TEST(Cohort, WhoIsNeverHeardOfAgainIsGivenUp) {
  for (const bool nobody_is_back : {false, true}) {
    Cohort cohort(10);
    LimitView view{.now = Instant{0}, .in_flight = 10};
    const auto pass = [&](int milliseconds) {
      view.now = view.now + Duration::millis(milliseconds);
      view.ended += 10 * static_cast<std::uint64_t>(milliseconds);
    };
    cohort.open(view);
    pass(10);
    cohort.close(view);
    for (int i = 0; i < 20 && !nobody_is_back; ++i) {
      cohort.take({.started = Instant{0}, .ended = Instant{0} + Duration::millis(1)});
    }
    Level level;
    pass(3);
    EXPECT_FALSE(cohort.level(view, level));
    EXPECT_FALSE(cohort.is_void(view));
    pass(1);
    EXPECT_EQ(cohort.level(view, level), !nobody_is_back);
    EXPECT_EQ(cohort.is_void(view), nobody_is_back);
  }
}

// Of 110 let in 50 have told how long they took, and 10 are in flight: no others will tell, and
// three quarters of those 60 are back.
TEST(Cohort, OnlyWhoIsInFlightMayStillReturn) {
  LimitView view;
  Cohort cohort = closed_after(Duration::millis(10), 10, 100, view);
  for (int i = 1; i <= 50; ++i) {
    cohort.take({.started = Instant{0}, .ended = Instant{0} + Duration::micros(100 * i)});
  }
  Level level;
  view.now = view.now + Duration::millis(5);
  ASSERT_TRUE(cohort.level(view, level));
  EXPECT_NEAR(level.time_ns * 1e-6, 2.3, 0.05);  // of the 45 shortest
}

// The ten who were in flight when it was closed have ended, and told that they were none of it;
// those in flight now came later.
TEST(Cohort, WhoCameLaterIsNotWaitedFor) {
  LimitView view;
  Cohort cohort = closed_after(Duration::millis(10), 10, 30, view);
  for (int i = 0; i < 12; ++i) {
    cohort.take({.started = Instant{0}, .ended = Instant{9'000'000}});
  }
  view.now = Instant{11'000'000};
  Level level;
  EXPECT_FALSE(cohort.level(view, level));
  for (int i = 0; i < 10; ++i) {
    cohort.see({.started = Instant{1'000'000}, .ended = Instant{10'500'000}});
  }
  ASSERT_TRUE(cohort.level(view, level));
  EXPECT_DOUBLE_EQ(level.time_ns, 9e6);
}

// Exponential times of mean 1: the mean of the shorter three quarters is
// (1 - (1 + ln 4) / 4) / 0.75 = 0.5379; winsorized at ln 4 their variance is
// 2 (1 - (1 + ln 4 + ln^2 4 / 2) / 4) + ln^2 4 / 4 - 0.75^2 = 0.2443.
TEST(Times, KnowTheSpreadOfATrimmedMean) {
  Times times;
  constexpr int kCount = 100'000;
  for (int i = 0; i < kCount; ++i) {
    const double x = -std::log1p(-(i + 0.5) / kCount);
    times.add(Duration{static_cast<std::int64_t>(x * 1e7)});
  }
  const Times::Lower lowest = times.lowest(kCount / 4 * 3);
  EXPECT_NEAR(lowest.mean_ns / 1e7, 0.5379, 0.005);
  EXPECT_NEAR(lowest.spread, std::sqrt(0.2443) / (0.75 * 0.5379), 0.02);
}

}  // namespace
}  // namespace loadline::test
