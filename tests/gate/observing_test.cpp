// A gate that only observes: what it does to those who come, and what it keeps in mind of the gate
// that it would have been. How well it foretells is measured in tests/sim/observing_test.cpp.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "gate_box.h"

namespace loadline::test {
namespace {

constexpr auto kAdmit = Offer::Kind::admit;
constexpr Duration kWork = Duration::millis(50);

class Watched {
 public:
  explicit Watched(const Policy& policy) : box(policy), me(box.attach()) {
    box.gate.set_mode(Mode::observe, box.now);
  }

  Offer offer(std::uint8_t importance = kCritical) {
    return box.gate.offer(me, of_class(importance), box.now);
  }
  void offer_at_once(int count) {
    for (; count > 0; --count) {
      running.push_back(offer());
      ASSERT_EQ(running.back().kind, kAdmit);
    }
  }
  void end_all() {
    for (Offer& one : running) {
      box.gate.release(me, one.permit, Outcome::success, box.now);
    }
    running.clear();
  }
  // The service learns to be known: one request alone.
  void serve_one() {
    offer_at_once(1);
    box.pass(kWork);
    end_all();
  }
  [[nodiscard]] std::uint64_t foretold(Reason reason) const {
    std::uint64_t sum = 0;
    for (const Snapshot::Class& here : box.gate.snapshot().classes) {
      sum += here.observed[static_cast<std::size_t>(reason)];
    }
    return sum;
  }

