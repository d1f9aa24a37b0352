// The block that a gate lies in: how large it is, and what its rules may change into.
#include <gtest/gtest.h>

#include "gate_box.h"

namespace loadline::test {
namespace {

// No exception crosses a gate: it is held by C programs, and by those who are in a section.
using Settleds = std::span<Settled>;
#define IS_NOEXCEPT(call) static_assert(noexcept(call))
IS_NOEXCEPT(std::declval<Gate&>().offer({}, Request{}, Instant{}));
IS_NOEXCEPT(std::declval<Gate&>().release({}, std::declval<Permit&>(), Outcome{}, Instant{}));
IS_NOEXCEPT(std::declval<Gate&>().cancel({}, {}, Instant{}));
IS_NOEXCEPT(std::declval<Gate&>().settle({}, {}, Instant{}, std::declval<Signals&>()));
IS_NOEXCEPT(std::declval<Gate&>().collect({}, Settleds{}, Instant{}, std::declval<Signals&>()));
IS_NOEXCEPT(std::declval<Gate&>().tick(Instant{}));
IS_NOEXCEPT(std::declval<Gate&>().attach(0, Instant{}));
IS_NOEXCEPT(std::declval<Gate&>().detach({}, Instant{}));
IS_NOEXCEPT(std::declval<Gate&>().set_limit(1, Instant{}, std::declval<Signals&>()));
IS_NOEXCEPT(std::declval<Gate&>().set_mode({}, Instant{}));
IS_NOEXCEPT(std::declval<Gate&>().set_draining(true, Instant{}));
IS_NOEXCEPT(std::declval<Gate&>().reconfigure(std::declval<const Policy&>(), Instant{},
                                              std::declval<Signals&>()));
IS_NOEXCEPT(std::declval<const Gate&>().snapshot());
IS_NOEXCEPT(std::declval<const Gate&>().limit());
IS_NOEXCEPT(std::declval<const Gate&>().in_flight());
IS_NOEXCEPT(Gate::bytes_for({}));
IS_NOEXCEPT(Gate::tickets_that_fit(0, {}));
IS_NOEXCEPT(Gate::create(nullptr, 0, {}, std::declval<const Policy&>(), Instant{},
                         std::declval<Gate&>()));
IS_NOEXCEPT(Gate::open(nullptr, 0, std::declval<Gate&>()));
IS_NOEXCEPT(validate(std::declval<const Policy&>()));
IS_NOEXCEPT(fill_defaults(std::declval<Policy&>()));
#undef IS_NOEXCEPT
static_assert(std::is_nothrow_move_constructible_v<Offer>);
static_assert(std::is_nothrow_move_assignable_v<Settled>);
static_assert(!std::is_copy_constructible_v<Permit>);

constexpr std::size_t kKiB = 1024;

Capacity of_a_thousand_waiting() {
  return {kMaxParticipants, 1000 + Capacity::kSpareTickets};
}

TEST(Block, OfAThousandRunningAndAThousandWaitingTakesAtMost256KiB) {
  EXPECT_LE(Gate::bytes_for(of_a_thousand_waiting()), 256 * kKiB);
}

TEST(Block, WithTenThousandTenantsTakesAtMostAMebibyte) {
  Policy policy = policy_of(1000, QueueSize::at_most(1000));
  policy.tenants = 10'000;
  EXPECT_LE(Gate::bytes_for(of_a_thousand_waiting().for_tables(policy)), 1024 * kKiB);
}

TEST(Block, TheLimitCostsNothing) {
  for (const std::uint32_t limit : {1U, kMaxLimit}) {
    GateBox box(policy_of(limit));
    EXPECT_EQ(box.bytes(), Gate::bytes_for(box.gate.capacity()));
  }
}

TEST(Block, TheTicketsThatFitAreThoseWhoseBlockFits) {
  Policy policy = policy_of(10);
  policy.tenants = 1000;
  policy.quota.requests = 1;
  for (const Capacity beside :
       {Capacity{1, 0}, Capacity{64, 0}, Capacity{4, 0}.for_tables(policy)}) {
    for (const std::size_t bytes : {64 * kKiB, 300 * kKiB, 4096 * kKiB, 65'536 * kKiB}) {
      Capacity fits = beside;
      fits.tickets = Gate::tickets_that_fit(bytes, beside);
      if (fits.tickets == 0) {
        fits.tickets = Capacity::kSpareTickets + 1;
        EXPECT_GT(Gate::bytes_for(fits), bytes);
        continue;
      }
      EXPECT_LE(Gate::bytes_for(fits), bytes);
      ++fits.tickets;
      EXPECT_TRUE(Gate::bytes_for(fits) > bytes || !fits.sound());
    }
  }
}

TEST(Rules, ThatTheBlockHasNoRoomForAreRefused) {
  GateBox box(policy_of(10, QueueSize::at_most(10)), 4, Capacity::kSpareTickets + 20);
  Signals signals;
  EXPECT_TRUE(box.gate.reconfigure(policy_of(10, QueueSize::at_most(20)), box.now, signals));
  EXPECT_FALSE(box.gate.reconfigure(policy_of(10, QueueSize::at_most(21)), box.now, signals));
  EXPECT_FALSE(box.gate.reconfigure(policy_of(0), box.now, signals));
  Policy tenants = policy_of(10, QueueSize::at_most(10));
  tenants.tenants = 10;
  EXPECT_FALSE(box.gate.reconfigure(tenants, box.now, signals));
  Policy quota = policy_of(10, QueueSize::at_most(10));
  quota.quota.requests = 1;
  EXPECT_FALSE(box.gate.reconfigure(quota, box.now, signals));
  EXPECT_EQ(box.gate.snapshot().queue_limit, 20U);
}

// Somebody may be waiting in a class that would be gone.
TEST(Rules, OfOtherClassesAreRefused) {
  GateBox box(policy_of(10));
  Signals signals;
  Policy fewer;
  fewer.limit = 10;
  ASSERT_TRUE(add_class(fewer, "only"));
  EXPECT_FALSE(box.gate.reconfigure(fewer, box.now, signals));
  EXPECT_EQ(box.gate.snapshot().class_count, 4U);
}

}  // namespace
}  // namespace loadline::test
