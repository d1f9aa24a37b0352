// What is concluded from slots that are made up.
#include "storm/figures.h"

#include <gtest/gtest.h>

namespace loadline::bench::storm {
namespace {

using namespace std::chrono_literals;

constexpr Times kTimes{.begun = 500ms, .stall = 1000ms, .back = 2000ms, .end = 5000ms};

// Ten calls in each slot; so many of them good before, in and `late` slots after the stall.
std::vector<Slot> slots(std::uint32_t late) {
  std::vector<Slot> all(50, Slot{.due = 10, .good = 10, .attempts = 10});
  for (std::size_t i = 10; i < 20 + late; ++i) {
    all[i] = {.due = 10, .good = 0, .attempts = 40};
  }
  return all;
}

TEST(StormFigures, ACallIsCountedWhenItWasDue) {
  Journal journal(1000ms);
  journal.note(250ms, true, 3);
  journal.note(299ms, false, 4);
  journal.note(5000ms, true, 1);  // after the end
  const Slot slot = journal.read()[2];
  EXPECT_EQ(slot.due, 2);
  EXPECT_EQ(slot.good, 1);
  EXPECT_EQ(slot.attempts, 7);
}

TEST(StormFigures, NormalIsAWholeSecondAsBefore) {
  EXPECT_EQ(conclude(slots(0), kTimes).normal_after_s, 0.0);
  EXPECT_EQ(conclude(slots(12), kTimes).normal_after_s, 1.2);
  EXPECT_EQ(conclude(slots(20), kTimes).normal_after_s, 2.0);
  EXPECT_EQ(conclude(slots(21), kTimes).normal_after_s, std::nullopt);  // no whole second is left
}

TEST(StormFigures, AttemptsArePerCall) {
  const Figures figures = conclude(slots(15), kTimes);
  EXPECT_DOUBLE_EQ(figures.good_before, 1);
  EXPECT_DOUBLE_EQ(figures.attempts_stall, 4);
  EXPECT_DOUBLE_EQ(figures.good_after, 0.5);      // 15 slots of 30
  EXPECT_DOUBLE_EQ(figures.attempts_after, 2.5);  // half 4, half 1
}

}  // namespace
}  // namespace loadline::bench::storm