  GateBox box;
  Participant me;
  std::vector<Offer> running;
};

TEST(Observing, CountsWhoWouldHaveWaitedInVainOnceThatTimeHasPassed) {
  Watched gate(policy_of(1, QueueSize::at_most(10), Duration::millis(20)));
  gate.serve_one();
  gate.offer_at_once(3);  // one would run for 50 ms, two would wait for 20
  EXPECT_EQ(gate.foretold(Reason::queue_timeout), 0U);
  gate.box.pass(Duration::millis(25));
  gate.box.gate.tick(gate.box.now);
  EXPECT_EQ(gate.foretold(Reason::queue_timeout), 2U);
}

// The service does them all at once, so that all are through when the first of two who would have
// waited would have started. A third would then have waited behind them.
TEST(Observing, KnowsWhoWouldStillBeThere) {
  Watched gate(policy_of(1, QueueSize::at_most(2), Duration::seconds(1)));
  gate.serve_one();
  gate.offer_at_once(4);
  EXPECT_EQ(gate.running.back().reason, Reason::queue_full);
  gate.box.pass(kWork);
  gate.end_all();
  EXPECT_EQ(gate.box.gate.in_flight(), 0U);
  gate.box.pass(Duration::millis(1));
  EXPECT_EQ(gate.offer().reason, Reason::none);
  EXPECT_EQ(gate.offer().reason, Reason::queue_full);
  gate.box.pass(kWork * 2);
  EXPECT_EQ(gate.offer().reason, Reason::none);
}

// Who began beside one too many, before anything was known of the service.
TEST(Observing, DoesNotTakeAServiceThatIsNotKnownForOneThatNeedsNoTime) {
  GateBox box(policy_of(1, QueueSize::at_most(2), Duration::millis(100)));
  const Participant me = box.attach();
  Offer enforced = box.gate.offer(me, of_class(kCritical), box.now);
  box.gate.set_mode(Mode::observe, box.now);
  std::vector<Offer> running;
  running.push_back(box.gate.offer(me, of_class(kCritical), box.now));
  box.gate.release(me, enforced.permit, Outcome::ignored, box.now);
  for (int i = 0; i < 2; ++i) {
    box.pass(Duration::millis(1));
    running.push_back(box.gate.offer(me, of_class(kCritical), box.now));
    EXPECT_EQ(running.back().reason, Reason::none);
  }
  EXPECT_EQ(box.gate.offer(me, of_class(kCritical), box.now).reason, Reason::queue_full);
}

TEST(Observing, FollowsAServiceThatStandsStill) {
  Watched gate(policy_of(2, QueueSize::none()));
  gate.serve_one();
  gate.offer_at_once(2);
  gate.box.pass(Duration::seconds(60));
  EXPECT_EQ(gate.offer().reason, Reason::limit);
}

TEST(Observing, HasTheMoreImportantDisplaceTheLess) {
  Watched gate(policy_of(1, QueueSize::at_most(1), Duration::seconds(1)));
  gate.running.push_back(gate.offer());
  gate.running.push_back(gate.offer(kSheddable));
  EXPECT_EQ(gate.offer(kCriticalPlus).reason, Reason::none);
  EXPECT_EQ(gate.foretold(Reason::displaced), 1U);
}

TEST(Observing, IsNotMisledByTheTimesOfACrowd) {
  Watched gate(policy_of(2, QueueSize::at_most(40), Duration::millis(100)));
  for (int i = 0; i < 30; ++i) {
    gate.serve_one();
  }
  // Workers that do two at a time take a second for the last of 40.
  gate.offer_at_once(40);
  for (int i = 0; i < 20; ++i) {
    gate.box.pass(kWork);
    for (int two = 0; two < 2; ++two) {
      gate.box.gate.release(gate.me, gate.running.front().permit, Outcome::success, gate.box.now);
      gate.running.erase(gate.running.begin());
    }
    gate.box.gate.tick(gate.box.now);
  }
  EXPECT_NEAR(static_cast<double>(gate.box.gate.snapshot().service_mean.ns),
              static_cast<double>(kWork.ns), 0.02 * static_cast<double>(kWork.ns));
}

TEST(Observing, BeginsAnewWhenTheModeChanges) {
  Watched gate(policy_of(1, QueueSize::at_most(2), Duration::seconds(1)));
  gate.offer_at_once(4);
  gate.end_all();
  gate.box.gate.set_mode(Mode::on, gate.box.now);
  Offer enforced = gate.offer();
  EXPECT_EQ(enforced.kind, kAdmit);
  gate.box.gate.set_mode(Mode::observe, gate.box.now);
  // What was admitted before counts as long as it runs.
  EXPECT_EQ(gate.offer().reason, Reason::none);
  EXPECT_EQ(gate.offer().reason, Reason::none);
  EXPECT_EQ(gate.offer().reason, Reason::queue_full);
}

TEST(Observing, OfSomeRequestsHasTheOthersInTheWay) {
  GateBox box(policy_of(2, QueueSize::none()));
  const Participant me = box.attach();
  const Offer enforced = box.gate.offer(me, of_class(kCritical), box.now);
  Request looked_at = of_class(kCritical);
  looked_at.observe = true;
  const Offer first = box.gate.offer(me, looked_at, box.now);
  EXPECT_EQ(first.reason, Reason::none);
  EXPECT_EQ(box.gate.offer(me, looked_at, box.now).reason, Reason::limit);
}

TEST(Observing, LosesNothingOfWhatASeatThatIsLeftHeld) {
  Watched gate(policy_of(2, QueueSize::none()));
  const Participant other = gate.box.gate.attach(1, gate.box.now);
  for (int i = 0; i < 3; ++i) {
    gate.box.gate.offer(other, of_class(kCritical), gate.box.now);
  }
  EXPECT_EQ(gate.foretold(Reason::limit), 1U);
  gate.box.gate.detach(other, gate.box.now);
  EXPECT_EQ(gate.offer().reason, Reason::none);
  EXPECT_EQ(gate.offer().reason, Reason::none);
  EXPECT_EQ(gate.offer().reason, Reason::limit);
}

// ---- Once it is enforced
// -------------------------------------------------------------------------

// Three times the limit, two thirds of which would have been turned away.
class Enforced : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kLimit = 10;

  void let_through(std::uint32_t units) {
    for (std::uint32_t sent = 0; sent < 3 * kLimit; sent += units) {
      gate.running.push_back(gate.box.gate.offer(gate.me, of_class(kCritical, units), now()));
      ASSERT_EQ(gate.running.back().kind, kAdmit);
    }
    ASSERT_EQ(gate.foretold(Reason::limit), 2 * kLimit / units);
  }
  void end_one() {
    gate.box.gate.release(gate.me, gate.running.back().permit, Outcome::success, now());
    gate.running.pop_back();
  }
  [[nodiscard]] std::uint32_t in_flight() const { return gate.box.gate.in_flight(); }
  [[nodiscard]] Instant now() const { return gate.box.now; }

