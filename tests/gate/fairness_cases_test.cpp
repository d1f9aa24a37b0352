// Probes that were shed, priorities that were claimed, tenants that drowned others, and reloads and
// clocks that upset everything, in other people's servers: what was reported, scaled down, and what
// must come out.
//
// Where each case is held:
//
//   shedding fails health probes, the rest fall over    here, HealthProbes..., ProbesAreNoWayIn
//   callers raise their own priority                    here, WhoeverIsNotTrusted...; what is
//   trusted
//                                                       is the hosts' affair
//   CORS preflights are shed                            the hosts
//   a loud tenant makes a quiet one fail equally        here, AQuietTenant...
//   a client-chosen value as a label                    here, AMillionKeys...; names of tenants:
//                                                       tenants_test.cpp
//   a reload zeroes what is in flight                   here, AReload...
//   a clock set back, or to and fro                     here, AClock...
//   load tools that stop measuring                      the simulator's and the command's tests
#include <gtest/gtest.h>

#include "gate_box.h"
#include "shop.h"

namespace loadline::test {
namespace {

using enum Offer::Kind;

Request with_key(std::uint64_t key) {
  Request request = of_class(kCritical);
  request.quota = key;
  return request;
}

// One of ten nodes: 100 a second, of 120 that come, and a probe every five seconds. What is lost is
// 1 - 100/120.
TEST(FairnessCases, HealthProbesAreServedWhileASixthOfTheRestIsShed) {
  Shop shop(policy_of(10, QueueSize::at_most(20)));
  Request probe = of_class(kCritical);
  probe.exempt = true;
  const auto traffic = shop.expect(
      {.per_second = 120, .service = Duration::millis(100), .request = of_class(kCritical)});
  const auto probes =
      shop.expect({.per_second = 0.2, .service = Duration::millis(1), .request = probe});
  shop.run(Duration::seconds(600));
  EXPECT_EQ(shop.outcome(probes).sent_away, 0U);
  EXPECT_GT(shop.outcome(probes).served, 60U);
  EXPECT_NEAR(shop.outcome(traffic).share_served(), 100.0 / 120, 0.02);
}

TEST(FairnessCases, ProbesAreNoWayIn) {
  Policy policy = policy_of(1, QueueSize::none());
  policy.exempt = 10;
  GateBox box(policy);
  const Participant me = box.attach();
  Request probe = of_class(kCritical);
  probe.exempt = true;
  int admitted = 0;
  for (int i = 0; i < 1'000; ++i) {
    admitted += box.gate.offer(me, probe, box.now).kind == admit;
  }
  EXPECT_EQ(admitted, 10);
}

// Capacity 100 a second. 200 of a peer that is not trusted, and so is in the class of the edge,
// whatever it claims; 50 of the truly critical.
TEST(FairnessCases, WhoeverIsNotTrustedTakesNothingFromTheCritical) {
  Shop shop(policy_of(10, QueueSize::at_most(30), Duration::millis(300)));
  const auto critical = shop.expect(
      {.per_second = 50, .service = Duration::millis(100), .request = of_class(kCriticalPlus)});
  const auto edge = shop.expect(
      {.per_second = 200, .service = Duration::millis(100), .request = of_class(kSheddable)});
  shop.run(Duration::seconds(300));
  EXPECT_EQ(shop.outcome(critical).sent_away, 0U);
  EXPECT_NEAR(static_cast<double>(shop.outcome(edge).served) / 300, 50, 2);
}

// Capacity 500 a second; one tenant asks 900, the other 100.
TEST(FairnessCases, AQuietTenantLosesNothingBesideALoudOne) {
  Policy policy = policy_of(5, QueueSize::at_most(50));
  policy.tenants = 1024;
  Shop shop(policy);
  Request request = of_class(kCritical);
  request.tenant = hash_key("loud");
  const auto loud =
      shop.expect({.per_second = 900, .service = Duration::millis(10), .request = request});
  request.tenant = hash_key("quiet");
  const auto quiet =
      shop.expect({.per_second = 100, .service = Duration::millis(10), .request = request});
  shop.run(Duration::seconds(60));
  EXPECT_EQ(shop.outcome(quiet).sent_away, 0U);
  EXPECT_NEAR(static_cast<double>(shop.outcome(loud).served) / 60, 400, 8);
}

TEST(FairnessCases, BlindToTenantsBothLoseHalf) {
  Shop shop(policy_of(5, QueueSize::at_most(50)));
  const auto loud = shop.expect(
      {.per_second = 900, .service = Duration::millis(10), .request = of_class(kCritical)});
  const auto quiet = shop.expect(
      {.per_second = 100, .service = Duration::millis(10), .request = of_class(kCritical)});
  shop.run(Duration::seconds(60));
  EXPECT_NEAR(shop.outcome(loud).share_served(), 0.5, 0.02);
  EXPECT_NEAR(shop.outcome(quiet).share_served(), 0.5, 0.05);
}

TEST(FairnessCases, AMillionKeysTakeNoMoreMemoryAndNoneIsRefusedThatAsksOnce) {
  Policy policy = policy_of(10, QueueSize::none());
  policy.quota = {.requests = 10, .per = Duration::seconds(1), .burst = 1, .keys = 10'000};
  GateBox box(policy);
  EXPECT_LE(box.bytes(), 512U * 1024);
  const Participant me = box.attach();
  const std::uint64_t greedy = hash_key("greedy");
  int admitted_of_greedy = 0;
  for (std::uint64_t i = 0; i < 1'000'000; ++i) {
    box.pass(Duration::micros(100));
    Offer answer = box.gate.offer(me, with_key(hash_key(std::to_string(i))), box.now);
    ASSERT_EQ(answer.kind, admit);
    box.gate.release(me, answer.permit, Outcome::success, box.now);
    if (i % 100 == 0) {  // 100 a second, of 10 that it may
      Offer of_greedy = box.gate.offer(me, with_key(greedy), box.now);
      admitted_of_greedy += of_greedy.kind == admit;
      box.gate.release(me, of_greedy.permit, Outcome::success, box.now);
    }
  }
  // 100 s at 10 a second: whoever is busy is not forgotten for the others' sake.
  EXPECT_NEAR(admitted_of_greedy, 1'000, 10);
}

TEST(FairnessCases, AReloadKeepsWhatIsInFlightAndWhatWasLearned) {
  const Policy policy = policy_of(100, QueueSize::none());
  GateBox box(policy);
  const Participant me = box.attach();
  for (int i = 0; i < 30; ++i) {
    Offer answer = box.gate.offer(me, of_class(kCritical), box.now);
    box.pass(Duration::millis(20));
    box.gate.release(me, answer.permit, Outcome::success, box.now);
  }
  box.gate.tick(box.now);
  ASSERT_EQ(box.gate.snapshot().service_mean, Duration::millis(20));
  for (int i = 0; i < 80; ++i) {
    ASSERT_EQ(box.gate.offer(me, of_class(kCritical), box.now).kind, admit);
  }
  // The new generation opens the block that it finds, and puts its rules in.
  Gate again;
  ASSERT_EQ(Gate::open(box.memory(), box.bytes(), again), Gate::OpenError::none);
  Signals signals;
  ASSERT_TRUE(again.reconfigure(policy, box.now, signals));
  const Participant newcomer = again.attach(1, box.now);
  int admitted = 0;
  int refused = 0;
  for (int i = 0; i < 100; ++i) {
    const Offer answer = again.offer(newcomer, of_class(kCritical), box.now);
    admitted += answer.kind == admit;
    refused += answer.kind == reject;
  }
  EXPECT_EQ(admitted, 20);
  EXPECT_EQ(refused, 80);
  EXPECT_EQ(again.snapshot().service_mean, Duration::millis(20));
  again.detach(newcomer, box.now);
}

// Ten a second, one at once.
Policy one_each_100_ms() {
  Policy policy = policy_of(100'000, QueueSize::none());
  policy.quota = {.requests = 10, .per = Duration::seconds(1), .burst = 1, .keys = 10};
  return policy;
}

// A steady clock knows nothing of a wall clock that is set back by hours.
TEST(FairnessCases, AClockThatIsSteadyAdmitsTheNextAfter100Ms) {
  GateBox box(one_each_100_ms());
  const Participant me = box.attach();
  ASSERT_EQ(box.gate.offer(me, with_key(7), box.now).kind, admit);
  box.pass(Duration::millis(99));
  EXPECT_EQ(box.gate.offer(me, with_key(7), box.now).reason, Reason::quota);
  box.pass(Duration::millis(1));
  EXPECT_EQ(box.gate.offer(me, with_key(7), box.now).kind, admit);
}

TEST(FairnessCases, AClockThatGoesToAndFroEarnsNoFreeRequests) {
  for (const Duration step : {Duration{}, Duration::millis(1), Duration::millis(10)}) {
    GateBox box(one_each_100_ms());
    const Participant me = box.attach();
    const Instant began = box.now;
    int admitted = 0;
    for (int i = 0; i < 1'000; ++i) {
      admitted += box.gate.offer(me, with_key(7), box.now).kind == admit;
      admitted += box.gate.offer(me, with_key(7), box.now - Duration::seconds(10)).kind == admit;
      box.pass(step);
    }
    const double seconds = static_cast<double>((box.now - began).ns) / 1e9;
    EXPECT_LE(admitted, 1 + 10 * seconds);
    EXPECT_GE(admitted, 10 * seconds);
  }
}

TEST(FairnessCases, AClockThatGoesToAndFroLosesNoSlot) {
  GateBox box(policy_of(2));
  const Participant me = box.attach();
  std::vector<Permit> running;
  for (int i = 0; i < 1'000; ++i) {
    const Instant now = i % 2 == 0 ? box.now : box.now - Duration::seconds(10);
    Offer answer = box.gate.offer(me, of_class(kCritical), now);
    if (answer.kind == admit) {
      running.push_back(std::move(answer.permit));
    }
    box.gate.tick(now);
    if (i % 3 == 0) {
      for (Permit& permit : running) {
        box.gate.release(me, permit, Outcome::success, now);
      }
      running.clear();
    }
    for (Settled& settled : box.collect(me)) {
      if (settled.kind == Settled::Kind::admit) {
        running.push_back(std::move(settled.permit));
      }
    }
    ASSERT_EQ(box.gate.in_flight(), running.size());
    ASSERT_LE(running.size(), 2U);
    box.pass(Duration::millis(1));
  }
}

}  // namespace
}  // namespace loadline::test
