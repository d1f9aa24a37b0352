// The clock against clocks that are made to misbehave, and against the machine's own.
#include "loadline/quick_clock.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <utility>

namespace loadline {
namespace {

constexpr std::int64_t kMicrosecond = 1'000;
constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::int64_t kSecond = 1'000'000'000;

// Both clocks as a world that a test moves.
struct World {
  double true_ns = 5e12;
  double system_offset = 0;  // slewed away from true time
  double ticks_offset = 0;
  double ticks_per_ns = 3;
  double system_rate = 1;
  std::int64_t pause = 0;  // the next reading of the system is followed by so long a pause
  int asked = 0;           // how often the system was
  bool has_ticks = true;

  void pass(std::int64_t ns) {
    true_ns += static_cast<double>(ns);
    system_offset += static_cast<double>(ns) * (system_rate - 1);
    ticks_offset += static_cast<double>(ns) * ticks_per_ns;
  }
  [[nodiscard]] std::int64_t system() const {
    return static_cast<std::int64_t>(true_ns + system_offset);
  }
};

World* world = nullptr;

struct WorldTime {
  static std::uint64_t ticks() noexcept { return static_cast<std::uint64_t>(world->ticks_offset); }
  static Instant system() noexcept {
    ++world->asked;
    const std::int64_t now = world->system();
    world->pass(std::exchange(world->pause, 0));
    return {now};
  }
  static bool has_ticks() noexcept { return world->has_ticks; }
};

class QuickClockTest : public testing::Test {
 protected:
  QuickClockTest() { world = &world_; }
  ~QuickClockTest() override { world = nullptr; }

  // Lets time pass in steps, reading after each: it must never go back, nor be off by more than
  // `allowed`.
  [[nodiscard]] testing::AssertionResult walk(std::int64_t length, std::int64_t step,
                                              std::int64_t allowed) {
    for (std::int64_t gone = 0; gone < length; gone += step) {
      world_.pass(step);
      if (testing::AssertionResult well = read(allowed); !well) {
        return well << ", " << gone + step << " ns on";
      }
    }
    return testing::AssertionSuccess();
  }
  [[nodiscard]] testing::AssertionResult read(std::int64_t allowed) {
    const std::int64_t now = clock_.now().ns;
    const std::int64_t before = std::exchange(latest_, now);
    const std::int64_t off = now - world_.system();
    if (now < before) {
      return testing::AssertionFailure() << "it went back by " << before - now << " ns";
    }
    return std::abs(off) <= allowed
               ? testing::AssertionSuccess()
               : testing::AssertionFailure() << "it is off by " << off << " ns, of " << allowed;
  }

