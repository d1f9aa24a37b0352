// Fair shares among tenants. The shares expected are max-min: who asks for less than an equal share
// gets it all, and what is left is shared equally by the others.
#include <gtest/gtest.h>

#include <deque>

#include "gate_box.h"
#include "shop.h"

namespace loadline::test {
namespace {

using enum Offer::Kind;

Policy with_tenants(std::uint32_t limit, std::uint32_t queue = 100) {
  Policy policy = policy_of(limit, QueueSize::at_most(queue));
  policy.tenants = 1024;
  return policy;
}

Request of_tenant(std::uint64_t tenant, std::uint32_t cost = 1) {
  Request request = of_class(kCritical, cost);
  request.tenant = tenant;
  return request;
}

const std::uint64_t kAnn = hash_key("ann");
const std::uint64_t kBob = hash_key("bob");
const std::uint64_t kCid = hash_key("cid");

Shop::Visitors visitors(double per_second, std::uint64_t tenant,
                        Duration service = Duration::millis(10)) {
  return {.per_second = per_second, .service = service, .request = of_tenant(tenant)};
}

// ---- Shares
// --------------------------------------------------------------------------------------

// Capacity 10, demands 2, 2.6, 4 and 5, in hundreds a second.
TEST(Tenants, HaveTheirMaxMinShares) {
  Shop shop(with_tenants(10));
  const double demands[] = {200, 260, 400, 500};
  const double shares[] = {200, 260, 270, 270};
  for (std::size_t i = 0; i < 4; ++i) {
    shop.expect(visitors(demands[i], hash_key("tenant " + std::to_string(i))));
  }
  shop.run(Duration::seconds(2));
  shop.forget_outcomes();
  shop.run(Duration::seconds(30));
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(static_cast<double>(shop.outcome(i).served) / 30, shares[i], shares[i] * 0.03)
        << "demand " << demands[i];
  }
}

// Ten times the cost, and as much work asked for: as much work done.
TEST(Tenants, ShareWorkAndNotRequests) {
  Shop shop(with_tenants(4));
  const auto dear = shop.expect(visitors(100, kAnn, Duration::millis(50)));
  const auto cheap = shop.expect(visitors(1000, kBob, Duration::millis(5)));
  shop.run(Duration::seconds(5));
  shop.forget_outcomes();
  shop.run(Duration::seconds(30));
  // Two of the four slots each.
  EXPECT_NEAR(static_cast<double>(shop.outcome(dear).served) / 30, 40, 4);
  EXPECT_NEAR(static_cast<double>(shop.outcome(cheap).served) / 30, 400, 40);
}

TEST(Tenants, OfAGroupAreServedAsSoManyHoweverManyNamesTheyUse) {
  Policy policy = with_tenants(5);
  ASSERT_TRUE(add_group(policy, "crowd", 2));
  Shop shop(policy);
  Shop::Visitors crowd{.per_second = 900, .service = Duration::millis(10), .names = 50};
  crowd.request.importance = kCritical;
  crowd.request.group = 0;
  const auto many = shop.expect(crowd);
  const auto ann = shop.expect(visitors(400, kAnn));
  const auto bob = shop.expect(visitors(400, kBob));
  shop.run(Duration::seconds(2));
  shop.forget_outcomes();
  shop.run(Duration::seconds(30));
  // 500 a second for four: the group, which counts as two, and one each.
  EXPECT_NEAR(static_cast<double>(shop.outcome(many).served) / 30, 250, 12);
  EXPECT_NEAR(static_cast<double>(shop.outcome(ann).served) / 30, 125, 6);
  EXPECT_NEAR(static_cast<double>(shop.outcome(bob).served) / 30, 125, 6);
}

// Under a new name each time nobody knows beforehand what they cost; their group pays afterwards.
TEST(Tenants, OfAGroupPayForWhatTheirRequestsCostUnderNewNamesToo) {
  Policy policy = with_tenants(4);
  ASSERT_TRUE(add_group(policy, "crowd", 1));
  Shop shop(policy);
  Shop::Visitors crowd{.per_second = 100, .service = Duration::millis(50), .names = 1'000'000'000};
  crowd.request.importance = kCritical;
  crowd.request.group = 0;
  const auto dear = shop.expect(crowd);
  const auto cheap = shop.expect(visitors(1000, kBob, Duration::millis(5)));
  shop.run(Duration::seconds(5));
  shop.forget_outcomes();
  shop.run(Duration::seconds(30));
  EXPECT_NEAR(static_cast<double>(shop.outcome(dear).served) / 30, 40, 4);
  EXPECT_NEAR(static_cast<double>(shop.outcome(cheap).served) / 30, 400, 40);
}

TEST(Tenants, OfOneClassSayNothingAboutAnother) {
  GateBox box(with_tenants(1));
  const Participant me = box.attach();
  Offer running = box.gate.offer(me, of_tenant(kAnn), box.now);
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(box.gate.offer(me, of_tenant(kAnn), box.now).kind, wait);
  }
  Request lesser = of_tenant(kAnn);
  lesser.importance = kSheddable;
  const Offer first = box.gate.offer(me, lesser, box.now);
  lesser.tenant = kBob;
  ASSERT_EQ(box.gate.offer(me, lesser, box.now).kind, wait);
  Permit permit = std::move(running.permit);
  for (int i = 0; i < 6; ++i) {
    box.gate.release(me, permit, Outcome::success, box.now);
    auto started = box.collect(me);
    ASSERT_EQ(started.size(), 1U);
    permit = std::move(started[0].permit);
    if (i == 5) {
      EXPECT_EQ(started[0].ticket, first.ticket);
    }
  }
}

// ---- Turns
// ---------------------------------------------------------------------------------------

TEST(Tenants, WhoAsksLittleDoesNotWaitForWhoAsksMuch) {
  GateBox box(with_tenants(1));
  const Participant me = box.attach();
  Offer running = box.gate.offer(me, of_tenant(kAnn), box.now);
  const Offer ann = box.gate.offer(me, of_tenant(kAnn), box.now);
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(box.gate.offer(me, of_tenant(kAnn), box.now).kind, wait);
  }
  const Offer bob = box.gate.offer(me, of_tenant(kBob), box.now);
  box.gate.release(me, running.permit, Outcome::success, box.now);
  auto first = box.collect(me);
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(first[0].ticket, ann.ticket);
  box.gate.release(me, first[0].permit, Outcome::success, box.now);
  auto second = box.collect(me);
  ASSERT_EQ(second.size(), 1U);
  EXPECT_EQ(second[0].ticket, bob.ticket);
}

