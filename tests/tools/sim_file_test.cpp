#include "sim_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>

#include "config.h"
#include "sim/python_random.h"
#include "sim/seconds.h"
#include "sim/world.h"
#include "sim_figure.h"

namespace loadline::tools {
namespace {

using sim::at;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kHead = "version: 1\nduration: 60s\n";
constexpr const char* kService = "service: {workers: 1, work: 10ms}\n";
constexpr const char* kCallers = "callers: {all: {arrivals: {poisson: 100/s}}}\n";
constexpr const char* kPolicies = "policies: {a: {limit: 1}}\n";
constexpr const char* kMore = "";

// A sound file, with the part that is given in place of its own.
std::string file_with(const char* part, const std::string& text) {
  std::string file;
  for (const char* const own : {kHead, kService, kCallers, kPolicies, kMore}) {
    file += own != part ? own : text.empty() ? "" : text + "\n";
  }
  return file;
}

std::string faults_of(const std::string& text) {
  std::string faults = describe_faults("", read_sim_text(text, "").faults);
  for (auto at = faults.find("\n:"); at != std::string::npos; at = faults.find("\n:")) {
    faults.replace(at, 2, "; ");
  }
  return faults.empty() ? faults : faults.substr(1, faults.size() - 2);
}

struct BadFile {
  const char* part;
  std::string text;
  std::string faults;  // all of them, or how they begin, with "..." at the end
};

void expect_faults(std::span<const BadFile> files) {
  for (const BadFile& file : files) {
    const std::string faults = faults_of(file_with(file.part, file.text));
    if (file.faults.ends_with("...")) {
      EXPECT_THAT(faults, testing::StartsWith(file.faults.substr(0, file.faults.size() - 3)))
          << file.text;
    } else {
      EXPECT_EQ(faults, file.faults) << file.text;
    }
  }
}

SimFile read_sound(const std::string& text, const std::string& folder = "") {
  SimFile file = read_sim_text(text, folder);
  EXPECT_EQ(describe_faults("f", file.faults), "");
  return file;
}

// When the first callers come, in seconds.
std::vector<double> first_arrivals(const sim::Arrivals& arrivals, std::size_t most) {
  std::vector<double> times;
  Instant last{};
  while (times.size() < most) {
    last = arrivals.next(last, times.size(), sim::Draws(1, 0, times.size()));
    if (last == Instant::never()) {
      break;
    }
    times.push_back(sim::seconds(last));
  }
  return times;
}

sim::Arrivals arrivals_of(const std::string& text) {
  return read_sound(file_with(kCallers, "callers: {all: {arrivals: " + text + "}}"))
      .policies.at(0)
      .scenario.populations.at(0)
      .arrivals;
}

double mean_work(const std::string& text) {
  const SimFile file = read_sound(file_with(kService, "service: {work: " + text + "}"));
  return sim::seconds(file.policies.at(0).scenario.services.at(0).work.mean());
}

constexpr const char* kEverything = R"(version: 1
about: Everything there is
duration: 60s
drain: on
seeds: 5
measure: {from: 5s, to: 65s}
callers:
  everyone:
    arrivals: {poisson: 120/s}
    work: 20ms
    patience: 1s
    tells_deadline: off
    leaves: on
    class: Sheddable
    weight: 2
    tenants: {number: 99, first: 2, choice: in_turn, group: crawlers}
    retries: {attempts: 3, pause: 40ms, growth: 2, jitter: 50%, obeys: off, after: [timeout, failure], elsewhere: on}
    calls: api
  users: {arrivals: {closed: 51, think: {exponential: 1s}}, calls: store}
services:
  api:
    workers: [{from: 0s, number: 32}, {from: 50s, number: 16}]
    work: {lognormal: 10ms, cv: 1}
    speed: [{from: 20s, speed: 0.25}]
    stalls: [{from: 10s, until: 12s}, {from: 30s, until: 40s, gate: on}]
    line: newest
    contention: {overhead: 1.5%, above: 32}
    cold: {for: 5s, speed: 0.33}
    failing: {share: [{from: 7s, share: 30%}], after: 0.5ms}
    rejection_work: 0.2ms
    works_on: 0s
    instances: 10
    balance: least_loaded
    paces: [0.25, 0.5]
    links: [{to: store, attempts: 3, pause: 1s, patience: 200ms}]
    keeps_worker: off
    readiness: {tied_to_load: on, every: 4s, patience: 2s, failures: 5, successes: 6, work: 3ms}
    autoscale: {target: 60%, every: 20s, after: 90s, up_to: 14}
  store: {workers: unlimited, work: 5ms, contention: {sharing: 8}}
policies:
  unbounded: {gate: off}
  loadline:
    limit: 7
    queue: 2000
    wait: 50ms
    order: fifo
    classes: [critical, {name: sheddable, share: 80%}]
    default_class: sheddable
    guarantees: {sheddable: 10%}
    heavy: 40%
    tenants: {number: 100}
    quota: {rate: 600r/m, burst: 20, keys: 5000}
    groups: {visitors: 2, crawlers: 1}
    limits: [{from: 20s, limit: 3}]
    predict: off
    retry_after: 2-9
    line: oldest
    workers: 4
    services: {store: {limit: 9, classes: [critical, sheddable], workers: 6}}
    callers: {everyone: {retries: off, patience: 2s, tells_deadline: on, leaves: off, class: critical}}
oracle: {limits: [1, 2, 4-6], phases: [0s, 20s]}
expect:
  - {policy: loadline, useful: 6050}
)";

TEST(SimFile, ReadsWhoCalls) {
  const SimFile file = read_sound(kEverything);
  EXPECT_THAT(file.callers, ElementsAre("everyone", "users"));
  const auto& populations = file.policies.at(0).scenario.populations;
  ASSERT_EQ(populations.size(), 2U);
  const sim::Population& everyone = populations[0];
  EXPECT_EQ(everyone.name, "everyone");
  EXPECT_EQ(everyone.work.mean(), Duration::millis(20));
  EXPECT_EQ(everyone.patience, Duration::seconds(1));
  EXPECT_FALSE(everyone.tells_deadline);
  EXPECT_TRUE(everyone.departs);
  EXPECT_EQ(everyone.importance, 1);  // of the classes that the file's gates have
  EXPECT_EQ(everyone.cost, 2U);
  EXPECT_EQ(everyone.tenants.count, 99U);
  EXPECT_EQ(everyone.tenants.first, 2U);
  EXPECT_EQ(everyone.tenants.choice, sim::Tenants::Choice::in_turn);
  EXPECT_EQ(everyone.tenants.group, Request::kNoGroup);  // this policy has none
  EXPECT_EQ(everyone.service, 0U);
  const sim::Retry& retry = everyone.retry;
  EXPECT_EQ(retry.attempts, 3U);
  EXPECT_EQ(retry.pause, Duration::millis(40));
  EXPECT_EQ(retry.growth, 2);
  EXPECT_EQ(retry.jitter, 0.5);
  EXPECT_FALSE(retry.obeys);
  EXPECT_TRUE(retry.after_timeout);
  EXPECT_TRUE(retry.after_failure);
  EXPECT_TRUE(retry.elsewhere);
  const sim::Population& users = populations[1];
  EXPECT_TRUE(users.arrivals.is_closed());
  EXPECT_EQ(users.arrivals.users(), 51U);
  EXPECT_EQ(users.service, 1U);
  EXPECT_EQ(users.work.mean(), Duration::millis(5));  // the service's
  EXPECT_EQ(users.patience, Duration::max());
  EXPECT_EQ(users.importance, 1);  // the default class
}

TEST(SimFile, ReadsServices) {
  const SimFile file = read_sound(kEverything);
  EXPECT_THAT(file.services, ElementsAre("api", "store"));
  const sim::Scenario& scenario = file.policies.at(0).scenario;
  EXPECT_EQ(scenario.length, Duration::seconds(60));
  EXPECT_TRUE(scenario.drains);
  ASSERT_EQ(scenario.services.size(), 2U);
  const sim::ServiceModel& api = scenario.services[0];
  EXPECT_EQ(api.name, "api");
  EXPECT_FALSE(api.gate);
  EXPECT_EQ(api.server.workers.at(at(49)), 32U);
  EXPECT_EQ(api.server.workers.at(at(50)), 16U);
  EXPECT_EQ(api.work.mean(), Duration::millis(10));
  // Of the stalls, and of the speed between them.
  const std::pair<double, double> speeds[] = {{9, 1},     {10, 0}, {12, 1},    {20, 0.25},
                                              {29, 0.25}, {30, 0}, {40, 0.25}, {99, 0.25}};
  for (const auto& [when, speed] : speeds) {
    EXPECT_EQ(api.server.speed.at(at(when)), speed) << when;
  }
  EXPECT_TRUE(api.server.newest_first);
  EXPECT_EQ(api.server.contention.kind, sim::Contention::Kind::overhead);
  EXPECT_DOUBLE_EQ(api.server.contention.each, 0.015);
  EXPECT_EQ(api.server.contention.among, 32);
  EXPECT_EQ(api.server.cold_for, Duration::seconds(5));
  EXPECT_EQ(api.server.cold_speed, 0.33);
  EXPECT_EQ(api.server.failing.at(at(6)), 0);
  EXPECT_EQ(api.server.failing.at(at(7)), 0.3);
  EXPECT_EQ(api.server.failure_work, Duration::micros(500));
  EXPECT_EQ(api.server.rejection_work, Duration::micros(200));
  EXPECT_EQ(api.server.works_on, Duration{});
  EXPECT_EQ(api.instances, 10U);
  EXPECT_EQ(api.balance, sim::ServiceModel::Balance::least_loaded);
  EXPECT_THAT(api.paces, ElementsAre(0.25, 0.5));
  ASSERT_EQ(api.links.size(), 1U);
  EXPECT_EQ(api.links[0].service, 1U);
  EXPECT_EQ(api.links[0].attempts, 3U);
  EXPECT_EQ(api.links[0].pause, Duration::seconds(1));
  EXPECT_EQ(api.links[0].patience, Duration::millis(200));
  EXPECT_FALSE(api.keeps_worker);
  EXPECT_TRUE(api.readiness->tied_to_load);
  EXPECT_EQ(api.readiness->interval, Duration::seconds(4));
  EXPECT_EQ(api.readiness->patience, Duration::seconds(2));
  EXPECT_EQ(api.readiness->failures, 5U);
  EXPECT_EQ(api.readiness->successes, 6U);
  EXPECT_EQ(api.readiness->work, Duration::millis(3));
  EXPECT_EQ(api.scaling->target, 0.6);
  EXPECT_EQ(api.scaling->interval, Duration::seconds(20));
  EXPECT_EQ(api.scaling->delay, Duration::seconds(90));
  EXPECT_EQ(api.scaling->most, 14U);
  EXPECT_EQ(scenario.services[1].server.workers.at({}), sim::ServerModel::kUnlimited);
  EXPECT_EQ(scenario.services[1].server.contention.kind, sim::Contention::Kind::sharing);
  EXPECT_EQ(scenario.services[1].server.contention.among, 8);
  EXPECT_TRUE(scenario.services[1].keeps_worker);
}

TEST(SimFile, ReadsPolicies) {
  const SimFile file = read_sound(kEverything);
  ASSERT_EQ(file.policies.size(), 2U);
  EXPECT_EQ(file.policies[0].name, "unbounded");
  EXPECT_EQ(file.policies[1].name, "loadline");
  EXPECT_THAT(file.classes, ElementsAre("critical", "sheddable"));
  const sim::Scenario& scenario = file.policies[1].scenario;
  ASSERT_TRUE(scenario.services.at(0).gate);
  const sim::GateModel& gate = *scenario.services[0].gate;
  EXPECT_EQ(gate.policy.limit, 7U);
  EXPECT_EQ(gate.policy.queue.entries, 2000U);
  EXPECT_EQ(gate.queue_room, 2000U);
  EXPECT_EQ(gate.policy.wait_budget, Duration::millis(50));
  EXPECT_EQ(gate.policy.discipline, Discipline::fifo);
  EXPECT_EQ(gate.policy.class_count, 2);
  EXPECT_EQ(gate.policy.classes[1].share, 800);
  EXPECT_EQ(gate.policy.classes[1].guarantee, 100);
  EXPECT_EQ(gate.policy.default_class, 1);
  EXPECT_EQ(gate.policy.heavy_share, 400);
  EXPECT_EQ(gate.policy.tenants, 100U);
  EXPECT_EQ(gate.policy.quota.requests, 600U);
  EXPECT_EQ(gate.policy.quota.per, Duration::seconds(60));
  EXPECT_EQ(gate.policy.quota.burst, 20U);
  EXPECT_EQ(gate.policy.quota.keys, 5000U);
  EXPECT_EQ(gate.policy.group_count, 2);
  EXPECT_EQ(gate.policy.groups[1].name_view(), "crawlers");
  EXPECT_EQ(gate.policy.groups[0].tenants, 2);
  EXPECT_EQ(gate.policy.retry_after_min, 2);
  EXPECT_EQ(gate.policy.retry_after_max, 9);
  ASSERT_EQ(gate.limits.size(), 1U);
  EXPECT_EQ(gate.limits[0].from, at(20));
  EXPECT_EQ(gate.limits[0].value, 3U);
  EXPECT_FALSE(gate.tells_service_times);
  EXPECT_FALSE(gate.stopped.at(at(11)));
  EXPECT_TRUE(gate.stopped.at(at(30)));
  EXPECT_FALSE(gate.stopped.at(at(40)));

  // What it changes of the services and of the callers; the rest is as it was.
  EXPECT_FALSE(scenario.services[0].server.newest_first);
  EXPECT_EQ(scenario.services[0].server.workers.at(at(55)), 4U);
  EXPECT_EQ(scenario.services[0].instances, 10U);
  EXPECT_EQ(scenario.services[1].gate->policy.limit, 9U);
  EXPECT_EQ(scenario.services[1].gate->queue_room, 1024U);
  EXPECT_TRUE(scenario.services[1].gate->tells_service_times);
  EXPECT_EQ(scenario.services[1].server.workers.at({}), 6U);
  const sim::Population& everyone = scenario.populations.at(0);
  EXPECT_EQ(everyone.retry.attempts, 1U);
  EXPECT_FALSE(everyone.retry.after_timeout);
  EXPECT_EQ(everyone.patience, Duration::seconds(2));
  EXPECT_TRUE(everyone.tells_deadline);
  EXPECT_FALSE(everyone.departs);
  EXPECT_EQ(everyone.importance, 0);
  EXPECT_EQ(everyone.tenants.count, 99U);
  EXPECT_EQ(everyone.tenants.group, 1);
  EXPECT_EQ(scenario.populations[1].importance, 0);  // the default class of the store's gate
}

TEST(SimFile, ReadsTheRest) {
  const SimFile file = read_sound(kEverything);
  EXPECT_EQ(file.about, "Everything there is");
  EXPECT_EQ(file.seeds, 5U);
  EXPECT_EQ(file.measured.from, at(5));
  EXPECT_EQ(file.measured.to, at(65));
  EXPECT_THAT(file.oracle->limits, ElementsAre(1, 2, 4, 5, 6));
  EXPECT_THAT(file.oracle->phases, ElementsAre(at(0), at(20)));
  ASSERT_EQ(file.expectations.size(), 1U);
  EXPECT_EQ(file.expectations[0].place, (FilePlace{63, 24}));
}

TEST(SimFile, WhatIsNotSaidHasDefaults) {
  const SimFile file =
      read_sound(file_with(kService, "service: {work: 10ms}") + "oracle: {limits: 2-3}\n");
  EXPECT_EQ(file.about, "");
  EXPECT_EQ(file.seeds, 1U);
  EXPECT_EQ(file.measured.from, at(0));
  EXPECT_EQ(file.measured.to, at(60));
  EXPECT_THAT(file.oracle->phases, ElementsAre(at(0)));
  EXPECT_THAT(file.services, ElementsAre("service"));
  EXPECT_THAT(file.classes,
              ElementsAre("critical_plus", "critical", "sheddable_plus", "sheddable"));
  const sim::Scenario& scenario = file.policies.at(0).scenario;
  EXPECT_FALSE(scenario.drains);
  EXPECT_EQ(scenario.populations.at(0).importance, 1);
  EXPECT_EQ(scenario.services.at(0).server.workers.at({}), sim::ServerModel::kUnlimited);
  EXPECT_EQ(scenario.services[0].gate->policy.queue.kind, QueueSize::Kind::automatic);
  EXPECT_EQ(scenario.services[0].gate->policy.retry_after_max, 32);
  const SimFile drained = read_sound(file_with(kMore, "drain: on"));
  EXPECT_EQ(drained.measured.to, Instant::never());
}

TEST(SimFile, KindsOfWork) {
  EXPECT_DOUBLE_EQ(mean_work("10ms"), 0.01);
  EXPECT_DOUBLE_EQ(mean_work("{exponential: 10ms}"), 0.01);
  EXPECT_DOUBLE_EQ(mean_work("{lognormal: 10ms, cv: 0.5}"), 0.01);
  EXPECT_DOUBLE_EQ(mean_work("{gamma: 10ms, cv: 0.5}"), 0.01);
  EXPECT_DOUBLE_EQ(mean_work("{pareto: 10ms, shape: 2.5}"), 0.01);
  EXPECT_DOUBLE_EQ(mean_work("{bimodal: {short: 2ms, long: 200ms, share_long: 5%}}"), 0.0119);
  EXPECT_DOUBLE_EQ(mean_work("{empirical: [1ms, 2ms, 6ms]}"), 0.003);
  EXPECT_DOUBLE_EQ(mean_work("{empirical: 4ms}"), 0.004);
}

TEST(SimFile, ArrivalsAtARate) {
  EXPECT_THAT(first_arrivals(arrivals_of("{even: 120/m}"), 3), ElementsAre(0.25, 0.75, 1.25));
  EXPECT_THAT(first_arrivals(arrivals_of("{even: 3600/h}"), 2), ElementsAre(0.5, 1.5));
  EXPECT_EQ(first_arrivals(arrivals_of("{even: 2/s}"), 1000).size(), 120U);
  EXPECT_THAT(first_arrivals(arrivals_of("{even: 1/s, from: 10s, until: 12s}"), 10),
              ElementsAre(10.5, 11.5));
  EXPECT_THAT(
      first_arrivals(arrivals_of("{even: 1/s, from: 10s, until: 16s, on: 2s, off: 1s}"), 10),
      ElementsAre(10.5, 11.5, 13.5, DoubleNear(14.5, 1e-8)));
  EXPECT_EQ(first_arrivals(arrivals_of("{poisson: 100/s}"), 100),
            first_arrivals(sim::Arrivals::poisson(100.0), 100));
}

TEST(SimFile, ArrivalsAtARateThatChanges) {
  const char* const steps =
      "{even: [{from: 10s, rate: 1/s}, {from: 12s, rate: 0/s}, "
      "{from: 20s, rate: 2/s}, {from: 21s, rate: 0/s}]}";
  EXPECT_THAT(first_arrivals(arrivals_of(steps), 10),
              ElementsAre(10.5, 11.5, DoubleNear(20.25, 1e-6), DoubleNear(20.75, 1e-6)));
  // From 100/s to 600/s in 10 s: 3500 callers, half of whom have come when
  // 100 t + 25 t^2 = 1750, after t = -2 + sqrt(74).
  const auto ramp = first_arrivals(
      arrivals_of("{even: [{from: 5s, until: 15s, ramp: 100/s to 600/s}, {from: 15s, rate: 0/s}]}"),
      10'000);
  ASSERT_EQ(ramp.size(), 3500U);
  EXPECT_GE(ramp.front(), 5);
  EXPECT_LT(ramp.back(), 15);
  EXPECT_NEAR(ramp[1749], 5 - 2 + std::sqrt(74.0), 0.003);
  // Its last rate stays: 3500 and 45 seconds of 600.
  EXPECT_EQ(
      first_arrivals(arrivals_of("{even: {from: 5s, until: 15s, ramp: 100/s to 600/s}}"), 100'000)
          .size(),
      3500U + 45U * 600U);
}

TEST(SimFile, ArrivalsOfOtherKinds) {
  EXPECT_THAT(first_arrivals(arrivals_of("{bursts: 2, every: 10s, from: 1s, until: 21s}"), 10),
              ElementsAre(1, 1, 11, 11));
  EXPECT_THAT(first_arrivals(arrivals_of("{bursts: 1, at: [1s, 5s]}"), 10), ElementsAre(1, 5));
  EXPECT_THAT(first_arrivals(arrivals_of("{bursts: 1, at: 3s}"), 10), ElementsAre(3));

  const auto times = [](const std::vector<sim::Listed>& callers) {
    std::vector<double> all;
    for (const sim::Listed& one : callers) {
      all.push_back(sim::seconds(one.at));
    }
    return all;
  };
  // The last one comes after the end, as in the program.
  EXPECT_EQ(first_arrivals(arrivals_of("{python: 2/s, seed: 7}"), 1000),
            times(sim::python_poisson(7, 2, Duration::seconds(60))));
  const auto part = first_arrivals(arrivals_of("{python: 2/s, from: 10s, until: 20s}"), 1000);
  auto expected = times(sim::python_poisson(1, 2, Duration::seconds(10)));
  expected.pop_back();
  ASSERT_EQ(part.size(), expected.size());
  EXPECT_NEAR(part.front(), 10 + expected.front(), 1e-9);
}

TEST(SimFile, ATraceIsFoundBesideTheFile) {
  const auto folder = std::filesystem::temp_directory_path() / "loadline_sim_file_test";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "calls.csv") << "arrival,service\n0,0.01\n1.5,0.02\n";
  std::ofstream(folder / "bad.csv") << "arrival,service\nx,0.01\n";
  const std::string head = std::string(kHead) + "service: {workers: 1}\n" + kPolicies;
  const std::string good = head + "callers: {all: {arrivals: {trace: calls.csv, format: csv}}}\n";
  std::ofstream(folder / "good.yaml") << good;
  const SimFile file = read_sim_file((folder / "good.yaml").string());
  EXPECT_EQ(describe_faults("", file.faults), "");
  const auto& arrivals = file.policies.at(0).scenario.populations.at(0).arrivals;
  ASSERT_THAT(first_arrivals(arrivals, 10), ElementsAre(0, 1.5));
  EXPECT_EQ(arrivals.work(1), Duration::millis(20));

  const std::string bad = head + "callers: {all: {arrivals: {trace: bad.csv}}}\n";
  EXPECT_THAT(describe_faults("", read_sim_text(bad, folder.string()).faults),
              testing::StartsWith(":5:35: key 'callers.all.arrivals.trace': bad.csv: "));
  std::filesystem::remove_all(folder);
  EXPECT_THROW(read_sim_file((folder / "good.yaml").string()), std::runtime_error);
}

TEST(SimFile, Expectations) {
  const SimFile file = read_sound(file_with(kPolicies, R"(policies: {a: {limit: 1}, b: {gate: off}}
seeds: 3
oracle: {limits: 1-2}
expect:
  - {policy: a, useful: 6050}
  - {p99: {at_most: 510ms}, from: 5s, class: critical, callers: all, service: service}
  - {policy: [b, a], goodput: {at_least: 58200/m, at_most: 1000/s}}
  - {policy: a, wait_mean: {is: 40ms, within: 2.5%}}
  - {policy: a, waste: {is: 0.5%, errors: 3}, class: [critical, sheddable]}
  - {policy: a, goodput: {at_least: 97%, of: oracle}, to: 50s}
  - {policy: a, p99: {at_most: 200%, of: b}, attempt: [2, 3]})"));
  const auto& all = file.expectations;
  std::vector<std::string> texts;
  for (const SimExpectation& one : all) {
    texts.push_back(one.policy + ": " + one.text);
  }
  EXPECT_THAT(texts, ElementsAre("a: useful 6050",
                                 "a: p99 of critical at all at service from 5s at most 510ms",
                                 "b: p99 of critical at all at service from 5s at most 510ms",
                                 "b: goodput at least 58200/m", "a: goodput at least 58200/m",
                                 "b: goodput at most 1000/s", "a: goodput at most 1000/s",
                                 "a: wait_mean 40ms within 2.5%",
                                 "a: waste of critical and sheddable 0.5% within 3 standard errors",
                                 "a: goodput to 50s at least 97% of the oracle's",
                                 "a: p99 of attempt 2 and attempt 3 at most 200% of b's"));
  EXPECT_EQ(all[0].figure, "useful");
  EXPECT_EQ(all[0].bound.kind, SimBound::Kind::is);
  EXPECT_EQ(all[0].bound.value, 6050);
  EXPECT_EQ(all[0].bound.tolerance, 0);
  EXPECT_EQ(all[0].from.span.to, at(60));
  EXPECT_EQ(all[1].bound.kind, SimBound::Kind::at_most);
  EXPECT_DOUBLE_EQ(all[1].bound.value, 0.51);
  EXPECT_EQ(all[1].from.span.from, at(5));
  EXPECT_THAT(all[1].from.classes, ElementsAre(1));
  EXPECT_THAT(all[1].from.populations, ElementsAre(0));
  EXPECT_EQ(all[1].from.service, 0);
  EXPECT_DOUBLE_EQ(all[3].bound.value, 970);
  EXPECT_DOUBLE_EQ(all[7].bound.value, 0.04);
  EXPECT_DOUBLE_EQ(all[7].bound.tolerance, 0.025);
  EXPECT_EQ(all[8].bound.kind, SimBound::Kind::errors);
  EXPECT_DOUBLE_EQ(all[8].bound.value, 0.005);
  EXPECT_EQ(all[8].bound.tolerance, 3);
  EXPECT_THAT(all[8].from.classes, ElementsAre(1, 3));
  EXPECT_EQ(all[9].bound.of, kOracle);
  EXPECT_DOUBLE_EQ(all[9].bound.value, 0.97);
  EXPECT_EQ(all[9].from.span.to, at(50));
  EXPECT_EQ(all[10].bound.of, "b");
  EXPECT_DOUBLE_EQ(all[10].bound.value, 2);
  EXPECT_THAT(all[10].from.attempts, ElementsAre(2, 3));
}

TEST(SimFile, ExpectationsOfPiecesAndOfOtherTimes) {
  const SimFile file = read_sound(file_with(kPolicies, R"(policies: {a: {limit: 1}, b: {limit: 2}}
expect:
  - {policy: a, admitted: {at_least: 99%}, from: 2s, each: 1s}
  - {policy: a, goodput: {at_least: 9/s}, from: 10s, each: 10s, every: 20s}
  - {policy: a, p99: {at_most: 110%, of: {from: 10s, to: 20s}}, from: end-5s}
  - {policy: a, limit_mean: {is: 100%, within: 5%, of: b}}
  - {policy: a, limit_mean: {is: 100%, within: 5%, of: {policy: b, to: end-30s}}})"));
  const auto& all = file.expectations;
  std::vector<std::string> texts;
  for (const SimExpectation& one : all) {
    EXPECT_TRUE(one.text.starts_with(one.what + " "));
    texts.push_back(one.text);
  }
  EXPECT_THAT(texts, ElementsAre("admitted from 2s in each 1s at least 99%",
                                 "goodput from 10s in each 10s of 20s at least 9/s",
                                 "p99 from end-5s at most 110% of that from 10s to 20s",
                                 "limit_mean 100% within 5% of b's",
                                 "limit_mean 100% within 5% of b's to end-30s"));
  EXPECT_EQ(all[0].each, Duration::seconds(1));
  EXPECT_EQ(all[0].every, Duration::seconds(1));
  EXPECT_EQ(all[1].each, Duration::seconds(10));
  EXPECT_EQ(all[1].every, Duration::seconds(20));
  EXPECT_EQ(all[2].from.span, (sim::Span{at(55), at(60)}));
  EXPECT_EQ(all[2].bound.of, "a");
  EXPECT_EQ(all[2].bound.of_span, (sim::Span{at(10), at(20)}));
  EXPECT_EQ(all[3].bound.kind, SimBound::Kind::is);
  EXPECT_EQ(all[3].bound.of, "b");
  EXPECT_FALSE(all[3].bound.of_span);
  EXPECT_EQ(all[4].bound.of, "b");
  EXPECT_EQ(all[4].bound.of_span, (sim::Span{at(0), at(30)}));
}

TEST(SimFile, ALimitMayBeFound) {
  const SimFile file = read_sound(file_with(kPolicies, R"(policies:
  a: {limit: auto}
  b: {limit: {law: auto, from: 6, at_least: 2, at_most: 500}}
  c: {limit: 7})"));
  const auto policy = [&file](std::size_t p) {
    return file.policies.at(p).scenario.services.at(0).gate.value().policy;
  };
  EXPECT_EQ(policy(0).law, Law::automatic);
  EXPECT_EQ(policy(0).limit, 0U);
  EXPECT_EQ(policy(0).limit_least, 1U);
  EXPECT_EQ(policy(0).limit_most, kMaxLimit);
  EXPECT_EQ(policy(1).law, Law::automatic);
  EXPECT_EQ(policy(1).limit, 6U);
  EXPECT_EQ(policy(1).limit_least, 2U);
  EXPECT_EQ(policy(1).limit_most, 500U);
  EXPECT_EQ(policy(2).law, Law::fixed);
  EXPECT_EQ(policy(2).limit, 7U);
}

TEST(SimFile, LengthsAreForTheHastyAndForThePatient) {
  const std::string text = file_with(kMore, R"(lengths: {short: 20s, full: 1h}
measure: {from: 5s}
expect:
  - {goodput: {at_least: 9/s}, to: 40s}
  - {p99: {at_most: 1s}, from: 30s}
  - {p99: {at_most: 1s}, from: end-25s}
  - {p99: {at_most: 110%, of: {from: 25s, to: 30s}}, from: 10s})");
  const auto read = [&text](SimLength length) {
    SimFile file = read_sim_text(text, "", length);
    EXPECT_EQ(describe_faults("f", file.faults), "");
    return file;
  };
  EXPECT_EQ(read(SimLength::usual).policies[0].scenario.length, Duration::seconds(60));
  EXPECT_EQ(read(SimLength::usual).expectations.size(), 4U);
  const SimFile shorter = read(SimLength::shortened);
  EXPECT_EQ(shorter.policies[0].scenario.length, Duration::seconds(20));
  EXPECT_EQ(shorter.measured, (sim::Span{at(5), at(20)}));
  ASSERT_EQ(shorter.expectations.size(), 1U);
  EXPECT_EQ(shorter.expectations[0].from.span, (sim::Span{at(5), at(20)}));
  const SimFile full = read(SimLength::full);
  EXPECT_EQ(full.policies[0].scenario.length, Duration::seconds(3600));
  ASSERT_EQ(full.expectations.size(), 4U);
  EXPECT_EQ(full.expectations[2].from.span, (sim::Span{at(3575), at(3600)}));
}

// One worker of 10 ms, asked 50 times a second for 10 s: nobody ever waits.
TEST(SimFile, WhatItSaysCanBeRun) {
  const SimFile file = read_sound(R"(version: 1
duration: 10s
drain: on
service: {workers: 1, work: 10ms}
callers: {all: {arrivals: {even: 50/s}, patience: 1s}}
policies: {a: {limit: 1}, b: {gate: off}}
)");
  for (const SimPolicy& policy : file.policies) {
    const sim::Result result = sim::run(policy.scenario, 1);
    sim::Selection all;
    all.span = {at(0), result.ended};
    const sim::Summary summary = sim::summarize(result.journal, all);
    EXPECT_EQ(find_sim_figure("useful")->of(summary), 500);
    EXPECT_DOUBLE_EQ(find_sim_figure("p99")->of(summary), 0.01);
    EXPECT_EQ(find_sim_figure("attempts_per_call")->of(summary), 1);
    EXPECT_EQ(find_sim_figure("rejected_queue_full")->of(summary), 0);
  }
}

// A tenant's calls are counted: 10 at once and 1 a second for 60 s, of 120 calls.
TEST(SimFile, AQuotaCountsTenants) {
  const std::string callers = "callers: {all: {arrivals: {even: 2/s}, tenants: {number: 1}}}";
  const SimFile file = read_sound(file_with(kCallers, callers));
  const SimFile with_quota =
      read_sound(std::string(kHead) + kService + callers +
                 "\npolicies: {a: {limit: 1, quota: {rate: 1r/s, burst: 10}}}\n");
  const auto refused = [](const SimFile& of) {
    sim::Selection all;
    all.span = of.measured;
    const auto summary = sim::summarize(sim::run(of.policies.at(0).scenario, 1).journal, all);
    return find_sim_figure("rejected_quota")->of(summary);
  };
  EXPECT_EQ(refused(file), 0);
  EXPECT_NEAR(refused(with_quota), 120 - 10 - 60, 1);
}

TEST(SimFile, FaultsAreInTheOrderOfTheFile) {
  EXPECT_EQ(faults_of("policies: {a: {limit: 1, heavy: 0%}}\ncallers: {}\nservice: {work: 5}\n"
                      "duration: 1\n"),
            "1:1: key 'version': missing; write 'version: 1'; "
            "1:33: key 'policies.a.heavy': value '0%': allowed is a share from 1% to 100%; "
            "2:10: key 'callers': an empty map: allowed is a map of kinds of callers, at least "
            "one; 3:17: key 'service.work': value '5': allowed is a time with a unit as in 10ms, "
            "or a map as in {exponential: 10ms}; 4:11: key 'duration': value '1': allowed is a "
            "time from 1ms to 720h, with a unit as in 10ms");
}

// Where the length is not known, nothing is said of what lies within it.
TEST(SimFile, AFaultOfTheLengthIsNoneOfWhatIsExpected) {
  const std::string head = "version: 1\nduration: 60\n";
  for (const char* expect :
       {"expect: [{useful: 5}]\n", "expect: [{useful: 5, from: 1s, to: 2s}]\n"}) {
    EXPECT_EQ(
        faults_of(file_with(kHead, head + expect)),
        "2:11: key 'duration': value '60': allowed is a time from 1ms to 720h, with a unit as "
        "in 10ms")
        << expect;
  }
}

// Each policy has the same callers: what is wrong with them is said once.
TEST(SimFile, AFaultOfAllPoliciesIsSaidOnce) {
  EXPECT_EQ(faults_of(file_with(kCallers, "callers: {all: {arrivals: {even: 9/s}, class: x}}") +
                      "measured: {}\n"),
            "4:47: key 'callers.all.class': value 'x': allowed is one of critical_plus, critical, "
            "sheddable_plus, sheddable; 6:1: key 'measured': not known; did you mean 'measure'?");
  EXPECT_EQ(faults_of(std::string(kHead) + kService +
                      "callers: {all: {arrivals: {even: 9/s}, calls: x}}\n"
                      "policies: {a: {limit: 1}, b: {limit: 2}, c: {gate: off}}\n"),
            "4:47: key 'callers.all.calls': value 'x': allowed is one of service");
}

TEST(SimFile, WhatIsNoMapIsRefused) {
  EXPECT_EQ(faults_of(""), "1:1: no value: allowed is a map, as in 'version: 1'");
  EXPECT_EQ(faults_of("[1]"), "1:1: a list: allowed is a map, as in 'version: 1'");
  EXPECT_THAT(faults_of(std::string("version: 1\n---\n") + kHead), HasSubstr("a second document"));
  EXPECT_THAT(faults_of("version: [1\n"), HasSubstr("not YAML: "));
}

// An alias may stand inside of what it repeats, and a few of them may be a billion values.
TEST(SimFile, AliasesHaveAnEnd) {
  EXPECT_EQ(faults_of("version: 1\nduration: &a [*a]\n"),
            "1:1: too many values, or one inside another without an end");
  std::string laughs = "version: 1\nl0: &l0 [x]\n";
  for (int i = 1; i < 10; ++i) {
    const std::string before = "*l" + std::to_string(i - 1);
    laughs += "l" + std::to_string(i) + ": &l" + std::to_string(i) + " [";
    for (int j = 0; j < 9; ++j) {
      laughs += before + ", ";
    }
    laughs += before + "]\n";
  }
  EXPECT_EQ(faults_of(laughs), "1:1: too many values, or one inside another without an end");
  EXPECT_THAT(faults_of(file_with(kPolicies, "policies: {a: &a {limit: 1}, b: *a}")), IsEmpty());
}

TEST(SimFile, FaultsOfTheWhole) {
  const BadFile files[] = {
      {kHead, "duration: 60s", "1:1: key 'version': missing; write 'version: 1'"},
      {kHead, "version: 2\nduration: 60s",
       "1:10: key 'version': value '2': allowed is 1, the version of this format"},
      {kHead, "version: 1", "1:1: key 'duration': missing; write 'duration: 60s'"},
      {kHead, "version: 1\nduration: 0",
       "2:11: key 'duration': value '0': allowed is a time from 1ms to 720h, with a unit as in "
       "10ms"},
      {kHead, "version: 1\nduration: 60",
       "2:11: key 'duration': value '60': allowed is a time from 1ms to 720h, with a unit as in "
       "10ms"},
      {kHead, "version: 1\nduration: 721h",
       "2:11: key 'duration': value '721h': allowed is a time from 1ms to 720h, with a unit as in "
       "10ms"},
      {kHead, "version: 1\nduration: nan",
       "2:11: key 'duration': value 'nan': allowed is a time from 1ms to 720h, with a unit as in "
       "10ms"},
      {kHead, "version: 1\nduration:",
       "2:1: key 'duration': no value: allowed is a time from 1ms to 720h, with a unit as in 10ms"},
      {kHead, "version: 1\nduration: [60s]",
       "2:11: key 'duration': not a single value: allowed is a time from 1ms to 720h, with a unit "
       "as in 10ms"},
      {kMore, "durration: 5s", "6:1: key 'durration': not known; did you mean 'duration'?"},
      {kMore, "duration: 5s", "6:1: key 'duration': given twice; first at line 2"},
      {kMore, "seeds: 0", "6:8: key 'seeds': value '0': allowed is a whole number from 1 to 1000"},
      {kMore, "seeds: 2.5",
       "6:8: key 'seeds': value '2.5': allowed is a whole number from 1 to 1000"},
      {kMore, "drain: maybe", "6:8: key 'drain': value 'maybe': allowed is on or off"},
      {kMore, "about: [a]",
       "6:8: key 'about': not a single value: allowed is a text of up to 4096 bytes"},
      {kMore, "measure: {from: 5s, to: 5s}",
       "6:10: key 'measure': nothing is left to measure: from is not before to"},
      {kMore, "measure: {to: 61s}", "6:11: key 'measure.to': is after the end of the run"},
      {kMore, "measure: 5s", "6:10: key 'measure': value '5s': allowed is a map of from and to"},
      {kMore, "? [a]\n: 1", "6:3: a key must be a name"},
      {kService, "", "1:1: key 'service': missing; write 'service: {workers: 8, work: 10ms}'"},
      {kService, "services: {}",
       "3:11: key 'services': an empty map: allowed is a map of services, at least one"},
      {kService, "service: {work: 1ms}\nservices: {a: {work: 1ms}}",
       "4:1: key 'services': does not go with 'service': one is 'service', several are 'services'"},
      {kService, "services: {\"a b\": {work: 1ms}}",
       "3:12: key 'services.a b': a name is up to 32 letters, digits, '_' and '-'"},
      {kService, "service: 5",
       "3:10: key 'service': value '5': allowed is a map of workers, work and more; 4:16: key "
       "'callers.all': no work: write 'work: 10ms' here or at the service"},
  };
  expect_faults(files);
}

TEST(SimFile, FaultsOfServices) {
  const BadFile files[] = {
      {kService, "service: {workers: 0, work: 10ms}",
       "3:20: key 'service.workers': value '0': allowed is unlimited or a whole number from 1 to "
       "1000000"},
      {kService, "service: {workers: -1, work: 10ms}",
       "3:20: key 'service.workers': value '-1': allowed is unlimited or a whole number from 1 to "
       "1000000"},
      {kService, "service: {workers: 99999999999999999999, work: 10ms}",
       "3:20: key 'service.workers': value '99999999999999999999': allowed is unlimited or a whole "
       "number from 1 to 1000000"},
      {kService, "service: {workers: [{from: 1s, number: 2}], work: 10ms}",
       "3:21: key 'service.workers[1]': the first must be from 0s: how many are there before?"},
      {kService, "service: {workers: [], work: 10ms}",
       "3:20: key 'service.workers': an empty list: allowed is at least one"},
      {kService, "service: {workers: [{from: 0s}], work: 10ms}",
       "3:21: key 'service.workers[1].number': missing; write 'number: VALUE'"},
      {kService, "service: {wokers: 1, work: 10ms}",
       "3:11: key 'service.wokers': not known; did you mean 'workers'?"},
      {kService, "service: {work: 10}",
       "3:17: key 'service.work': value '10': allowed is a time with a unit as in 10ms, or a map "
       "as in {exponential: 10ms}"},
      {kService, "service: {}",
       "4:16: key 'callers.all': no work: write 'work: 10ms' here or at the service"},
      {kService, "service: {work: -1ms}",
       "3:17: key 'service.work': value '-1ms': allowed is a time with a unit as in 10ms, or a map "
       "as in {exponential: 10ms}"},
      {kService, "service: {work: {exponential: 10ms, gamma: 3ms, cv: 1}}",
       "3:17: key 'service.work': allowed is exactly one of exponential, lognormal, gamma, "
       "bimodal, pareto, empirical"},
      {kService, "service: {work: {lognormal: 10ms}}",
       "3:17: key 'service.work.cv': missing; write 'cv: 1'"},
      {kService, "service: {work: {exponential: 0s}}",
       "3:31: key 'service.work.exponential': value '0s': allowed is a time from 1ns to 720h, with "
       "a unit as in 10ms"},
      {kService, "service: {work: {gamma: 10ms, cv: 0}}",
       "3:35: key 'service.work.cv': value '0': allowed is a number from 0.01 to 100"},
      {kService, "service: {work: {pareto: 10ms, shape: 1}}",
       "3:39: key 'service.work.shape': value '1': allowed is a number from 1.01 to 100"},
      {kService, "service: {work: {exponential: 10ms, cv: 1}}",
       "3:37: key 'service.work.cv': not known; known are exponential, lognormal, gamma, bimodal, "
       "pareto, empirical"},
      {kService, "service: {work: {bimodal: {short: 2ms, long: 20ms, share_long: 101%}}}",
       "3:64: key 'service.work.bimodal.share_long': value '101%': allowed is a share from 0% to "
       "100%"},
      {kService, "service: {work: {bimodal: {short: 20ms, long: 2ms, share_long: 5%}}}",
       "3:41: key 'service.work.bimodal.long': 2ms is shorter than the short 20ms"},
      {kService, "service: {work: {empirical: []}}",
       "3:29: key 'service.work.empirical': an empty list: allowed is at least one"},
      {kService, "service: {work: {empirical: [1ms, 2]}}",
       "3:35: key 'service.work.empirical[2]': value '2': allowed is a time from 0s to 720h, with "
       "a unit as in 10ms"},
      {kService, "service: {work: {uniform: 1ms}}",
       "3:18: key 'service.work.uniform': not known; known are exponential, lognormal, gamma, "
       "bimodal, pareto, empirical"},
      {kService, "service: {work: 1ms, speed: -1}",
       "3:29: key 'service.speed': value '-1': allowed is a number from 0 to 1000"},
      {kService, "service: {work: 1ms, speed: NaN}",
       "3:29: key 'service.speed': value 'NaN': allowed is a number from 0 to 1000"},
      {kService, "service: {work: 1ms, speed: [{from: 5s, speed: 2}, {from: 5s, speed: 1}]}",
       "3:59: key 'service.speed[2].from': value '5s': allowed is a time after 5s"},
      {kService, "service: {work: 1ms, stalls: [{from: 5s, until: 4s}]}",
       "3:49: key 'service.stalls[1].until': value '4s': allowed is a time after 5s"},
      {kService, "service: {work: 1ms, stalls: [{from: 5s, until: 8s}, {from: 7s, until: 9s}]}",
       "3:61: key 'service.stalls[2].from': value '7s': allowed is a time not before 8s"},
      {kService, "service: {work: 1ms, line: new}",
       "3:28: key 'service.line': value 'new': allowed is one of oldest, newest"},
      {kService, "service: {work: 1ms, contention: {sharing: 8, overhead: 1%}}",
       "3:34: key 'service.contention': allowed is either sharing, or overhead and above"},
      {kService, "service: {work: 1ms, contention: {overhead: 1%}}",
       "3:34: key 'service.contention.above': missing; write 'above: 32'"},
      {kService, "service: {work: 1ms, cold: {for: 5s}}",
       "3:28: key 'service.cold.speed': missing; write 'speed: 0.33'"},
      {kService, "service: {work: 1ms, failing: {share: 0.3}}",
       "3:39: key 'service.failing.share': value '0.3': allowed is a share from 0% to 100%"},
      {kService, "service: {work: 1ms, failing: {share: 101%}}",
       "3:39: key 'service.failing.share': value '101%': allowed is a share from 0% to 100%"},
      {kService, "service: {work: 1ms, paces: [1, 1]}",
       "3:29: key 'service.paces': 2 paces for at most 1 instances"},
      {kService, "service: {work: 1ms, instances: 5, autoscale: {up_to: 4}}",
       "3:55: key 'service.autoscale.up_to': there are 5 instances from the beginning"},
      {kService, "service: {work: 1ms, autoscale: {}}",
       "3:33: key 'service.autoscale.up_to': missing; write 'up_to: 4'"},
      {kService, "service: {work: 1ms, readiness: {every: 0s}}",
       "3:41: key 'service.readiness.every': value '0s': allowed is a time from 1ms to 720h, with "
       "a unit as in 10ms"},
      {kService, "service: {work: 1ms, links: {to: service}}",
       "3:34: key 'service.links.to': links go round in a circle: a call of 'service' leads to one "
       "of 'service'"},
      {kService, "service: {work: 1ms, links: {attempts: 3}}",
       "3:29: key 'service.links.to': missing; write 'to: store'"},
      {kService,
       "services: {a: {work: 1ms, links: {to: b}}, b: {work: 1ms, links: {to: c}}, c: {work: 1ms, "
       "links: {to: a}}}",
       "3:103: key 'services.c.links.to': links go round in a circle: a call of 'a' leads to one "
       "of 'a'"},
      {kService,
       "services: {a: {work: 1ms, links: {to: b, attempts: 50}}, b: {work: 1ms, links: {to: c, "
       "attempts: 50}}, c: {work: 1ms}}",
       "3:39: key 'services.a.links.to': a call of 'a' may lead to 2550 calls of others: allowed "
       "are up to 1000, with all attempts"},
      {kService, "services: {a: {work: 1ms, links: {to: b}}, b: {}}",
       "3:39: key 'services.a.links.to': service 'b' has no work, which a link brings"},
      {kService, "services: {a: {work: 1ms, links: {to: x}}}",
       "3:39: key 'services.a.links.to': value 'x': allowed is one of a"},
  };
  expect_faults(files);
}

TEST(SimFile, FaultsOfArrivals) {
  const BadFile files[] = {
      {kCallers, "",
       "1:1: key 'callers': missing; write 'callers: {all: {arrivals: {poisson: 100/s}}}'"},
      {kCallers, "callers: {}",
       "4:10: key 'callers': an empty map: allowed is a map of kinds of callers, at least one"},
      {kCallers, "callers: {all: {}}",
       "4:16: key 'callers.all.arrivals': missing; write 'arrivals: {poisson: 100/s}'"},
      {kCallers, "callers: {all: }",
       "4:11: key 'callers.all': no value: allowed is a map of arrivals, work, patience and more"},
      {kCallers, "callers: {all: {arrivals: 100/s}}",
       "4:27: key 'callers.all.arrivals': value '100/s': allowed is a map of how they come, as in "
       "{poisson: 100/s}"},
      {kCallers, "callers: {all: {arrivals: {}}}",
       "4:27: key 'callers.all.arrivals': allowed is exactly one of poisson, even, python, bursts, "
       "closed, trace"},
      {kCallers, "callers: {all: {arrivals: {poisson: -1/s}}}",
       "4:37: key 'callers.all.arrivals.poisson': value '-1/s': allowed is a rate up to 1000000/s, "
       "as in 120/s, 30/m or 5/h"},
      {kCallers, "callers: {all: {arrivals: {poisson: 0/s}}}",
       "4:37: key 'callers.all.arrivals.poisson': value '0/s': allowed is a rate above 0, or "
       "steps"},
      {kCallers, "callers: {all: {arrivals: {poisson: nan/s}}}",
       "4:37: key 'callers.all.arrivals.poisson': value 'nan/s': allowed is a rate up to "
       "1000000/s, as in 120/s, 30/m or 5/h"},
      {kCallers, "callers: {all: {arrivals: {poisson: 1e3/s}}}",
       "4:37: key 'callers.all.arrivals.poisson': value '1e3/s': allowed is a rate up to "
       "1000000/s, as in 120/s, 30/m or 5/h"},
      {kCallers, "callers: {all: {arrivals: {poisson: 100}}}",
       "4:37: key 'callers.all.arrivals.poisson': value '100': allowed is a rate up to 1000000/s, "
       "as in 120/s, 30/m or 5/h"},
      {kCallers, "callers: {all: {arrivals: {poisson: 100/d}}}",
       "4:37: key 'callers.all.arrivals.poisson': value '100/d': allowed is a rate up to "
       "1000000/s, as in 120/s, 30/m or 5/h"},
      {kCallers, "callers: {all: {arrivals: {poison: 100/s}}}",
       "4:28: key 'callers.all.arrivals.poison': not known; did you mean 'poisson'?"},
      {kCallers, "callers: {all: {arrivals: {poisson: 100/s, even: 3/s}}}",
       "4:27: key 'callers.all.arrivals': allowed is exactly one of poisson, even, python, bursts, "
       "closed, trace"},
      {kCallers, "callers: {all: {arrivals: {poisson: 100/s, think: 1s}}}",
       "4:44: key 'callers.all.arrivals.think': does not go with poisson"},
      {kCallers, "callers: {all: {arrivals: {poisson: 100/s, on: 1s}}}",
       "4:44: key 'callers.all.arrivals.on': on and off go together"},
      {kCallers, "callers: {all: {arrivals: {poisson: 100/s, on: 1us, off: 1us}}}",
       "4:44: key 'callers.all.arrivals.on': about 30000000 times in the run: allowed are up to "
       "20000"},
      {kCallers, "callers: {all: {arrivals: {poisson: 100/s, from: 9s, until: 9s}}}",
       "4:61: key 'callers.all.arrivals.until': value '9s': allowed is a time after 9s"},
      {kCallers, "callers: {all: {arrivals: {poisson: 99999999999/s}}}",
       "4:37: key 'callers.all.arrivals.poisson': value '99999999999/s': allowed is a rate up to "
       "1000000/s, as in 120/s, 30/m or 5/h"},
      {kCallers,
       "callers: {all: {arrivals: {poisson: [{from: 1s, rate: 1/s}, {from: 0s, rate: 1/s}]}}}",
       "4:68: key 'callers.all.arrivals.poisson[2].from': value '0s': allowed is a time after 1s"},
      {kCallers, "callers: {all: {arrivals: {poisson: [{from: 1s, until: 5s, ramp: 1/s}]}}}",
       "4:66: key 'callers.all.arrivals.poisson[1].ramp': value '1/s': allowed is two rates up to "
       "1000000/s, as in 100/s to 600/s"},
      {kCallers, "callers: {all: {arrivals: {poisson: [{from: 1s, until: 1s, ramp: 1/s to 2/s}]}}}",
       "4:56: key 'callers.all.arrivals.poisson[1].until': value '1s': allowed is a time after 1s"},
      {kCallers,
       "callers: {all: {arrivals: {poisson: [{from: 1s, until: 5s, ramp: 1/s to 2/s}, {from: 4s, "
       "rate: 1/s}]}}}",
       "4:86: key 'callers.all.arrivals.poisson[2].from': value '4s': allowed is a time not before "
       "5s"},
      {kCallers, "callers: {all: {arrivals: {poisson: [{from: 1s, rate: 1/s, ramp: 1/s to 2/s}]}}}",
       "4:38: key 'callers.all.arrivals.poisson[1]': allowed is from and rate, or from, until and "
       "ramp"},
      {kCallers, "callers: {all: {arrivals: {bursts: 10}}}",
       "4:27: key 'callers.all.arrivals': bursts need either every or at"},
      {kCallers, "callers: {all: {arrivals: {bursts: 10, at: [5s, 1s]}}}",
       "4:49: key 'callers.all.arrivals.at[2]': value '1s': allowed is a time after 5s"},
      {kCallers, "callers: {all: {arrivals: {bursts: 10, at: 5s, from: 1s}}}",
       "4:48: key 'callers.all.arrivals.from': does not go with at"},
      {kCallers, "callers: {all: {arrivals: {bursts: 10, every: 0s}}}",
       "4:47: key 'callers.all.arrivals.every': value '0s': allowed is a time from 1us to 720h, "
       "with a unit as in 10ms"},
      {kCallers, "callers: {all: {arrivals: {bursts: 10, every: 1us}}}",
       "4:47: key 'callers.all.arrivals.every': about 60000000 bursts in the run: allowed are up "
       "to 100000"},
      {kCallers, "callers: {all: {arrivals: {bursts: 0, every: 1s}}}",
       "4:36: key 'callers.all.arrivals.bursts': value '0': allowed is a whole number from 1 to "
       "1000000"},
      {kCallers, "callers: {all: {arrivals: {closed: 5}}}",
       "4:27: key 'callers.all.arrivals.think': missing; write 'think: 1s'"},
      {kCallers, "callers: {all: {arrivals: {closed: 5, think: 0s}}}",
       "4:46: key 'callers.all.arrivals.think': allowed is a mean of at least 1us: a user who is "
       "refused calls again after it"},
      {kCallers, "callers: {all: {arrivals: {closed: 0, think: 1s}}}",
       "4:36: key 'callers.all.arrivals.closed': value '0': allowed is a whole number from 1 to "
       "1000000"},
      {kCallers, "callers: {all: {arrivals: {trace: /nowhere/x}}}",
       "4:35: key 'callers.all.arrivals.trace': /nowhere/x: cannot be read: No such file or "
       "directory"},
      {kCallers, "callers: {all: {arrivals: {trace: /nowhere/x, format: yaml}}}",
       "4:35: key 'callers.all.arrivals.trace': /nowhere/x: cannot be read: No such file or "
       "directory; 4:55: key 'callers.all.arrivals.format': value 'yaml': allowed is auto, nginx, "
       "apache, apache-us, apache-ms, apache-s, csv or azure-llm"},
      {kCallers, "callers: {all: {arrivals: {python: [{from: 0s, rate: 1/s}]}}}",
       "4:36: key 'callers.all.arrivals.python': allowed is one rate: a Python program's does not "
       "change"},
      {kCallers, "callers: {all: {arrivals: {python: 1000000/s}}}",
       "4:36: key 'callers.all.arrivals.python': about 60000000 calls in the run: allowed are up "
       "to 1000000"},
  };
  expect_faults(files);
}

TEST(SimFile, FaultsOfCallers) {
  const BadFile files[] = {
      {kCallers, "callers: {all: {arrivals: {even: 9/s}, patience: 0s}}",
       "4:50: key 'callers.all.patience': value '0s': allowed is a time from 1us to 720h, with a "
       "unit as in 10ms"},
      {kCallers, "callers: {all: {arrivals: {even: 9/s}, patience: 5}}",
       "4:50: key 'callers.all.patience': value '5': allowed is a time from 1us to 720h, with a "
       "unit as in 10ms"},
      {kCallers, "callers: {all: {arrivals: {even: 9/s}, leaves: on}}",
       "4:48: key 'callers.all.leaves': needs patience: without it, nobody leaves"},
      {kCallers, "callers: {all: {arrivals: {even: 9/s}, tells_deadline: yes}}",
       "4:56: key 'callers.all.tells_deadline': value 'yes': allowed is on or off"},
      {kCallers, "callers: {all: {arrivals: {even: 9/s}, retries: {attempts: 3, after: timeout}}}",
       "4:70: key 'callers.all.retries.after': needs patience: without it, no time runs out"},
      {kCallers, "callers: {all: {arrivals: {even: 9/s}, retries: {}}}",
       "4:49: key 'callers.all.retries.attempts': missing; write 'attempts: 3'"},
      {kCallers, "callers: {all: {arrivals: {even: 9/s}, retries: {attempts: 300}}}",
       "4:60: key 'callers.all.retries.attempts': value '300': allowed is a whole number from 1 to "
       "100"},
      {kCallers, "callers: {all: {arrivals: {even: 9/s}, retries: {attempts: 3, jitter: 120%}}}",
       "4:71: key 'callers.all.retries.jitter': value '120%': allowed is a share from 0% to 100%"},
      {kCallers, "callers: {all: {arrivals: {even: 9/s}, retries: {attempts: 3, growth: 0.5}}}",
       "4:71: key 'callers.all.retries.growth': value '0.5': allowed is a number from 1 to 100"},
      {kCallers, "callers: {all: {arrivals: {even: 9/s}, retries: {attempts: 3, after: [never]}}}",
       "4:71: key 'callers.all.retries.after[1]': value 'never': allowed is one of timeout, "
       "failure"},
      {kCallers, "callers: {all: {arrivals: {even: 9/s}, class: gold}}",
       "4:47: key 'callers.all.class': value 'gold': allowed is one of critical_plus, critical, "
       "sheddable_plus, sheddable"},
      {kCallers, "callers: {all: {arrivals: {even: 9/s}, weight: 0}}",
       "4:48: key 'callers.all.weight': value '0': allowed is a whole number from 1 to 1000000"},
      {kCallers, "callers: {all: {arrivals: {even: 9/s}, tenants: {number: 5, group: x}}}",
       "4:68: key 'callers.all.tenants.group': value 'x': allowed is a group of some policy, of "
       "which there are none"},
      {kCallers, "callers: {all: {arrivals: {even: 9/s}, tenants: {number: 5, first: 0}}}",
       "4:68: key 'callers.all.tenants.first': value '0': allowed is a whole number from 1 to "
       "1000000000"},
      {kCallers, "callers: {all: {arrivals: {even: 9/s}, tenants: {number: 5, choice: any}}}",
       "4:69: key 'callers.all.tenants.choice': value 'any': allowed is one of random, in_turn"},
      {kCallers, "callers: {all: {arrivals: {even: 9/s}, calls: x}}",
       "4:47: key 'callers.all.calls': value 'x': allowed is one of service"},
      {kCallers, "callers: {all: {arrivals: {even: 9/s}, works: 1ms}}",
       "4:40: key 'callers.all.works': not known; did you mean 'work'?"},
  };
  expect_faults(files);
}

TEST(SimFile, FaultsOfPolicies) {
  const BadFile files[] = {
      {kPolicies, "", "1:1: key 'policies': missing; write 'policies: {loadline: {limit: 8}}'"},
      {kPolicies, "policies: {}",
       "5:11: key 'policies': an empty map: allowed is a map of policies, at least one"},
      {kPolicies, "policies: {a: {}}",
       "5:15: key 'policies.a.limit': missing; write 'limit: 64', or 'gate: off'"},
      {kPolicies, "policies: {a: }",
       "5:12: key 'policies.a': no value: allowed is a map of limit, queue and more, or {gate: "
       "off}"},
      {kPolicies, "policies: {oracle: {limit: 1}}",
       "5:20: key 'policies.oracle': that is what the best fixed limits are called: choose another "
       "name"},
      {kPolicies, "policies: {a: {limit: 0}}",
       "5:23: key 'policies.a.limit': value '0': allowed is a whole number from 1 to 1000000, or "
       "who finds it: auto..."},
      {kPolicies, "policies: {a: {limit: fixed}}",
       "5:23: key 'policies.a.limit': value 'fixed': allowed is a whole number from 1 to 1000000, "
       "or who finds it: auto..."},
      {kPolicies, "policies: {a: {limit: {}}}",
       "5:23: key 'policies.a.limit.law': missing; write 'law: auto'"},
      {kPolicies, "policies: {a: {limit: {law: fixed}}}",
       "5:29: key 'policies.a.limit.law': value 'fixed': allowed is auto..."},
      {kPolicies, "policies: {a: {limit: {law: auto, begin: 6}}}",
       "5:35: key 'policies.a.limit.begin': not known; known are law, from, at_least, at_most"},
      {kPolicies, "policies: {a: {limit: {law: auto, from: 0}}}",
       "5:41: key 'policies.a.limit.from': value '0': allowed is a whole number from 1 to 1000000"},
      {kPolicies, "policies: {a: {limit: {law: auto, at_least: 9, at_most: 8}}}",
       "5:16: key 'policies.a.limit': limit_least 9, limit_most 8: allowed is 1 <= least <= most"},
      {kPolicies, "policies: {a: {limit: auto, limits: [{from: 5s, limit: 2}]}}",
       "5:29: key 'policies.a.limits': does not go with a limit that auto finds"},
      {kPolicies, "policies: {a: {limit: 1, queue: 60001}}",
       "5:33: key 'policies.a.queue': value '60001': allowed is auto, off or a whole number from 1 "
       "to 60000"},
      {kPolicies, "policies: {a: {gate: off, limit: 1}}",
       "5:27: key 'policies.a.limit': does not go with 'gate: off'"},
      {kPolicies, "policies: {a: {queue: 5}}",
       "5:15: key 'policies.a.limit': missing; write 'limit: 64'"},
      {kPolicies, "policies: {a: {limit: 1, order: random}}",
       "5:33: key 'policies.a.order': value 'random': allowed is adaptive, fifo or lifo"},
      {kPolicies, "policies: {a: {limit: 1, wait: 5}}",
       "5:32: key 'policies.a.wait': value '5': allowed is a time from 1ms to 1h in whole "
       "milliseconds, as in 100ms"},
      {kPolicies, "policies: {a: {limit: 1, classes: [x, y], default_class: z}}",
       "5:43: key 'policies.a.default_class': value 'z': allowed is one of x, y"},
      {kPolicies, "policies: {a: {limit: 1, classes: [x, y]}, b: {limit: 1}}",
       "5:47: key 'policies.b.classes': critical_plus, critical, sheddable_plus, sheddable here "
       "and x, y in a policy above: allowed are the same in all policies, in the same order"},
      {kPolicies, "policies: {a: {limit: 1, classes: [\"x:50%\", \"y:60%\"]}}",
       "5:26: key 'policies.a.classes': class 'y' may fill 60% of the limit, and one that is more "
       "important only 50%: shares must not grow"},
      {kPolicies, "policies: {a: {limit: 1, tenants: {number: 5}, queue: off}}",
       "5:26: key 'policies.a.tenants': tenants share a queue, but there is none"},
      {kPolicies, "policies: {a: {limit: 1, tenants: 5}}",
       "5:35: key 'policies.a.tenants': value '5': allowed is a map of number"},
      {kPolicies, "policies: {a: {limit: 1, tenants: {numbr: 5}}}",
       "5:36: key 'policies.a.tenants.numbr': not known; did you mean 'number'?"},
      {kPolicies, "policies: {a: {limit: 1, quota: {burst: 5}}}",
       "5:26: key 'policies.a.quota': needs quota.rate"},
      {kPolicies, "policies: {a: {limit: 1, quota: {rate: 1r/h, burst: 1000}}}",
       "5:26: key 'policies.a.quota': a burst of 1000 at this rate takes more than 3 days to come "
       "back"},
      {kPolicies, "policies: {a: {limit: 1, groups: {x: 1}}}",
       "5:26: key 'policies.a.groups': needs tenants.number"},
      {kPolicies, "policies: {a: {limit: 1, tenants: {number: 9}, groups: {x: 0}}}",
       "5:60: key 'policies.a.groups.x': value '0': allowed is a whole number from 1 to 1000"},
      {kPolicies, "policies: {a: {limit: 1, limits: [{from: 5s, limit: 2}, {from: 1s, limit: 2}]}}",
       "5:64: key 'policies.a.limits[2].from': value '1s': allowed is a time after 5s"},
      {kPolicies, "policies: {a: {limit: 1, retry_after: 5-2}}",
       "5:39: key 'policies.a.retry_after': value '5-2': allowed is whole seconds from 1 to 3600 "
       "and the smaller first, as in 1-32"},
      {kPolicies, "policies: {a: {limit: 1, retry_after: }}",
       "5:26: key 'policies.a.retry_after': no value: allowed is whole seconds from 1 to 3600 and "
       "the smaller first, as in 1-32"},
      {kPolicies, "policies: {a: {limit: 1, services: {store: {limit: 1}}}}",
       "5:37: key 'policies.a.services.store': not known; known are service"},
      {kPolicies, "policies: {a: {limit: 1, services: {service: {workers: 1}}}}",
       "5:37: key 'policies.a.services.service': is the first service, whose keys stand in the "
       "policy itself"},
      {kPolicies, "policies: {a: {limit: 1, callers: {nobody: {}}}}",
       "5:36: key 'policies.a.callers.nobody': not known; known are all"},
      {kPolicies, "policies: {a: {limit: 1, callers: {all: {work: 1s}}}}",
       "5:42: key 'policies.a.callers.all.work': not known; known are patience, tells_deadline, "
       "leaves, class, weight, tenants, retries"},
      {kPolicies, "policies: {a: {limit: 1, workers: 0}}",
       "5:35: key 'policies.a.workers': value '0': allowed is unlimited or a whole number from 1 "
       "to 1000000"},
      {kPolicies, "policies: {a: {limit: 1}, a: {limit: 2}}",
       "5:27: key 'policies.a': given twice; first at line 5"},
      {kPolicies, "policies: {a: {limit: 1, guarantees: {critical: 95%}}}",
       "5:39: key 'policies.a.guarantees': value 'critical:95%': allowed is off or names of "
       "classes, each with a share from 1% to 90%, as in {sheddable: 10%}; all together at most "
       "90%"},
      {kPolicies, "policies: {a: {limit: 1, heavy: 0%}}",
       "5:33: key 'policies.a.heavy': value '0%': allowed is a share from 1% to 100%"},
      {kPolicies, "policies: {a: {limit: [1]}}",
       "5:23: key 'policies.a.limit': not a single value: allowed is a whole number from 1 to "
       "1000000, or who finds it: auto..."},
      {kPolicies, "policies: {a: {limt: 1}}",
       "5:15: key 'policies.a.limit': missing; write 'limit: 64', or 'gate: off'; 5:16: key "
       "'policies.a.limt': not known; did you mean 'limit'?"},
  };
  expect_faults(files);
}

TEST(SimFile, FaultsOfTheOracle) {
  const BadFile files[] = {
      {kMore, "oracle: {limits: 5-1}",
       "6:18: key 'oracle.limits': value '5-1': allowed is limits from 1 to 1000000, as in 8 or "
       "8-64"},
      {kMore, "oracle: {limits: 0}",
       "6:18: key 'oracle.limits': value '0': allowed is limits from 1 to 1000000, as in 8 or "
       "8-64"},
      {kMore, "oracle: {limits: [1, 8-64, 64]}",
       "6:28: key 'oracle.limits[3]': value '64': the one before is 64, and they must rise"},
      {kMore, "oracle: {}", "6:9: key 'oracle.limits': missing; write 'limits: 1-64'"},
      {kMore, "oracle: {limits: 1-2000}",
       "6:18: key 'oracle.limits': more than 1000 limits to try"},
      {kMore, "oracle: {limits: 1-2, phases: [1s]}",
       "6:32: key 'oracle.phases[1]': the first phase begins at 0s"},
      {kMore, "oracle: {limits: 1-2, phases: [0s, 60s]}",
       "6:36: key 'oracle.phases[2]': begins after the end of the run"},
  };
  expect_faults(files);
}

TEST(SimFile, AnOracleNeedsAGateToTry) {
  const std::string text =
      file_with(kPolicies, "policies: {a: {gate: off}}\noracle: {limits: 1-4}");
  const SimFile file = read_sim_text(text, "");
  ASSERT_EQ(file.faults.size(), 1U);
  EXPECT_NE(file.faults[0].text.find("no policy has a gate"), std::string::npos);
}

TEST(SimFile, NobodyComesWhenTheRunIsOver) {
  for (const char* const arrivals : {"{poisson: 3/s, from: 1h}", "{bursts: 3, at: 1h}"}) {
    const std::string callers = std::string("callers: {a: {arrivals: ") + arrivals + "}}";
    const SimFile file = read_sim_text(file_with(kCallers, callers), "");
    ASSERT_FALSE(file.faults.empty()) << arrivals;
    EXPECT_NE(file.faults[0].text.find("the run is over"), std::string::npos) << arrivals;
  }
}

TEST(SimFile, AnExpectationMayBeOfSeveralFigures) {
  const SimFile file = read_sound(file_with(kMore, "expect: [{p99: 1s, useful: 5}]"));
  ASSERT_EQ(file.expectations.size(), 2U);
  EXPECT_EQ(file.expectations[0].text, "useful 5");
  EXPECT_EQ(file.expectations[1].text, "p99 1s");
}

TEST(SimFile, FaultsOfExpectations) {
  const BadFile files[] = {
      {kMore, "expect: []", "6:9: key 'expect': an empty list: allowed is at least one"},
      {kMore, "expect: [5]",
       "6:10: key 'expect[1]': value '5': allowed is a map of a figure and what it must be, as in "
       "{policy: a, p99: 40ms}"},
      {kMore, "expect: [{policy: x, useful: 5}]",
       "6:19: key 'expect[1].policy': value 'x': allowed is one of a"},
      {kMore, "expect: [{usefull: 5}]",
       "6:11: key 'expect[1].usefull': not known; did you mean 'useful'?"},
      {kMore, "expect: [{p99: 5}]",
       "6:16: key 'expect[1].p99': value '5': allowed is a time from 0s to 720h, with a unit as in "
       "10ms"},
      {kMore, "expect: [{goodput: 5}]",
       "6:20: key 'expect[1].goodput': value '5': allowed is a rate up to 1000000/s, as in 120/s, "
       "30/m or 5/h"},
      {kMore, "expect: [{goodput: -5/s}]",
       "6:20: key 'expect[1].goodput': value '-5/s': allowed is a rate up to 1000000/s, as in "
       "120/s, 30/m or 5/h"},
      {kMore, "expect: [{waste: 5}]",
       "6:18: key 'expect[1].waste': value '5': allowed is a share from 0% to 100%"},
      {kMore, "expect: [{waste: 101%}]",
       "6:18: key 'expect[1].waste': value '101%': allowed is a share from 0% to 100%"},
      {kMore, "expect: [{useful: 5s}]",
       "6:19: key 'expect[1].useful': value '5s': allowed is a number from 0 to 1000000000000"},
      {kMore, "expect: [{p99: {}}]",
       "6:16: key 'expect[1].p99': allowed is at_least and at_most, either or both, or is"},
      {kMore, "expect: [{p99: {is: 5ms, at_most: 6ms}}]",
       "6:16: key 'expect[1].p99': allowed is at_least and at_most, either or both, or is"},
      {kMore, "expect: [{p99: {at_most: 6ms, within: 1%}}]",
       "6:31: key 'expect[1].p99.within': goes only with is"},
      {kMore, "expect: [{p99: {is: 6ms, errors: 3}}]",
       "6:34: key 'expect[1].p99.errors': needs at least 2 seeds: a standard error is taken over "
       "them"},
      {kMore, "expect: [{p99: {is: 6ms, errors: 3, within: 1%}}]",
       "6:26: key 'expect[1].p99.errors': does not go with within"},
      {kMore, "expect: [{goodput: {at_least: 97%, of: oracle}}]",
       "6:40: key 'expect[1].goodput.of': there is no oracle; write 'oracle: {limits: 1-64}'"},
      {kMore, "expect: [{goodput: {at_least: 9/s, of: policy}}]",
       "6:40: key 'expect[1].goodput.of': value 'policy': allowed is one of oracle, a"},
      {kMore, "expect: [{goodput: {at_least: 97%, of: {policy: b}}}]",
       "6:49: key 'expect[1].goodput.of.policy': value 'b': allowed is one of oracle, a"},
      {kMore, "expect: [{p99: {at_most: 9ms, of: {from: 5s}}}]",
       "6:26: key 'expect[1].p99.at_most': value '9ms': allowed is a share from 0% to 100000%"},
      {kMore, "expect: [{p99: {at_most: 90%, of: {from: 5s, to: 5s}}}]",
       "6:46: key 'expect[1].p99.of.to': nothing is left to look at: from is not before to"},
      {kMore, "expect: [{p99: {is: 90%, errors: 3, of: a}}]",
       "6:26: key 'expect[1].p99.errors': does not go with of; 6:34: key 'expect[1].p99.errors': "
       "needs at least 2 seeds: a standard error is taken over them"},
      {kMore, "expect: [{useful: 5, from: end-5}]",
       "6:28: key 'expect[1].from': value 'end-5': allowed is a time since the beginning, as in "
       "5s, or before the end, as in end-5m"},
      {kMore, "expect: [{useful: 5, every: 5s}]",
       "6:22: key 'expect[1].every': goes only with each"},
      {kMore, "expect: [{useful: 5, each: 5s, every: 4s}]",
       "6:32: key 'expect[1].every': is less than each: pieces do not overlap"},
      {kMore, "expect: [{useful: 5, each: 0s}]",
       "6:28: key 'expect[1].each': value '0s': allowed is a time from 1ms to 720h, with a "
       "unit as in 10ms"},
      {kMore, "expect: [{useful: 5, each: soon, every: 5s}]",
       "6:28: key 'expect[1].each': value 'soon': allowed is a time from 1ms to 720h, with a "
       "unit as in 10ms"},
      {kMore, "expect: [{useful: 5, from: 58s, each: 3s}]",
       "6:33: key 'expect[1].each': is longer than the time that is looked at"},
      {kMore, "expect: [{p99: {at_most: 90%, of: a}, each: 3s}]",
       "6:35: key 'expect[1].p99.of': with each, allowed is a map of from, to and policy: what is "
       "a piece a share of?"},
      {kMore, "expect: [{useful: 5, attempt: 0}]",
       "6:31: key 'expect[1].attempt': value '0': allowed is a whole number from 1 to 100"},
      {kMore, "expect: [{useful: 5, class: gold}]",
       "6:29: key 'expect[1].class': value 'gold': allowed is one of critical_plus, critical, "
       "sheddable_plus, sheddable"},
      {kMore, "expect: [{useful: 5, callers: x}]",
       "6:31: key 'expect[1].callers': value 'x': allowed is one of all"},
      {kMore, "expect: [{useful: 5, service: x}]",
       "6:31: key 'expect[1].service': value 'x': allowed is one of service"},
      {kMore, "expect: [{useful: 5, from: 70s}]",
       "6:22: key 'expect[1].from': nothing is left to look at: from is not before to"},
      {kMore, "expect: [{useful: 5, from: 9s, to: 8s}]",
       "6:32: key 'expect[1].to': nothing is left to look at: from is not before to"},
  };
  expect_faults(files);
}

std::string scenarios_page() {
  const std::string here = __FILE__;
  std::ifstream stream(here.substr(0, here.rfind("tests/tools/")) + "docs/scenarios.md");
  return {std::istreambuf_iterator<char>(stream), {}};
}

// Each example of the page is a file but for the parts that it leaves out.
TEST(SimFile, TheExamplesOfItsPageAreSound) {
  const std::string page = scenarios_page();
  int examples = 0;
  constexpr std::string_view kBegin = "```yaml\n";
  for (auto at = page.find(kBegin); at != page.npos; at = page.find(kBegin, at + 1)) {
    const std::string example =
        page.substr(at + kBegin.size(), page.find("```\n", at + 1) - at - kBegin.size());
    const auto has = [&](const std::string& key) {
      return example.starts_with(key) || example.find("\n" + key) != example.npos;
    };
    std::string text = example;
    text += has("version:") ? "" : kHead;
    text += has("service") ? "" : kService;
    text += has("callers:") ? "" : kCallers;
    text += has("policies:") ? "" : kPolicies;
    EXPECT_EQ(faults_of(text), "") << text;
    ++examples;
  }
  EXPECT_EQ(examples, 9);
}

TEST(SimFigures, AllAreOnThePage) {
  const std::string page = scenarios_page();
  for (const SimFigure& figure : sim_figures()) {
    EXPECT_THAT(page, HasSubstr("`" + std::string(figure.name) + "`"));
  }
}

TEST(SimFigures, EachHasANameOfItsOwn) {
  for (const SimFigure& figure : sim_figures()) {
    EXPECT_EQ(find_sim_figure(figure.name), &figure) << figure.name;
  }
  EXPECT_EQ(find_sim_figure("usefull"), nullptr);
  EXPECT_EQ(find_sim_figure("rejected_none"), nullptr);
  EXPECT_NE(find_sim_figure("rejected_busy"), nullptr);
}

TEST(SimFigures, AreWrittenForPeople) {
  const auto text = [](std::string_view name, double value) {
    return format_figure(*find_sim_figure(name), value);
  };
  EXPECT_EQ(text("useful", 6050), "6050");
  EXPECT_EQ(text("useful", 12'345'678), "12345678");
  EXPECT_EQ(text("attempts_per_call", 1.23456), "1.235");
  EXPECT_EQ(text("goodput", 970), "970/s");
  EXPECT_EQ(text("goodput", 99.7654), "99.77/s");
  EXPECT_EQ(text("goodput", 123'456.7), "123457/s");
  EXPECT_EQ(text("waste", 0.015), "1.5 %");
  EXPECT_EQ(text("waste", 1), "100 %");
  EXPECT_EQ(text("p99", 0.4893), "489.3 ms");
  EXPECT_EQ(text("p99", 0.0000505), "50.5 us");
  EXPECT_EQ(text("p99", 12.34567), "12.35 s");
  EXPECT_EQ(text("p99", 0), "0 ms");
  EXPECT_EQ(text("p99", sim::Summary::kNothing), "-");
}

}  // namespace
}  // namespace loadline::tools
