// What must hold after every operation, whatever comes back.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <vector>

#include "at.h"

namespace loadline::client::test {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kLives = 1000;
#else
constexpr int kLives = 10'000;
#endif

// Small numbers, drawn from one.
class Bits {
 public:
  explicit Bits(std::uint64_t seed) : random_(seed) {}
  std::uint32_t below(std::uint32_t n) {
    return static_cast<std::uint32_t>(scaled_down(random_.draw(), n));
  }
  bool one_in(std::uint32_t n) { return below(n) == 0; }

 private:
  Random random_;
};

Policy any_policy(std::uint64_t seed) {
  Bits bits(seed);
  Policy policy;
  policy.seed = seed;
  policy.retry.attempts = static_cast<std::uint8_t>(1 + bits.below(6));
  policy.retry.elsewhere_at_once = !bits.one_in(4);
  policy.backoff.base = Duration::millis(1 + bits.below(300));
  policy.backoff.told_jitter = static_cast<std::uint16_t>(bits.below(1001));
  policy.budget.share = static_cast<std::uint16_t>(bits.below(1001));
  policy.budget.floor = bits.one_in(2) ? 0 : bits.below(3000);
  policy.budget.cap = 1 + bits.below(20);
  policy.budget.timeout_cost = static_cast<std::uint16_t>(1000 + bits.below(2000));
  policy.budget.at_once_share = static_cast<std::uint16_t>(bits.one_in(2) ? 0 : bits.below(1001));
  policy.breaker.on = !bits.one_in(4);
  policy.breaker.minimum = 1 + bits.below(20);
  policy.breaker.consecutive = bits.below(12);
  policy.breaker.probes = static_cast<std::uint8_t>(1 + bits.below(kMaxProbes));
  policy.breaker.open = Duration::millis(1 + bits.below(3000));
  policy.breaker.probe_limit = Duration::millis(1 + bits.below(3000));
  policy.throttle.on = bits.one_in(3);
  policy.throttle.minimum = bits.below(20);
  policy.deadline.attempt = Duration::millis(bits.one_in(2) ? 0 : 1 + bits.below(1000));
  policy.hedge.after = Duration::millis(bits.one_in(2) ? 0 : 1 + bits.below(100));
  return policy;
}

// Callers of one Caller, who do what each step says and check what they are told.
class Life {
 public:
  explicit Life(std::uint64_t seed) : policy_(any_policy(seed)), caller_(policy_, now_) {
    RC_ASSERT(!validate(policy_).refused());
  }

  void take(std::uint64_t step) {
    Bits bits(step);
    now_ = now_ + Duration::micros(bits.below(bits.one_in(5) ? 500'000 : 2'000));
    if (people_.empty() || bits.one_in(3)) {
      begin(bits);
    } else {
      act(people_[bits.below(static_cast<std::uint32_t>(people_.size()))], bits);
    }
    std::erase_if(people_, [](const Person& person) { return person.gone(); });
    check();
  }

  // Everyone goes, and nothing may be left.
  void finish() {
    for (Person& person : people_) {
      caller_.abandon(person.call, now_);
      for (std::optional<Attempt>& attempt : person.running) {
        if (attempt) {
          end(person, attempt, answer_of(Ended::cancelled));
        }
      }
    }
    people_.clear();
    check();
    RC_ASSERT(caller_.snapshot(now_).active == 0U);
    RC_ASSERT(caller_.snapshot(now_).retries == 0U);
  }

  // From now on all goes well: then all is sent again, within the times that the policy names.
  void recover() {
    const Instant by = now_ + policy_.breaker.probe_limit + policy_.breaker.open +
                       policy_.throttle.window + Duration::millis(100);
    while (now_ < by) {
      now_ = now_ + Duration::millis(10);
      succeed();
    }
    for (int i = 0; i < 100; ++i) {
      RC_ASSERT(succeed());
    }
    RC_ASSERT(caller_.snapshot(now_).breaker == BreakerState::closed);
  }

 private:
  struct Person {
    Call call;
    std::optional<Attempt> running[2];
    Instant not_before{};  // by what it was told
    Instant retry_at{};
    std::uint32_t paid = 0;
    bool at_once = false;
    bool elsewhere_used = false;
    bool hedged = false;

    [[nodiscard]] bool gone() const { return !call.active() && !running[0] && !running[1]; }
  };

