// loadline demo: the same service under the same overload, without and with Loadline.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/resource.h>

#include <csignal>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stop_token>

#include "command.h"
#include "demo_auto.h"
#include "demo_report.h"
#include "demo_stage.h"
#include "result_file.h"
#include "stop_on_signal.h"

namespace loadline::tools {
namespace {

using namespace std::chrono_literals;

// A queue has to grow past the callers' patience before an overload shows, and at 1.2x that takes
// five seconds.
struct Load {
  double multiple;
  std::chrono::seconds duration;
  std::chrono::seconds warmup;
};
constexpr Load kLoads[] = {{0.8, 6s, 2s}, {1.2, 12s, 6s}, {3, 6s, 2s}, {10, 6s, 2s}};

constexpr auto kPatience = 1s;
// A tenth of it: what is later than that is the generator's doing.
constexpr auto kTolerableLateness = 100ms;
constexpr unsigned kClosedCallers = 16;
// At 10x, two thousand callers a second stay for a second each. Every one of them is a descriptor
// of the generator and one of the service, both in this process.
constexpr rlim_t kDescriptors = 6000;

struct DemoOptions {
  std::string json_file;
  std::string limit;     // "auto", or empty
  unsigned seconds = 0;  // 0: as long as it takes
};

class Progress {
 public:
  void step(const std::string& what) { fmt::print(stderr, "[{}/{}] {}\n", ++done_, kSteps, what); }

 private:
  static constexpr std::size_t kSteps = 1 + 2 * std::size(kLoads);
  std::size_t done_ = 0;
};

// One line when there are too few, and no way to get more.
std::string too_few_descriptors() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur >= kDescriptors) {
    return {};
  }
  return fmt::format(
      "{} file descriptors are allowed, and the 10x run needs {}: raise the hard "
      "limit (ulimit -Hn)",
      limit.rlim_cur, kDescriptors);
}

// Someone has asked to end: what there is so far shows nothing.
struct Interrupted {};

void go_on_unless(const std::stop_token& stop) {
  if (stop.stop_requested()) {
    throw Interrupted{};
  }
}

double measure_capacity(DemoStage& stage, const std::stop_token& stop) {
  stage.prepare(false);
  const LoadReport report = run_load(
      {.url = stage.url(), .closed = kClosedCallers, .duration = 4s, .warmup = 1s, .timeout = 10s},
      {}, stop);
  go_on_unless(stop);
  return report.goodput_per_second();
}

