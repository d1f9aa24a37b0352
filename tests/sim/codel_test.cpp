// CoDel (RFC 8289) as a door, to check the simulator's time by: once a line has been too long for
// an interval, one is dropped, and the next ones after interval / sqrt(1), / sqrt(2), / sqrt(3) ...
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "rigs.h"

namespace loadline::sim::test {
namespace {

constexpr Duration kTarget = Duration::millis(5);
constexpr Duration kInterval = Duration::millis(100);

// The RFC's section 5, for a server of one worker.
class CoDelDoor final : public Door {
 public:
  explicit CoDelDoor(Site& site) : site_(site) {}

  void arrive(AttemptId id) override {
    line_.push_back(id);
    begin();
  }
  void leave(AttemptId) override {}
  void finished(AttemptId id) override {
    site_.answer(id);
    idle_ = true;
    begin();
  }

 private:
  [[nodiscard]] Instant now() const { return site_.loop().now(); }

  void begin() {
    if (idle_ && !line_.empty()) {
      idle_ = false;
      site_.start(next());
    }
  }

  AttemptId next() {
    Taken taken = take();
    if (dropping_ && !taken.too_long) {
      dropping_ = false;
    } else if (dropping_) {
      while (dropping_ && now() >= drop_next_) {
        drop(taken.id);
        ++count_;
        taken = take();
        dropping_ = taken.too_long;
        drop_next_ = dropping_ ? after(drop_next_) : drop_next_;
      }
    } else if (taken.too_long) {
      drop(taken.id);
      taken = take();
      dropping_ = true;
      count_ = 1;
      drop_next_ = after(now());
    }
    return taken.id;
  }

  struct Taken {
    AttemptId id;
    bool too_long;  // for at least an interval
  };
  Taken take() {
    const AttemptId id = line_.front();
    line_.pop_front();
    if (now() - site_.attempt(id).offered < kTarget) {
      since_ = Instant::never();
      return {id, false};
    }
    since_ = since_ == Instant::never() ? now() : since_;
    return {id, now() >= since_ + kInterval};
  }

  [[nodiscard]] Instant after(Instant t) const {
    return t + duration(seconds(kInterval) / std::sqrt(count_));
  }

  void drop(AttemptId id) { site_.refuse(id, Reason::queue_timeout, 0); }

  Site& site_;
  std::deque<AttemptId> line_;
  bool idle_ = true;
  bool dropping_ = false;
  int count_ = 0;
  Instant since_ = Instant::never();
  Instant drop_next_{};
};

TEST(CoDel, DropsByItsLaw) {
  const Population callers{.arrivals = Arrivals::even(2000),
                           .work = Distribution::fixed(Duration::millis(1))};
  Scenario scenario = scenario_of({callers}, 1, 1);
  scenario.services[0].other_door = [](Site& site) { return std::make_unique<CoDelDoor>(site); };
  std::vector<double> drops;
  for (const Ending& e : run(scenario, 1).journal) {
    if (e.fate == Fate::refused) {
      drops.push_back(seconds(e.ended) * 1000);
    }
  }
  const double after_the_first[] = {0,       100,     170.711, 228.446, 278.446, 323.167,
                                    363.992, 401.788, 437.144, 470.477, 502.100};
  ASSERT_GT(drops.size(), std::size(after_the_first));
  // The line is 5 ms long when 10 ms have been worked, of which half came too many.
  EXPECT_NEAR(drops[0], 110, 2);
  for (std::size_t i = 0; i < std::size(after_the_first); ++i) {
    // A drop comes with the first one who is taken after its time: within a millisecond.
    EXPECT_GE(drops[i] - drops[0], after_the_first[i] - 1e-3);
    EXPECT_LT(drops[i] - drops[0], after_the_first[i] + 1);
  }
}

// CoDel for requests, as servers have it (Maurer, "Fail at Scale", ACM Queue 13(8), 2015): whether
// an interval was overloaded is known by the least wait in the one before, and while it is, who has
// waited for more than twice the target is refused. The first of an interval never is.
class CoDelForRequests {
 public:
  explicit CoDelForRequests(EventLoop& loop) : loop_(loop), ends_(loop.now()) {}

  bool refuses(Duration waited) {
    if (loop_.now() > ends_ && !first_) {
      ends_ = loop_.now() + kInterval;
      overloaded_ = least_ > kTarget;
      first_ = true;
    }
    least_ = first_ ? waited : std::min(least_, waited);
    return !std::exchange(first_, false) && overloaded_ && waited > kTarget + kTarget;
  }

 private:
  EventLoop& loop_;
  Instant ends_;  // of the interval
  Duration least_{};
  bool first_ = true;
  bool overloaded_ = false;
};

TEST(CoDel, ForRequestsRefusesAsItIsKnownTo) {
  struct Step {
    int at_ms;
    int waited_ms;
    bool refused;
  };
  constexpr Step kSteps[] = {{1, 20, false},   {2, 20, false},   {3, 20, true},
                             {4, 9, false},    {5, 4, false},    {103, 20, false},
                             {104, 20, false}, {204, 20, false}, {205, 20, true}};
  EventLoop loop;
  CoDelForRequests codel(loop);
  for (const Step& step : kSteps) {
    loop.run_until(Instant{} + Duration::millis(step.at_ms), [] {});
    EXPECT_EQ(codel.refuses(Duration::millis(step.waited_ms)), step.refused) << step.at_ms;
  }
}

}  // namespace
}  // namespace loadline::sim::test