  void begin(Bits& bits) {
    Person person;
    const Instant deadline =
        bits.one_in(3) ? Instant::never() : now_ + Duration::millis(bits.below(3000));
    person.call = Call(deadline, bits.one_in(2) ? Call::once : Call::idempotent);
    const Start start = caller_.begin(person.call, now_);
    if (start.send()) {
      sent(person, person.running[0], start);
      people_.push_back(person);
    }
  }

  void act(Person& person, Bits& bits) {
    if (bits.one_in(30)) {
      if (person.call.waiting()) {
        unpaid_ += person.paid;
      }
      caller_.abandon(person.call, now_);
      return;
    }
    if (person.call.waiting()) {
      retry(person, bits);
      return;
    }
    if (person.running[0] && bits.one_in(4)) {
      hedge(person);
    }
    std::optional<Attempt>& attempt = person.running[bits.below(2)];
    if (attempt) {
      end(person, attempt, any_answer(bits));
    }
  }

  void retry(Person& person, Bits& bits) {
    if (bits.one_in(2)) {
      now_ = std::max(now_, person.retry_at);  // else perhaps too early
    }
    const Instant due = person.retry_at;
    const Start start = caller_.retry(person.call, now_);
    RC_ASSERT((start.kind == Start::Kind::wait) == (now_ < due));
    if (start.send()) {
      RC_ASSERT(person.at_once || now_ >= person.not_before);
      sent(person, person.running[0], start);
    } else if (start.kind == Start::Kind::refuse) {
      unpaid_ += person.paid;
    }
  }

  void hedge(Person& person) {
    const Instant due = person.running[0]->hedge_at();
    const Start start = caller_.hedge(person.call, *person.running[0], now_);
    if (start.send()) {
      RC_ASSERT(now_ >= due && !person.hedged && person.call.is_idempotent());
      person.hedged = true;
      paid_ += 1000;
      sent(person, person.running[1], start);
    }
  }

  void sent(Person& person, std::optional<Attempt>& place, const Start& start) {
    RC_ASSERT(now_ < person.call.deadline());
    RC_ASSERT(start.attempt.cut_off() <= person.call.deadline());
    RC_ASSERT(start.attempt.hand_on() > Duration{});
    RC_ASSERT(person.call.deadline() == Instant::never() ||
              start.attempt.hand_on() <= person.call.deadline() - now_);
    place = start.attempt;
    ++running_;
    RC_ASSERT(person.call.attempts() <= policy_.retry.attempts + (person.hedged ? 1 : 0));
  }

  Answer any_answer(Bits& bits) {
    Answer answer = answer_of(static_cast<Ended>(bits.below(kEnds)));
    if (bits.one_in(3)) {
      answer.ended = bits.one_in(2) ? Ended::success : Ended::refused;
    }
    if (bits.one_in(3)) {
      answer.told =
          Told::wait(bits.one_in(20) ? Duration::max() : Duration::millis(bits.below(2000)));
    }
    answer.further_down = bits.one_in(10);
    answer.another_instance = bits.one_in(2);
    return answer;
  }

  void end(Person& person, std::optional<Attempt>& attempt, const Answer& answer) {
    const bool was_active = person.call.active();
    const Next next = caller_.ended(person.call, *attempt, answer, now_);
    attempt.reset();
    --running_;
    if (was_active && answer.ended == Ended::success) {
      ++successes_;
      RC_ASSERT(next.kind == Next::Kind::done);
    }
    if (answer.told.kind == Told::Kind::wait) {
      person.not_before = std::max(
          person.not_before, now_ + std::min(answer.told.after, policy_.backoff.longest_told));
    }
    if (!next.retry()) {
      RC_ASSERT(person.call.active() == (next.kind == Next::Kind::pending));
      return;
    }
    RC_ASSERT(!answer.further_down);
    RC_ASSERT(is_unprocessed(answer.ended) || person.call.is_idempotent());
    RC_ASSERT(next.at < person.call.deadline());
    RC_ASSERT(next.at >= now_);
    person.at_once = next.at < person.not_before || next.at == now_;
    if (person.at_once) {
      RC_ASSERT(next.elsewhere && !person.elsewhere_used && policy_.retry.elsewhere_at_once);
      person.elsewhere_used = true;
    }
    person.retry_at = next.at;
    person.paid = answer.ended == Ended::timed_out ? policy_.budget.timeout_cost : 1000U;
    paid_ += person.paid;
  }

