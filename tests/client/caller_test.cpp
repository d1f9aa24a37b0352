// What a Caller says to each way an attempt may end.
#include "loadline/client/caller.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "at.h"

namespace loadline::client::test {
namespace {

using Kind = Next::Kind;

constexpr Duration ms(std::int64_t n) {
  return Duration::millis(n);
}

struct Ending {
  explicit Ending(const Policy& policy) : caller(policy, kBegin) {}

  Next first(Call& call, const Answer& answer) {
    Start start = caller.begin(call, kBegin);
    EXPECT_TRUE(start.send());
    return caller.ended(call, start.attempt, answer, at_ms(10));
  }

  Caller caller;
};

Next after(const Answer& answer, Call::Kind kind, const Policy& policy = plain_policy()) {
  Ending ending(policy);
  Call call(Instant::never(), kind);
  const Next next = ending.first(call, answer);
  EXPECT_TRUE(adds_up(ending.caller.snapshot(kBegin), 0));
  return next;
}

// The table of answer.h.
TEST(Caller, TriesAgainAsTheTableSays) {
  const struct {
    Ended ended;
    Kind once;
    Reason reason_once;
    Kind idempotent;
    Reason reason_idempotent;
  } rows[] = {
      {Ended::success, Kind::done, Reason::none, Kind::done, Reason::none},
      {Ended::caller_fault, Kind::done, Reason::none, Kind::done, Reason::none},
      {Ended::refused, Kind::retry, Reason::none, Kind::retry, Reason::none},
      {Ended::quota, Kind::give_up, Reason::untold, Kind::give_up, Reason::untold},
      {Ended::unreached, Kind::retry, Reason::none, Kind::retry, Reason::none},
      {Ended::unavailable, Kind::give_up, Reason::not_idempotent, Kind::retry, Reason::none},
      {Ended::timed_out, Kind::give_up, Reason::not_idempotent, Kind::retry, Reason::none},
      {Ended::lost, Kind::give_up, Reason::not_idempotent, Kind::retry, Reason::none},
      {Ended::failed, Kind::give_up, Reason::not_retryable, Kind::give_up, Reason::not_retryable},
      {Ended::cancelled, Kind::give_up, Reason::cancelled, Kind::give_up, Reason::cancelled},
  };
  for (const auto& row : rows) {
    const Next once = after(answer_of(row.ended), Call::once);
    EXPECT_EQ(once.kind, row.once) << name(row.ended);
    EXPECT_EQ(once.reason, row.reason_once) << name(row.ended);
    const Next idempotent = after(answer_of(row.ended), Call::idempotent);
    EXPECT_EQ(idempotent.kind, row.idempotent) << name(row.ended);
    EXPECT_EQ(idempotent.reason, row.reason_idempotent) << name(row.ended);
  }
}

TEST(Caller, ObeysAProhibitionWhateverTheFailure) {
  for (const Ended ended : {Ended::refused, Ended::quota, Ended::unavailable, Ended::lost}) {
    Answer answer = answer_of(ended);
    answer.told = Told::never();
    const Next next = after(answer, Call::idempotent);
    EXPECT_EQ(next.kind, Kind::give_up);
    EXPECT_EQ(next.reason, Reason::told_not_to) << name(ended);
  }
}

TEST(Caller, DoesNotRetryWhatFailedFurtherDown) {
  for (const Ended ended : {Ended::refused, Ended::unavailable, Ended::timed_out}) {
    Answer answer = answer_of(ended);
    answer.further_down = true;
    answer.another_instance = true;
    const Next next = after(answer, Call::idempotent);
    EXPECT_EQ(next.kind, Kind::give_up);
    EXPECT_EQ(next.reason, Reason::further_down) << name(ended);
  }
}

TEST(Caller, ComesBackAfterAQuotaOnlyWhenItIsTold) {
  Answer answer = answer_of(Ended::quota);
  answer.told = Told::wait(Duration::seconds(2));
  answer.another_instance = true;
  const Next next = after(answer, Call::once);
  ASSERT_EQ(next.kind, Kind::retry);
  EXPECT_GE(next.at, at_ms(2010));
  EXPECT_LE(next.at, at_ms(2410));
  EXPECT_FALSE(next.elsewhere);  // every instance would say so
}

TEST(Caller, GoesElsewhereAtOnceOnceAndThenWaitsForWhatWasTold) {
  Caller caller(plain_policy(), kBegin);
  Call call;
  Answer answer = refused_until(Duration::seconds(10));
  answer.another_instance = true;
  Start start = caller.begin(call, kBegin);
  Next next = caller.ended(call, start.attempt, answer, at_ms(1));
  ASSERT_EQ(next.kind, Kind::retry);
  EXPECT_EQ(next.at, at_ms(1));
  EXPECT_TRUE(next.elsewhere);
  start = caller.retry(call, next.at);
  ASSERT_TRUE(start.send());
  answer.told = Told::wait(Duration::seconds(3));
  next = caller.ended(call, start.attempt, answer, at_ms(2));
  ASSERT_EQ(next.kind, Kind::retry);
  EXPECT_GE(next.at, at_ms(10'001));  // the later of the two, so that it may go to either
  EXPECT_LE(next.at, at_ms(12'001));
  EXPECT_EQ(caller.snapshot(kBegin).counts.elsewhere, 1U);
}

TEST(Caller, GoesNowhereElseAtOnceWhereThatIsNotWanted) {
  Policy policy = plain_policy();
  policy.retry.elsewhere_at_once = false;
  Answer answer = refused_until(Duration::seconds(10));
  answer.another_instance = true;
  EXPECT_GE(after(answer, Call::once, policy).at, at_ms(10'010));
  Answer lost = answer_of(Ended::lost);
  lost.another_instance = true;
  const Next next = after(lost, Call::idempotent);
  EXPECT_GT(next.at, at_ms(10));  // may have been processed: backoff, but elsewhere
  EXPECT_TRUE(next.elsewhere);
}

TEST(Caller, PaysForGoingElsewhere) {
  Policy policy = plain_policy();
  policy.budget = {.share = 0, .floor = 0, .cap = 1};
  Caller caller(policy, kBegin);
  Answer answer = answer_of(Ended::unreached);
  answer.another_instance = true;
  Call one;
  Call other;
  Start start = caller.begin(one, kBegin);
  EXPECT_TRUE(caller.ended(one, start.attempt, answer, kBegin).retry());
  start = caller.begin(other, kBegin);
  const Next next = caller.ended(other, start.attempt, answer, kBegin);
  EXPECT_EQ(next.kind, Kind::give_up);
  EXPECT_EQ(next.reason, Reason::budget);
}

TEST(Caller, StopsAtItsLimitOfAttempts) {
  for (const std::uint8_t attempts : {1, 2, 3, 100}) {
    Policy policy = plain_policy();
    policy.retry.attempts = attempts;
    Caller caller(policy, kBegin);
    Call call(Instant::never(), Call::idempotent);
    Instant now = kBegin;
    const Next next =
        run(caller, call, now, ms(1), [](const Attempt&) { return answer_of(Ended::unavailable); });
    EXPECT_EQ(next.kind, Kind::give_up);
    EXPECT_EQ(next.reason, Reason::attempts);
    EXPECT_EQ(call.attempts(), attempts);
    EXPECT_FALSE(call.active());
  }
}

TEST(Caller, IsNotAskedTooEarly) {
  Caller caller(plain_policy(), kBegin);
  Call call;
  Start start = caller.begin(call, kBegin);
  const Next next = caller.ended(call, start.attempt, refused_until(ms(100)), kBegin);
  start = caller.retry(call, next.at - Duration{1});
  EXPECT_EQ(start.kind, Start::Kind::wait);
  EXPECT_EQ(start.come_back, next.at);
  EXPECT_TRUE(call.waiting());
  start = caller.retry(call, next.at);
  EXPECT_TRUE(start.send());
  EXPECT_EQ(start.attempt.number(), 2);
}

// ---- Deadlines
// -------------------------------------------------------------------------------------

TEST(Caller, DoesNotBeginWhatNobodyWaitsFor) {
  Caller caller(plain_policy(), kBegin);
  Call late(at_ms(0), Call::idempotent);
  EXPECT_EQ(caller.begin(late, at_ms(0)).reason, Reason::deadline_expired);
  Call near(kBegin + Duration::micros(999));
  EXPECT_EQ(caller.begin(near, at_ms(0)).reason, Reason::deadline_unmeetable);
  Call enough(at_ms(1));
  EXPECT_TRUE(caller.begin(enough, at_ms(0)).send());
  EXPECT_EQ(caller.snapshot(kBegin).counts.refused, 2U);
}

TEST(Caller, DoesNotBeginWhatCannotFinish) {
  Caller caller(plain_policy(), kBegin);
  for (int i = 0; i < 20; ++i) {
    Call call;
    Instant now = kBegin;
    run(caller, call, now, ms(100), [](const Attempt&) { return answer_of(Ended::success); });
  }
  const Instant now = at_ms(100);
  EXPECT_NEAR(static_cast<double>(caller.snapshot(now).expected.ns), 100e6, 100);
  Call too_near(now + ms(49));
  EXPECT_EQ(caller.begin(too_near, now).reason, Reason::deadline_unmeetable);
  Call possible(now + ms(51));
  EXPECT_TRUE(caller.begin(possible, now).send());
}

TEST(Caller, NeverWaitsPastTheDeadline) {
  Caller caller(plain_policy(), kBegin);
  Call call(at_ms(9'999));
  Start start = caller.begin(call, kBegin);
  const Next next = caller.ended(call, start.attempt, refused_until(Duration::seconds(10)), kBegin);
  EXPECT_EQ(next.kind, Kind::give_up);
  EXPECT_EQ(next.reason, Reason::deadline_unmeetable);
  EXPECT_EQ(caller.snapshot(kBegin).budget, 10'000'000U);  // and it has cost nothing
}

TEST(Caller, HandsOnWhatIsLeft) {
  Policy policy = plain_policy();
  policy.deadline.attempt = ms(300);
  Caller caller(policy, kBegin);
  Call call(at_ms(1000));
  Start start = caller.begin(call, kBegin);
  EXPECT_EQ(start.attempt.cut_off(), at_ms(300));
  EXPECT_EQ(start.attempt.hand_on(), ms(295));
  Next next = caller.ended(call, start.attempt, refused_until(ms(700)), at_ms(50));
  ASSERT_TRUE(next.retry());
  const Start retry = caller.retry(call, next.at);
  ASSERT_TRUE(retry.send());
  EXPECT_EQ(retry.attempt.cut_off(), at_ms(1000));
  EXPECT_EQ(retry.attempt.hand_on(), at_ms(1000) - next.at - ms(5));
  Call forever;
  Caller unbound(plain_policy(), kBegin);
  EXPECT_EQ(unbound.begin(forever, kBegin).attempt.cut_off(), Instant::never());
  Call again;
  EXPECT_EQ(unbound.begin(again, kBegin).attempt.hand_on(), Duration::max());
}

// In all 5 s, an attempt 1 s; the server fails after 900 ms each time, and the wait is 200 ms.
TEST(Caller, ATotalTimeBoundsAllAttempts) {
  Policy policy = plain_policy();
  policy.retry.attempts = 100;
  policy.deadline.attempt = Duration::seconds(1);
  policy.backoff = {.base = ms(200), .cap = ms(200), .floor = ms(200)};
  Caller caller(policy, kBegin);
  Call call(at_ms(5000), Call::idempotent);
  Instant now = kBegin;
  std::vector<Instant> sent;
  std::vector<Instant> cut;
  const Next next = run(caller, call, now, ms(900), [&](const Attempt& attempt) {
    sent.push_back(attempt.sent());
    cut.push_back(attempt.cut_off());
    return answer_of(Ended::unavailable);
  });
  EXPECT_EQ(sent.size(), 5U);
  EXPECT_EQ(sent.back(), at_ms(4400));
  EXPECT_EQ(cut.back(), at_ms(5000));
  EXPECT_EQ(now, at_ms(5000));
  EXPECT_EQ(next.kind, Kind::give_up);
}

// ---- The breaker
// -----------------------------------------------------------------------------------

Policy breaker_policy() {
  Policy policy = plain_policy();
  policy.breaker = {};
  policy.breaker.open_jitter = 0;
  return policy;
}

void make_calls(Caller& caller, int count, const Answer& answer, Instant now,
                Duration takes = Duration::micros(1)) {
  for (int i = 0; i < count; ++i) {
    Call call;
    Start start = caller.begin(call, now);
    if (start.send()) {
      caller.ended(call, start.attempt, answer, now + takes);
      caller.abandon(call, now + takes);
    }
  }
}

TEST(Caller, OpensTheBreakerForFailuresAndNotForRefusals) {
  Answer marked = answer_of(Ended::timed_out);
  marked.further_down = true;
  for (const Answer& answer :
       {answer_of(Ended::refused), answer_of(Ended::quota), answer_of(Ended::cancelled),
        answer_of(Ended::caller_fault), answer_of(Ended::success), marked}) {
    Caller caller(breaker_policy(), kBegin);
    make_calls(caller, 1000, answer, kBegin);
    EXPECT_EQ(caller.snapshot(kBegin).breaker, BreakerState::closed) << name(answer.ended);
  }
  for (const Ended ended :
       {Ended::unreached, Ended::unavailable, Ended::timed_out, Ended::lost, Ended::failed}) {
    Caller caller(breaker_policy(), kBegin);
    make_calls(caller, 10, answer_of(ended), kBegin);
    EXPECT_EQ(caller.snapshot(kBegin).breaker, BreakerState::open) << name(ended);
    EXPECT_EQ(caller.snapshot(kBegin).counts.breaker_opened, 1U);
    EXPECT_EQ(caller.snapshot(kBegin).counts.breaker_open, caller.policy().breaker.open);
    Call call;
    const Start start = caller.begin(call, kBegin);
    EXPECT_EQ(start.reason, Reason::breaker_open);
    EXPECT_EQ(start.come_back, caller.snapshot(kBegin).open_until);
  }
}

TEST(Caller, ASlowSuccessIsABadOne) {
  Policy policy = breaker_policy();
  policy.breaker.slow = ms(200);
  Caller caller(policy, kBegin);
  make_calls(caller, 1000, answer_of(Ended::success), kBegin, ms(200));
  EXPECT_EQ(caller.snapshot(kBegin).breaker, BreakerState::closed);
  make_calls(caller, 10, answer_of(Ended::success), kBegin, ms(201));
  EXPECT_EQ(caller.snapshot(at_ms(201)).breaker, BreakerState::open);
}

TEST(Caller, DoesNotPayForARetryThatTheBreakerWouldRefuse) {
  Caller caller(breaker_policy(), kBegin);
  make_calls(caller, 9, answer_of(Ended::lost), kBegin);
  const std::uint32_t budget = caller.snapshot(kBegin).budget;
  Call call(Instant::never(), Call::idempotent);
  Start start = caller.begin(call, kBegin);
  const Next next = caller.ended(call, start.attempt, answer_of(Ended::lost), kBegin);
  EXPECT_EQ(next.reason, Reason::breaker_open);
  EXPECT_EQ(caller.snapshot(kBegin).budget, budget);
}

TEST(Caller, GetsBackWhatARetryCostThatWasNotSent) {
  Policy policy = breaker_policy();
  policy.budget.floor = 0;
  Caller caller(policy, kBegin);
  Call waiting(Instant::never(), Call::idempotent);
  Start start = caller.begin(waiting, kBegin);
  const Next next = caller.ended(waiting, start.attempt, refused_until(ms(100)), kBegin);
  ASSERT_TRUE(next.retry());
  EXPECT_EQ(caller.snapshot(kBegin).budget, 9'999'000U);
  make_calls(caller, 10, answer_of(Ended::failed), kBegin);
  const Start retry = caller.retry(waiting, next.at);
  EXPECT_EQ(retry.reason, Reason::breaker_open);
  EXPECT_FALSE(waiting.active());
  const Snapshot seen = caller.snapshot(next.at);
  EXPECT_EQ(seen.budget, 10'000'000U);
  EXPECT_EQ(seen.retries, 0U);
  EXPECT_TRUE(adds_up(seen, 0));
  EXPECT_EQ(seen.counts.gave_up_by[static_cast<std::size_t>(Reason::breaker_open)], 1U);
}

// ---- Hedging
// ---------------------------------------------------------------------------------------

Policy hedging_policy() {
  Policy policy = plain_policy();
  policy.hedge.after = ms(50);
  return policy;
}

TEST(Caller, HedgesNothingUnlessAskedTo) {
  Caller caller(plain_policy(), kBegin);
  Call call(Instant::never(), Call::idempotent);
  const Start start = caller.begin(call, kBegin);
  EXPECT_EQ(start.attempt.hedge_at(), Instant::never());
  EXPECT_EQ(caller.hedge(call, start.attempt, at_ms(1'000'000)).reason, Reason::not_hedged);
}

TEST(Caller, HedgesOnceAndPaysForIt) {
  Caller caller(hedging_policy(), kBegin);
  Call call(Instant::never(), Call::idempotent);
  Start start = caller.begin(call, kBegin);
  EXPECT_EQ(start.attempt.hedge_at(), at_ms(50));
  EXPECT_FALSE(caller.hedge(call, start.attempt, at_ms(49)).send());
  Start hedge = caller.hedge(call, start.attempt, at_ms(50));
  ASSERT_TRUE(hedge.send());
  EXPECT_EQ(hedge.attempt.number(), 2);
  EXPECT_EQ(hedge.attempt.hedge_at(), Instant::never());
  EXPECT_EQ(caller.snapshot(at_ms(50)).budget, 9'999'000U);
  EXPECT_EQ(caller.snapshot(at_ms(50)).retries, 1U);
  EXPECT_FALSE(caller.hedge(call, start.attempt, at_ms(60)).send());
  EXPECT_EQ(caller.ended(call, hedge.attempt, answer_of(Ended::success), at_ms(70)).kind,
            Kind::done);
  EXPECT_FALSE(call.active());
  EXPECT_EQ(caller.ended(call, start.attempt, answer_of(Ended::cancelled), at_ms(70)).kind,
            Kind::done);
  const Snapshot seen = caller.snapshot(at_ms(70));
  EXPECT_EQ(seen.counts.hedges, 1U);
  EXPECT_EQ(seen.counts.done, 1U);
  EXPECT_EQ(seen.retries, 0U);
  EXPECT_TRUE(adds_up(seen, 0));
}

TEST(Caller, BothMaySucceedAndTheCallIsDoneOnce) {
  Caller caller(hedging_policy(), kBegin);
  Call call(Instant::never(), Call::idempotent);
  Start start = caller.begin(call, kBegin);
  Start hedge = caller.hedge(call, start.attempt, at_ms(50));
  caller.ended(call, start.attempt, answer_of(Ended::success), at_ms(60));
  caller.ended(call, hedge.attempt, answer_of(Ended::success), at_ms(61));
  EXPECT_EQ(caller.snapshot(at_ms(70)).counts.done, 1U);
  EXPECT_TRUE(adds_up(caller.snapshot(at_ms(70)), 0));
}

TEST(Caller, AFailureBesideARunningAttemptDecidesNothing) {
  Caller caller(hedging_policy(), kBegin);
  Call call(Instant::never(), Call::idempotent);
  Start start = caller.begin(call, kBegin);
  Start hedge = caller.hedge(call, start.attempt, at_ms(50));
  Answer forbidding = answer_of(Ended::refused);
  forbidding.told = Told::never();
  EXPECT_EQ(caller.ended(call, start.attempt, forbidding, at_ms(60)).kind, Kind::pending);
  const Next next = caller.ended(call, hedge.attempt, answer_of(Ended::lost), at_ms(61));
  EXPECT_EQ(next.kind, Kind::give_up);
  EXPECT_EQ(next.reason, Reason::told_not_to);  // by the other, but still
}

TEST(Caller, HedgesNeitherWhatIsNotIdempotentNorWithoutBudgetNorPastTheBreaker) {
  Caller caller(hedging_policy(), kBegin);
  Call once;
  const Start start = caller.begin(once, kBegin);
  EXPECT_EQ(start.attempt.hedge_at(), Instant::never());
  EXPECT_EQ(caller.hedge(once, start.attempt, at_ms(50)).reason, Reason::not_hedged);

  Policy poor = hedging_policy();
  poor.budget = {.share = 0, .floor = 0, .cap = 1};
  Caller spent(poor, kBegin);
  Call one(Instant::never(), Call::idempotent);
  Call other(Instant::never(), Call::idempotent);
  const Start first = spent.begin(one, kBegin);
  const Start second = spent.begin(other, kBegin);
  EXPECT_TRUE(spent.hedge(one, first.attempt, at_ms(50)).send());
  EXPECT_EQ(spent.hedge(other, second.attempt, at_ms(50)).reason, Reason::budget);

  Policy guarded = hedging_policy();
  guarded.breaker = {};
  Caller broken(guarded, kBegin);
  Call call(Instant::never(), Call::idempotent);
  const Start running = broken.begin(call, kBegin);
  make_calls(broken, 10, answer_of(Ended::failed), at_ms(40));
  EXPECT_EQ(broken.hedge(call, running.attempt, at_ms(50)).reason, Reason::breaker_open);
  // A probe is worth more than a hedge.
  EXPECT_EQ(broken.hedge(call, running.attempt, at_ms(2000)).reason, Reason::breaker_open);
}

// ---- Accounts, words and mistakes
// ------------------------------------------------------------------

TEST(Caller, AnAbandonedCallGivesBackWhatItHeld) {
  Policy policy = plain_policy();
  policy.budget.floor = 0;
  Caller caller(policy, kBegin);
  Call waiting;
  Start start = caller.begin(waiting, kBegin);
  caller.ended(waiting, start.attempt, answer_of(Ended::refused), kBegin);
  caller.abandon(waiting, kBegin);
  Call running;
  start = caller.begin(running, kBegin);
  caller.abandon(running, kBegin);
  EXPECT_EQ(caller.ended(running, start.attempt, answer_of(Ended::cancelled), kBegin).kind,
            Kind::done);
  Call never_begun;
  caller.abandon(never_begun, kBegin);
  const Snapshot seen = caller.snapshot(kBegin);
  EXPECT_EQ(seen.counts.abandoned, 2U);
  EXPECT_EQ(seen.budget, 10'000'000U);
  EXPECT_EQ(seen.active, 0U);
  EXPECT_EQ(seen.retries, 0U);
  EXPECT_TRUE(adds_up(seen, 0));
}

TEST(Caller, MistakesAreCountedAndDoNothing) {
  Caller caller(plain_policy(), kBegin);
  Call call;
  Start start = caller.begin(call, kBegin);
  EXPECT_FALSE(caller.begin(call, kBegin).send());
  EXPECT_FALSE(caller.retry(call, kBegin).send());
  caller.ended(call, start.attempt, answer_of(Ended::success), kBegin);
  EXPECT_EQ(caller.ended(call, start.attempt, answer_of(Ended::success), kBegin).kind,
            Kind::pending);
  EXPECT_FALSE(caller.begin(call, kBegin).send());
  Attempt none;
  EXPECT_EQ(caller.ended(call, none, answer_of(Ended::success), kBegin).kind, Kind::pending);
  const Snapshot seen = caller.snapshot(kBegin);
  EXPECT_EQ(seen.counts.misused, 5U);
  EXPECT_EQ(seen.counts.done, 1U);
  EXPECT_TRUE(adds_up(seen, 0));
}

TEST(Caller, ARefusedCallMayBeBegunAgain) {
  Caller caller(breaker_policy(), kBegin);
  make_calls(caller, 10, answer_of(Ended::failed), kBegin);
  Call call;
  const Start refused = caller.begin(call, kBegin);
  EXPECT_FALSE(refused.send());
  EXPECT_TRUE(caller.begin(call, refused.come_back).send());
}

std::vector<std::string> words_of(const Caller& caller) {
  std::array<Event, EventRing::kEvents> events{};
  std::vector<std::string> words;
  for (std::size_t i = 0, n = caller.events(events); i < n; ++i) {
    std::array<char, 160> text{};
    words.emplace_back(describe(events[i], text));
  }
  return words;
}

TEST(Caller, TellsWhatHasChanged) {
  Policy policy = breaker_policy();
  policy.budget = {.share = 100, .floor = 0, .cap = 2};
  Caller caller(policy, kBegin);
  make_calls(caller, 10, answer_of(Ended::failed), kBegin);
  make_calls(caller, 3, answer_of(Ended::success), at_ms(1000));
  for (int i = 0; i < 5; ++i) {
    Call call;
    Start start = caller.begin(call, at_ms(2000));
    caller.ended(call, start.attempt, answer_of(Ended::refused), at_ms(2000));
  }
  make_calls(caller, 10, answer_of(Ended::success), at_ms(3000));
  EXPECT_EQ(words_of(caller),
            (std::vector<std::string>{
                "breaker_opened: too many results in a row were bad (10 of 10); nothing is sent "
                "for 1000 ms",
                "breaker_half_open: the next calls are probes",
                "breaker_closed: all probes went well",
                "budget_spent: too many retries for what succeeds; no more for now",
                "budget_back: half full again, after 3 retries were not made",
            }));
}

TEST(Caller, TellsWhenItBeginsAndEndsToRefuseAtHome) {
  Policy policy = plain_policy();
  policy.throttle.on = true;
  policy.retry.attempts = 1;
  Caller caller(policy, kBegin);
  make_calls(caller, 200, answer_of(Ended::refused), kBegin);
  const std::uint64_t refused = caller.snapshot(kBegin).counts.refused;
  make_calls(caller, 1, answer_of(Ended::success), at_ms(5000));
  const std::vector<std::string> words = words_of(caller);
  ASSERT_EQ(words.size(), 2U);
  EXPECT_EQ(words[0].substr(0, 18), "throttle_began: of");
  EXPECT_EQ(words[1],
            "throttle_ended: all are sent, after " + std::to_string(refused) + " were not");
}

TEST(Caller, DecidesTheSameFromTheSame) {
  const auto told = [](std::uint64_t seed) {
    Policy policy = plain_policy();
    policy.seed = seed;
    Caller caller(policy, kBegin);
    std::vector<std::int64_t> waits;
    for (int i = 0; i < 100; ++i) {
      Call call;
      Start start = caller.begin(call, kBegin);
      waits.push_back(caller.ended(call, start.attempt, answer_of(Ended::refused), kBegin).at.ns);
    }
    return waits;
  };
  EXPECT_EQ(told(1), told(1));
  EXPECT_NE(told(1), told(2));
}

}  // namespace
}  // namespace loadline::client::test