  World world_;
  BasicQuickClock<WorldTime> clock_;
  std::int64_t latest_ = 0;
};

TEST_F(QuickClockTest, AsksTheSystemOnlyEverySoOften) {
  ASSERT_TRUE(walk(20 * kMillisecond, kMillisecond, 1));
  world_.asked = 0;
  ASSERT_TRUE(walk(kSecond, 10 * kMicrosecond, 10));
  // Every 10 ms, four times for one good reading.
  EXPECT_LE(world_.asked, 4 * 102);
  EXPECT_GE(world_.asked, 4 * 95);
}

TEST_F(QuickClockTest, IsTheSystemsWhereTheCounterIsOfNoUse) {
  world_.has_ticks = false;
  world_.ticks_per_ns = 0;
  ASSERT_TRUE(walk(kSecond, kMillisecond, 0));
}

TEST_F(QuickClockTest, FollowsASystemThatIsSlewed) {
  for (const double rate : {1 + 500e-6, 1 - 500e-6, 1.0}) {
    world_.system_rate = rate;
    ASSERT_TRUE(walk(5 * kSecond, 100 * kMicrosecond, 11 * kMicrosecond));
  }
}

TEST_F(QuickClockTest, IsNotMisledByAPauseBetweenTheTwoReadings) {
  ASSERT_TRUE(walk(kSecond, 100 * kMicrosecond, kMicrosecond));
  std::mt19937 random(1);
  for (int i = 0; i < 1000; ++i) {
    world_.pass(10 * kMillisecond);
    world_.pause = static_cast<std::int64_t>(random() % (4 * kMillisecond));
    latest_ = std::max(latest_, clock_.now().ns);
    ASSERT_TRUE(read(2 * kMicrosecond));
  }
}

TEST_F(QuickClockTest, SurvivesACounterThatIsSetBack) {
  ASSERT_TRUE(walk(100 * kMillisecond, 100 * kMicrosecond, kMicrosecond));
  world_.ticks_offset = 12;
  ASSERT_TRUE(walk(100 * kMillisecond, 100 * kMicrosecond, kMicrosecond));
}

TEST_F(QuickClockTest, SurvivesACounterThatJumpsAhead) {
  ASSERT_TRUE(walk(100 * kMillisecond, 100 * kMicrosecond, kMicrosecond));
  world_.ticks_offset += 3e12;
  ASSERT_TRUE(walk(100 * kMillisecond, 100 * kMicrosecond, kMicrosecond));
}

TEST_F(QuickClockTest, IsOffByLessThanASpanWhereTheCounterChangesItsSpeed) {
  ASSERT_TRUE(walk(kSecond, 100 * kMicrosecond, kMicrosecond));
  world_.ticks_per_ns = 1.5;  // too slow: it lags
  ASSERT_TRUE(walk(kSecond, 100 * kMicrosecond, 11 * kMillisecond));
  ASSERT_TRUE(walk(kSecond, 100 * kMicrosecond, 2 * kMicrosecond));
  world_.ticks_per_ns = 4.5;  // too fast: it is ahead, and stands until the system has caught up
  ASSERT_TRUE(walk(kSecond, 100 * kMicrosecond, 31 * kMillisecond));
  ASSERT_TRUE(walk(kSecond, 100 * kMicrosecond, 2 * kMicrosecond));
}

TEST_F(QuickClockTest, GoesOnAfterAnHourInWhichNobodyAsked) {
  world_.system_rate = 1 + 500e-6;
  ASSERT_TRUE(walk(kSecond, 100 * kMicrosecond, 11 * kMicrosecond));
  world_.pass(3600 * kSecond);
  ASSERT_TRUE(read(kMicrosecond));
  ASSERT_TRUE(walk(kSecond, 100 * kMicrosecond, 11 * kMicrosecond));
}

TEST_F(QuickClockTest, DoesWithoutACounterThatStands) {
  world_.ticks_per_ns = 0;
  ASSERT_TRUE(walk(kSecond, kMillisecond, 0));
}

TEST_F(QuickClockTest, CountsWithCountersOfAnySpeed) {
  for (const double speed : {0.2, 1.0, 2.4, 5.7, 40.0}) {
    world_.ticks_per_ns = speed;
    BasicQuickClock<WorldTime> clock;
    for (int i = 0; i < 20'000; ++i) {
      world_.pass(100 * kMicrosecond);
      ASSERT_LE(std::abs(clock.now().ns - world_.system()), kMicrosecond) << speed;
    }
  }
}

// On the machine itself: between two readings of the system, as far as its speed is known.
TEST(QuickClockOnThisMachine, AgreesWithTheSystem) {
  QuickClock clock;
  std::int64_t latest = 0;
  const Instant end = MachineTime::system() + Duration::millis(100);
  while (MachineTime::system() < end) {
    const std::int64_t before = MachineTime::system().ns;
    const std::int64_t now = clock.now().ns;
    const std::int64_t after = MachineTime::system().ns;
    ASSERT_GE(now, latest);
    ASSERT_GE(now, before - 20 * kMicrosecond);
    ASSERT_LE(now, after + 20 * kMicrosecond);
    latest = now;
  }
}

}  // namespace
}  // namespace loadline
