// The rigs that scenarios speak of, and the short words for them.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "sim/measures.h"
#include "sim/oracle.h"
#include "sim/replicate.h"
#include "sim/seconds.h"
#include "sim/world.h"

namespace loadline::sim::test {

inline constexpr Duration kTenMs = Duration::millis(10);

// 32 workers, lognormal 10 ms of cv 1, callers with 100 ms: 3,200 a second.
inline constexpr std::uint32_t kR1Workers = 32;
inline constexpr double kR1Capacity = 3200;
inline Population r1_callers(Steps<double> per_second) {
  return {.arrivals = Arrivals::poisson(std::move(per_second)),
          .work = Distribution::lognormal(kTenMs, 1),
          .patience = Duration::millis(100)};
}

// 10 workers, exponential 10 ms, callers with 200 ms: 1,000 a second.
inline constexpr std::uint32_t kR3Workers = 10;
inline constexpr double kR3Capacity = 1000;
inline Population r3_callers(Steps<double> per_second) {
  return {.arrivals = Arrivals::poisson(std::move(per_second)),
          .work = Distribution::exponential(kTenMs),
          .patience = Duration::millis(200)};
}

inline GateModel gate_of(std::uint32_t limit) {
  GateModel gate;
  gate.policy.limit = limit;
  fill_defaults(gate.policy);
  return gate;
}

inline Scenario scenario_of(std::vector<Population> populations, std::uint32_t workers,
                            double length) {
  Scenario scenario;
  scenario.populations = std::move(populations);
  scenario.services[0].server.workers = workers;
  scenario.length = duration(length);
  return scenario;
}

}  // namespace loadline::sim::test