  // What was paid was there: the cap at first, a share of each success, and the floor.
  void check() {
    const Snapshot seen = caller_.snapshot(now_);
    RC_ASSERT(adds_up(seen, running_));
    RC_ASSERT(seen.budget <= policy_.budget.cap * 1000);
    const auto ms = static_cast<std::uint64_t>((now_ - kBegin).ns / 1'000'000 + 1);
    const std::uint64_t income = std::uint64_t{policy_.budget.cap} * 1000 +
                                 successes_ * policy_.budget.share +
                                 ms * policy_.budget.floor / 1000 + 2;
    RC_ASSERT(paid_ - unpaid_ <= income);
  }

  bool succeed() {
    Call call;
    Start start = caller_.begin(call, now_);
    if (start.send()) {
      caller_.ended(call, start.attempt, answer_of(Ended::success), now_);
    }
    return start.send();
  }

  Policy policy_;
  Instant now_ = kBegin;
  Caller caller_;
  std::vector<Person> people_;
  std::uint64_t running_ = 0;
  std::uint64_t successes_ = 0;
  std::uint64_t paid_ = 0;
  std::uint64_t unpaid_ = 0;
};

template <class Check>
[[nodiscard]] testing::AssertionResult holds(int lives, Check check) {
  rc::detail::TestParams params = rc::detail::configuration().testParams;
  params.maxSuccess = lives;
  const auto result = rc::detail::checkTestable(check, rc::detail::TestMetadata{}, params);
  std::ostringstream text;
  rc::detail::printResultMessage(result, text);
  if (result.template is<rc::detail::SuccessResult>()) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure()
         << text.str() << "\nThe same again: RC_PARAMS=seed=" << params.seed;
}

std::vector<std::uint64_t> any_steps() {
  return *rc::gen::withSize([](int size) {
    return rc::gen::resize(
        size * 5, rc::gen::container<std::vector<std::uint64_t>>(rc::gen::noShrink(
                      rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::uint64_t>()))));
  });
}

TEST(Properties, ACallerKeepsItsPromises) {
  const auto promise = [] {
    const auto seed = *rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::uint64_t>());
    Life life(seed);
    for (const std::uint64_t step : any_steps()) {
      life.take(step);
    }
    life.finish();
    life.recover();
  };
  EXPECT_TRUE(holds(kLives, promise));
}

// Whatever has been asked, settled and forgotten: after the limit of a probe and the longest time
// that it may be open, somebody may pass.
TEST(Properties, ABreakerIsNeverStuck) {
  const auto promise = [] {
    const auto seed = *rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::uint64_t>());
    const BreakerPolicy policy = [&] {
      BreakerPolicy drawn = any_policy(seed).breaker;
      drawn.on = true;
      return drawn;
    }();
    CircuitBreaker breaker(policy, seed, kBegin);
    CircuitBreaker::Changes changes;
    std::vector<CircuitBreaker::Pass> passes;
    Instant now = kBegin;
    for (const std::uint64_t step : any_steps()) {
      Bits bits(step);
      now = now + Duration::millis(bits.below(bits.one_in(10) ? 4000 : 20));
      if (passes.empty() || bits.one_in(2)) {
        const CircuitBreaker::Pass pass = breaker.ask(now, changes);
        RC_ASSERT(pass.allowed || pass.come_back <= now + policy.open + policy.probe_limit);
        if (pass.allowed) {
          passes.push_back(pass);
        }
        continue;
      }
      const std::size_t which = bits.below(static_cast<std::uint32_t>(passes.size()));
      if (!bits.one_in(5)) {  // else it is forgotten
        const auto result = static_cast<CircuitBreaker::Result>(bits.below(3));
        breaker.settle(passes[which], result, now, changes);
      }
      passes.erase(passes.begin() + static_cast<std::ptrdiff_t>(which));
    }
    const Instant later = now + policy.probe_limit + policy.open + Duration::millis(2);
    RC_ASSERT(breaker.ask(later, changes).allowed);
  };
  EXPECT_TRUE(holds(kLives, promise));
}

TEST(Properties, ADateOfAnyKindIsReadOrNot) {
  const auto promise = [] {
    const auto text = *rc::gen::container<std::string>(
        rc::gen::elementOf(std::string("0123456789 ,:-.+eGMTWedJan25\t")));
    const auto told = parse_retry_after(text, WallTime::seconds(1'735'689'600));
    RC_ASSERT(!told || *told >= Duration{});
    const Told pushback = parse_pushback(text);
    RC_ASSERT(pushback.kind == Told::Kind::never || pushback.after >= Duration{});
  };
  EXPECT_TRUE(holds(kLives, promise));
}

}  // namespace
}  // namespace loadline::client::test
