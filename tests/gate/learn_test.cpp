// How a gate's limit is found: what reaches the law, and what the law says reaches.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <deque>
#include <thread>
#include <vector>

#include "gate_box.h"
// Which says where things lie.
#include "gate/lifecycle.h"

namespace loadline::test {
namespace {

constexpr Duration kWork = Duration::millis(5);
constexpr Duration kTick = Duration::millis(10);

Policy learning(LimitBounds bounds = {1, 1000}, std::uint32_t from = 0) {
  Policy policy = policy_of(from);
  policy.law = Law::automatic;
  policy.limit_least = bounds.least;
  policy.limit_most = bounds.most;
  return policy;
}

class Learning {
 public:
  explicit Learning(const Policy& policy = learning(), std::uint32_t seats = 4)
      : box(policy, seats) {
    for (std::uint32_t i = 0; i < seats; ++i) {
      seated.push_back(box.attach(i));
    }
  }

  void tick() {
    box.pass(kTick);
    box.gate.tick(box.now);
  }

  // What the law was told, call by call, and what came of it.
  struct Told {
    std::vector<LimitSample> samples;
    LimitView view;
    std::uint32_t limit = 0;
  };
  std::vector<Told> told;
  void record() { recording_ = true; }

  // One request, let in now and ended after `work`.
  void serve(Participant who, Outcome outcome = Outcome::success, Duration work = kWork,
             Request request = of_class(kCritical)) {
    Offer answer = box.gate.offer(who, request, box.now);
    ASSERT_EQ(answer.kind, Offer::Kind::admit);
    box.pass(work);
    box.gate.release(who, answer.permit, outcome, box.now);
  }

  // A service that has a knee: `slots` requests at a time, each for kWork; the others wait inside.
  // There are always some who wait at the gate.
  void overload(int milliseconds, std::uint32_t slots, bool ticks = true) {
    const int ticks_every = 10;
    for (int ms = 0; ms < milliseconds; ++ms) {
      box.pass(Duration::millis(1));
      finish(slots);
      for (const Participant who : seated) {
        ask(who);
      }
      if (ticks && ms % ticks_every == 0) {
        box.gate.tick(box.now);
        note();
      }
    }
  }

  void end_all() {
    for (Running& one : served_) {
      box.gate.release(one.who, one.permit, Outcome::success, box.now);
    }
    served_.clear();
    for (; !waiting_.empty(); waiting_.pop_front()) {
      box.gate.release(waiting_.front().who, waiting_.front().permit, Outcome::success, box.now);
    }
  }

  std::vector<LimitEvent> events() const {
    std::vector<LimitEvent> all(LimitEvents::kKept);
    std::uint64_t next = 0;
    all.resize(box.gate.limit_events(next, all));
    return all;
  }
  std::vector<LimitCause> causes() const {
    std::vector<LimitCause> all;
    for (const LimitEvent& event : events()) {
      all.push_back(event.reason.cause);
    }
    return all;
  }
  detail::Learner<NativeSync>& learner() {
    return *reinterpret_cast<detail::Learner<NativeSync>*>(
        static_cast<std::byte*>(box.memory()) +
        detail::learner_offset<NativeSync>(box.gate.capacity()));
  }
  [[nodiscard]] const detail::SampleRing<NativeSync>& ring(std::uint32_t seat) {
    return reinterpret_cast<detail::SampleRing<NativeSync>*>(
        static_cast<std::byte*>(box.memory()) +
        detail::rings_offset<NativeSync>(box.gate.capacity()))[seat];
  }
  std::uint64_t samples() {
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i < seated.size(); ++i) {
      sum += ring(i).count.load();
    }
    return sum;
  }

  GateBox box;
  std::vector<Participant> seated;

 private:
  struct Running {
    Participant who;
    Permit permit;
    Instant due;
  };

  void ask(Participant who) {
    constexpr int kAtOnce = 10;
    for (int i = 0; i < kAtOnce; ++i) {
      Offer answer = box.gate.offer(who, of_class(kCritical), box.now);
      if (answer.kind != Offer::Kind::admit) {
        break;
      }
      waiting_.push_back({who, std::move(answer.permit), Instant{}});
    }
    for (Settled& settled : box.collect(who)) {
      if (settled.kind == Settled::Kind::admit) {
        waiting_.push_back({who, std::move(settled.permit), Instant{}});
      }
    }
  }

