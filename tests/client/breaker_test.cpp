// When somebody is left alone, and that it always ends.
#include "loadline/client/breaker.h"

#include <gtest/gtest.h>

#include <vector>

#include "at.h"

namespace loadline::client::test {
namespace {

using Pass = CircuitBreaker::Pass;
using Result = CircuitBreaker::Result;
using Changes = CircuitBreaker::Changes;

BreakerPolicy steady_policy() {
  BreakerPolicy policy;
  policy.open_jitter = 0;
  policy.consecutive = 0;
  return policy;
}

// A breaker whose changes are kept.
struct Watched {
  explicit Watched(const BreakerPolicy& policy) : breaker(policy, 1, kBegin) {}

  Pass ask(Instant now) {
    Changes seen;
    const Pass pass = breaker.ask(now, seen);
    keep(seen);
    return pass;
  }
  bool settle(const Pass& pass, Result result, Instant now) {
    Changes seen;
    const bool counted = breaker.settle(pass, result, now, seen);
    keep(seen);
    return counted;
  }
  void call(Result result, Instant now) { settle(ask(now), result, now); }
  void calls(int count, Result result, Instant now) {
    for (int i = 0; i < count; ++i) {
      call(result, now);
    }
  }
  BreakerCause last_cause() const {
    return changes.empty() ? BreakerCause::none : changes.back().cause;
  }

  CircuitBreaker breaker;
  std::vector<CircuitBreaker::Change> changes;

