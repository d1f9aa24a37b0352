// What a Doorkeeper is asked by one thread or two.
#include <gmock/gmock.h>

#include <array>
#include <future>
#include <stdexcept>
#include <vector>

#include "door_box.h"

namespace loadline::threads::test {
namespace {

using namespace std::chrono_literals;

// ---- Opening
// -------------------------------------------------------------------------------------

TEST(Opening, RefusesWithAFieldAndASentence) {
  const Opened opened = Doorkeeper::open(Policy{});
  EXPECT_FALSE(opened.door);
  EXPECT_STREQ(opened.error.field, "limit");
  EXPECT_THAT(opened.error.text.data(), testing::HasSubstr("allowed is 1 to"));
}

TEST(Opening, RefusesALeaseThatIsTooShortOrTooLong) {
  for (const Duration lease : {Duration::millis(99), Duration::seconds(86'401), Duration{-1}}) {
    const Opened opened = Doorkeeper::open(policy_of(1), {.lease = lease});
    EXPECT_FALSE(opened.door);
    EXPECT_STREQ(opened.error.field, "lease");
  }
}

TEST(Opening, GivesTheDefaultClassesToAPolicyWithout) {
  const DoorBox box(policy_of(1));
  EXPECT_EQ(box.door.find_class("critical_plus"), 0);
  EXPECT_EQ(box.door.find_class("sheddable"), 3);
  EXPECT_EQ(box.door.find_class("nobody"), -1);
  EXPECT_EQ(box.door.request().importance, 1);
}

TEST(Opening, MovesAndShuts) {
  DoorBox box(policy_of(1));
  Doorkeeper other = std::move(box.door);
  EXPECT_FALSE(box.door);
  EXPECT_TRUE(other.try_acquire(other.request()));
  other = Doorkeeper();
  EXPECT_FALSE(other);
}

// ---- Without waiting
// -----------------------------------------------------------------------------

TEST(TryAcquire, AdmitsUpToTheLimitAndThenSaysWhyNot) {
  DoorBox box(policy_of(2));
  const Answer first = box.door.try_acquire(box.door.request());
  const Answer second = box.door.try_acquire(box.door.request());
  const Answer third = box.door.try_acquire(box.door.request());
  EXPECT_TRUE(first && second);
  ASSERT_EQ(third.kind, Answer::Kind::rejected);
  EXPECT_EQ(third.rejection.reason, Reason::limit);
  EXPECT_GE(third.rejection.retry_after, 1);
  EXPECT_LE(third.rejection.retry_after, Policy{}.retry_after_max);
  EXPECT_EQ(third.rejection.http_status(), 503);
  EXPECT_FALSE(third.rejection.words().empty());
  EXPECT_EQ(box.door.snapshot().gate.in_flight, 2U);
}

TEST(TryAcquire, ADeadlineIs504WithoutRetryAfter) {
  DoorBox box(policy_of(1));
  const Answer late = box.door.try_acquire(box.door.request(0ns));
  EXPECT_EQ(late.rejection.reason, Reason::deadline_expired);
  EXPECT_EQ(late.rejection.http_status(), 504);
  EXPECT_EQ(late.rejection.retry_after, 0);
}

TEST(TryAcquire, AQuotaIs429AndSaysWhenToComeBack) {
  Policy policy = policy_of(2);
  policy.quota = {.requests = 1, .per = Duration::seconds(10)};
  DoorBox box(policy);
  Request request = box.door.request();
  request.quota = hash_key("somebody");
  EXPECT_TRUE(box.door.try_acquire(request));
  const Answer again = box.door.try_acquire(request);
  EXPECT_EQ(again.rejection.reason, Reason::quota);
  EXPECT_EQ(again.rejection.http_status(), 429);
  EXPECT_EQ(again.rejection.retry_after, 10);
  request.quota = hash_key("somebody else");
  EXPECT_TRUE(box.door.try_acquire(request));
}

TEST(TryAcquire, TenantsShareAndGroupsHaveNames) {
  Policy policy = policy_of(1, QueueSize::at_most(2), kLongBudget);
  policy.tenants = 10;
  add_group(policy, "trial", 1);
  DoorBox box(policy);
  EXPECT_EQ(box.door.find_group("trial"), 0);
  EXPECT_EQ(box.door.find_group("nobody"), -1);
  Request greedy = box.door.request();
  greedy.tenant = hash_key("greedy");
  const Answer holder = box.door.try_acquire(greedy);
  const auto ignore = [](Answer) {};
  box.door.async_acquire(greedy, ignore);
  box.door.async_acquire(greedy, ignore);
  EXPECT_EQ(box.door.acquire(greedy).rejection.reason, Reason::tenant_share);
  Request modest = box.door.request();
  modest.tenant = hash_key("modest");
  box.door.async_acquire(modest, ignore);
  EXPECT_TRUE(within_ten_seconds([&] { return rejected_for(box.door, Reason::displaced) == 1; }));
}

TEST(TryAcquire, AnUnknownClassIsTheLeastImportant) {
  DoorBox box(policy_of(1));
  Request request = box.door.request();
  request.importance = 200;
  EXPECT_TRUE(box.door.try_acquire(request));
  EXPECT_EQ(box.door.snapshot().gate.classes[3].admitted, 1U);
}

TEST(TryAcquire, ACallerWhoHasLeftIsNotAskedFor) {
  DoorBox box(policy_of(1));
  std::stop_source caller;
  caller.request_stop();
  EXPECT_EQ(box.door.try_acquire(box.door.request(), caller.get_token()).kind,
            Answer::Kind::cancelled);
  EXPECT_EQ(box.door.acquire(box.door.request(), caller.get_token()).kind, Answer::Kind::cancelled);
  EXPECT_EQ(sums_of(box.door).admitted, 0U);
}

TEST(Words, EveryReasonHasItsOwn) {
  std::vector<std::string_view> seen;
  for (std::uint32_t r = 0; r < kReasons; ++r) {
    const std::string_view words = Rejection{static_cast<Reason>(r), 0}.words();
    EXPECT_THAT(seen, testing::Not(testing::Contains(words))) << name(static_cast<Reason>(r));
    EXPECT_NE(words, "It was turned away.");
    seen.push_back(words);
  }
}

// ---- Permits
// -------------------------------------------------------------------------------------

TEST(Permits, AreGivenBackOnceHoweverOftenItIsSaid) {
  DoorBox box(policy_of(2));
  Answer kept = box.door.try_acquire(box.door.request());
  Answer answer = box.door.try_acquire(box.door.request());
  answer.permit.succeed();
  EXPECT_FALSE(answer.permit.held());
  answer.permit.succeed();
  answer.permit.fail();
  answer.permit = Permit();
  EXPECT_EQ(box.door.snapshot().gate.in_flight, 1U);
  EXPECT_EQ(box.door.snapshot().gate.released_twice, 0U);
}

TEST(Permits, MoveAndGiveBackWhatTheyHeldBefore) {
  DoorBox box(policy_of(2));
  Permit a = std::move(box.door.try_acquire(box.door.request()).permit);
  Permit b = std::move(box.door.try_acquire(box.door.request()).permit);
  EXPECT_EQ(box.door.snapshot().gate.in_flight, 2U);
  a = std::move(b);
  EXPECT_EQ(box.door.snapshot().gate.in_flight, 1U);
  EXPECT_TRUE(a.held());
  Permit c(std::move(a));
  EXPECT_EQ(box.door.snapshot().gate.in_flight, 1U);
  c.succeed();
  EXPECT_EQ(box.door.snapshot().gate.in_flight, 0U);
}

TEST(Permits, OnlySuccessIsAServiceTime) {
  DoorBox box(policy_of(1));
  const auto after_a_second = [&](auto end) {
    Answer answer = box.door.try_acquire(box.door.request());
    box.clock.pass(Duration::seconds(1));
    end(answer.permit);
  };
  after_a_second([](Permit& permit) { permit.fail(); });
  after_a_second([](Permit&) {});
  EXPECT_THROW(after_a_second([](Permit&) { throw std::runtime_error("work"); }),
               std::runtime_error);
  EXPECT_EQ(box.door.snapshot().gate.in_flight, 0U);
  EXPECT_EQ(box.door.snapshot().gate.service.total(), 0U);
  after_a_second([](Permit& permit) { permit.succeed(); });
  EXPECT_EQ(box.door.snapshot().gate.service.total(), 1U);
  EXPECT_EQ(box.door.snapshot().gate.service.sum_ns, 1'000'000'000U);
}

Policy learned(std::uint32_t from) {
  Policy policy = policy_of(from);
  policy.law = Law::automatic;
  return policy;
}

bool falls_below(DoorBox& box, std::uint32_t limit) {
  return within_ten_seconds([&] {
    box.clock.pass(Duration::millis(20));
    return box.door.snapshot().gate.limit < limit;
  });
}

// Whoever says so: the deadline, or the caller who has left.
TEST(Permits, ThatComeBackTooLateAreAReasonForALowerLimit) {
  constexpr std::uint32_t kFrom = 8;
  DoorBox box(learned(kFrom));
  std::vector<Answer> all;
  std::stop_source caller;
  for (std::uint32_t i = 0; i < kFrom; ++i) {
    const bool bound = i % 2 == 0;
    all.push_back(box.door.try_acquire(bound ? box.door.request(100ms) : box.door.request(),
                                       bound ? std::stop_token() : caller.get_token()));
    ASSERT_TRUE(all.back());
  }
  caller.request_stop();
  box.clock.pass(Duration::millis(200));
  for (Answer& answer : all) {
    answer.permit.succeed();
  }
  EXPECT_EQ(box.door.snapshot().gate.service.total(), kFrom) << "they took that long all the same";
  EXPECT_TRUE(falls_below(box, kFrom));
  std::array<LimitEvent, LimitEvents::kKept> events;
  std::uint64_t next = 0;
  const std::size_t count = box.door.limit_events(next, events);
  EXPECT_TRUE(std::any_of(events.begin(), events.begin() + count, [&](const LimitEvent& event) {
    return event.reason.cause == LimitCause::late && event.to < event.from;
  }));
}

TEST(Permits, ThatAreGivenUpAreLate) {
  constexpr std::uint32_t kFrom = 8;
  DoorBox box(learned(kFrom));
  std::vector<Answer> all;
  for (std::uint32_t i = 0; i < kFrom; ++i) {
    all.push_back(box.door.try_acquire(box.door.request()));
  }
  box.clock.pass(Duration::millis(200));
  for (Answer& answer : all) {
    answer.permit.give_up();
  }
  EXPECT_TRUE(falls_below(box, kFrom));
}

TEST(Rules, ALawIsThereFromTheBeginningOrNever) {
  DoorBox box(policy_of(5));
  const PolicyError error = box.door.reconfigure(learned(0));
  EXPECT_STREQ(error.field, "law");
  EXPECT_THAT(error.text.data(), testing::HasSubstr("from the beginning or never"));
  DoorBox other(learned(0));
  EXPECT_TRUE(other.door.set_limit(9));
  EXPECT_EQ(other.door.snapshot().gate.law, Law::fixed);
  EXPECT_FALSE(other.door.reconfigure(learned(0)).refused());
  EXPECT_EQ(other.door.snapshot().gate.law, Law::automatic);
  EXPECT_EQ(other.door.snapshot().gate.limit, 9U);
}

TEST(Permits, SayWhatIsLeftOfTheDeadline) {
  DoorBox box(policy_of(2));
  Answer bound = box.door.try_acquire(box.door.request(250ms));
  const Answer free = box.door.try_acquire(box.door.request());
  EXPECT_EQ(bound.permit.remaining(), Duration::millis(250));
  EXPECT_EQ(free.permit.remaining(), Duration::max());
  box.clock.pass(Duration::millis(100));
  EXPECT_EQ(bound.permit.remaining(), Duration::millis(150));
  EXPECT_FALSE(bound.permit.cancelled());
  box.clock.pass(Duration::millis(150));
  EXPECT_EQ(bound.permit.remaining(), Duration{});
  EXPECT_TRUE(bound.permit.cancelled());
  EXPECT_FALSE(free.permit.cancelled());
  bound.permit.fail();
  EXPECT_TRUE(bound.permit.cancelled()) << "nothing to work for any more";
}

TEST(Permits, KnowWhenTheCallerHasLeft) {
  DoorBox box(policy_of(1));
  std::stop_source caller;
  const Answer answer = box.door.try_acquire(box.door.request(), caller.get_token());
  bool stopped = false;
  const std::stop_callback on_stop(answer.permit.stop_token(), [&] { stopped = true; });
  EXPECT_FALSE(answer.permit.cancelled());
  caller.request_stop();
  EXPECT_TRUE(answer.permit.cancelled());
  EXPECT_TRUE(stopped);
  EXPECT_EQ(box.door.snapshot().gate.in_flight, 1U) << "until the work has really stopped";
}

TEST(Permits, OutliveTheirDoorkeeper) {
  HandClock clock;
  Permit first;
  Permit second;
  Permit expired;
  {
    Opened opened =
        Doorkeeper::open(policy_of(3), {.lease = Duration::seconds(1), .clock = &clock});
    Doorkeeper& door = opened.door;
    expired = std::move(door.try_acquire(door.request()).permit);
    clock.pass(Duration::seconds(1));
    ASSERT_TRUE(within_ten_seconds([&] { return door.snapshot().leases_expired == 1; }));
    first = std::move(door.try_acquire(door.request()).permit);
    second = std::move(door.try_acquire(door.request(1h)).permit);
  }
  EXPECT_FALSE(first.cancelled());
  EXPECT_TRUE(expired.cancelled());
  EXPECT_EQ(second.remaining(), Duration::seconds(3600));
  first.succeed();
  std::thread([permit = std::move(second)]() mutable { permit.succeed(); }).join();
}

// ---- Blocking
// ------------------------------------------------------------------------------------

struct Acquire : testing::Test {
  // Asks on a thread of its own; returns once it waits.
  std::future<Answer> wait(std::stop_token caller = {}) {
    const std::uint32_t before = box.door.snapshot().gate.waiting;
    auto answer = std::async(std::launch::async, [this, caller] {
      return box.door.acquire(box.door.request(), caller);
    });
    EXPECT_TRUE(box.waiting_becomes(before + 1));
    return answer;
  }

  DoorBox box{policy_of(1, QueueSize::at_most(8), kLongBudget)};
  Answer holder = box.door.acquire(box.door.request());
};

TEST_F(Acquire, StartsInOrderAsPermitsComeBack) {
  auto first = wait();
  auto second = wait();
  holder.permit.succeed();
  Answer admitted = first.get();
  ASSERT_TRUE(admitted);
  EXPECT_EQ(box.door.snapshot().gate.waiting, 1U);
  admitted.permit.succeed();
  EXPECT_TRUE(second.get());
}

TEST_F(Acquire, IsRefusedWhenItsTimeHasPassed) {
  auto answer = wait();
  box.clock.pass(kLongBudget);
  const Answer refused = answer.get();
  ASSERT_EQ(refused.kind, Answer::Kind::rejected);
  EXPECT_EQ(refused.rejection.reason, Reason::queue_timeout);
  EXPECT_EQ(box.door.snapshot().gate.waiting, 0U);
}

TEST_F(Acquire, ACallerWhoLeavesFreesItsPlace) {
  std::stop_source caller;
  auto answer = wait(caller.get_token());
  caller.request_stop();
  EXPECT_EQ(answer.get().kind, Answer::Kind::cancelled);
  EXPECT_EQ(box.door.snapshot().gate.waiting, 0U);
  EXPECT_EQ(sums_of(box.door).cancelled, 1U);
  holder.permit.succeed();
  EXPECT_EQ(box.door.snapshot().gate.in_flight, 0U) << "nobody was granted what nobody takes";
}

// Eight whose callers left must not eat the eight slots that come back (a classic of bulkheads).
TEST(AcquireMany, ThoseWhoLeftAreGrantedNothing) {
  DoorBox box(policy_of(8, QueueSize::at_most(8), kLongBudget));
  std::vector<Answer> holders;
  for (int i = 0; i < 8; ++i) {
    holders.push_back(box.door.acquire(box.door.request()));
  }
  std::stop_source callers;
  std::vector<std::future<Answer>> waiting;
  waiting.reserve(8);
  for (int i = 0; i < 8; ++i) {
    waiting.push_back(std::async(std::launch::async, [&] {
      return box.door.acquire(box.door.request(), callers.get_token());
    }));
  }
  ASSERT_TRUE(box.waiting_becomes(8));
  callers.request_stop();
  for (std::future<Answer>& answer : waiting) {
    EXPECT_EQ(answer.get().kind, Answer::Kind::cancelled);
  }
  holders.clear();
  for (int i = 0; i < 8; ++i) {
    holders.push_back(box.door.try_acquire(box.door.request()));
    EXPECT_TRUE(holders.back());
  }
}

TEST_F(Acquire, ARaisedLimitWakesWhoWaits) {
  auto answer = wait();
  EXPECT_FALSE(box.door.set_limit(0));
  EXPECT_TRUE(box.door.set_limit(2));
  EXPECT_TRUE(answer.get());
}

TEST_F(Acquire, ClosingRefusesWhoWaitsAndWhoComes) {
  auto answer = wait();
  box.door.close();
  EXPECT_EQ(answer.get().rejection.reason, Reason::draining);
  box.door.set_mode(Mode::off);
  EXPECT_EQ(box.door.acquire(box.door.request()).rejection.reason, Reason::draining);
  EXPECT_EQ(box.door.snapshot().after_close, 1U);
  holder.permit.succeed();
  EXPECT_EQ(box.door.snapshot().gate.in_flight, 0U);
}

TEST_F(Acquire, DrainingLetsStartWhoWaits) {
  auto answer = wait();
  box.door.set_draining(true);
  EXPECT_EQ(box.door.try_acquire(box.door.request()).rejection.reason, Reason::draining);
  holder.permit.succeed();
  EXPECT_TRUE(answer.get());
}

TEST_F(Acquire, TheRulesChangeUnderLoad) {
  EXPECT_STREQ(box.door.reconfigure(policy_of(0)).field, "limit");
  EXPECT_STREQ(box.door.reconfigure(policy_of(1, QueueSize::at_most(60'000))).field, "queue");
  Policy other = policy_of(4);
  add_class(other, "only");
  EXPECT_STREQ(box.door.reconfigure(other).field, "classes");
  other = policy_of(4);
  other.tenants = 10;
  EXPECT_STREQ(box.door.reconfigure(other).field, "tenants");
  add_group(other, "some", 1);
  EXPECT_STREQ(box.door.reconfigure(other).field, "groups");
  other = policy_of(4);
  other.quota.requests = 10;
  EXPECT_STREQ(box.door.reconfigure(other).field, "quota");
  auto answer = wait();
  EXPECT_FALSE(box.door.reconfigure(policy_of(4)).refused());
  EXPECT_TRUE(answer.get());
  EXPECT_EQ(box.door.snapshot().gate.limit, 4U);
}

// ---- Leases
// --------------------------------------------------------------------------------------

struct Leased : testing::Test {
  Options options() {
    return {.lease = Duration::seconds(10),
            .on_expired_lease = [this](const ExpiredLease& lease) { reports.set_value(lease); }};
  }
  std::promise<ExpiredLease> reports;
  DoorBox box{policy_of(1, QueueSize::none()), options()};
};

TEST_F(Leased, APermitNotGivenBackInItsTimeIsTakenBackAndNamed) {
  Answer hung = box.door.try_acquire(box.door.request(), {}, "GET /report");
  EXPECT_FALSE(box.door.try_acquire(box.door.request()));
  box.clock.pass(Duration::seconds(10));
  const ExpiredLease report = reports.get_future().get();
  EXPECT_EQ(report.name.view(), "GET /report");
  EXPECT_EQ(report.importance, 1);
  EXPECT_EQ(report.cost, 1U);
  EXPECT_EQ(report.held, Duration::seconds(10));
  EXPECT_TRUE(hung.permit.cancelled());
  const Answer next = box.door.try_acquire(box.door.request());
  EXPECT_TRUE(next);
  hung.permit.succeed();
  EXPECT_EQ(box.door.snapshot().gate.in_flight, 1U) << "a late return counts for nothing";
  EXPECT_EQ(box.door.snapshot().gate.service.total(), 0U);
  EXPECT_EQ(box.door.snapshot().leases_expired, 1U);
  EXPECT_EQ(box.door.snapshot().returned_late, 1U);
}

TEST_F(Leased, APermitGivenBackInItsTimeIsNever) {
  for (int i = 0; i < 3; ++i) {
    Answer answer = box.door.try_acquire(box.door.request());
    ASSERT_TRUE(answer);
    box.clock.pass(Duration::seconds(9));
    EXPECT_FALSE(answer.permit.cancelled());
    answer.permit.succeed();
  }
  EXPECT_EQ(box.door.snapshot().leases_expired, 0U);
  EXPECT_EQ(box.door.snapshot().unleased, 0U);
  EXPECT_EQ(box.door.snapshot().gate.service.total(), 3U);
}

TEST(LeaseOfAWaiter, BeginsWhenItStarts) {
  DoorBox box(policy_of(1, QueueSize::at_most(1), kLongBudget), {.lease = Duration::seconds(10)});
  Answer holder = box.door.try_acquire(box.door.request());
  auto waiting =
      std::async(std::launch::async, [&] { return box.door.acquire(box.door.request()); });
  ASSERT_TRUE(box.waiting_becomes(1));
  box.clock.pass(Duration::seconds(10));  // the holder's lease runs out, and the waiter starts
  Answer second = waiting.get();
  ASSERT_TRUE(second);
  EXPECT_TRUE(holder.permit.cancelled());
  box.clock.pass(Duration::seconds(9));
  EXPECT_FALSE(second.permit.cancelled());
}

}  // namespace
}  // namespace loadline::threads::test
