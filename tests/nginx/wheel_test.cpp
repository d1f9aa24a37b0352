#include "wheel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

namespace loadline::ngx {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

struct Guest : Spoke<Guest> {
  explicit Guest(int number = 0) : name(number) {}

  int name;
};

constexpr std::uint64_t kTick = Wheel<Guest>::kTick;
constexpr std::uint64_t kRound = 512 * kTick;

class WheelTest : public testing::Test {
 protected:
  std::vector<int> turn(std::uint64_t now) {
    std::vector<int> due;
    wheel.turn(now, [&](Guest& guest) { due.push_back(guest.name); });
    return due;
  }

  // As a worker does it.
  std::vector<int> turn_to(std::uint64_t from, std::uint64_t to) {
    std::vector<int> due;
    for (std::uint64_t now = from; now <= to; now += kTick) {
      const std::vector<int> here = turn(now);
      due.insert(due.end(), here.begin(), here.end());
    }
    return due;
  }

  Wheel<Guest> wheel;
};

TEST_F(WheelTest, HandsOverWhoIsDueOnceAndNotBefore) {
  Guest guest(1);
  turn(1000);
  wheel.enter(guest, 1100);
  EXPECT_THAT(turn_to(1000, 1080), IsEmpty());
  EXPECT_THAT(turn(1099), IsEmpty());
  EXPECT_THAT(turn(1100), ElementsAre(1));
  EXPECT_THAT(turn_to(1120, 1120 + 3 * kRound), IsEmpty());
}

TEST_F(WheelTest, IsAtMostATickLate) {
  Guest guest(1);
  turn(1000);
  wheel.enter(guest, 1001);
  EXPECT_THAT(turn(1019), IsEmpty());
  EXPECT_THAT(turn(1020), ElementsAre(1));
}

TEST_F(WheelTest, WaitsForAsManyRoundsAsItTakes) {
  Guest soon(1);
  Guest late(2);
  Guest last(3);
  turn(1000);
  wheel.enter(late, 1100 + kRound);
  wheel.enter(soon, 1100);
  wheel.enter(last, 1100 + 5 * kRound);
  EXPECT_THAT(turn_to(1000, 1100), ElementsAre(1));
  EXPECT_THAT(turn_to(1120, 1080 + kRound), IsEmpty());
  EXPECT_THAT(turn(1100 + kRound), ElementsAre(2));
  EXPECT_THAT(turn_to(1120 + kRound, 1080 + 5 * kRound), IsEmpty());
  EXPECT_THAT(turn(1100 + 5 * kRound), ElementsAre(3));
}

TEST_F(WheelTest, ForgetsWhoLeaves) {
  std::vector<Guest> guests(4);
  turn(1000);
  for (int i = 0; i < 4; ++i) {
    guests[i].name = i;
    wheel.enter(guests[i], 1100);
  }
  Wheel<Guest>::leave(guests[0]);
  Wheel<Guest>::leave(guests[2]);
  Wheel<Guest>::leave(guests[3]);
  Wheel<Guest>::leave(guests[3]);
  EXPECT_THAT(turn(1100), ElementsAre(1));
}

TEST_F(WheelTest, MissesNobodyAfterAStandstill) {
  Guest soon(1);
  Guest late(2);
  Guest after(3);
  turn(1000);
  wheel.enter(soon, 1100);
  wheel.enter(late, 1100 + 3 * kRound);
  wheel.enter(after, 1100 + 9 * kRound);
  EXPECT_THAT(turn(1100 + 4 * kRound), UnorderedElementsAre(1, 2));
  EXPECT_THAT(turn(1100 + 9 * kRound), ElementsAre(3));
}

TEST_F(WheelTest, TakesWhoComesAgainAndLetsOthersLeave) {
  Guest first(1);
  Guest second(2);
  turn(1000);
  wheel.enter(first, 1100);
  wheel.enter(second, 1100);
  std::vector<int> due;
  wheel.turn(1100, [&](Guest& guest) {
    due.push_back(guest.name);
    Wheel<Guest>::leave(guest.name == 1 ? second : first);
    wheel.enter(guest, 1100 + kRound);
  });
  EXPECT_EQ(due.size(), 1);
  EXPECT_THAT(turn_to(1120, 1080 + kRound), IsEmpty());
  EXPECT_EQ(turn(1100 + kRound), due);
}

// Against a list that is searched.
TEST_F(WheelTest, AgreesWithAPlainListWhateverHappens) {
  std::mt19937_64 random(7);
  const auto up_to = [&](std::uint64_t most) { return random() % most; };
  std::vector<Guest> guests(200);
  std::map<int, std::uint64_t> inside;
  for (int i = 0; i < 200; ++i) {
    guests[i].name = i;
  }
  std::uint64_t now = 123'456;
  turn(now);
  for (int step = 0; step < 20'000; ++step) {
    Guest& guest = guests[up_to(200)];
    if (inside.erase(guest.name) != 0) {
      Wheel<Guest>::leave(guest);
    } else {
      const std::uint64_t due = now + 1 + up_to(step % 3 == 0 ? 4 * kRound : 10 * kTick);
      wheel.enter(guest, due);
      inside[guest.name] = due;
    }
    now += up_to(step % 100 == 0 ? 2 * kRound : kTick);
    std::vector<int> expected;
    for (const auto& [name, due] : inside) {
      if (due <= now / kTick * kTick) {
        expected.push_back(name);
      }
    }
    std::vector<int> due = turn(now);
    std::sort(due.begin(), due.end());
    // Who is due since the last tick may be handed over already, where its place is looked at late.
    for (const int name : due) {
      ASSERT_LE(inside.at(name), now);
      inside.erase(name);
    }
    ASSERT_TRUE(std::includes(due.begin(), due.end(), expected.begin(), expected.end()));
  }
}

}  // namespace
}  // namespace loadline::ngx