 private:
  void keep(const Changes& seen) {
    changes.insert(changes.end(), seen.list, seen.list + seen.count);
  }
};

TEST(CircuitBreaker, OpensAtItsShareOfBadResultsOnceThereIsTraffic) {
  Watched watched(steady_policy());
  watched.calls(19, Result::bad, at_ms(0));
  EXPECT_EQ(watched.breaker.state(at_ms(0)), BreakerState::closed);
  watched.call(Result::bad, at_ms(0));
  EXPECT_EQ(watched.breaker.state(at_ms(0)), BreakerState::open);
  ASSERT_EQ(watched.changes.size(), 1U);
  EXPECT_EQ(watched.changes[0].cause, BreakerCause::failure_share);
  EXPECT_EQ(watched.changes[0].results, 20U);
  EXPECT_EQ(watched.changes[0].bad, 20U);
  EXPECT_EQ(watched.changes[0].open, Duration::seconds(1));
}

TEST(CircuitBreaker, StaysClosedBelowItsShare) {
  Watched watched(steady_policy());
  for (int i = 0; i < 1000; ++i) {
    watched.calls(11, Result::good, at_ms(i));
    watched.calls(10, Result::bad, at_ms(i));
  }
  EXPECT_TRUE(watched.changes.empty());
  watched.calls(1000, Result::bad, at_ms(1000));
  EXPECT_EQ(watched.last_cause(), BreakerCause::failure_share);
}

TEST(CircuitBreaker, ForgetsWhatIsOlderThanItsWindow) {
  Watched watched(steady_policy());
  watched.calls(19, Result::bad, at_ms(0));
  watched.calls(19, Result::bad, at_ms(5000));
  EXPECT_EQ(watched.breaker.state(at_ms(5000)), BreakerState::closed);
  watched.call(Result::bad, at_ms(5000));
  EXPECT_EQ(watched.breaker.state(at_ms(5000)), BreakerState::open);
}

TEST(CircuitBreaker, OpensAfterSoManyInARow) {
  BreakerPolicy policy = steady_policy();
  policy.consecutive = 10;
  Watched watched(policy);
  watched.calls(1000, Result::good, at_ms(0));
  watched.calls(9, Result::bad, at_ms(0));
  watched.call(Result::good, at_ms(0));
  watched.calls(9, Result::bad, at_ms(0));
  watched.calls(100, Result::nothing, at_ms(0));
  EXPECT_EQ(watched.breaker.state(at_ms(0)), BreakerState::closed);
  watched.call(Result::bad, at_ms(0));
  EXPECT_EQ(watched.last_cause(), BreakerCause::consecutive);
}

// Six calls begin at once and all fail together, with a threshold of five.
TEST(CircuitBreaker, ALateFailureDoesNotKeepItOpen) {
  BreakerPolicy policy = steady_policy();
  policy.consecutive = 5;
  Watched watched(policy);
  std::vector<Pass> passes;
  for (int i = 0; i < 6; ++i) {
    passes.push_back(watched.ask(at_ms(0)));
  }
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(watched.settle(passes[static_cast<std::size_t>(i)], Result::bad, at_ms(10)), i < 5);
  }
  const Pass refused = watched.ask(at_ms(1009));
  EXPECT_FALSE(refused.allowed);
  EXPECT_EQ(refused.come_back, at_ms(1010));
  EXPECT_EQ(watched.breaker.open_until(), at_ms(1010));
  EXPECT_TRUE(watched.ask(at_ms(1010)).allowed);
  EXPECT_EQ(watched.last_cause(), BreakerCause::time_to_probe);
}

TEST(CircuitBreaker, AProbeWithoutAResultHasFailedAtItsLimit) {
  BreakerPolicy policy = steady_policy();
  policy.probes = 1;
  policy.probe_limit = Duration::seconds(30);
  Watched watched(policy);
  watched.calls(20, Result::bad, at_ms(0));
  const Pass lost = watched.ask(at_ms(1000));
  ASSERT_TRUE(lost.allowed);
  const Pass refused = watched.ask(at_ms(30'999));
  EXPECT_FALSE(refused.allowed);
  EXPECT_EQ(refused.come_back, at_ms(31'000));
  EXPECT_FALSE(watched.ask(at_ms(31'000)).allowed);
  EXPECT_EQ(watched.last_cause(), BreakerCause::probe_overdue);
  EXPECT_EQ(watched.breaker.open_until(), at_ms(32'000));
  const Pass probe = watched.ask(at_ms(32'000));
  ASSERT_TRUE(probe.allowed);
  EXPECT_FALSE(watched.settle(lost, Result::good, at_ms(32'001)));
  EXPECT_EQ(watched.breaker.state(at_ms(32'001)), BreakerState::half_open);
  EXPECT_TRUE(watched.settle(probe, Result::good, at_ms(32'002)));
  EXPECT_EQ(watched.breaker.state(at_ms(32'002)), BreakerState::closed);
}

// Nobody asked meanwhile: it is made up for as if somebody had.
TEST(CircuitBreaker, NothingDependsOnBeingAsked) {
  BreakerPolicy policy = steady_policy();
  policy.probes = 1;
  Watched watched(policy);
  watched.calls(20, Result::bad, at_ms(0));
  const Pass lost = watched.ask(at_ms(1000));
  EXPECT_TRUE(watched.ask(at_ms(12'000)).allowed);  // overdue at 11 s, open until 12 s
  ASSERT_EQ(watched.changes.size(), 4U);
  EXPECT_EQ(watched.changes[2].cause, BreakerCause::probe_overdue);
  EXPECT_EQ(watched.changes[2].at, at_ms(11'000));
  EXPECT_EQ(watched.changes[3].cause, BreakerCause::time_to_probe);
  EXPECT_FALSE(watched.settle(lost, Result::bad, at_ms(12'001)));
}

TEST(CircuitBreaker, AResultAfterItsLimitIsTooLateEvenIfNobodyHasNoticed) {
  BreakerPolicy policy = steady_policy();
  policy.probes = 1;
  Watched watched(policy);
  watched.calls(20, Result::bad, at_ms(0));
  const Pass late = watched.ask(at_ms(1000));
  EXPECT_FALSE(watched.settle(late, Result::good, at_ms(11'000)));
  EXPECT_EQ(watched.breaker.state(at_ms(11'000)), BreakerState::open);
}

// A hundred come when it is time to probe, and one that began before fails meanwhile.
TEST(CircuitBreaker, LetsOnlyItsProbesThroughAndOldResultsCountForNothing) {
  BreakerPolicy policy = steady_policy();
  policy.probes = 1;
  Watched watched(policy);
  const Pass old = watched.ask(at_ms(0));
  watched.calls(20, Result::bad, at_ms(0));
  std::vector<Pass> allowed;
  for (int i = 0; i < 100; ++i) {
    const Pass pass = watched.ask(at_ms(1000));
    if (pass.allowed) {
      allowed.push_back(pass);
    }
  }
  ASSERT_EQ(allowed.size(), 1U);
  EXPECT_FALSE(watched.settle(old, Result::bad, at_ms(1500)));
  EXPECT_EQ(watched.breaker.state(at_ms(1500)), BreakerState::half_open);
  EXPECT_TRUE(watched.settle(allowed[0], Result::good, at_ms(6000)));
  EXPECT_EQ(watched.breaker.state(at_ms(6000)), BreakerState::closed);
  EXPECT_FALSE(watched.settle(allowed[0], Result::bad, at_ms(6001)));
}

TEST(CircuitBreaker, ClosesWhenAllProbesWentWellAndOpensAtTheFirstThatDidNot) {
  Watched watched(steady_policy());
  watched.calls(20, Result::bad, at_ms(0));
  watched.calls(2, Result::good, at_ms(1000));
  EXPECT_EQ(watched.breaker.state(at_ms(1000)), BreakerState::half_open);
  watched.call(Result::bad, at_ms(1000));
  EXPECT_EQ(watched.last_cause(), BreakerCause::probe_failed);
  EXPECT_EQ(watched.breaker.open_until(), at_ms(2000));
  watched.calls(3, Result::good, at_ms(2000));
  EXPECT_EQ(watched.last_cause(), BreakerCause::probes_passed);
  EXPECT_EQ(watched.breaker.state(at_ms(2000)), BreakerState::closed);
  // What was counted before is forgotten.
  watched.calls(19, Result::bad, at_ms(2000));
  EXPECT_EQ(watched.breaker.state(at_ms(2000)), BreakerState::closed);
}

TEST(CircuitBreaker, ARowDoesNotGoOnFromBeforeItOpened) {
  BreakerPolicy policy = steady_policy();
  policy.consecutive = 10;
  Watched watched(policy);
  watched.calls(10, Result::bad, at_ms(0));
  watched.calls(3, Result::good, at_ms(1000));
  watched.calls(9, Result::bad, at_ms(1000));
  EXPECT_EQ(watched.breaker.state(at_ms(1000)), BreakerState::closed);
  watched.call(Result::bad, at_ms(1000));
  EXPECT_EQ(watched.breaker.state(at_ms(1000)), BreakerState::open);
}

TEST(CircuitBreaker, AProbeThatSaysNothingIsGivenToAnother) {
  Watched watched(steady_policy());
  watched.calls(20, Result::bad, at_ms(0));
  for (int i = 0; i < 1000; ++i) {
    watched.call(Result::nothing, at_ms(1000 + i));
  }
  EXPECT_EQ(watched.breaker.state(at_ms(2000)), BreakerState::half_open);
  watched.calls(3, Result::good, at_ms(2000));
  EXPECT_EQ(watched.breaker.state(at_ms(2000)), BreakerState::closed);
}

TEST(CircuitBreaker, StaysOpenForBetweenHalfAndAllOfItsTime) {
  BreakerPolicy policy;
  std::int64_t least = 1'000'000;
  std::int64_t most = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    CircuitBreaker breaker(policy, seed, kBegin);
    Changes changes;
    for (int i = 0; i < 10; ++i) {
      breaker.settle(breaker.ask(kBegin, changes), Result::bad, kBegin, changes);
    }
    const std::int64_t open = (breaker.open_until() - kBegin).ns / 1'000'000;
    least = std::min(least, open);
    most = std::max(most, open);
  }
  EXPECT_GE(least, 500);
  EXPECT_LE(least, 510);
  EXPECT_LE(most, 1000);
  EXPECT_GE(most, 990);
}

TEST(CircuitBreaker, LetsEverythingPassWhereItIsOff) {
  BreakerPolicy policy = steady_policy();
  policy.on = false;
  Watched watched(policy);
  watched.calls(1000, Result::bad, at_ms(0));
  EXPECT_TRUE(watched.ask(at_ms(0)).allowed);
  EXPECT_TRUE(watched.changes.empty());
}

TEST(CircuitBreaker, OfSixteenProbesUsesAll) {
  BreakerPolicy policy = steady_policy();
  policy.probes = kMaxProbes;
  Watched watched(policy);
  watched.calls(20, Result::bad, at_ms(0));
  std::vector<Pass> probes;
  for (int i = 0; i < 20; ++i) {
    const Pass pass = watched.ask(at_ms(1000));
    if (pass.allowed) {
      probes.push_back(pass);
    }
  }
  ASSERT_EQ(probes.size(), 16U);
  for (const Pass& probe : probes) {
    EXPECT_EQ(watched.breaker.state(at_ms(1000)), BreakerState::half_open);
    EXPECT_TRUE(watched.settle(probe, Result::good, at_ms(1001)));
  }
  EXPECT_EQ(watched.breaker.state(at_ms(1001)), BreakerState::closed);
}

}  // namespace
}  // namespace loadline::client::test
