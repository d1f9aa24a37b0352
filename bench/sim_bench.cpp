// What a request costs in virtual time, beside a Python program that simulates the same.
//
// Both are given the articles' scenario: one worker of 10 ms, 120 requests a second for a minute,
// and a limit of one whose waiters start within 100 ms or are refused on arrival. Ours goes through
// the gate of production. The figure is processor time for each request over processor time for
// each request, in turn and several times over, both on one processor. With --beside two simpler
// programs are compared as well, with a queue of 50 in place of the bound on the wait: one by
// events, and the articles' own loop. The exit code judges nothing; `holds` says whether the goal
// is met.
//
// With --scale: how cost and memory grow with servers and with time (sim/scale.h).
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "command.h"
#include "cpus.h"
#include "nginx/process.h"
#include "report.h"
#include "sim/python_random.h"
#include "sim/scale.h"
#include "sim/summary.h"
#include "sim/world.h"
#include "statistics.h"

namespace loadline::bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kGoal = 0.2;

// A way to simulate, as the program knows it, and what it must come to.
struct Way {
  const char* figure;
  const char* program;
  bool counts_only;  // a queue of 50 in place of a bound on the wait
  std::uint64_t useful;
  std::uint64_t rejected;
};
constexpr Way kWay = {"sim", "gate", false, 5991, 1161};
constexpr Way kBeside[] = {{"sim_bounded", "bounded", true, 6050, 1102},
                           {"sim_loop", "loop", true, 6050, 1102}};

sim::Scenario articles_scenario(const Way& way) {
  sim::Scenario scenario;
  sim::Population callers;
  callers.arrivals = sim::Arrivals::listed(sim::python_poisson(1, 120, Duration::seconds(60)));
  callers.work = sim::Distribution::fixed(Duration::millis(10));
  callers.patience = Duration::seconds(1);
  callers.tells_deadline = false;
  scenario.populations = {callers};
  scenario.services[0].server.workers = 1;
  sim::GateModel gate;
  gate.policy.limit = 1;
  gate.policy.discipline = Discipline::fifo;
  if (way.counts_only) {
    gate.policy.queue = QueueSize::at_most(50);
    gate.policy.wait_budget = Duration::seconds(3600);
    gate.tells_service_times = false;
  }
  fill_defaults(gate.policy);
  scenario.services[0].gate = gate;
  scenario.length = Duration::seconds(60);
  scenario.drains = true;
  return scenario;
}

// Both must have simulated the same, or the comparison says nothing.
void expect_known(const std::string& whose, const Way& way, std::uint64_t useful,
                  std::uint64_t rejected) {
  if (useful != way.useful || rejected != way.rejected) {
    throw std::runtime_error(fmt::format("{}: {} useful and {} rejected, not {} and {}", whose,
                                         useful, rejected, way.useful, way.rejected));
  }
}

// Nanoseconds for each request, of `times` runs.
double time_ours(const Way& way, int times) {
  std::uint64_t requests = 0;
  sim::Summary summary;
  const double begun = processor_seconds();
  for (int i = 0; i < times; ++i) {
    const sim::Result result = run(articles_scenario(way), 1);
    summary = summarize(result.journal, {.span = {Instant{}, result.ended + Duration{1}}});
    requests += summary.attempts;
  }
  const double took = processor_seconds() - begun;
  expect_known("loadline", way, summary.useful, summary.rejected);
  return took * 1e9 / static_cast<double>(requests);
}

double time_python(const std::string& program, const Way& way, int times) {
  const std::string command = fmt::format("python3 -B '{}' {} {}", program, way.program, times);
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "re"), &pclose);
  std::string text;
  std::array<char, 256> chunk{};
  while (pipe && std::fgets(chunk.data(), chunk.size(), pipe.get()) != nullptr) {
    text += chunk.data();
  }
  const Json answer = Json::parse(text, nullptr, false);
  if (answer.is_discarded()) {
    throw std::runtime_error("this gave no answer: " + command);
  }
  expect_known("python3", way, answer["useful"], answer["rejected"]);
  return answer["seconds"].get<double>() * 1e9 / answer["requests"].get<double>();
}

struct Options {
  std::string program = LOADLINE_SIM_PROGRAM;
  int repetitions = 11;
  int times = 40;
  bool beside = false;
  bool scale = false;
  std::string json;
};

Json measured(const Way& way, const Options& options) {
  std::vector<double> ratios;
  std::vector<double> ours;
  std::vector<double> theirs;
  for (int i = 0; i < options.repetitions; ++i) {
    // Either goes first in turn, so that a machine that gets faster or slower favours neither.
    if (i % 2 == 0) {
      ours.push_back(time_ours(way, options.times));
    }
    theirs.push_back(time_python(options.program, way, options.times));
    if (i % 2 != 0) {
      ours.push_back(time_ours(way, options.times));
    }
    ratios.push_back(ours.back() / theirs.back());
  }
  const Spread spread = spread_of(ratios);
  Json line = {{"name", way.figure}, {"ratio", rounded(spread.median)}};
  line.update(to_json(spread));
  if (&way == &kWay) {
    line.update(Json{{"goal", kGoal}, {"holds", spread.median <= kGoal}});
  }
  line.update(Json{{"ns", rounded(spread_of(ours).median)},
                   {"base_ns", rounded(spread_of(theirs).median)},
                   {"repetitions", options.repetitions}});
  return line;
}

void measure(const Options& options) {
  Report report(options.json);
  pin_this_process(allowed_cpus().front());
  report.add(measured(kWay, options));
  for (const Way& way : kBeside) {
    if (options.beside) {
      report.add(measured(way, options));
    }
  }
}

int read_and_measure(int argc, char** argv) {
  Options options;
  CLI::App app{"What a request costs in virtual time, beside a Python program."};
  app.add_option("--repetitions", options.repetitions, "Pairs of runs")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--times", options.times, "Runs of the scenario in each")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  app.add_flag("--beside", options.beside, "Compare the two simpler programs as well");
  app.add_option("--program", options.program, "The Python program")->capture_default_str();
  app.add_flag("--scale", options.scale,
               "Instead: cost and memory of up to 10,000 servers and 6 million requests");
  app.add_option("--json", options.json, "Write the line to this file as well");
  return run_command(app, argc, argv, [&options] {
    if (options.scale) {
      Report report(options.json);
      measure_scale(report);
    } else {
      measure(options);
    }
    return kHolds;
  });
}

}  // namespace
}  // namespace loadline::bench

int main(int argc, char** argv) {
  return loadline::bench::run_main("sim_bench", argc, argv, loadline::bench::read_and_measure);
}
