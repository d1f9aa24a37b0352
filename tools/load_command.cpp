// loadline load: an open-loop load generator.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "command.h"
#include "load.h"
#include "load_report.h"
#include "load_text.h"
#include "result_file.h"
#include "stop_on_signal.h"
#include "text_options.h"

namespace loadline::tools {
namespace {

struct LoadCommand {
  LoadOptions load;
  bool json = false;
  std::string json_file;
  bool allow_starved = false;
};

void print_progress(const LoadProgress& progress) {
  const auto& so_far = progress.so_far;
  const auto ended = so_far.good + so_far.rejected + so_far.timeouts + so_far.errors;
  fmt::print(stderr,
             "{:5.0f} s  offered {}  good {}  rejected {}  timeouts {}  errors {}  open {}\n",
             std::chrono::duration<double>(progress.elapsed).count(), so_far.offered, so_far.good,
             so_far.rejected, so_far.timeouts, so_far.errors,
             so_far.offered > ended ? so_far.offered - ended : 0);
}

int run(const LoadCommand& command) {
  ResultFile json_file(command.json_file);
  const StopOnSignal signals;  // ends the run early, with a report on what there is
  const auto progress = isatty(STDERR_FILENO) != 0 ? ProgressCallback{print_progress} : nullptr;
  const auto report = run_load(command.load, progress, signals.token());
  const auto json = to_json(report, command.load).dump(2);
  json_file.write(json);
  fmt::print("{}\n", command.json ? json : to_table(report, command.load));
  const auto refused = report.total.errors.find("refused");
  if (refused != report.total.errors.end() && refused->second == report.total.offered) {
    fmt::print(stderr, "loadline load: nothing listens at {}: all connections were refused\n",
               command.load.url.authority());
    return kFailed;
  }
  if (report.starved && !command.allow_starved) {
    fmt::print(stderr, "loadline load: the generator could not keep up: {}\n", report.why);
    return kFailed;
  }
  return kOk;
}

void add_arrivals(CLI::App& app, LoadOptions& load) {
  app.add_option_function<std::string>(
         "--rate",
         [&load](const std::string& text) {
           const auto steps = parse_rate(text);
           if (!steps) {
             refuse_value("--rate", text, kRateForm);
           }
           load.rate = *steps;
         },
         "Requests per second; steps as in 100,300@5s: 100 from the start, 300 from 5 s on")
      ->type_name("N[,N@TIME...]");
  add_choice(app, "--arrivals", load.arrivals,
             {{"poisson", Arrivals::poisson}, {"fixed", Arrivals::fixed}},
             "Independent callers, or evenly spaced");
  app.add_option_function<std::string>(
         "--burst",
         [&load](const std::string& text) {
           const auto burst = parse_burst(text);
           if (!burst) {
             refuse_value("--burst", text, kBurstForm);
           }
           load.burst_size = burst->size;
           load.burst_every = burst->every;
         },
         "Adds N requests at once every TIME")
      ->type_name("N@TIME");
  app.add_option("--closed", load.closed,
                 "N callers instead, each asking again when it has its answer: measures a capacity")
      ->check(CLI::Range(1u, 100'000u))
      ->type_name("N");
  add_time(app, "--expected-interval", load.expected_interval,
           "With --closed: how often a caller would have asked; latencies corrected for what it "
           "did not ask during stalls are shown as well")
      ->default_str("");
}

void add_times(CLI::App& app, LoadOptions& load) {
  add_time(app, "--duration", load.duration, "How long to send, warm-up included",
           ZeroTime::refused);
  add_time(app, "--warmup", load.warmup, "The first part, which is not counted");
  add_time(app, "--timeout", load.timeout,
           "A caller's patience, from when its request was due; then it closes the connection "
           "(RST)",
           ZeroTime::refused);
  add_time(app, "--deadline", load.deadline, "Sent with each request, in milliseconds",
           ZeroTime::refused);
  app.add_option("--deadline-header", load.deadline_header, "Under this name")
      ->type_name("NAME")
      ->capture_default_str();
}

void add_request(CLI::App& app, LoadOptions& load) {
  app.add_option_function<std::string>(
         "--class",
         [&load](const std::string& text) {
           const auto classes = parse_classes(text);
           if (!classes) {
             refuse_value("--class", text, kClassesForm);
           }
           load.classes = *classes;
         },
         "Classes to send, with their weights, as in critical=8,sheddable=2")
      ->type_name("NAME=WEIGHT,...");
  app.add_option("--class-header", load.class_header, "Under this name")
      ->type_name("NAME")
      ->capture_default_str();
  add_method(app, load.method);
  add_size(app, "--body", load.body_bytes, "Size of the request body");
  add_headers(app, load.headers);
  app.add_option_function<std::string>(
         "--retries",
         [&load](const std::string& text) {
           if (const auto allowed = set_retries(load, text); !allowed.empty()) {
             refuse_value("--retries", text, allowed);
           }
         },
         "After a timeout, an error, 429 or 5xx. backoff: after a random time up to 100 ms, "
         "doubled each time, and no less than Retry-After (seconds or a date). loadline: as the "
         "client half decides, with a budget and a breaker; settings as in "
         "loadline:attempts=3,budget.share=10%,processes=20")
      ->type_name(kRetriesForm)
      ->default_str("off");
  app.add_option("--attempts", load.attempts,
                 "With retries: attempts of a call, the first included")
      ->check(CLI::Range(1u, 100u))
      ->capture_default_str();
}

void add_output(CLI::App& app, LoadCommand& command) {
  app.add_option("--seed", command.load.seed, "Of arrivals, classes and backoff")
      ->capture_default_str();
  app.add_option("--threads", command.load.threads, "One is enough for a few thousand per second")
      ->check(CLI::Range(1u, 64u))
      ->capture_default_str();
  app.add_flag("--json", command.json, "Print one JSON object instead of the table");
  app.add_option("--json-file", command.json_file, "Write the JSON object to this file as well")
      ->type_name("FILE");
  app.add_flag("--allow-starved", command.allow_starved,
               "Exit with 0 even when the generator could not keep up");
  app.add_flag("--allow-remote", command.load.allow_remote,
               "Allow a target other than this machine's loopback");
}

}  // namespace

void add_load(CLI::App& app, Action& chosen) {
  auto* command = app.add_subcommand(
      "load",
      "Put load on an HTTP service, and measure what its callers would see.\n"
      "Requests are sent when they are due, whether or not earlier ones were answered, and timed\n"
      "from when they were due. Exit code 1 when the generator itself could not keep up.");
  const auto options = std::make_shared<LoadCommand>();
  add_url(*command, options->load.url, "What to load, as in http://127.0.0.1:8080/");
  add_arrivals(*command, options->load);
  add_times(*command, options->load);
  add_request(*command, options->load);
  add_output(*command, *options);
  command->callback([options, &chosen] {
    const auto problem = problem_with(options->load);
    if (!problem.empty()) {
      throw CLI::ValidationError(problem);
    }
    chosen = [options] { return run(*options); };
  });
}

}  // namespace loadline::tools
