// `auto` and loads that fill the limit for moments only, over before anybody sees that it was full.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "loadline/limiter.h"
#include "rig.h"

namespace loadline::test {
namespace {

constexpr Duration kTick = Duration::millis(10);
constexpr Duration kWork = Duration::millis(5);

// A gate without a queue, to which so many come at once, again and again: those for whom there is
// no place are turned away.
class InBursts : public testing::Test {
 protected:
  struct Load {
    TimeOf time;
    std::uint32_t size = 0;
    Duration every{};
    Outcome outcome = Outcome::success;
    std::uint32_t others = 0;  // that are turned away beside each burst, whatever the limit
  };

  void run(Duration length, const Load& load) {
    for (const Instant until = view_.now + length; view_.now < until;) {
      if (view_.now >= next_) {
        arrive(load);
        next_ = view_.now + load.every;
      }
      view_.now = view_.now + kTick;
      end();
      view_.signals[0].at = view_.now;
      limiter_.look(view_);
      highest_ = std::max(highest_, limiter_.limit());
    }
  }
  void set_back(Duration by) {
    view_.now = view_.now - by;
    next_ = next_ - by;
    there_.clear();
    view_.in_flight = 0;
    limiter_.look(view_);
  }
  void tell(double signal) { view_.signals[0].reading = {.at_most = 1, .value = signal}; }
  [[nodiscard]] std::uint32_t limit() const { return limiter_.limit(); }

  std::uint32_t highest_ = 0;
  std::uint32_t turned_away_ = 0;  // of the last burst

 private:
  // Just after a look, so that all are gone at the next who take less.
  void arrive(const Load& load) {
    const std::uint32_t free = limiter_.limit() - std::min(limiter_.limit(), view_.in_flight);
    const std::uint32_t let_in = std::min(load.size, free);
    turned_away_ = load.size - let_in;
    view_.refused += turned_away_ + load.others;
    const Duration time = load.time(view_.in_flight + let_in);
    for (std::uint32_t i = 0; i < let_in; ++i) {
      there_.push_back({.started = view_.now,
                        .ended = view_.now + time,
                        .outcome = load.outcome,
                        .bound = turned_away_ > 0 && i + 1 == let_in});
    }
    view_.in_flight += let_in;
  }
  void end() {
    while (!there_.empty() && there_.front().ended <= view_.now) {
      limiter_.take(there_.front());
      there_.pop_front();
      ++view_.ended;
      --view_.in_flight;
    }
  }

  Limiter limiter_{{.law = Law::automatic, .bounds = {1, 100'000}, .seed = 7}, Instant{}};
  LimitView view_{};
  Instant next_{};
  std::deque<LimitSample> there_;
};

constexpr Duration kMinute = Duration::seconds(60);

TEST_F(InBursts, AllAreLetInWhereThatCostsNoTime) {
  for (const int ms : {2, 15, 60}) {
    run(kMinute,
        {.time = always(Duration::millis(ms)), .size = 300, .every = Duration::millis(100)});
    EXPECT_EQ(turned_away_, 0U) << ms << " ms";
  }
}

// Each twelve tell of a limit, and four doublings lead from 6 to 96.
TEST_F(InBursts, ThatComeRarelyTakeLongerToBeLearned) {
  run(kMinute * 5,
      {.time = always(Duration::millis(2)), .size = 100, .every = Duration::seconds(3)});
  EXPECT_LT(turned_away_, 10U);
}

// With thirteen, each takes a third longer than with ten. What is tried is twice what was found to
// be right, whether it is seen to be full (15 ms and 60 ms) or not.
TEST_F(InBursts, NoMoreAreLetInThanCanBeWorkedOnAtOnce) {
  for (const int ms : {2, 5, 15, 60}) {
    run(kMinute * 3,
        {.time = queue_of(10, Duration::millis(ms)), .size = 1000, .every = Duration::millis(200)});
    EXPECT_GE(limit(), 10U) << ms << " ms";
    EXPECT_LE(limit(), 13U) << ms << " ms";
    EXPECT_LE(highest_, 24U) << ms << " ms";
  }
}

TEST_F(InBursts, AServiceThatBecomesWiderIsFoundOutAbout) {
  run(kMinute, {.time = queue_of(10, kWork), .size = 300, .every = Duration::millis(200)});
  ASSERT_LE(limit(), 24U);
  run(kMinute + kMinute,
      {.time = queue_of(400, kWork), .size = 300, .every = Duration::millis(200)});
  EXPECT_LT(turned_away_, 30U);
}

// Ten at work at once: nobody ever tries more than twice what was found to be right.
const Duration kOften = Duration::millis(100);

TEST_F(InBursts, SignalsThatComeAndGoDoNotAddUp) {
  for (int i = 0; i < 40; ++i) {
    tell(0.5);
    run(Duration::millis(2800), {.time = queue_of(10, kWork), .size = 300, .every = kOften});
    tell(1.2);
    run(Duration::millis(200), {.time = queue_of(10, kWork), .size = 300, .every = kOften});
  }
  EXPECT_LE(highest_, 24U);
}

TEST_F(InBursts, DisturbancesDoNotAddUp) {
  for (int i = 0; i < 20; ++i) {
    run(Duration::seconds(7), {.time = queue_of(10, kWork), .size = 300, .every = kOften});
    set_back(Duration::seconds(3));
  }
  EXPECT_LE(highest_, 24U);
}

// With places left: their deadlines cannot be met, or their tenants have their share.
TEST_F(InBursts, ThoseTurnedAwayWithPlacesLeftAreNoReason) {
  run(kMinute, {.time = always(Duration::millis(2)), .size = 5, .every = kOften, .others = 50});
  EXPECT_EQ(highest_, 6U);
}

TEST_F(InBursts, FailuresThatAreFastNeverRaiseIt) {
  const std::uint32_t before = limit();
  run(kMinute, {.time = always(Duration::millis(1)),
                .size = 300,
                .every = Duration::millis(100),
                .outcome = Outcome::failure});
  EXPECT_EQ(highest_, before);
}

// Six come, and all are let in: that some take the last place is no reason for more than one look.
TEST_F(InBursts, WhereNobodyIsTurnedAwayMoreAreNotAskedFor) {
  run(kMinute * 3, {.time = always(Duration::millis(2)), .size = 6, .every = kOften});
  EXPECT_LE(highest_, 12U);
}

// Of all who come, one of fifteen: the service is left alone, whatever those of a burst would say.
TEST_F(InBursts, AFewWhoAreTurnedAwayAreNoReason) {
  for (int i = 0; i < 600; ++i) {
    run(Duration::millis(980),
        {.time = queue_of(10, kWork), .size = 5, .every = Duration::millis(20)});
    run(Duration::millis(20),
        {.time = queue_of(10, kWork), .size = 30, .every = Duration::millis(20)});
  }
  EXPECT_LE(highest_, 24U);
}

// While it looks down from what it has learned of bursts, as many come for good as there is room
// for, and the service is much wider: what is measured now has nothing of its kind to be compared
// with.
TEST_F(InBursts, AnOverloadThatFollowsIsLearnedFrom) {
  for (int i = 0; i < 8; ++i) {
    run(kMinute, {.time = queue_of(10, kWork), .size = 300, .every = kOften});
    run(Duration::millis(730), {.time = queue_of(10, kWork), .size = 300, .every = kOften});
    run(kMinute, {.time = queue_of(400, kWork * 3), .size = 10'000, .every = kTick});
    EXPECT_GE(limit(), 200U) << i;  // not the dozen that it was
  }
}

}  // namespace
}  // namespace loadline::test
