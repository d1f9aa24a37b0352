#include "limit/rows.h"

#include <algorithm>
#include <utility>

#include "sim/measures.h"
#include "sim/seconds.h"

namespace loadline::bench {
namespace {

using sim::Distribution;
using sim::Population;
using sim::Result;
using sim::Scenario;
using sim::Span;
using sim::Steps;

constexpr std::uint32_t kWorkers = 32;
constexpr double kCapacity = 3'200;
constexpr std::uint32_t kQueueRoom = 4'096;

Population callers(Steps<double> per_second, Distribution work, Duration patience) {
  return {.arrivals = sim::Arrivals::poisson(std::move(per_second)),
          .work = std::move(work),
          .patience = patience};
}

Scenario behind_auto(Population callers, std::uint32_t workers, double length) {
  Scenario scenario;
  scenario.populations = {std::move(callers)};
  sim::GateModel gate;
  gate.policy.law = Law::automatic;
  gate.queue_room = kQueueRoom;
  fill_defaults(gate.policy);
  scenario.services[0].gate = gate;
  scenario.services[0].server.workers = workers;
  scenario.length = sim::duration(length);
  return scenario;
}

// 32 workers of 10 ms, callers with 100 ms.
Scenario pool(Steps<double> load, double length, double cv = 1) {
  std::vector<Steps<double>::Change> rates = load.changes();
  for (auto& change : rates) {
    change.value *= kCapacity;
  }
  const double first = rates.front().value;
  rates.erase(rates.begin());
  return behind_auto(
      callers(Steps<double>(first, rates), Distribution::lognormal(Duration::millis(10), cv),
              Duration::millis(100)),
      kWorkers, length);
}

Scenario with_server(Scenario scenario, const std::function<void(sim::ServerModel&)>& change) {
  change(scenario.services[0].server);
  return scenario;
}

Span from_to(double from, double to) {
  return {sim::at(from), sim::at(to)};
}

auto refused_in(double from, double to) {
  return [=](const Result& r) {
    return share(r.journal, from_to(from, to),
                 [](const sim::Ending& e) { return e.fate == sim::Fate::refused; });
  };
}

auto goodput_of(double capacity, double from, double to) {
  return [=](const Result& r) { return goodput(r.journal, from_to(from, to)) / capacity; };
}

auto mean_limit(double from, double to) {
  return [=](const Result& r) {
    double sum = 0;
    for (std::size_t i = 0; i < r.limits.size(); ++i) {
      const double begun = i == 0 ? 0 : sim::seconds(r.limits[i].from);
      const double ended = i + 1 < r.limits.size() ? sim::seconds(r.limits[i + 1].from) : to;
      sum += r.limits[i].limit * std::max(std::min(ended, to) - std::max(begun, from), 0.0);
    }
    return sum / (to - from);
  };
}

// A service that all its work needs at once takes so long, whatever is in flight.
Scenario latency_step() {
  return with_server(behind_auto(callers(320, Distribution::lognormal(Duration::millis(20), 1),
                                         Duration::millis(500)),
                                 sim::ServerModel::kUnlimited, 80),
                     [](sim::ServerModel& s) {
                       s.speed = {1.0, {{sim::at(20), 0.2}}};
                     });
}

// Half of the requests are answered at once.
Scenario fast_path() {
  Scenario scenario = pool(1.2, 30);
  scenario.populations.push_back(
      callers(1.2 * kCapacity, Distribution::fixed(Duration::micros(200)), Duration::millis(100)));
  return scenario;
}

// 5 % and then 20 % of the requests take a hundred times as long as the others.
Scenario heavy_share() {
  const auto mix = [](double share) {
    return Distribution::bimodal(Duration::millis(2), Duration::millis(200), share);
  };
  const double rate = 0.7 * kWorkers / sim::seconds(mix(0.05).mean());
  Scenario scenario = behind_auto(
      callers({rate, {{sim::at(20), 0}}}, mix(0.05), Duration::seconds(1)), kWorkers, 60);
  scenario.populations.push_back(
      callers({0, {{sim::at(20), rate}}}, mix(0.2), Duration::seconds(1)));
  return scenario;
}

double useful_work(const Result& r) {
  constexpr double kFrom = 25;
  constexpr double kTo = 60;
  double work = 0;
  for (const sim::Ending& e : r.journal) {
    work += e.good() && from_to(kFrom, kTo).holds(e.ended) ? sim::seconds(e.work) : 0;
  }
  return work / (kTo - kFrom) / kWorkers;
}

double slow_goodput(const Result& r) {
  return goodput(r.journal, from_to(0, 30), sim::OfPopulation{0}) / kCapacity;
}

Scenario fewer_workers() {
  return with_server(pool(0.7, 30), [](sim::ServerModel& s) {
    s.workers = {kWorkers, {{sim::at(20), kWorkers / 2}}};
  });
}

Scenario retrograde() {
  return with_server(pool(1.5, 30), [](sim::ServerModel& s) {
    s.contention = {sim::Contention::Kind::overhead, double(kWorkers), 0.01};
  });
}

Scenario sharing() {
  return with_server(pool(3, 30), [](sim::ServerModel& s) {
    s.workers = sim::ServerModel::kUnlimited;
    s.contention = {sim::Contention::Kind::sharing, double(kWorkers), 0};
  });
}

}  // namespace

std::vector<Row> rows() {
  using enum Row::Good;
  return {
      {"0.9x", "rejected at 0.9 times the capacity, cv 2, in 60 s", low, pool(0.9, 60, 2),
       refused_in(0, 60)},
      {"cold", "rejected at 0.9 times the capacity in the first 10 s", low, pool(0.9, 10),
       refused_in(0, 10)},
      {"1.2x", "goodput at 1.2 times the capacity over 30 s, of capacity", high, pool(1.2, 30),
       goodput_of(kCapacity, 0, 30)},
      {"3x", "the same at 3 times", high, pool(3, 30), goodput_of(kCapacity, 0, 30)},
      {"10x", "the same at 10 times, over 10 s", high, pool(10, 10), goodput_of(kCapacity, 0, 10)},
      {"0.2x to 3x", "goodput in the second after that step, of capacity", high,
       pool({0.2, {{sim::at(20), 3.0}}}, 21), goodput_of(kCapacity, 20, 21)},
      {"half the workers",
       "at 0.7 times what all of them do: goodput in the 2 s after, of capacity", high,
       fewer_workers(), goodput_of(kCapacity / 2, 20, 22)},
      {"20 to 100 ms", "rejected in 60 s after that step of a latency, 320 a second", low,
       latency_step(), refused_in(20, 80)},
      {"retrograde",
       "goodput at 1.5 times the capacity, over 30 s, of capacity, where each beyond 32 in the "
       "server slows all by 1 %",
       high, retrograde(), goodput_of(kCapacity, 0, 30)},
      {"sharing", "goodput at 3 times the capacity of 32 shared processors, over 30 s", high,
       sharing(), goodput_of(kCapacity, 0, 30)},
      {"fast path",
       "goodput of the others at 1.2 times the capacity, over 30 s, of capacity, where each has "
       "one beside it that takes 0.2 ms",
       high, fast_path(), slow_goodput},
      {"heavy share",
       "useful work of capacity in 35 s after 20 % instead of 5 % take 200 ms instead of 2 ms",
       high, heavy_share(), useful_work},
      {"limit", "mean limit at 1.3 times the capacity, from 5 s to 30 s", neither, pool(1.3, 30),
       mean_limit(5, 30)},
  };
}

double worst(Row::Good good, std::vector<double> figures) {
  std::ranges::sort(figures);
  switch (good) {
    case Row::Good::high:
      return figures.front();
    case Row::Good::low:
      return figures.back();
    case Row::Good::neither:
      break;
  }
  return figures[figures.size() / 2];
}

}  // namespace loadline::bench
