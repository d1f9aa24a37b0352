// The ring of events.
#include "loadline/client/events.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "loadline/client/reason.h"

namespace loadline::client {
namespace {

TEST(EventRing, KeepsTheLastOnesInOrder) {
  EventRing ring;
  std::array<Event, 100> events{};
  EXPECT_EQ(ring.read(events), 0U);
  for (std::uint32_t i = 1; i <= 200; ++i) {
    ring.write(
        {.at = {i}, .kind = EventKind::budget_back, .detail = 7, .a = i, .b = ~i, .c = 2 * i});
  }
  ASSERT_EQ(ring.read(events), EventRing::kEvents);
  for (std::uint32_t i = 0; i < EventRing::kEvents; ++i) {
    const std::uint32_t number = 200 - EventRing::kEvents + 1 + i;
    EXPECT_EQ(events[i].number, number);
    EXPECT_EQ(events[i].at, Instant{number});
    EXPECT_EQ(events[i].kind, EventKind::budget_back);
    EXPECT_EQ(events[i].detail, 7);
    EXPECT_EQ(events[i].a, number);
    EXPECT_EQ(events[i].b, ~number);
    EXPECT_EQ(events[i].c, 2 * number);
  }
  ASSERT_EQ(ring.read(std::span(events).first(3)), 3U);
  EXPECT_EQ(events[2].number, 200U);
  EXPECT_EQ(ring.lost(), 0U);
}

TEST(Events, AreCutOffWhereThereIsNoRoom) {
  std::array<char, 12> little{};
  EXPECT_EQ(describe({.kind = EventKind::breaker_closed}, little), "breaker_clo");
  EXPECT_EQ(describe({.kind = EventKind::breaker_closed}, {}), "");
}

TEST(Names, AreThereForAllAndNoMore) {
  for (std::uint32_t i = 0; i < kReasons; ++i) {
    EXPECT_NE(name(static_cast<Reason>(i)), "unknown");
  }
  EXPECT_EQ(name(static_cast<Reason>(kReasons)), "unknown");
  EXPECT_EQ(name(Reason::not_hedged), "not_hedged");
  for (std::uint32_t i = 0; i < kEventKinds; ++i) {
    EXPECT_NE(name(static_cast<EventKind>(i)), "unknown");
  }
  EXPECT_EQ(name(EventKind::throttle_ended), "throttle_ended");
}

}  // namespace
}  // namespace loadline::client
