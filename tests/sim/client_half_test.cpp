// Callers and links that use the client half: what is told of it, and by whom.
#include <gtest/gtest.h>

#include <vector>

#include "rigs.h"
#include "sim/summary.h"
#include "statistics.h"

namespace loadline::sim::test {
namespace {

constexpr std::uint32_t kCap = 10;  // retries that a program has saved up when it begins

// Everything fails, from the first call on.
Scenario failing(std::uint32_t processes, double share) {
  Population callers{.arrivals = Arrivals::poisson(1000), .work = Distribution::fixed(kTenMs)};
  callers.retry.client = ClientHalf{.processes = processes};
  client::Policy& policy = callers.retry.client->policy;
  policy.breaker.on = false;
  policy.budget.floor = 0;
  Scenario scenario = scenario_of({callers}, ServerModel::kUnlimited, 20);
  scenario.services[0].server.failing = share;
  scenario.drains = true;
  return scenario;
}

double attempts_per_call(const Journal& journal) {
  const auto first = count(journal, [](const Ending& e) { return e.attempt == 1; });
  return static_cast<double>(journal.size()) / static_cast<double>(first);
}

// Where nothing succeeds, nothing is paid in: as many retries as were saved up, in each program.
TEST(TheClientHalf, SpendsWhatEachProgramHasSavedUp) {
  for (const std::uint32_t processes : {1U, 7U}) {
    const Journal journal = run(failing(processes, 1), 1).journal;
    EXPECT_EQ(count(journal, [](const Ending& e) { return e.attempt > 1; }), kCap * processes);
  }
}

// With a budget that never ends, a call whose attempts fail with probability p makes 1 + p + p^2.
TEST(TheClientHalf, TriesAgainWhatMayPass) {
  Scenario scenario = failing(20, 0.3);
  scenario.populations[0].retry.client->policy.budget = {.share = 1000, .cap = 10'000};
  expect_agrees(
      estimate([&](std::uint64_t seed) { return attempts_per_call(run(scenario, seed).journal); }),
      1 + 0.3 + 0.09, 0.01);
}

TEST(TheClientHalf, DoesNotTryTwiceWhatMayMatter) {
  Scenario scenario = failing(20, 0.3);
  scenario.populations[0].retry.client->idempotent = false;
  EXPECT_EQ(attempts_per_call(run(scenario, 1).journal), 1);
}

// Ten failures in a row open the breaker for half a second at least: what comes meanwhile is held
// back, is a call and is no attempt.
TEST(TheClientHalf, HoldsBackWhileTheBreakerIsOpen) {
  Scenario scenario = failing(1, 1);
  scenario.populations[0].arrivals = Arrivals::even(1000);
  scenario.populations[0].work = Distribution::fixed(Duration{});
  scenario.populations[0].retry.client->policy.breaker.on = true;
  scenario.populations[0].retry.client->policy.retry.attempts = 1;
  scenario.length = Duration::millis(400);
  const Journal journal = run(scenario, 1).journal;
  const auto held = count(journal, [](const Ending& e) { return e.fate == Fate::held_back; });
  EXPECT_EQ(journal.size() - held, 10U);
  const Summary summary = summarize(journal, {.span = {Instant{}, Instant{} + scenario.length}});
  EXPECT_EQ(summary.calls, journal.size());
  EXPECT_EQ(summary.attempts, 10U);
  EXPECT_EQ(summary.held_back, held);
}

// What was told is the least that is waited, unless there is another instance: it goes there at
// once.
TEST(TheClientHalf, ObeysOrGoesElsewhereAtOnce) {
  for (const std::uint32_t instances : {1U, 2U}) {
    Population callers{.arrivals = Arrivals::even({0, {{at(1), 1000}, {at(1.006), 0}}}),
                       .work = Distribution::fixed(kTenMs)};
    callers.retry.client = ClientHalf{.deadline = Duration::seconds(100)};
    Scenario scenario = scenario_of({callers}, 1, 50);
    scenario.services[0].instances = instances;
    scenario.services[0].gate = gate_of(1);
    scenario.services[0].gate->policy.queue = QueueSize::none();
    const Journal journal = run(scenario, 1).journal;
    std::uint32_t at_once = 0;
    for (const Ending& e : journal) {
      for (const Ending& next : journal) {
        if (e.fate != Fate::refused || next.called != e.called || next.attempt != e.attempt + 1) {
          continue;
        }
        if (instances == 2 && next.attempt == 2) {
          EXPECT_EQ(next.offered, e.ended);
          EXPECT_NE(next.instance, e.instance);
          ++at_once;
        } else {
          EXPECT_GE(next.offered - e.ended, Duration::seconds(e.retry_after));
        }
      }
    }
    EXPECT_EQ(at_once > 0, instances == 2);
  }
}

// Three layers of three attempts are 27 of the last without the mark. With it the last layer alone
// tries again.
TEST(TheClientHalf, OfEachLayerLeavesRetriesToTheLast) {
  Population callers{.arrivals = Arrivals::even(1), .work = Distribution::fixed(Duration{})};
  ClientHalf half;
  half.policy.breaker.on = false;
  half.policy.budget = {.share = 1000, .floor = 10'000, .cap = 10'000};
  callers.retry.client = half;
  Scenario scenario = scenario_of({callers}, ServerModel::kUnlimited, 10);
  scenario.services.resize(3);
  for (std::uint32_t s = 0; s < 2; ++s) {
    scenario.services[s].links.push_back({.service = s + 1, .client = half});
  }
  scenario.services[2].server.failing = 1.0;
  scenario.drains = true;
  const Journal journal = run(scenario, 1).journal;
  const auto at_service = [&](std::uint16_t service) {
    return count(journal, [service](const Ending& e) { return e.service == service; });
  };
  EXPECT_EQ(at_service(1), at_service(0));
  EXPECT_EQ(at_service(2), 3 * at_service(0));
}

// Patience is of each attempt, and the call goes on after it.
TEST(TheClientHalf, GivesUpEachAttemptWhenPatienceEnds) {
  Population callers{.arrivals = Arrivals::bursts({at(1)}, 1),
                     .work = Distribution::fixed(kTenMs),
                     .patience = Duration::millis(5)};
  callers.retry.client = ClientHalf{.deadline = Duration::seconds(10)};
  Scenario scenario = scenario_of({callers}, ServerModel::kUnlimited, 50);
  const Journal journal = run(scenario, 1).journal;
  EXPECT_EQ(journal.size(), 3U);
  for (const Ending& e : journal) {
    EXPECT_EQ(e.deadline - e.offered, callers.patience);
    EXPECT_FALSE(e.good());
  }
}

TEST(TheClientHalf, DecidesTheSameAgain) {
  const Scenario scenario = failing(20, 0.5);
  EXPECT_EQ(run(scenario, 3).journal, run(scenario, 3).journal);
}

}  // namespace
}  // namespace loadline::sim::test
