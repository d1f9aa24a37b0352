// What a decision of the gate costs, beside the least that any counter of work in flight must do: a
// compare-and-swap and a subtraction.
//
// First Google Benchmark's own table, for the nanoseconds. Then the ratios, one JSON object a line:
// each is the median over pairs of slices, taken in turn (see decision/timing.h). The exit code
// judges nothing; `holds` says whether a goal is met.
#include <benchmark/benchmark.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "command.h"
#include "decision/compared.h"
#include "decision/operations.h"
#include "decision/timing.h"
#include "report.h"

namespace loadline::bench {
namespace {

template <class Operation>
void run_under_google_benchmark(benchmark::State& state) {
  Operation operation;
  for (auto _ : state) {
    operation.step();
  }
}

using IdleAndRecorded = Idle<Outcome::success>;
using IdleNotRecorded = Idle<Outcome::ignored>;

BENCHMARK(run_under_google_benchmark<BarePair>)->Name("bare_pair");
BENCHMARK(run_under_google_benchmark<IdleAndRecorded>)->Name("idle");
BENCHMARK(run_under_google_benchmark<IdleNotRecorded>)->Name("idle_not_recorded");
BENCHMARK(run_under_google_benchmark<WithClock<QuickClock>>)->Name("with_clock");
BENCHMARK(run_under_google_benchmark<WithClock<SystemClock>>)->Name("with_system_clock");
BENCHMARK(run_under_google_benchmark<WithTenant>)->Name("tenant");
BENCHMARK(run_under_google_benchmark<RejectMayNotWait>)->Name("reject_may_not_wait");
BENCHMARK(run_under_google_benchmark<RejectQueueFull>)->Name("reject_queue_full");
BENCHMARK(run_under_google_benchmark<RejectDeadline>)->Name("reject_deadline");
BENCHMARK(run_under_google_benchmark<QueueCycle>)->Name("queue_cycle");

// What is compared with the bare pair, or with two threads that do bare pairs on one counter.
// The two called `same` compare the bare pair with itself: what equal things come out at.
const std::vector<Compared>& all_compared() {
  static const std::vector<Compared> kAll = {
      {"same", time_alone<BarePair, BarePair>},
      {"offer_release", time_alone<IdleAndRecorded, BarePair>, 1.5},
      {"offer_release_not_recorded", time_alone<IdleNotRecorded, BarePair>},
      {"with_clock", time_alone<WithClock<QuickClock>, BarePair>, 4.0},
      {"with_system_clock", time_alone<WithClock<SystemClock>, BarePair>},
      {"sample", time_alone<WithSample<QuickClock>, BarePair>, 5.0},
      {"tenant", time_alone<WithTenant, BarePair>, 4.0},
      {"rejection", time_alone<RejectQueueFull, BarePair>, 0.8},
      {"rejection_limit", time_alone<RejectMayNotWait, BarePair>},
      {"rejection_deadline", time_alone<RejectDeadline, BarePair>},
      {"through_queue", time_alone<QueueCycle, BarePair>, 10.0},
      {"same_2threads", time_contended_same},
      {"offer_release_2threads", time_contended_gate, 1.3},
  };
  return kAll;
}

struct Options {
  int repetitions = 201;
  std::string json_file;
};

int read_and_measure(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);  // takes its own options out
  CLI::App app{"Measures what a decision of the gate costs."};
  Options options;
  app.add_option("--repetitions", options.repetitions, "how often each operation is timed")
      ->check(CLI::Range(1, 10'000));
  app.add_option("--json-file", options.json_file, "write the JSON lines here, too");
  return run_command(app, argc, argv, [&options] {
    pin_to_first_cpu();
    benchmark::RunSpecifiedBenchmarks();
    Report report(options.json_file);
    measure_and_report(all_compared(), options.repetitions, report);
    return kHolds;
  });
}

}  // namespace
}  // namespace loadline::bench

int main(int argc, char** argv) {
  return loadline::bench::run_main("decision_bench", argc, argv, loadline::bench::read_and_measure);
}
