// Does a gate that only observes say rightly what it would turn away? The right figure is what the
// same gate turns away of the same callers when it is in force, in a run beside.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "figures.h"

namespace loadline::sim::test {
namespace {

constexpr std::uint32_t kLimit = 10;
constexpr Duration kWork = Duration::millis(50);  // so that the limit allows 200 a second
constexpr double kLength = 300;

// `each` at once every second.
Arrivals bursts(std::uint32_t each) {
  std::vector<Instant> times;
  for (int second = 1; second <= static_cast<int>(kLength); ++second) {
    times.push_back(Instant{} + Duration::seconds(second));
  }
  return Arrivals::bursts(times, each);
}

struct Load {
  double at_random = 100;  // a second
  std::uint32_t burst = 60;
};

Scenario scenario(const Distribution& work, std::uint32_t workers, Load load = {}) {
  const Population calm{
      .arrivals = Arrivals::poisson(load.at_random), .work = work, .importance = 1};
  Population crowd = calm;
  crowd.arrivals = bursts(load.burst);
  Scenario scenario = scenario_of({calm, crowd}, workers, kLength);
  scenario.services[0].gate = gate_of(kLimit);
  scenario.services[0].gate->policy.queue = QueueSize::at_most(20);
  scenario.services[0].gate->policy.wait_budget = Duration::seconds(1);
  return scenario;
}

using Counts = std::array<std::uint64_t, kReasons>;

Counts by_reason(const Snapshot& all, Counts Snapshot::Class::*of) {
  Counts sums{};
  for (const Snapshot::Class& here : all.classes) {
    for (std::uint32_t r = 0; r < kReasons; ++r) {
      sums[r] += (here.*of)[r];
    }
  }
  return sums;
}

double sum(const Counts& counts) {
  double all = 0;
  for (const std::uint64_t count : counts) {
    all += static_cast<double>(count);
  }
  return all;
}

std::string words(const Counts& counts) {
  std::string text;
  for (std::uint32_t r = 0; r < kReasons; ++r) {
    if (counts[r] != 0) {
      text += " " + std::string(name(static_cast<Reason>(r))) + " " + std::to_string(counts[r]);
    }
  }
  return text;
}

// How far the foretold number lies from the enforced one, over that.
void foretells(const std::string& what, Scenario scenario, double within = 0.05) {
  const auto enforced = over_seeds(kSeeds, [&](std::uint64_t seed) {
    return by_reason(run(scenario, seed).snapshots[0], &Snapshot::Class::rejected);
  });
  scenario.services[0].gate->mode = Mode::observe;
  const auto foretold = over_seeds(kSeeds, [&](std::uint64_t seed) {
    const Result result = run(scenario, seed);
    EXPECT_EQ(sum(by_reason(result.snapshots[0], &Snapshot::Class::rejected)), 0);
    EXPECT_EQ(result.watch.peak_waiting, 0U);
    EXPECT_EQ(admitted(result.journal, Span{}), 1);
    return by_reason(result.snapshots[0], &Snapshot::Class::observed);
  });
  std::vector<double> off;
  for (std::size_t i = 0; i < kSeeds; ++i) {
    off.push_back(sum(foretold[i]) / sum(enforced[i]) - 1);
  }
  std::printf("  %s\n    enforced%s\n    foretold%s\n", what.c_str(), words(enforced[0]).c_str(),
              words(foretold[0]).c_str());
  shown("off", off);
  EXPECT_LE(greatest(off), within) << what;
  EXPECT_GE(least(off), -within) << what;
  for (std::uint32_t r = 0; r < kReasons; ++r) {
    EXPECT_EQ(enforced[0][r] > sum(enforced[0]) / 20, foretold[0][r] > sum(enforced[0]) / 30)
        << what << ": " << name(static_cast<Reason>(r));
  }
}

const Distribution kFixed = Distribution::fixed(kWork);
// Without workers of its own, and with as many as it may have to do at a time: those in excess wait
// there, in a line of its own.
constexpr std::uint32_t kServices[] = {ServerModel::kUnlimited, kLimit};
const Distribution kVaried = Distribution::lognormal(kWork, 1);

TEST(Observing, ForetellsOfAServiceWithoutAQueueOfItsOwn) {
  foretells("fixed times", scenario(kFixed, ServerModel::kUnlimited));
  foretells("lognormal times", scenario(kVaried, ServerModel::kUnlimited));
}

TEST(Observing, ForetellsOfAServiceThatThoseInExcessMakeSlow) {
  foretells("fixed times", scenario(kFixed, kLimit));
  foretells("lognormal times", scenario(kVaried, kLimit));
}

TEST(Observing, ForetellsWhoWaitsInVain) {
  for (const std::uint32_t workers : kServices) {
    for (const Distribution& work : {kFixed, kVaried}) {
      Scenario hasty = scenario(work, workers);
      hasty.services[0].gate->policy.wait_budget = Duration::millis(100);
      foretells("at most 100 ms", hasty);
      hasty.services[0].gate->tells_service_times = false;
      foretells("at most 100 ms, and no prediction", hasty);
    }
  }
}

TEST(Observing, ForetellsWithoutAQueue) {
  for (const std::uint32_t workers : kServices) {
    Scenario queueless = scenario(kVaried, workers);
    queueless.services[0].gate->policy.queue = QueueSize::none();
    foretells("no queue", queueless);
  }
}

// The service that is slow in a crowd is hardly ever without one then: what comes is as much as it
// can do, and all of it is let in.
TEST(Observing, ForetellsAtAllThatTheLimitAllows) {
  for (const std::uint32_t workers : kServices) {
    Scenario full = scenario(kVaried, workers, {.at_random = 70, .burst = 60});
    Population lesser = full.populations[0];
    lesser.importance = 3;
    full.populations.push_back(lesser);
    foretells("two classes at 1.0x", full);
    full.services[0].gate->policy.wait_budget = Duration::millis(100);
    foretells("two classes at 1.0x, at most 100 ms", full);
    full.services[0].gate->policy.queue = QueueSize::none();
    foretells("two classes at 1.0x, no queue", full);
  }
}

// Ten times as many may run as there are places, all the time.
TEST(Observing, ForetellsOfALimitThatIsFarTooLow) {
  Scenario low = scenario(kVaried, ServerModel::kUnlimited, {.at_random = 2000, .burst = 1});
  foretells("ten times the limit", low);
}

// With a line of its own the service has seconds of it to work off afterwards; among the few times
// that are seen are those of who was in hand while it stood still.
TEST(Observing, ForetellsOfAServiceThatStandsStill) {
  for (const std::uint32_t workers : kServices) {
    Scenario stopping = scenario(kVaried, workers);
    std::vector<Steps<double>::Change> speeds;
    for (int at = 20; at < static_cast<int>(kLength); at += 30) {
      speeds.push_back({Instant{} + Duration::seconds(at), 0.0});
      speeds.push_back({Instant{} + Duration::seconds(at + 2), 1.0});
    }
    stopping.services[0].server.speed = Steps<double>(1.0, speeds);
    foretells("2 s of each 30", stopping, workers == kLimit ? 0.1 : 0.05);
  }
}

}  // namespace
}  // namespace loadline::sim::test
