#include "limit/workload.h"

#include <algorithm>
#include <cmath>

#include "report.h"
#include "sim/measures.h"
#include "sim/oracle.h"
#include "sim/random.h"
#include "sim/seconds.h"
#include "sim/world.h"
#include "statistics.h"

namespace loadline::bench {
namespace {

constexpr std::uint64_t kStream = 0x776f726b;  // apart from the streams of a run
constexpr double kMostCapacity = 100'000;      // requests a second
constexpr double kServiceTimes = 4'000;
constexpr double kLeastSeconds = 60;
constexpr double kStep = 1.25;              // between two limits that the oracle tries
constexpr double kHighest = 8;              // times the workers
constexpr double kRequestsToChoose = 60e3;  // of a run of the oracle's
constexpr double kDeadlinesToChoose = 4;
constexpr double kNearly = 0.95;
constexpr double kServesAll = 0.999;
constexpr std::uint32_t kQueueRoom = 16'384;

double between(double least, double most, sim::Draws& draws) {
  return std::lerp(least, most, draws.uniform());
}

double log_between(double least, double most, sim::Draws& draws) {
  return std::exp(between(std::log(least), std::log(most), draws));
}

void draw_server(Workload& w, sim::Draws& draws) {
  constexpr ServerKind kKinds[] = {ServerKind::pool, ServerKind::sharing, ServerKind::unlimited};
  w.kind = kKinds[std::min(static_cast<std::size_t>(draws.uniform() * 3), std::size_t{2})];
  do {
    w.workers = static_cast<std::uint32_t>(std::lround(log_between(1, 2'000, draws)));
    w.mean = log_between(0.2e-3, 5, draws);
  } while (w.workers / w.mean > kMostCapacity);
  w.cv = between(0, 3, draws);
}

// Only a pool has workers that could become fewer.
void draw_step(Workload& w, sim::Draws& draws) {
  const bool steps = draws.uniform() < 0.5;
  const double which = draws.uniform();
  const double rate = log_between(0.2, 5, draws);
  const double speed = log_between(0.3, 3, draws);
  const double workers = draws.uniform() < 0.5 ? 0.5 : 2;
  if (!steps) {
    return;
  }
  const bool pool = w.kind == ServerKind::pool;
  if (which < (pool ? 1.0 / 3 : 0.5)) {
    w.step = StepKind::rate;
    w.factor = rate;
  } else if (!pool || which < 2.0 / 3) {
    w.step = StepKind::speed;
    w.factor = speed;
  } else {
    w.step = StepKind::workers;
    w.factor = workers;
  }
}

sim::GateModel gate_of(Law law) {
  sim::GateModel gate;
  gate.policy.law = law;
  gate.queue_room = kQueueRoom;
  fill_defaults(gate.policy);
  return gate;
}

sim::GateModel fixed_gate(std::uint32_t limit) {
  sim::GateModel gate = gate_of(Law::fixed);
  gate.policy.limit = limit;
  return gate;
}

// From the beginning of `phase` on.
sim::Scenario scenario_of(const Workload& w, const sim::GateModel& gate, double length,
                          std::uint32_t phase = 0) {
  const auto steps = [&](auto before, auto after) {
    using Steps = sim::Steps<decltype(before)>;
    return phase == 1 ? Steps(after) : Steps(before, {{sim::at(w.length / 2), after}});
  };
  sim::Population callers;
  callers.arrivals = sim::Arrivals::poisson(steps(w.rate(0), w.rate(1)));
  callers.work = sim::Distribution::lognormal(sim::duration(w.mean), w.cv);
  callers.patience = sim::duration(w.deadline);
  sim::Scenario scenario;
  scenario.populations = {callers};
  sim::ServiceModel& service = scenario.services[0];
  service.server.speed = steps(w.speed(0), w.speed(1));
  if (w.kind == ServerKind::pool) {
    service.server.workers = steps(w.workers_in(0), w.workers_in(1));
  } else if (w.kind == ServerKind::sharing) {
    service.server.contention = {sim::Contention::Kind::sharing, double(w.workers), 0};
  }
  service.gate = gate;
  scenario.length = sim::duration(length);
  return scenario;
}

// ---- The oracle
// ----------------------------------------------------------------------------------

std::vector<std::uint32_t> candidates(std::uint32_t workers) {
  std::vector<std::uint32_t> limits;
  for (double limit = workers; limit <= kHighest * workers; limit *= kStep) {
    const auto rounded = static_cast<std::uint32_t>(std::lround(limit));
    if (limits.empty() || limits.back() != rounded) {
      limits.push_back(rounded);
    }
  }
  return limits;
}

// Share of those offered that a fixed limit serves well, once it is full.
double serves(const Workload& w, std::uint32_t phase, std::uint32_t limit) {
  const double whole = w.length / w.phases();
  const double enough =
      std::max(kRequestsToChoose / w.rate(phase), kDeadlinesToChoose * w.deadline);
  const double length = std::min(whole, enough);
  const double from = std::min(w.deadline, length / 4);
  const sim::Result result =
      run(scenario_of(w, fixed_gate(limit), length, phase), w.run_seed() + phase);
  const sim::Span span{sim::at(from), sim::at(length)};
  return goodput(result.journal, span) / w.rate(phase);
}

// The limits that may be a phase's best. Where all is served without any, that is none; where none
// does nearly as well as the best, a longer run has to tell.
std::vector<std::uint32_t> best_limits(const Workload& w, std::uint32_t phase) {
  const double open = serves(w, phase, kMaxLimit);
  if (open >= kServesAll) {
    return {kMaxLimit};
  }
  const sim::Tried found = best(sim::sweep(candidates(w.workers_in(phase)),
                                           [&](auto limit) { return serves(w, phase, limit); }));
  if (open >= kNearly * found.value) {
    return {found.limit, kMaxLimit};
  }
  return {found.limit};
}

// ---- Runs
// ----------------------------------------------------------------------------------------

Yield yield_of(const Workload& w, const sim::Result& result) {
  Yield yield;
  const double half = w.phases() == 1 ? w.length : w.length / 2;
  for (const sim::Ending& e : result.journal) {
    yield.good.at(e.ended < sim::at(half) ? 0 : 1) += e.good() ? 1 : 0;
  }
  double limit = result.limits.empty() ? 0 : result.limits.front().limit;
  double from = 0;
  const auto gather = [&](double until) {
    for (std::uint32_t phase = 0; phase < w.phases(); ++phase) {
      const double begun = std::max(from, phase * half);
      const double ended = std::min(until, (phase + 1) * half);
      yield.limit.at(phase) += limit * std::max(ended - begun, 0.0) / half;
    }
  };
  for (const sim::LimitChange& change : result.limits) {
    gather(sim::seconds(change.from));
    from = sim::seconds(change.from);
    limit = change.limit;
  }
  gather(w.length);
  return yield;
}

Yield with_fixed(const Workload& w, std::uint32_t first, std::uint32_t second) {
  sim::GateModel gate = fixed_gate(first);
  if (w.phases() == 2) {
    gate.limits = {{sim::at(w.length / 2), second}};
  }
  return yield_of(w, run(scenario_of(w, gate, w.length), w.run_seed()));
}

Yield oracle_of(const Workload& w) {
  const std::vector<std::uint32_t> firsts = best_limits(w, 0);
  const std::vector<std::uint32_t> seconds =
      w.phases() == 2 ? best_limits(w, 1) : std::vector<std::uint32_t>{0};
  Yield most;
  for (const std::uint32_t first : firsts) {
    for (const std::uint32_t second : seconds) {
      const Yield yield = with_fixed(w, first, second);
      most = yield.all() > most.all() ? yield : most;
    }
  }
  return most;
}

sim::Result with_law(const Workload& w) {
  return run(scenario_of(w, gate_of(Law::automatic), w.length), w.run_seed());
}

}  // namespace

std::string_view name(ServerKind kind) noexcept {
  constexpr std::string_view kNames[] = {"pool", "sharing", "unlimited"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view name(StepKind kind) noexcept {
  constexpr std::string_view kNames[] = {"none", "rate", "speed", "workers"};
  return kNames[static_cast<std::size_t>(kind)];
}

double Workload::rate(std::uint32_t phase) const noexcept {
  const double before = load * workers / mean;
  return phase == 1 && step == StepKind::rate ? before * factor : before;
}

double Workload::speed(std::uint32_t phase) const noexcept {
  return phase == 1 && step == StepKind::speed ? factor : 1;
}

std::uint32_t Workload::workers_in(std::uint32_t phase) const noexcept {
  if (phase == 0 || step != StepKind::workers) {
    return workers;
  }
  return std::max(static_cast<std::uint32_t>(std::lround(workers * factor)), 1U);
}

std::uint64_t Workload::run_seed() const noexcept {
  return sim::Draws(seed, kStream + 1, number).bits();
}

Workload draw_workload(const Family& family, std::uint64_t number) {
  sim::Draws draws(family.seed, kStream, number);
  Workload w{.seed = family.seed, .number = number};
  draw_server(w, draws);
  w.load = log_between(0.3, 5, draws);
  w.deadline = w.mean * log_between(5, 30, draws);
  draw_step(w, draws);
  w.length = std::max(kServiceTimes * w.mean, kLeastSeconds);
  const double rate = (w.rate(0) + w.rate(w.phases() - 1)) / 2;
  w.shortened = w.length * rate > family.most_requests;
  w.length = std::min(w.length, family.most_requests / rate);
  return w;
}

Match match(const Workload& workload) {
  Match match{.workload = workload,
              .automatic = yield_of(workload, with_law(workload)),
              .oracle = oracle_of(workload)};
  for (std::uint32_t phase = 0; phase < workload.phases(); ++phase) {
    match.offered.at(phase) = workload.rate(phase) * workload.length / workload.phases();
  }
  return match;
}

nlohmann::ordered_json to_json(const Match& match) {
  const Workload& w = match.workload;
  nlohmann::ordered_json json = {{"name", "workload"},      {"seed", w.seed},
                                 {"number", w.number},      {"ratio", rounded(match.ratio())},
                                 {"server", name(w.kind)},  {"workers", w.workers},
                                 {"mean_s", w.mean},        {"cv", rounded(w.cv)},
                                 {"load", rounded(w.load)}, {"deadline_s", w.deadline},
                                 {"step", name(w.step)},    {"factor", rounded(w.factor)},
                                 {"length_s", w.length},    {"shortened", w.shortened}};
  for (std::uint32_t phase = 0; phase < w.phases(); ++phase) {
    json["phases"].push_back({{"offered", std::round(match.offered.at(phase))},
                              {"ratio", rounded(match.ratio(phase))},
                              {"good", match.automatic.good.at(phase)},
                              {"oracle_good", match.oracle.good.at(phase)},
                              {"limit", rounded(match.automatic.limit.at(phase))},
                              {"oracle_limit", rounded(match.oracle.limit.at(phase))}});
  }
  return json;
}

std::vector<sim::LimitChange> limits_of(const Workload& workload) {
  return with_law(workload).limits;
}

}  // namespace loadline::bench