double in_ms(std::chrono::nanoseconds time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

DemoRun summarize(const LoadReport& report, const ServiceStats& before, const ServiceStats& after) {
  const Tally& window = report.window;
  const auto share = [](std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
  };
  return {.goodput = report.goodput_per_second(),
          .p50_ms = in_ms(window.accepted_latency.percentile(50)),
          .p99_ms = in_ms(window.accepted_latency.percentile(99)),
          .rejected = share(window.rejected(), window.offered),
          .p99_rejection_ms = in_ms(window.rejection_latency.percentile(99)),
          .waste = share(after.abandoned - before.abandoned, after.completed - before.completed),
          .generator_fault = report.starved ? report.why : ""};
}

DemoRun run_once(DemoStage& stage, const Load& load, double rate, bool gate_on,
                 const std::stop_token& stop) {
  stage.prepare(gate_on);
  std::optional<ServiceStats> at_warmup;
  const LoadReport report = run_load(
      {.url = stage.url(),
       .rate = {{0s, rate}},
       .duration = load.duration,
       .warmup = load.warmup,
       .timeout = kPatience,
       .tolerable_lateness = kTolerableLateness},
      [&](const LoadProgress& progress) {
        if (!at_warmup && progress.elapsed >= load.warmup) {
          at_warmup = stage.service_stats();
        }
      },
      stop);
  go_on_unless(stop);
  return summarize(report, at_warmup.value_or(ServiceStats{}), stage.service_stats());
}

DemoReport measure(const std::stop_token& stop) {
  constexpr unsigned kLimit = 5;
  const DemoStage::Options setup{.service = {}, .limit = std::to_string(kLimit)};
  Progress progress;
  DemoStage stage(setup);
  DemoReport report{.workers = setup.service.workers,
                    .service_ms = in_ms(setup.service.service_time),
                    .limit = kLimit};
  progress.step(fmt::format("capacity: {} callers, each asking again as soon as it is answered",
                            kClosedCallers));
  report.capacity = measure_capacity(stage, stop);
  for (const Load& load : kLoads) {
    const double rate = load.multiple * report.capacity;
    DemoRow row{.load = load.multiple, .rate = rate};
    progress.step(fmt::format("{}x of {:.0f}/s for {}, gate off", load.multiple, report.capacity,
                              load.duration));
    row.bare = run_once(stage, load, rate, false, stop);
    progress.step(fmt::format("{}x of {:.0f}/s for {}, gate on", load.multiple, report.capacity,
                              load.duration));
    row.guarded = run_once(stage, load, rate, true, stop);
    report.rows.push_back(row);
  }
  return report;
}

void explain(const DemoReport& report) {
  fmt::print(
      "\nA service of {} workers x {:.0f} ms (measured: {:.0f}/s), callers who give up after 1 s.\n"
      "Gate off is the same nginx and nothing refused; gate on has limit {} and its defaults.\n\n"
      "{}\n"
      "goodput: answers within the caller's patience. waste: work for callers who had left.\n\n",
      report.workers, report.service_ms, report.capacity, report.limit, demo_table(report));
}

int measure_and_tell(ResultFile& json_file, const std::stop_token& stop) {
  const DemoReport report = measure(stop);
  explain(report);
  json_file.write(demo_json(report).dump(2));
  const auto faults = demo_faults(report);
  for (const std::string& fault : faults) {
    fmt::print(stderr, "loadline: {}\n", fault);
  }
  fmt::print(
      "In front of a service of yours, on port 9000:\n\n"
      "  build/bin/loadline run --limit 64 --upstream http://127.0.0.1:9000\n\n");
  return faults.empty() ? kOk : kFailed;
}

int find_and_tell(const DemoOptions& options, ResultFile& json_file, const std::stop_token& stop) {
  AutoDemoOptions how;
  if (options.seconds != 0) {
    how.quiet = std::chrono::seconds(options.seconds);
  }
  const AutoReport report = run_auto_demo(how, stop);
  go_on_unless(stop);
  fmt::print("{}", auto_text(report));
  json_file.write(auto_json(report).dump(2));
  const auto faults = auto_faults(report);
  for (const std::string& fault : faults) {
    fmt::print(stderr, "loadline: {}\n", fault);
  }
  fmt::print(
      "In front of a service of yours, on port 9000:\n\n"
      "  build/bin/loadline run --limit auto --upstream http://127.0.0.1:9000\n\n");
  return faults.empty() ? kOk : kFailed;
}

int demo(const DemoOptions& options) {
  if (const std::string few = too_few_descriptors(); !few.empty()) {
    fmt::print(stderr, "loadline: {}\n", few);
    return kFailed;
  }
  ResultFile json_file(options.json_file);
  const StopOnSignal signals;
  try {
    return options.limit.empty() ? measure_and_tell(json_file, signals.token())
                                 : find_and_tell(options, json_file, signals.token());
  } catch (const Interrupted&) {
    const int signal = signals.signal().value_or(SIGINT);
    fmt::print(stderr, "loadline: ended by signal {} ({}) before there was a result\n", signal,
               strsignal(signal));
    return 128 + signal;  // as a shell tells of a command that a signal ended
  }
}

}  // namespace

void add_demo(CLI::App& app, Action& chosen) {
  const auto options = std::make_shared<DemoOptions>();
  CLI::App* command = app.add_subcommand(
      "demo", "Overload a service without and with Loadline, and show the difference");
  command->footer(
      "Takes about 80 seconds and two cores. Exit code 0 only if at every overload the goodput "
      "is at least\n0.97 of the capacity with the gate on, and at most 0.2 with it off.\n\n"
      "With --limit auto the limit of two services is found: of one worker that computes, and of "
      "32 "
      "that wait.\nExit code 0 only if nobody is refused at 0.7x, and at 1.5x the goodput is at "
      "least 0.95 of the capacity\nfrom two seconds on, and again after half of the service has "
      "gone. Takes about three minutes.");
  command->add_option("--limit", options->limit, "auto: show how a limit is found")
      ->check(CLI::IsMember({"auto"}))
      ->option_text("auto");
  command->add_option("--seconds", options->seconds, "With --limit auto: how long at 0.7x; 60")
      ->check(CLI::Range(5u, 3600u))
      ->option_text("N");
  command->add_option("--json", options->json_file, "Write the same numbers to FILE")
      ->option_text("FILE");
  command->callback([options, &chosen] {
    if (options->seconds != 0 && options->limit.empty()) {
      throw CLI::ValidationError("--seconds: needs --limit auto");
    }
    chosen = [options] { return demo(*options); };
  });
}

}  // namespace loadline::tools