  Watched gate{policy_of(kLimit, QueueSize::none())};
};

TEST_F(Enforced, AdmitsNobodyBeforeThoseLetThroughAreFewerThanItsLimit) {
  let_through(1);
  gate.box.gate.set_mode(Mode::on, now());
  std::uint64_t rejected = 0;
  for (std::uint32_t left = 3 * kLimit; left > 0; --left) {
    ASSERT_EQ(in_flight(), left);
    const bool room = left < kLimit;
    Offer next = gate.offer();
    ASSERT_EQ(next.kind, room ? kAdmit : Offer::Kind::reject) << left << " in flight";
    if (room) {
      gate.box.gate.release(gate.me, next.permit, Outcome::success, now());
    } else {
      EXPECT_EQ(next.reason, Reason::limit);
      ++rejected;
    }
    end_one();
  }
  EXPECT_EQ(in_flight(), 0U);
  EXPECT_EQ(rejected, 2 * kLimit + 1);
  const Snapshot all = gate.box.gate.snapshot();
  EXPECT_EQ(sums_of(all).admitted, 4 * kLimit - 1);
  EXPECT_EQ(sums_of(all).rejected, rejected);
}

// Somebody waits while one after another ends.
TEST_F(Enforced, HandsNothingOnThatIsAboveItsLimit) {
  let_through(1);
  Policy with_a_queue = policy_of(kLimit, QueueSize::at_most(100), Duration::seconds(60));
  Signals signals;
  ASSERT_TRUE(gate.box.gate.reconfigure(with_a_queue, now(), signals));
  gate.box.gate.set_mode(Mode::on, now());
  ASSERT_EQ(gate.offer().kind, Offer::Kind::wait);
  for (std::uint32_t left = 3 * kLimit; left > kLimit; --left) {
    EXPECT_TRUE(gate.box.collect(gate.me).empty()) << left << " in flight";
    end_one();
  }
  EXPECT_TRUE(gate.box.collect(gate.me).empty());
  EXPECT_EQ(in_flight(), kLimit);
  end_one();
  EXPECT_EQ(gate.box.collect(gate.me).size(), 1U);
  EXPECT_EQ(in_flight(), kLimit);
}

TEST_F(Enforced, CountsTheWeightOfThoseLetThrough) {
  let_through(5);
  EXPECT_EQ(in_flight(), 3 * kLimit);
  EXPECT_EQ(gate.box.gate.snapshot().heavy_in_flight, 3 * kLimit);
  gate.box.gate.set_mode(Mode::on, now());
  while (in_flight() > kLimit / 2) {
    EXPECT_EQ(gate.box.gate.offer(gate.me, of_class(kCritical, 5), now()).reason, Reason::limit);
    end_one();
  }
  Offer next = gate.box.gate.offer(gate.me, of_class(kCritical, 5), now());
  EXPECT_EQ(next.kind, kAdmit);
  gate.box.gate.release(gate.me, next.permit, Outcome::success, now());
  end_one();
  EXPECT_EQ(in_flight(), 0U);
  EXPECT_EQ(gate.box.gate.snapshot().heavy_in_flight, 0U);
}

TEST_F(Enforced, HasBackAllThatASeatWasLetThroughWith) {
  const Participant other = gate.box.attach(1);
  let_through(1);
  gate.running.push_back(gate.box.gate.offer(other, of_class(kCritical), now()));
  EXPECT_EQ(in_flight(), 3 * kLimit + 1);
  gate.box.gate.set_mode(Mode::on, now());
  gate.box.detach(gate.me);
  EXPECT_EQ(in_flight(), 1U);
  gate.box.gate.release(other, gate.running.back().permit, Outcome::success, now());
  EXPECT_EQ(in_flight(), 0U);
}

// Whoever is let through alone would take the places of those who are judged.
TEST(Observing, OfSomeRequestsTakesNoPlaceThatItWouldNotHaveHad) {
  GateBox box(policy_of(2, QueueSize::none()));
  const Participant me = box.attach();
  Request looked_at = of_class(kCritical);
  looked_at.observe = true;
  std::vector<Offer> running;
  for (int i = 0; i < 6; ++i) {
    running.push_back(box.gate.offer(me, looked_at, box.now));
    EXPECT_EQ(running.back().permit.cost(), i < 2 ? 1U : 0U);
  }
  EXPECT_EQ(box.gate.in_flight(), 2U);
  for (Offer& one : running) {
    box.gate.release(me, one.permit, Outcome::success, box.now);
  }
  EXPECT_EQ(box.gate.in_flight(), 0U);
}

// ---- When what ends
// ------------------------------------------------------------------------------

TEST(ShadowEnds, OneByItselfEndsWhenItDoes) {
  const Instant now{1'000'000'000'000};
  for (const std::int64_t ns : {0L, 1L, 20'000L, 999'999L, 50'000'000L, 3'600'000'000'000L}) {
    ShadowEnds ends;
    ends.add(now, now + Duration{ns}, {{3, 2}, {}});
    const ShadowEnds::Next next = ends.next(now);
    // A place in a slot is kept in 24 bits.
    EXPECT_LE(next.due, now + Duration{ns});
    EXPECT_GE(next.due, now + Duration{ns - ns / (1 << 18) - 1});
    const ShadowEnds::Ended ended = ends.take(next);
    EXPECT_EQ(ended.units.all, 3U);
    EXPECT_EQ(ended.units.heavy, 2U);
    EXPECT_EQ(ends.next(now).due, Instant::never());
  }
}

// Each within a sixteenth of its time, in order, and none lost.
TEST(ShadowEnds, ManyEndInOrderAndAboutWhenTheyDo) {
  Instant now{1'000'000'000'000};
  ShadowEnds ends;
  std::vector<std::int64_t> times;
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    times.push_back(static_cast<std::int64_t>(detail::split_mix(i) % 1'000'000'000));
    ends.add(now, now + Duration{times.back()}, {{1, 0}, {1, 7}});
  }
  std::sort(times.begin(), times.end());
  const Instant begin = now;
  std::size_t ended = 0;
  while (ended < times.size()) {
    const ShadowEnds::Next next = ends.next(now);
    ASSERT_GE(next.due, now);
    now = next.due;
    const ShadowEnds::Ended some = ends.take(next);
    ASSERT_EQ(some.services.ns, 7U * some.units.all);
    for (std::uint32_t i = 0; i < some.units.all; ++i, ++ended) {
      const std::int64_t time = times[ended];
      ASSERT_NEAR(static_cast<double>((now - begin).ns), static_cast<double>(time),
                  static_cast<double>(time) / 16 + 16'384);
    }
  }
  EXPECT_EQ(ends.next(now).due, Instant::never());
}

// ---- Times
// ---------------------------------------------------------------------------------------

double mean_drawn(ShadowTimes& times, std::uint32_t limit) {
  constexpr int kDraws = 4000;
  double sum = 0;
  for (int i = 0; i < kDraws; ++i) {
    sum += static_cast<double>(times.draw(0, limit, detail::split_mix(i)).time.ns);
  }
  return sum / kDraws;
}

TEST(ShadowTimes, AreThoseOfTheClassWhereThereAreAny) {
  ShadowTimes times;
  for (int i = 0; i < 100; ++i) {
    times.take(i % 2, {Duration::millis(i % 2 == 0 ? 10 : 30), true});
  }
  for (std::uint64_t i = 0; i < 100; ++i) {
    EXPECT_NEAR(static_cast<double>(times.draw(1, 10, i).time.ns), 30e6, 2e3);
    EXPECT_NEAR(static_cast<double>(times.draw(5, 10, i).time.ns), 20e6, 10e6 + 2e3);
  }
}

// The few that were seen without a crowd took 40 ms. Ten workers that have been busy throughout and
// have done 8,000 in 50 s take 62.5 ms for each (limit / throughput); what those took is their
// queue.
TEST(ShadowTimes, OfABusyServiceFollowItsThroughput) {
  ShadowTimes times;
  for (int i = 0; i < 50; ++i) {
    times.take(0, {Duration::millis(40), true});
  }
  times.crowded_for(Duration::seconds(50));
  for (int i = 0; i < 8000; ++i) {
    times.take_of_crowd(Duration::seconds(3));
  }
  EXPECT_NEAR(mean_drawn(times, 10), 62.5e6, 0.01 * 62.5e6);
}

// The same crowd, of a service that it does not make slow: 480 run at a time.
TEST(ShadowTimes, OfACrowdThatSlowsNobodyAreItsOwn) {
  ShadowTimes times;
  for (int i = 0; i < 50; ++i) {
    times.take(0, {Duration::seconds(2), true});
  }
  times.crowded_for(Duration::seconds(50));
  for (int i = 0; i < 8000; ++i) {
    times.take_of_crowd(Duration::seconds(3));
  }
  EXPECT_NEAR(mean_drawn(times, 10), 3e9, 0.01 * 3e9);
}

}  // namespace
}  // namespace loadline::test
