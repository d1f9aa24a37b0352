// A process is killed before each store of every operation in turn; whoever comes next, in whatever
// way, finds a block that it can put right.
#include <gtest/gtest.h>

#include <string>

#include "aftermath.h"
#include "operations.h"

namespace loadline::crash {
namespace {

// How the next one comes.
enum class Next : std::uint8_t { ticks, offers, attaches };
constexpr Next kNexts[] = {Next::ticks, Next::offers, Next::attaches};

const char* name(Next next) {
  constexpr const char* kNames[] = {"ticks", "offers", "attaches"};
  return kNames[static_cast<std::size_t>(next)];
}

void come(Stage& s, Next next) {
  switch (next) {
    case Next::ticks:
      break;
    case Next::offers:
      EXPECT_NE(s.offer(s.survivor(), of(kCritical)).reason, Reason::busy);
      break;
    case Next::attaches:
      s.attach(s.third());
      break;
  }
  for (int i = 0; i < 3; ++i) {
    s.tick();
  }
}

// Plays `operation` in a child that dies before its step `chosen`; how that ended.
std::string play(Stage& s, const Operation& operation, std::uint32_t chosen) {
  s.begin(operation.policy());
  return how_it_ended(s.in_child([&] {
    operation.set_up(s);
    s.perform([&] { operation.perform(s); }, chosen);
  }));
}

class EveryStore : public testing::TestWithParam<Operation> {};

TEST_P(EveryStore, LeavesWhatTheNextOnePutsRight) {
  Stage s;
  ASSERT_EQ(play(s, GetParam(), kNoStep), "exit 0");
  const std::uint32_t steps = s.steps();
  leave(s);
  ASSERT_GT(steps, 0U);
  for (std::uint32_t step = 1; step <= steps && !HasFailure(); ++step) {
    for (const Next next : kNexts) {
      SCOPED_TRACE(testing::Message() << "killed before step " << step << " of " << steps
                                      << ", then one " << name(next));
      ASSERT_EQ(play(s, GetParam(), step), "killed");
      come(s, next);
      s.bury(s.victim());
      expect_whole(s, 1);
      leave(s);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Of, EveryStore, testing::ValuesIn(operations()),
                         [](const auto& of) { return std::string(of.param.name); });

// Every piece of work takes 5 ms, so nothing else can have been measured, whatever a death leaves.
TEST(EveryStoreOfAWindow, LeavesAnEstimateThatIsTrue) {
  constexpr Duration kService = Duration::millis(5);
  Stage s;
  const auto work = [&s, kService](Person& who) {
    s.start(who, of(kCritical));
    s.pass(kService);
    s.release(who);
  };
  std::string how = "killed";
  for (std::uint32_t step = 1; how == "killed" && !HasFailure(); ++step) {
    SCOPED_TRACE(testing::Message() << "killed before step " << step);
    s.begin();
    how = how_it_ended(s.in_child([&] {
      s.attach(s.victim());
      for (int i = 0; i < 25; ++i) {
        work(s.victim());
      }
      s.perform([&] { s.tick(); }, step);
    }));
    s.tick();
    work(s.survivor());
    s.pass(Duration::millis(100));
    s.tick();
    EXPECT_EQ(s.gate.snapshot().service_mean.ns, kService.ns);
    leave(s);
  }
  EXPECT_EQ(how, "exit 0");
}

// Nobody knows how far the law had come: it goes on from the limit that was in force.
TEST(EveryStoreOfALaw, LeavesALimitWithinItsBounds) {
  Stage s;
  const Operation& operation = operation_named("TickThatLearns");
  ASSERT_EQ(play(s, operation, kNoStep), "exit 0");
  const std::uint32_t steps = s.steps();
  const std::uint32_t changed = s.gate.limit();
  ASSERT_LT(changed, kLimit);
  leave(s);
  std::uint64_t repaired = 0;
  for (std::uint32_t step = 1; step <= steps; ++step) {
    ASSERT_EQ(play(s, operation, step), "killed");
    const auto within = [changed](std::uint32_t limit) {
      return limit == kLimit || limit == changed;
    };
    EXPECT_TRUE(within(s.gate.limit())) << s.gate.limit() << " after step " << step;
    for (int i = 0; i < 3; ++i) {
      s.tick();
      EXPECT_TRUE(within(s.gate.limit())) << s.gate.limit() << " after step " << step;
    }
    std::array<LimitEvent, LimitEvents::kKept> events;
    std::uint64_t next = 0;
    const std::size_t n = s.gate.limit_events(next, events);
    for (std::size_t i = 0; i < n; ++i) {
      repaired += events[i].reason.cause == LimitCause::repaired ? 1 : 0;
    }
    leave(s);
  }
  EXPECT_GT(repaired, 0U);
}

// One dies in the middle of `operation`, before its step `first`, and the next one as it puts that
// right, before its step `second`.
std::string play_both(Stage& s, const Operation& operation, std::uint32_t first,
                      std::uint32_t second) {
  EXPECT_EQ(play(s, operation, first), "killed");
  s.bury(s.victim());
  return how_it_ended(s.in_child([&] { s.perform([&] { s.tick(); }, second); }));
}

class EveryStoreOfARepair : public testing::TestWithParam<const char*> {};

// A repair walks over all tickets, most of them free: a stride takes a few of its steps for each
// first death, others each time.
TEST_P(EveryStoreOfARepair, LeavesWhatTheNextOnePutsRight) {
  constexpr std::uint32_t kStride = 61;
  Stage s;
  const Operation& operation = operation_named(GetParam());
  ASSERT_EQ(play(s, operation, kNoStep), "exit 0");
  const std::uint32_t steps = s.steps();
  leave(s);
  std::uint64_t repairs = 0;
  for (std::uint32_t first = 1; first <= steps; ++first) {
    ASSERT_EQ(play_both(s, operation, first, kNoStep), "exit 0");
    const std::uint32_t repair_steps = s.steps();
    repairs += s.gate.snapshot().repairs;
    leave(s);
    for (std::uint32_t second = 1 + first % kStride; second <= repair_steps; second += kStride) {
      SCOPED_TRACE(testing::Message() << "killed before step " << first << " of " << steps
                                      << ", then before step " << second << " of " << repair_steps);
      ASSERT_EQ(play_both(s, operation, first, second), "killed");
      come(s, kNexts[(first + second) % std::size(kNexts)]);
      expect_whole(s, 2);
      leave(s);
      if (HasFailure()) {
        return;
      }
    }
  }
  EXPECT_GT(repairs, 0U);
}

INSTANTIATE_TEST_SUITE_P(After, EveryStoreOfARepair,
                         testing::Values("OfferThatDisplaces", "OfferOfATenantThatDisplaces"),
                         [](const auto& of) { return std::string(of.param); });

}  // namespace
}  // namespace loadline::crash
