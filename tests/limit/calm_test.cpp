// What a service takes while its limit is not full, told of one stretch after the other.
#include "loadline/limit/calm.h"

#include <gtest/gtest.h>

namespace loadline::test {
namespace {

constexpr double kFewest = 12;
constexpr Duration kLongest = Duration::seconds(2);

// A gate that is looked at each 10 ms.
class Stretch {
 public:
  // `each` have begun in that time and took `time`.
  void pass(Duration length, std::uint32_t in_flight, int each, Duration time) {
    for (const Instant until = now_ + length; now_ < until;) {
      look(in_flight, false);
      for (int i = 0; i < each; ++i) {
        calm_.take({.started = now_, .ended = now_ + time});
      }
      now_ = now_ + Duration::millis(10);
    }
    look(in_flight, false);
  }
  void fill(std::uint32_t in_flight) { look(in_flight, true); }
  // Nobody saw it; who took the last place came at `started`.
  void fill_for_a_moment(Instant started) {
    calm_.take({.started = started, .ended = started + Duration::millis(8), .bound = true});
  }
  [[nodiscard]] const Level& level() const { return calm_.level(); }
  [[nodiscard]] Instant now() const { return now_; }

 private:
  void look(std::uint32_t in_flight, bool full) {
    calm_.look({.now = now_, .in_flight = in_flight}, full, kLongest, kFewest);
  }

  Calm calm_;
  Instant now_{};
};

TEST(Calm, TellsWhatWasTakenUntilTheLimitWasFull) {
  Stretch stretch;
  stretch.pass(Duration::seconds(1), 5, 6, Duration::millis(8));
  EXPECT_FALSE(stretch.level().measured());
  stretch.fill(20);
  ASSERT_TRUE(stretch.level().measured());
  EXPECT_EQ(stretch.level().limit, 6U);  // the next above 5
  EXPECT_DOUBLE_EQ(stretch.level().time_ns, 8e6);
  EXPECT_DOUBLE_EQ(stretch.level().rate, 600);
  EXPECT_DOUBLE_EQ(stretch.level().in_time, 1);
  EXPECT_EQ(stretch.level().at, stretch.now());
}

TEST(Calm, IsNoneWhereTheLimitWasFullForAMoment) {
  Stretch stretch;
  stretch.pass(Duration::seconds(1), 5, 6, Duration::millis(8));
  const Instant moment = stretch.now();
  stretch.pass(Duration::seconds(1), 5, 6, Duration::millis(8));
  stretch.fill_for_a_moment(moment);
  stretch.fill(20);
  EXPECT_FALSE(stretch.level().measured());
}

// Then it may be full from that moment on: what was before is told.
TEST(Calm, EndsAsWellWithTheFirstWhoTakesTheLastPlace) {
  Stretch stretch;
  stretch.pass(Duration::seconds(1), 5, 6, Duration::millis(8));
  stretch.fill_for_a_moment(stretch.now() + Duration::millis(1));
  stretch.fill(20);
  EXPECT_TRUE(stretch.level().measured());
}

// Half of the time with two in flight, half of it with eight.
TEST(Calm, KnowsTheMeanInFlight) {
  Stretch stretch;
  stretch.pass(Duration::millis(500), 2, 1, Duration::millis(8));
  stretch.pass(Duration::millis(510), 8, 1, Duration::millis(8));
  stretch.fill(20);
  EXPECT_EQ(stretch.level().limit, 6U);
}

TEST(Calm, IsOfTheLastStretchThatWasLongEnoughToTell) {
  Stretch stretch;
  stretch.pass(Duration::seconds(1), 5, 6, Duration::millis(8));
  stretch.fill(20);
  stretch.pass(Duration::millis(10), 9, 6, Duration::millis(20));
  stretch.fill(20);
  EXPECT_DOUBLE_EQ(stretch.level().time_ns, 8e6);
  stretch.pass(Duration::millis(100), 9, 6, Duration::millis(20));
  stretch.fill(20);
  EXPECT_DOUBLE_EQ(stretch.level().time_ns, 20e6);
}

// Nobody has to fill it: what is told never becomes older than a stretch may last.
TEST(Calm, BeginsAnewWhenAStretchHasLastedLongEnough) {
  Stretch stretch;
  stretch.pass(kLongest + Duration::millis(20), 5, 1, Duration::millis(8));
  ASSERT_TRUE(stretch.level().measured());
  EXPECT_DOUBLE_EQ(stretch.level().time_ns, 8e6);
  stretch.pass(Duration{2 * kLongest.ns} + Duration::millis(40), 5, 1, Duration::millis(50));
  EXPECT_DOUBLE_EQ(stretch.level().time_ns, 50e6);
}

// Twenty are back at once, and as many are not: three quarters of them all are not known.
TEST(Calm, WhoIsNotBackMayTakeLonger) {
  Stretch stretch;
  stretch.pass(Duration::millis(100), 20, 2, Duration::micros(200));
  stretch.fill(20);
  EXPECT_FALSE(stretch.level().measured());
}

TEST(Calm, FailuresAreNoMeasure) {
  Calm calm;
  calm.look({.now = Instant{0}, .in_flight = 1}, false, kLongest, kFewest);
  for (int i = 0; i < 100; ++i) {
    calm.take({.started = Instant{0}, .ended = Instant{1'000}, .outcome = Outcome::failure});
  }
  calm.look({.now = Instant{1'000'000}, .in_flight = 9}, true, kLongest, kFewest);
  EXPECT_FALSE(calm.level().measured());
}

}  // namespace
}  // namespace loadline::test
