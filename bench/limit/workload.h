// Workloads drawn at random from a stated family, and what the best fixed limits get out of them.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "sim/scenario.h"

namespace loadline::bench {

// How a server's knee comes about.
enum class ServerKind : std::uint8_t {
  pool,       // workers behind a line of their own, first come, first served
  sharing,    // so many processors, shared by all that are in flight
  unlimited,  // a latency, and no knee at all
};

enum class StepKind : std::uint8_t { none, rate, speed, workers };

std::string_view name(ServerKind kind) noexcept;
std::string_view name(StepKind kind) noexcept;

// `workers` and `mean` are the server's capacity: without a knee, what the load is counted by.
struct Workload {
  std::uint64_t seed = 0;
  std::uint64_t number = 0;
  ServerKind kind = ServerKind::pool;
  std::uint32_t workers = 1;
  double mean = 0;      // seconds of work
  double cv = 0;        // of the work: lognormal; 0 is always the same
  double load = 0;      // of capacity, before the step
  double deadline = 0;  // seconds
  StepKind step = StepKind::none;
  double factor = 1;       // of what the step changes, in the middle
  double length = 0;       // seconds
  bool shortened = false;  // it would have been too many requests

  [[nodiscard]] std::uint32_t phases() const noexcept { return step == StepKind::none ? 1 : 2; }
  // Of a phase; 0 is before the step.
  [[nodiscard]] double rate(std::uint32_t phase) const noexcept;
  [[nodiscard]] double speed(std::uint32_t phase) const noexcept;
  [[nodiscard]] std::uint32_t workers_in(std::uint32_t phase) const noexcept;
  [[nodiscard]] std::uint64_t run_seed() const noexcept;
};

// What all workloads of a study have in common.
struct Family {
  std::uint64_t seed = 0;
  double most_requests = 1.5e6;  // of one workload
};

// The `number`-th, a function of its arguments.
Workload draw_workload(const Family& family, std::uint64_t number);

// Useful answers of each phase, by when they were given; and the limits that were in force: the
// oracle's of each phase, and of a law the mean.
struct Yield {
  std::array<double, 2> good{};
  std::array<double, 2> limit{};

  [[nodiscard]] double all() const noexcept { return good[0] + good[1]; }
};

struct Match {
  Workload workload{};
  Yield automatic{};
  Yield oracle{};
  std::array<double, 2> offered{};

  [[nodiscard]] double ratio() const noexcept { return automatic.all() / oracle.all(); }
  [[nodiscard]] double ratio(std::uint32_t phase) const noexcept {
    return automatic.good.at(phase) / oracle.good.at(phase);
  }
};

// Both from an empty start, the law knowing nothing.
Match match(const Workload& workload);

nlohmann::ordered_json to_json(const Match& match);

// When the limit of `automatic` was what, for a look at one workload.
std::vector<sim::LimitChange> limits_of(const Workload& workload);

}  // namespace loadline::bench