  // The first in line are worked on.
  void finish(std::uint32_t slots) {
    for (; served_.size() < slots && !waiting_.empty(); waiting_.pop_front()) {
      served_.push_back(std::move(waiting_.front()));
      served_.back().due = box.now + some_work();
    }
    const auto done = [this](Running& one) {
      if (one.due > box.now) {
        return false;
      }
      box.gate.release(one.who, one.permit, Outcome::success, box.now);
      note();
      return true;
    };
    std::erase_if(served_, done);
  }

  // 3 to 7 ms, so that they do not end in step.
  Duration some_work() {
    random_ = random_ * 6364136223846793005U + 1442695040888963407U;
    return Duration::micros(3'000 + static_cast<std::int64_t>(random_ >> 33) % 4'000);
  }

  // At most one look happens in a call of the gate.
  void note() {
    const detail::Knowledge& known = learner().knowledge;
    if (!recording_ || known.looks == told.size()) {
      return;
    }
    Told& now = told.emplace_back();
    for (std::uint32_t i = 0; i < seated.size(); ++i) {
      for (; noted_[i] != known.seen[i]; ++noted_[i]) {
        now.samples.push_back(ring(i).read(noted_[i]));
      }
    }
    now.view = known.view;
    now.limit = known.limiter.limit();
  }

