// What is reported to a gate from outside, by whom, and what comes of it. The rule itself is tested
// in tests/limit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <thread>
#include <vector>

#include "gate_box.h"

namespace loadline::test {
namespace {

constexpr Duration kTick = Duration::millis(10);

Policy with_signals(std::initializer_list<std::pair<const char*, double>> signals) {
  Policy policy = policy_of(100);
  policy.law = Law::automatic;
  policy.limit_most = 1000;
  for (const auto& [name, at_most] : signals) {
    EXPECT_TRUE(add_signal(policy, name, at_most)) << name;
  }
  return policy;
}

void tick_for(GateBox& box, Duration time) {
  for (const Instant until = box.now + time; box.now < until;) {
    box.pass(kTick);
    box.gate.tick(box.now);
  }
}

// The limit a second after each of so many reports.
std::vector<std::uint32_t> limits(GateBox& box, int reports, const char* name, double value) {
  std::vector<std::uint32_t> all;
  for (int i = 0; i < reports; ++i) {
    EXPECT_TRUE(box.gate.report(name, value, box.now));
    tick_for(box, Duration::seconds(1));
    all.push_back(box.gate.limit());
  }
  return all;
}

std::vector<LimitEvent> events(const GateBox& box) {
  std::vector<LimitEvent> all(LimitEvents::kKept);
  std::uint64_t next = 0;
  all.resize(box.gate.limit_events(next, all));
  return all;
}

// 3 of 2: a quarter less each second.
TEST(Signals, LowerTheLimitAndLetItGo) {
  GateBox box(with_signals({{"queue_depth", 2}}));
  EXPECT_THAT(limits(box, 4, "queue_depth", 3), testing::ElementsAre(75, 56, 42, 32));
  EXPECT_THAT(limits(box, 4, "queue_depth", 0), testing::ElementsAre(47, 71, 100, 100));
  const std::vector<LimitEvent> all = events(box);
  ASSERT_EQ(all.size(), 8U);
  EXPECT_EQ(all[1].reason.cause, LimitCause::pressed);
  EXPECT_EQ(all[1].from, 100U);
  EXPECT_EQ(all[1].to, 75U);
  EXPECT_EQ(all[1].reason.inputs.signal.name_view(), "queue_depth");
  EXPECT_EQ(all[1].reason.inputs.signal.value, 3);
  EXPECT_EQ(all[1].reason.inputs.signal.at_most, 2);
  EXPECT_EQ(all[7].reason.cause, LimitCause::relieved);
}

TEST(Signals, HoldForWhoAsks) {
  GateBox box(with_signals({{"queue_depth", 2}}));
  const Participant me = box.attach();
  EXPECT_THAT(limits(box, 2, "queue_depth", 4), testing::ElementsAre(50, 25));
  std::vector<Permit> all;
  for (Offer answer = box.gate.offer(me, of_class(kCritical), box.now);
       answer.kind == Offer::Kind::admit;
       answer = box.gate.offer(me, of_class(kCritical), box.now)) {
    all.push_back(std::move(answer.permit));
  }
  EXPECT_EQ(all.size(), 25U);
  for (Permit& permit : all) {
    box.gate.release(me, permit, Outcome::ignored, box.now);
  }
}

TEST(Signals, NeverGoBelowTheLeastLimit) {
  Policy policy = with_signals({{"queue_depth", 2}});
  policy.limit_least = 30;
  GateBox box(policy);
  EXPECT_THAT(limits(box, 4, "queue_depth", 1000), testing::ElementsAre(50, 30, 30, 30));
}

TEST(Signals, AreKnownByName) {
  GateBox box(with_signals({{"cpu_pressure", 0.2}, {"db_latency", 0.05}}));
  EXPECT_TRUE(box.gate.report("cpu_pressure", 0.1, box.now));
  EXPECT_TRUE(box.gate.report("db_latency", 0.05, box.now));
  for (const char* other : {"", "db", "db_latency ", "DB_LATENCY"}) {
    EXPECT_FALSE(box.gate.report(other, 1, box.now)) << other;
  }
  tick_for(box, Duration::seconds(2));
  EXPECT_EQ(box.gate.limit(), 100U);
}

TEST(Signals, WhatCannotBeAValueIsNoReport) {
  GateBox box(with_signals({{"queue_depth", 2}}));
  ASSERT_TRUE(box.gate.report("queue_depth", 1, box.now));
  for (const double value :
       {std::numeric_limits<double>::quiet_NaN(), -1e-300, -1.0,
        std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()}) {
    EXPECT_FALSE(box.gate.report("queue_depth", value, box.now)) << value;
  }
  tick_for(box, Duration::seconds(1));
  EXPECT_EQ(box.gate.limit(), 100U);
  EXPECT_TRUE(box.gate.report("queue_depth", -0.0, box.now));
  EXPECT_TRUE(box.gate.report("queue_depth", std::numeric_limits<double>::max(), box.now));
  tick_for(box, Duration::seconds(1));
  EXPECT_EQ(box.gate.limit(), 50U);
}

TEST(Signals, WhatIsAsHighAsItMayBeIsNotAbove) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> exponent(-30, 30);
  for (int i = 0; i < 100; ++i) {
    const double at_most = std::exp(exponent(random));
    GateBox box(with_signals({{"any", at_most}}));
    EXPECT_EQ(limits(box, 1, "any", at_most)[0], 100U) << at_most;
    EXPECT_LT(limits(box, 1, "any", at_most * 1.1)[0], 100U) << at_most;
  }
}

TEST(Signals, ReportsThatCeaseLetTheLimitGo) {
  GateBox box(with_signals({{"queue_depth", 2}}));
  ASSERT_EQ(limits(box, 1, "queue_depth", 4)[0], 50U);
  tick_for(box, Duration::seconds(25));  // 5 that it is believed, and 15 steps of 5 %
  EXPECT_EQ(box.gate.limit(), 100U);
}

TEST(Signals, WhereTheLimitIsFixedNothingIsHeard) {
  Policy policy = with_signals({{"queue_depth", 2}});
  policy.law = Law::fixed;
  GateBox box(policy);
  EXPECT_FALSE(box.gate.report("queue_depth", 9, box.now));
  // Set by hand, and given back.
  GateBox learns(with_signals({{"queue_depth", 2}}));
  Signals signals;
  ASSERT_TRUE(learns.gate.set_limit(17, learns.now, signals));
  tick_for(learns, kTick);
  EXPECT_FALSE(learns.gate.report("queue_depth", 9, learns.now));
  tick_for(learns, Duration::seconds(2));
  EXPECT_EQ(learns.gate.limit(), 17U);
  ASSERT_TRUE(learns.gate.reconfigure(with_signals({{"queue_depth", 2}}), learns.now, signals));
  tick_for(learns, kTick);
  EXPECT_THAT(limits(learns, 2, "queue_depth", 3), testing::ElementsAre(13, 10));
}

TEST(Signals, WhileObservingTheLimitStays) {
  GateBox box(with_signals({{"queue_depth", 2}}));
  box.gate.set_mode(Mode::observe, box.now);
  EXPECT_EQ(limits(box, 2, "queue_depth", 9)[1], 100U);
}

// The law goes on; what was reported under another name is not taken for it.
TEST(Signals, OtherRulesHoldAtOnce) {
  GateBox box(with_signals({{"queue_depth", 2}}));
  ASSERT_EQ(limits(box, 1, "queue_depth", 3)[0], 75U);
  Signals signals;
  ASSERT_TRUE(box.gate.reconfigure(with_signals({{"queue_depth", 10}}), box.now, signals));
  EXPECT_EQ(limits(box, 1, "queue_depth", 3)[0], 100U);  // 75 * 1.35
  EXPECT_EQ(events(box).size(), 3U);
  ASSERT_EQ(limits(box, 1, "queue_depth", 15)[0], 75U);
  ASSERT_TRUE(box.gate.report("queue_depth", 15, box.now));
  ASSERT_TRUE(box.gate.reconfigure(with_signals({{"db_latency", 1}}), box.now, signals));
  tick_for(box, Duration::seconds(1));
  EXPECT_GT(box.gate.limit(), 75U);
  EXPECT_FALSE(box.gate.report("queue_depth", 15, box.now));
  EXPECT_TRUE(box.gate.report("db_latency", 0, box.now));
  ASSERT_TRUE(box.gate.reconfigure(with_signals({}), box.now, signals));
  tick_for(box, Duration::seconds(20));
  EXPECT_EQ(box.gate.limit(), 100U);
}

// Of one of nginx's workers, say, while another ticks.
TEST(Signals, AnybodyAtTheBlockMayReport) {
  GateBox box(with_signals({{"queue_depth", 2}}));
  Gate other;
  ASSERT_EQ(Gate::open(box.memory(), box.bytes(), other), Gate::OpenError::none);
  ASSERT_TRUE(other.report("queue_depth", 3, box.now));
  tick_for(box, Duration::seconds(1));
  EXPECT_EQ(box.gate.limit(), 75U);
}

// Nobody sees the value of one report with the time of another: here, the high one with a time at
// which it would be believed.
TEST(Signals, AReportIsSeenWholeOrNotAtAll) {
  GateBox box(with_signals({{"queue_depth", 2}}));
  std::atomic<bool> done{false};
  std::vector<std::thread> writers;
  for (int w = 0; w < 2; ++w) {
    writers.emplace_back([&box, &done, w, now = box.now] {
      while (!done.load()) {
        box.gate.report("queue_depth", w == 0 ? 1 : 9,
                        w == 0 ? now + Duration::seconds(10) : now - Duration::seconds(10));
      }
    });
  }
  const Instant until = box.now + Duration::seconds(14);
  while (box.now < until) {
    box.pass(kTick);
    box.gate.tick(box.now);
    ASSERT_EQ(box.gate.limit(), 100U);
  }
  done.store(true);
  for (std::thread& writer : writers) {
    writer.join();
  }
}

TEST(Signals, ValuesAreReadAsPeopleWriteThem) {
  const std::pair<const char*, double> good[] = {{"20%", 0.2},
                                                 {"50ms", 0.05},
                                                 {"1.5s", 1.5},
                                                 {"200us", 0.0002},
                                                 {"12", 12},
                                                 {"0.5", 0.5},
                                                 {"0", 0},
                                                 {"0.012s", 0.012},
                                                 {"12.5%", 0.125},
                                                 {"007", 7},
                                                 {"0.1ms", 1e-4},
                                                 {"0.0123456789", 0.012345},
                                                 {"12.345678999999999999999ms", 0.012345678},
                                                 {"0.0000001", 0},
                                                 {"999999999.999999", 999999999.999999},
                                                 {"999999999999999", 999999999999999}};
  for (const auto& [text, value] : good) {
    EXPECT_EQ(parse_signal_value(text), value) << text;
  }
  for (const char* text : {"",
                           "%",
                           ".",
                           ".5",
                           "5.",
                           "1.2.3",
                           "-1",
                           "+1",
                           "1e3",
                           "nan",
                           "inf",
                           "0x10",
                           " 1",
                           "1 ",
                           "1 ms",
                           "1m",
                           "1h",
                           "1ns",
                           "1%%",
                           "1000000000000000",
                           "9999999999.999999",
                           "1,5",
                           "5ms5"}) {
    EXPECT_EQ(parse_signal_value(text), std::nullopt) << text;
  }
}

TEST(Signals, APolicyIsToldWhatIsWrongWithThem) {
  Policy policy = with_signals({{"a", 1}, {"b", 1}, {"c", 1}, {"d", 1}});
  EXPECT_FALSE(validate(policy).refused());
  EXPECT_FALSE(add_signal(policy, "e", 1)) << "there are four already";
  policy = with_signals({});
  EXPECT_FALSE(add_signal(policy, "", 1));
  EXPECT_FALSE(add_signal(policy, "a_name_of_24_characters_", 1));
  EXPECT_TRUE(add_signal(policy, "a_name_of_23_characters", 1));
  struct Row {
    std::vector<std::pair<const char*, double>> signals;
    const char* text;
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Row rows[] = {
      {{{"db latency", 1}},
       "signal name 'db latency': allowed are letters, digits, '_', '-' and '.'"},
      {{{"db", 1}, {"db", 2}}, "signal name 'db': it is given twice"},
      {{{"db", 0}}, "signal 'db' is to be at most 0: allowed is a number above 0"},
      {{{"db", -0.5}}, "signal 'db' is to be at most -0.5: allowed is a number above 0"},
      {{{"db", nan}}, "signal 'db' is to be at most nan: allowed is a number above 0"},
      {{{"db", 1 / 0.0}}, "signal 'db' is to be at most inf: allowed is a number above 0"},
  };
  for (const Row& row : rows) {
    policy = with_signals({});
    for (const auto& [name, at_most] : row.signals) {
      add_signal(policy, name, at_most);
    }
    const PolicyError error = validate(policy);
    EXPECT_STREQ(error.field, "signals") << row.text;
    EXPECT_STREQ(error.text.data(), row.text);
  }
  policy = with_signals({});
  policy.signal_count = 5;
  EXPECT_STREQ(validate(policy).text.data(), "5 signals: allowed are 0 to 4");
}

}  // namespace
}  // namespace loadline::test
