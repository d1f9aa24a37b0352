#include "loadline/leases.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace loadline::test {
namespace {

using Book = LeaseBook<std::unique_ptr<int>>;

constexpr Instant kStart{1'000'000'000};
constexpr Duration kLease = Duration::seconds(10);

struct Leases : testing::Test {
  Lease lend(int value, std::string_view name = "", Instant now = kStart) {
    auto held = std::make_unique<int>(value);
    return book.lend(held, LeaseName(name), now, now + kLease, 0);
  }
  std::vector<int> call_in(Instant now) {
    std::vector<int> found;
    book.call_in(now, [&](Book::Overdue overdue) { found.push_back(*overdue.held); });
    return found;
  }

  std::array<Book::Entry, 4> entries;
  Book book{entries};
};

TEST_F(Leases, WhatIsGivenBackInTimeIsItsHolders) {
  const Lease lease = lend(7);
  EXPECT_FALSE(book.over(lease));
  EXPECT_TRUE(call_in(kStart + kLease - Duration{1}).empty());
  const auto held = book.take_back(lease);
  ASSERT_TRUE(held.has_value());
  EXPECT_EQ(**held, 7);
  EXPECT_TRUE(book.over(lease));
  EXPECT_TRUE(call_in(Instant::never()).empty());
}

TEST_F(Leases, WhatIsOverdueIsTakenBackOnceAndNamed) {
  const Lease lease = lend(7, "GET /report");
  std::vector<Book::Overdue> found;
  const auto keep = [&](Book::Overdue overdue) { found.push_back(std::move(overdue)); };
  EXPECT_EQ(book.call_in(kStart + kLease, keep), 1U);
  EXPECT_EQ(book.call_in(kStart + kLease, keep), 0U);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(*found[0].held, 7);
  EXPECT_EQ(found[0].name.view(), "GET /report");
  EXPECT_EQ(found[0].since, kStart);
  EXPECT_TRUE(book.over(lease));
  EXPECT_FALSE(book.take_back(lease).has_value()) << "a late return counts for nothing";
}

TEST_F(Leases, ALateReturnDoesNotTakeWhatSomebodyElseWasLentSince) {
  const Lease old = lend(1);
  call_in(kStart + kLease);
  const Lease fresh = lend(2, "", kStart + kLease);
  ASSERT_EQ(fresh.index, old.index);
  EXPECT_FALSE(book.take_back(old).has_value());
  EXPECT_FALSE(book.over(fresh));
  EXPECT_EQ(**book.take_back(fresh), 2);
}

TEST_F(Leases, AFullBookLendsNothingAndLeavesWhatItWasGiven) {
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(lend(i).valid());
  }
  auto held = std::make_unique<int>(9);
  EXPECT_FALSE(book.lend(held, LeaseName(), kStart, kStart + kLease, 3).valid());
  ASSERT_NE(held, nullptr);
  EXPECT_EQ(*held, 9);
}

TEST_F(Leases, NoLeaseIsOverAndTakesNothingBack) {
  EXPECT_TRUE(book.over(Lease{}));
  EXPECT_FALSE(book.take_back(Lease{}).has_value());
  EXPECT_FALSE(book.take_back(Lease{99, 0}).has_value());
}

TEST(LeaseNames, AreCutAndEndAtANul) {
  EXPECT_EQ(LeaseName("").view(), "");
  EXPECT_EQ(LeaseName(std::string(31, 'a')).view(), std::string(31, 'a'));
  EXPECT_EQ(LeaseName(std::string(32, 'a')).view(), std::string(31, 'a'));
  EXPECT_EQ(LeaseName(std::string_view("ab\0cd", 5)).view(), "ab");
}

// Holders give back at the very time at which the clock calls in. Each thing must come back exactly
// once, whoever was first.
TEST(LeaseRace, HolderAndClockNeverBothHaveIt) {
  constexpr int kThreads = 3;
  constexpr int kRounds = 20'000;
  struct Thing {
    int thread = -1;
    int round = -1;
  };
  std::array<LeaseBook<Thing>::Entry, 8> entries;
  LeaseBook<Thing> book(entries);
  std::vector<std::atomic<int>> returned(std::size_t{kThreads} * kRounds);
  std::atomic<int> lent{0};
  std::atomic<int> working{kThreads};
  std::atomic<std::uint64_t> by_holder{0};
  std::atomic<std::uint64_t> by_clock{0};
  const auto give_back = [&](Thing thing) {
    returned[static_cast<std::size_t>(thing.thread) * kRounds +
             static_cast<std::size_t>(thing.round)]
        .fetch_add(1);
  };
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < kRounds; ++round) {
        Thing thing{t, round};
        // Every other one is overdue as soon as it is lent; the rest never is.
        const bool honest = round % 2 == 0;
        const Lease lease = book.lend(thing, LeaseName(), kStart,
                                      honest ? Instant::never() : kStart, std::uint64_t(round));
        if (!lease.valid()) {
          give_back(thing);
          continue;
        }
        lent.fetch_add(1);
        if (round % 4 == 3) {
          std::this_thread::yield();
        }
        if (const auto held = book.take_back(lease)) {
          give_back(*held);
          by_holder.fetch_add(1);
        } else {
          EXPECT_FALSE(honest) << "what was given back in its time was taken";
        }
      }
      working.fetch_sub(1);
    });
  }
  const Instant now = kStart + Duration{1};
  do {
    by_clock.fetch_add(book.call_in(now, [&](LeaseBook<Thing>::Overdue o) { give_back(o.held); }));
  } while (working.load() != 0);
  for (std::thread& thread : threads) {
    thread.join();
  }
  by_clock.fetch_add(book.call_in(now, [&](LeaseBook<Thing>::Overdue o) { give_back(o.held); }));
  EXPECT_EQ(by_holder.load() + by_clock.load(), static_cast<std::uint64_t>(lent.load()));
  for (const std::atomic<int>& times : returned) {
    ASSERT_EQ(times.load(), 1);
  }
}

}  // namespace
}  // namespace loadline::test