  std::uint64_t random_ = 1;
  bool recording_ = false;
  std::array<std::uint64_t, kMaxParticipants> noted_{};
  // Apart, since while observing there is no end to those who wait.
  std::vector<Running> served_;
  std::deque<Running> waiting_;
};

TEST(Learn, ALimitIsFoundThatAServiceCanBear) {
  constexpr std::uint32_t kSlots = 20;
  Learning gate;
  EXPECT_EQ(gate.box.gate.snapshot().law, Law::automatic);
  EXPECT_TRUE(gate.box.gate.snapshot().searching);
  gate.overload(20'000, kSlots);
  EXPECT_GE(gate.box.gate.limit(), kSlots * 8 / 10);
  EXPECT_LE(gate.box.gate.limit(), kSlots * 2);
  EXPECT_FALSE(gate.box.gate.snapshot().searching);
  EXPECT_EQ(gate.events().size(),
            std::min<std::uint64_t>(gate.box.gate.snapshot().limit_events, LimitEvents::kKept));
  gate.end_all();
}

// The same calls give the same limits and the same events, bit for bit: `run` is what happens.
template <class Run>
void expect_it_can_be_done_again(Learning& gate, Run run) {
  gate.told.emplace_back();  // as the gate was made
  gate.told.back() = {
      .samples = {}, .view = gate.learner().knowledge.view, .limit = gate.box.gate.limit()};
  ASSERT_EQ(gate.learner().knowledge.looks, 1U);
  gate.record();
  Limiter again(gate.learner().knowledge.rules, gate.box.now);
  run();
  ASSERT_EQ(gate.told.size(), gate.learner().knowledge.looks);
  std::size_t samples = 0;
  for (const Learning::Told& told : gate.told) {
    for (const LimitSample& sample : told.samples) {
      again.take(sample);
    }
    samples += told.samples.size();
    again.look(told.view);
    ASSERT_EQ(again.limit(), told.limit);
  }
  EXPECT_EQ(samples, gate.learner().knowledge.view.ended);  // none was lost
  const Limiter& first = gate.learner().knowledge.limiter;
  ASSERT_EQ(again.events().count, first.events().count);
  EXPECT_GT(again.events().count, 5U);
  for (std::size_t i = 0; i < LimitEvents::kKept; ++i) {
    const LimitEvent& a = again.events().events[i];
    const LimitEvent& b = first.events().events[i];
    EXPECT_EQ(a.at, b.at);
    EXPECT_EQ(a.to, b.to);
    EXPECT_EQ(a.reason.cause, b.reason.cause);
    EXPECT_EQ(std::bit_cast<std::uint64_t>(a.reason.inputs.slope),
              std::bit_cast<std::uint64_t>(b.reason.inputs.slope));
    EXPECT_EQ(std::bit_cast<std::uint64_t>(a.reason.inputs.rate),
              std::bit_cast<std::uint64_t>(b.reason.inputs.rate));
    EXPECT_EQ(std::bit_cast<std::uint64_t>(a.reason.inputs.signal.value),
              std::bit_cast<std::uint64_t>(b.reason.inputs.signal.value));
  }
  gate.end_all();
}

TEST(Learn, WhatWasDoneCanBeDoneAgain) {
  Learning gate;
  expect_it_can_be_done_again(gate, [&] {
    gate.overload(3'000, 30);
    gate.overload(3'000, 9);  // more would be in vain
  });
}

TEST(Learn, WhatWasDoneWithReportsCanBeDoneAgain) {
  Policy policy = learning();
  add_signal(policy, "db_latency", 0.05);
  Learning gate(policy);
  expect_it_can_be_done_again(gate, [&] {
    for (int i = 0; i < 120; ++i) {
      gate.overload(100, 30);
      const double value = (i < 40 ? 0.001 : 0.005) * gate.box.gate.in_flight();
      ASSERT_TRUE(gate.box.gate.report("db_latency", value, gate.box.now));
    }
    // 10 in flight are what it bears: up to a step of the law, and what it rises by at least.
    EXPECT_GE(gate.box.gate.limit(), 8U);
    EXPECT_LE(gate.box.gate.limit(), 12U);
    EXPECT_THAT(gate.causes(), testing::Contains(LimitCause::pressed));
  });
}

TEST(Learn, SamplesComeFromEverySeat) {
  Learning gate;
  for (const Participant who : gate.seated) {
    gate.serve(who);
    gate.serve(who, Outcome::failure);
    gate.serve(who, Outcome::late);
  }
  EXPECT_EQ(gate.samples(), 12U);
  gate.tick();
  EXPECT_EQ(gate.learner().knowledge.view.ended, 12U);
  for (std::uint32_t i = 0; i < 4; ++i) {
    EXPECT_EQ(gate.learner().knowledge.seen[i], 3U);
  }
}

TEST(Learn, ASampleIsWhatHappened) {
  Learning gate(learning({1, 3}, 3));
  const Participant me = gate.seated[0];
  const Instant begin = gate.box.now;
  std::vector<Permit> all;
  for (int i = 0; i < 3; ++i) {
    all.push_back(std::move(gate.box.gate.offer(me, of_class(kCritical), begin).permit));
  }
  Offer waits = gate.box.gate.offer(me, of_class(kCritical), begin);
  ASSERT_EQ(waits.kind, Offer::Kind::wait);
  gate.box.pass(kWork);
  gate.box.gate.release(me, all[0], Outcome::late, gate.box.now);
  gate.box.gate.release(me, all[2], Outcome::failure, gate.box.now);
  std::vector<Settled> started = gate.box.collect(me);
  ASSERT_EQ(started.size(), 1U);
  gate.box.pass(kWork);
  gate.box.gate.release(me, started[0].permit, Outcome::success, gate.box.now);
  gate.box.gate.release(me, all[1], Outcome::success, gate.box.now);
  const auto& ring = gate.ring(0);
  ASSERT_EQ(ring.count.load(), 4U);
  const auto expect = [&](std::uint64_t at, Duration from, Duration until, Outcome outcome,
                          bool bound) {
    const LimitSample sample = ring.read(at);
    EXPECT_EQ((sample.started - begin).ns, from.ns) << at;
    EXPECT_EQ((sample.ended - begin).ns, until.ns) << at;
    EXPECT_EQ(sample.outcome, outcome) << at;
    EXPECT_EQ(sample.bound, bound) << at;
  };
  expect(0, {}, kWork, Outcome::late, false);
  expect(1, {}, kWork, Outcome::failure, true);             // it took the last slot
  expect(2, kWork, kWork + kWork, Outcome::success, true);  // it had waited for one
  expect(3, {}, kWork + kWork, Outcome::success, false);
}

// The place that it took, or waited for, was the last of its class's part of the limit.
TEST(Learn, WhoFillsAPartOfTheLimitIsNotBoundByIt) {
  Policy policy = learning({4, 4});
  policy.classes[kSheddable].share = 500;
  Learning gate(policy);
  const Participant me = gate.seated[0];
  std::vector<Permit> all;
  for (int i = 0; i < 2; ++i) {
    all.push_back(std::move(gate.box.gate.offer(me, of_class(kSheddable), gate.box.now).permit));
  }
  ASSERT_EQ(gate.box.gate.offer(me, of_class(kSheddable), gate.box.now).kind, Offer::Kind::wait);
  gate.box.pass(kWork);
  gate.box.gate.release(me, all[0], Outcome::success, gate.box.now);
  gate.box.gate.release(me, all[1], Outcome::success, gate.box.now);
  std::vector<Settled> started = gate.box.collect(me);
  ASSERT_EQ(started.size(), 1U);
  gate.box.pass(kWork);
  gate.box.gate.release(me, started[0].permit, Outcome::success, gate.box.now);
  const auto& ring = gate.ring(0);
  ASSERT_EQ(ring.count.load(), 3U);
  for (std::uint64_t at = 0; at < 3; ++at) {
    EXPECT_FALSE(ring.read(at).bound) << at;
  }
}

TEST(Learn, WhatSaysNothingIsNoSample) {
  Learning gate;
  const Participant me = gate.seated[0];
  gate.serve(me, Outcome::ignored);
  Request exempt = of_class(kCritical);
  exempt.exempt = true;
  gate.serve(me, Outcome::success, kWork, exempt);
  Request observed = of_class(kCritical);
  observed.observe = true;
  gate.serve(me, Outcome::success, kWork, observed);
  gate.box.gate.set_mode(Mode::observe, gate.box.now);
  gate.serve(me);
  gate.box.gate.set_mode(Mode::off, gate.box.now);
  gate.serve(me);
  EXPECT_EQ(gate.samples(), 0U);
}

// Those that say nothing have ended all the same: who counts what has begun needs them.
TEST(Learn, EndsAreCountedWithOrWithoutASample) {
  Learning gate;
  gate.serve(gate.seated[0], Outcome::ignored);
  gate.serve(gate.seated[1]);
  gate.tick();
  EXPECT_EQ(gate.learner().knowledge.view.ended, 2U);
}

// More in one go than a ring holds, and nobody has ticked: the newest of them count.
TEST(Learn, ARingThatOverflowsDoesNoHarm) {
  Learning gate(learning({1, 1000}, 6), 1);
  gate.tick();
  auto& ring = const_cast<detail::SampleRing<NativeSync>&>(gate.ring(0));
  const Instant began = gate.box.now;
  gate.box.pass(Duration::millis(100));
  for (int i = 0; i < 10'000; ++i) {
    ring.add({.started = began, .ended = gate.box.now});
  }
  gate.tick();
  EXPECT_EQ(gate.learner().knowledge.seen[0], 10'000U);
  EXPECT_EQ(gate.learner().knowledge.view.ended, 10'000U);
  EXPECT_GE(gate.box.gate.limit(), 1U);
}

TEST(Learn, WhileObservingTheLimitStays) {
  Learning gate;
  gate.overload(2'000, 20);
  gate.end_all();
  const std::uint32_t before = gate.box.gate.limit();
  const std::uint64_t events = gate.box.gate.snapshot().limit_events;
  gate.box.gate.set_mode(Mode::observe, gate.box.now);
  gate.overload(5'000, 3);
  gate.end_all();
  EXPECT_EQ(gate.box.gate.limit(), before);
  EXPECT_EQ(gate.box.gate.snapshot().limit_events, events);
  gate.box.gate.set_mode(Mode::on, gate.box.now);
  gate.tick();
  EXPECT_EQ(gate.causes().back(), LimitCause::disturbed);
}

TEST(Learn, ALimitThatIsSetByHandStaysUntilTheLawIsAskedAgain) {
  Learning gate;
  Signals signals;
  ASSERT_TRUE(gate.box.gate.set_limit(17, gate.box.now, signals));
  EXPECT_EQ(gate.box.gate.snapshot().law, Law::fixed);
  EXPECT_FALSE(gate.box.gate.snapshot().searching);
  gate.overload(1'000, 100);
  gate.end_all();
  EXPECT_EQ(gate.box.gate.limit(), 17U);
  ASSERT_TRUE(gate.box.gate.reconfigure(learning(), gate.box.now, signals));
  EXPECT_EQ(gate.box.gate.limit(), 17U);  // as good a beginning as any
  gate.tick();
  EXPECT_EQ(gate.box.gate.limit(), 17U);
  EXPECT_TRUE(gate.box.gate.snapshot().searching);
  gate.overload(10'000, 100);
  EXPECT_GT(gate.box.gate.limit(), 17U);
  gate.end_all();
}

TEST(Learn, ALawThatIsAskedAgainAtOnceBeginsWhereTheLimitStands) {
  Learning gate;
  gate.overload(5'000, 20);
  Signals signals;
  ASSERT_TRUE(gate.box.gate.set_limit(170, gate.box.now, signals));
  ASSERT_TRUE(gate.box.gate.reconfigure(learning(), gate.box.now, signals));
  EXPECT_EQ(gate.box.gate.limit(), 170U);
  gate.tick();
  EXPECT_EQ(gate.box.gate.limit(), 170U);
  EXPECT_EQ(gate.causes().back(), LimitCause::began);
  EXPECT_EQ(gate.events().back().from, 170U);
  EXPECT_EQ(gate.events().back().to, 170U);
  gate.end_all();
}

// A reload.
TEST(Learn, TheSamePolicyAgainChangesNothing) {
  Learning gate;
  gate.overload(5'000, 20);
  const std::uint32_t before = gate.box.gate.limit();
  const std::uint64_t events = gate.box.gate.snapshot().limit_events;
  Signals signals;
  Policy again = learning();
  again.seed = 7;  // where a host draws it anew each time
  again.limit = 9;
  ASSERT_TRUE(gate.box.gate.reconfigure(again, gate.box.now, signals));
  gate.box.pass(Duration::millis(1));
  gate.box.gate.tick(gate.box.now);
  EXPECT_EQ(gate.box.gate.limit(), before);
  EXPECT_EQ(gate.box.gate.snapshot().limit_events, events);
  gate.end_all();
}

TEST(Learn, OtherBoundsHoldAtOnce) {
  Learning gate;
  gate.overload(5'000, 20);
  const std::uint64_t events = gate.box.gate.snapshot().limit_events;
  Signals signals;
  ASSERT_TRUE(gate.box.gate.reconfigure(learning({2, 5}), gate.box.now, signals));
  EXPECT_EQ(gate.box.gate.limit(), 5U);
  gate.overload(5'000, 20);
  EXPECT_LE(gate.box.gate.limit(), 5U);
  EXPECT_GT(gate.box.gate.snapshot().limit_events, events);
  ASSERT_TRUE(gate.box.gate.reconfigure(learning({50, 60}), gate.box.now, signals));
  EXPECT_EQ(gate.box.gate.limit(), 50U);
  gate.overload(1'000, 20);
  EXPECT_GE(gate.box.gate.limit(), 50U);
  gate.end_all();
}

TEST(Learn, ABlockWithoutRoomForALawTakesNone) {
  GateBox box(policy_of(10));
  Signals signals;
  EXPECT_FALSE(box.gate.reconfigure(learning(), box.now, signals));
  EXPECT_EQ(box.gate.limit(), 10U);
  EXPECT_EQ(box.gate.snapshot().law, Law::fixed);
  std::uint64_t next = 0;
  std::array<LimitEvent, 4> out;
  EXPECT_EQ(box.gate.limit_events(next, out), 0U);
}

TEST(Learn, EventsAreNumberedThroughAllLaws) {
  Learning gate;
  ASSERT_EQ(gate.causes(), std::vector{LimitCause::began});
  std::array<LimitEvent, 3> out;
  std::uint64_t next = 0;
  ASSERT_EQ(gate.box.gate.limit_events(next, out), 1U);
  EXPECT_EQ(next, 1U);
  EXPECT_EQ(out[0].from, gate.box.gate.limit());  // there was none before
  EXPECT_EQ(out[0].to, gate.box.gate.limit());
  Signals signals;
  ASSERT_TRUE(gate.box.gate.set_limit(17, gate.box.now, signals));
  gate.tick();
  ASSERT_EQ(gate.box.gate.limit_events(next, out), 1U);
  EXPECT_EQ(out[0].to, 17U);
  EXPECT_EQ(gate.box.gate.limit_events(next, out), 0U);
}

TEST(Learn, EventsThatAreNoLongerKeptArePassedOver) {
  Learning gate;
  auto& log = gate.learner().log;
  for (std::uint32_t i = 1; i < 200; ++i) {
    log.add({.from = i, .to = i + 1});
  }
  const std::vector<LimitEvent> all = gate.events();
  ASSERT_EQ(all.size(), LimitEvents::kKept);
  EXPECT_EQ(all.front().from, 200 - LimitEvents::kKept);
  EXPECT_EQ(all.back().from, 199U);
}

// What a dead one held never ends, and while it keeps that, a full gate brings less than it could.
TEST(Learn, ADeathIsWaitedOutAndThenGivesUpWhatWasMeasured) {
  Policy policy = learning({1, 1000}, 8);
  policy.death_grace = Duration::millis(200);
  GateBox box(policy);
  const Participant me = box.attach(0);
  std::thread([&] {
    const Participant dying = box.gate.attach(1, box.now);
    Offer held = box.gate.offer(dying, of_class(kCritical), box.now);
    EXPECT_EQ(held.kind, Offer::Kind::admit);
  }).join();
  const auto& known = reinterpret_cast<detail::Learner<NativeSync>*>(
                          static_cast<std::byte*>(box.memory()) +
                          detail::learner_offset<NativeSync>(box.gate.capacity()))
                          ->knowledge;
  const auto pass = [&](int ticks) {
    for (int i = 0; i < ticks; ++i) {
      box.pass(kTick);
      Offer answer = box.gate.offer(me, of_class(kCritical), box.now);
      box.gate.tick(box.now);
      box.gate.release(me, answer.permit, Outcome::success, box.now + Duration::millis(1));
    }
  };
  const std::uint64_t looks = known.looks;
  pass(19);
  EXPECT_EQ(box.gate.snapshot().reclaimed, 0U);
  EXPECT_EQ(known.looks, looks);
  const std::uint64_t events = box.gate.snapshot().limit_events;
  pass(5);
  EXPECT_EQ(box.gate.snapshot().reclaimed, 1U);
  EXPECT_GT(known.looks, looks);
  std::uint64_t next = events;
  std::array<LimitEvent, 4> told;
  ASSERT_GE(box.gate.limit_events(next, told), 1U);
  EXPECT_EQ(told[0].reason.cause, LimitCause::disturbed);
  EXPECT_EQ(box.gate.limit(), 8U);
}

// Callers of several processes read their clocks before they come here.
TEST(Learn, TimesThatArriveOutOfOrderAreNoSetBack) {
  Learning gate;
  for (int i = 0; i < 100; ++i) {
    gate.tick();
    gate.serve(gate.seated[0]);
    gate.box.gate.tick(gate.box.now - Duration::millis(12));
  }
  EXPECT_EQ(gate.causes(), std::vector{LimitCause::began});
}

TEST(Learn, WhatOneWriterSaysReadersFindWholeOrNotAtAll) {
  auto log = std::make_unique<detail::EventLog<NativeSync>>();
  std::atomic<bool> done{false};
  std::thread writer([&] {
    for (std::uint32_t i = 0; i < 200'000; ++i) {
      log->add({.at = Instant{i}, .from = i, .to = i, .reason = {.inputs = {.low = i, .high = i}}});
    }
    done.store(true);
  });
  std::uint64_t read = 0;
  while (!done.load() || read == 0) {
    const std::uint64_t count = log->count.load();
    for (std::uint64_t n = count - std::min<std::uint64_t>(count, 64); n < count; ++n) {
      LimitEvent event;
      if (log->read(n, event)) {
        ++read;
        ASSERT_EQ(event.at.ns, static_cast<std::int64_t>(n));
        ASSERT_EQ(event.from, n);
        ASSERT_EQ(event.to, n);
        ASSERT_EQ(event.reason.inputs.low, n);
        ASSERT_EQ(event.reason.inputs.high, n);
      }
    }
  }
  writer.join();
}

}  // namespace
}  // namespace loadline::test