TEST(Tenants, WhoNeverStartedIsNotCharged) {
  GateBox box(with_tenants(1));
  const Participant me = box.attach();
  Offer running = box.gate.offer(me, of_tenant(kCid), box.now);
  ASSERT_EQ(box.gate.offer(me, of_tenant(kCid), box.now).kind, wait);  // keeps the round
  for (int i = 0; i < 20; ++i) {
    const Offer given_up = box.gate.offer(me, of_tenant(kAnn), box.now);
    ASSERT_EQ(given_up.kind, wait);
    box.gate.cancel(me, given_up.ticket, box.now);
  }
  const Offer ann = box.gate.offer(me, of_tenant(kAnn), box.now);
  ASSERT_EQ(box.gate.offer(me, of_tenant(kBob), box.now).kind, wait);
  box.gate.release(me, running.permit, Outcome::success, box.now);
  auto cid = box.collect(me);
  box.gate.release(me, cid.at(0).permit, Outcome::success, box.now);
  auto next = box.collect(me);
  ASSERT_EQ(next.size(), 1U);
  EXPECT_EQ(next[0].ticket, ann.ticket);
}

// A heavy one stays behind while light ones pass it, and rounds go by. Who comes later comes later.
TEST(Tenants, AHeavyRequestThatWasLeftBehindIsNotPassedByAYoungerOne) {
  Policy policy = with_tenants(4);
  policy.heavy_share = 500;
  GateBox box(policy);
  const Participant me = box.attach();
  Offer heavy = box.gate.offer(me, of_tenant(kCid, 2), box.now);
  std::deque<Permit> light;
  for (int i = 0; i < 2; ++i) {
    light.push_back(box.gate.offer(me, of_tenant(kCid), box.now).permit);
  }
  const Offer older = box.gate.offer(me, of_tenant(kAnn, 2), box.now);
  ASSERT_EQ(older.kind, wait);
  for (int i = 0; i < 4; ++i) {
    ASSERT_EQ(box.gate.offer(me, of_tenant(kBob), box.now).kind, wait);
  }
  for (int i = 0; i < 3; ++i) {
    box.gate.release(me, light.front(), Outcome::success, box.now);
    light.pop_front();
    light.push_back(std::move(box.collect(me).at(0).permit));
  }
  const Offer younger = box.gate.offer(me, of_tenant(hash_key("dan"), 2), box.now);
  ASSERT_EQ(younger.kind, wait);
  while (box.gate.snapshot().classes[kCritical].waiting > 2) {
    box.gate.release(me, light.front(), Outcome::success, box.now);
    light.pop_front();
    light.push_back(std::move(box.collect(me).at(0).permit));
  }
  box.gate.release(me, heavy.permit, Outcome::success, box.now);
  const auto started = box.collect(me);
  ASSERT_EQ(started.size(), 1U);
  EXPECT_EQ(started[0].ticket, older.ticket);
}

// ---- Who gives way
// -------------------------------------------------------------------------------

TEST(Tenants, TheGreedyOneGivesWayFirst) {
  GateBox box(with_tenants(1, 4));
  const Participant me = box.attach();
  ASSERT_EQ(box.gate.offer(me, of_tenant(kAnn), box.now).kind, admit);
  std::vector<Offer> ann;
  for (int i = 0; i < 3; ++i) {
    ann.push_back(box.gate.offer(me, of_tenant(kAnn), box.now));
  }
  ASSERT_EQ(box.gate.offer(me, of_tenant(kBob), box.now).kind, wait);
  EXPECT_EQ(box.gate.offer(me, of_tenant(kCid), box.now).kind, wait);
  const auto gone = box.collect(me);
  ASSERT_EQ(gone.size(), 1U);
  EXPECT_EQ(gone[0].ticket, ann[2].ticket);
  EXPECT_EQ(gone[0].reason, Reason::displaced);
}

TEST(Tenants, WhoHasTooMuchWaitingIsToldThatItIsItsShare) {
  GateBox box(with_tenants(1, 4));
  const Participant me = box.attach();
  ASSERT_EQ(box.gate.offer(me, of_tenant(kAnn), box.now).kind, admit);
  for (int i = 0; i < 4; ++i) {
    ASSERT_EQ(box.gate.offer(me, of_tenant(kAnn), box.now).kind, wait);
  }
  EXPECT_EQ(box.gate.offer(me, of_tenant(kAnn), box.now).reason, Reason::tenant_share);
}

// All have one waiting each: nobody has more than the newcomer would have.
TEST(Tenants, EqualsDoNotDisplaceOneAnother) {
  GateBox box(with_tenants(1, 4));
  const Participant me = box.attach();
  ASSERT_EQ(box.gate.offer(me, of_tenant(hash_key("0")), box.now).kind, admit);
  for (int i = 1; i <= 4; ++i) {
    ASSERT_EQ(box.gate.offer(me, of_tenant(hash_key(std::to_string(i))), box.now).kind, wait);
  }
  for (int i = 5; i < 20; ++i) {
    const Offer late = box.gate.offer(me, of_tenant(hash_key(std::to_string(i))), box.now);
    EXPECT_EQ(late.reason, Reason::queue_full);
  }
  EXPECT_TRUE(box.collect(me).empty());
}

// A debt is a later turn than others'. Where nobody else waits there is nothing to be later than.
TEST(Tenants, WhoIsAloneWaitsWhateverItOwes) {
  Policy policy = with_tenants(8);
  policy.wait_budget = Duration::seconds(2);
  GateBox box(policy);
  const Participant me = box.attach();
  for (int i = 0; i < 200; ++i) {  // 10 ms is the usual
    Offer quick = box.gate.offer(me, of_tenant(kBob), box.now);
    box.pass(Duration::millis(10));
    box.gate.release(me, quick.permit, Outcome::success, box.now);
    box.gate.tick(box.now);
  }
  // Eight of a tenant, known to be quick, start from the queue and take a second each.
  std::vector<Offer> first;
  for (int i = 0; i < 8; ++i) {
    first.push_back(box.gate.offer(me, of_tenant(kBob), box.now));
    ASSERT_EQ(first.back().kind, admit);
  }
  for (int i = 0; i < 8; ++i) {
    ASSERT_EQ(box.gate.offer(me, of_tenant(kBob), box.now).kind, wait);
  }
  for (Offer& quick : first) {
    box.gate.release(me, quick.permit, Outcome::failure, box.now);
  }
  auto slow = box.collect(me);
  ASSERT_EQ(slow.size(), 8U);
  box.pass(Duration::seconds(1));
  for (Settled& one : slow) {
    box.gate.release(me, one.permit, Outcome::success, box.now);
  }
  for (int i = 0; i < 8; ++i) {
    ASSERT_EQ(box.gate.offer(me, of_tenant(kAnn), box.now).kind, admit);
  }
  EXPECT_EQ(box.gate.offer(me, of_tenant(kBob), box.now).kind, wait);
}

// ---- Many names
// ----------------------------------------------------------------------------------

TEST(Tenants, AMillionNamesTakeNoMoreMemoryThanOne) {
  GateBox box(with_tenants(10, 100));
  const Participant me = box.attach();
  std::vector<Permit> running;
  for (std::uint64_t i = 1; i <= 1'000'000; ++i) {
    box.pass(Duration::micros(100));
    Offer answer = box.gate.offer(me, of_tenant(hash_key(std::to_string(i))), box.now);
    if (answer.kind == admit) {
      running.push_back(std::move(answer.permit));
    }
    if (i % 10 == 0) {
      for (Permit& permit : running) {
        box.gate.release(me, permit, Outcome::success, box.now);
      }
      running.clear();
      for (Settled& settled : box.collect(me)) {
        if (settled.kind == Settled::Kind::admit) {
          running.push_back(std::move(settled.permit));
        }
      }
      box.gate.tick(box.now);
    }
  }
  const Snapshot all = box.gate.snapshot();
  EXPECT_EQ(all.corruptions, 0U);
  EXPECT_EQ(all.repairs, 0U);
  EXPECT_LE(all.in_flight, 10U);
}

}  // namespace
}  // namespace loadline::test
