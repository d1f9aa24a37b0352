// loadline sim: the gate in virtual time.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "command.h"
#include "result_file.h"
#include "sim_file.h"
#include "sim_plot.h"
#include "sim_report.h"
#include "sim_run.h"
#include "stop_on_signal.h"
#include "text_options.h"

namespace loadline::tools {
namespace {

using Json = decltype(sim_json({}));

struct SimCommand {
  std::vector<std::string> files;
  std::vector<std::string> policies;  // only these; empty: all
  std::uint64_t seed = 1;
  std::optional<std::uint64_t> seeds;
  bool no_oracle = false;
  bool json = false;
  std::string json_file;
  std::string plot;
};

// A line on a terminal that is written over, a few times a second.
class ProgressLine {
 public:
  explicit ProgressLine(std::string title) : title_(std::move(title)) {}
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine() {
    if (shown_) {
      fmt::print(stderr, "\r\033[K");
    }
  }

  void show(double done, const std::string& what) {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) {
      return;
    }
    next_ = now + std::chrono::milliseconds(200);
    shown_ = true;
    fmt::print(stderr, "\r\033[K{}: {:3.0f} %, {}", title_, done * 100, what);
    std::fflush(stderr);
  }

 private:
  std::string title_;
  bool shown_ = false;
  // What is done before that needs no progress.
  std::chrono::steady_clock::time_point next_ =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
};

void keep_policies(SimFile& file, const std::vector<std::string>& wanted) {
  if (wanted.empty()) {
    return;
  }
  for (const std::string& name : wanted) {
    const bool known = std::any_of(file.policies.begin(), file.policies.end(),
                                   [&](const SimPolicy& p) { return p.name == name; });
    if (!known) {
      std::string names;
      for (const SimPolicy& policy : file.policies) {
        names += (names.empty() ? "" : ", ") + policy.name;
      }
      refuse_value("--policy", name, "one of the file's: " + names);
    }
  }
  std::erase_if(file.policies, [&](const SimPolicy& p) {
    return std::find(wanted.begin(), wanted.end(), p.name) == wanted.end();
  });
  std::erase_if(file.expectations, [&](const SimExpectation& e) {
    return std::find(wanted.begin(), wanted.end(), e.policy) == wanted.end();
  });
}

// All files are read before any is run: a fault in the last is said at once.
std::vector<SimFile> read_files(const SimCommand& command) {
  std::vector<SimFile> files;
  std::string faults;
  for (const std::string& path : command.files) {
    files.push_back(read_sim_file(path));
    faults += describe_faults(path, files.back().faults);
  }
  if (!faults.empty()) {
    fmt::print(stderr, "{}", faults);
    files.clear();
  }
  return files;
}

SimOutcome run_one(const SimCommand& command, const SimFile& file, const std::string& title,
                   const std::stop_token& stop) {
  const bool lively = isatty(STDERR_FILENO) != 0;
  ProgressLine line(title);
  const SimProgress progress =
      lively ? [&line](double done, const std::string& what) { line.show(done, what); }
             : SimProgress{};
  return run_sim(file,
                 {.title = title,
                  .first_seed = command.seed,
                  .seeds = command.seeds.value_or(file.seeds),
                  .threads = std::max(1u, std::thread::hardware_concurrency()),
                  .oracle = !command.no_oracle},
                 progress, stop);
}

bool all_hold(const SimOutcome& outcome) {
  return std::all_of(outcome.policies.begin(), outcome.policies.end(), [](const auto& policy) {
    return std::all_of(policy.verdicts.begin(), policy.verdicts.end(),
                       [](const SimVerdict& verdict) { return verdict.holds; });
  });
}

std::string picture(const std::string& path, const SimOutcome& outcome) {
  return path.ends_with(".svg") ? sim_svg(outcome) : sim_html(outcome);
}

int run_all(const SimCommand& command, std::vector<SimFile>& files) {
  ResultFile json_file(command.json_file);
  ResultFile plot(command.plot);
  const StopOnSignal stop;
  Json all = Json::array();
  bool hold = true;
  for (std::size_t i = 0; i < files.size(); ++i) {
    keep_policies(files[i], command.policies);
    const SimOutcome outcome = run_one(command, files[i], command.files[i], stop.token());
    hold = hold && all_hold(outcome);
    const auto policies = sim_json(outcome);
    all.insert(all.end(), policies.begin(), policies.end());
    if (!command.json) {
      fmt::print("{}{}", i == 0 ? "" : "\n", sim_table(outcome));
      std::fflush(stdout);
    }
    plot.write(command.plot.empty() ? "" : picture(command.plot, outcome));
  }
  const std::string text = all.dump(2) + "\n";
  json_file.write(text);
  if (command.json) {
    fmt::print("{}", text);
  }
  return hold ? kOk : kFailed;
}

int run(const SimCommand& command) {
  std::vector<SimFile> files;
  try {
    files = read_files(command);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return kUsage;
  }
  if (files.empty()) {
    return kUsage;
  }
  try {
    return run_all(command, files);
  } catch (const SimStopped&) {
    fmt::print(stderr, "loadline sim: stopped\n");
    return kFailed;
  }
}

}  // namespace

void add_sim(CLI::App& app, Action& chosen) {
  auto* command = app.add_subcommand(
      "sim",
      "Run scenarios in virtual time: the same gate, on modelled servers and callers.\n"
      "A scenario file says who calls, what serves, and which policies to compare; see\n"
      "docs/scenarios.md. Exit code 1 when something that a file expects does not hold.");
  const auto options = std::make_shared<SimCommand>();
  command->add_option("FILE", options->files, "Scenario files (YAML)")->required();
  command->add_option("--policy", options->policies, "Only this policy of the file; repeatable")
      ->type_name("NAME");
  command->add_option("--seed", options->seed, "The first seed")->capture_default_str();
  command
      ->add_option("--seeds", options->seeds,
                   "Run with so many seeds, and tell the worst of each figure; the file's, or 1")
      ->check(CLI::Range(1u, 1000u))
      ->type_name("N");
  command->add_flag("--no-oracle", options->no_oracle,
                    "Do not look for the best fixed limit, which takes a run for each");
  command->add_flag("--json", options->json, "Print one JSON array instead of the tables");
  command->add_option("--json-file", options->json_file, "Write the JSON to this file as well")
      ->type_name("FILE");
  command
      ->add_option("--plot", options->plot,
                   "Draw what happened over time into this file (.html or .svg)")
      ->type_name("FILE");
  command->callback([options, &chosen] {
    const bool drawable = options->plot.ends_with(".svg") || options->plot.ends_with(".html");
    if (!options->plot.empty() && !drawable) {
      refuse_value("--plot", options->plot, "the name of a file that ends in .html or .svg");
    }
    if (!options->plot.empty() && options->files.size() > 1) {
      throw CLI::ValidationError("--plot: one file is drawn at a time");
    }
    chosen = [options] { return run(*options); };
  });
}

}  // namespace loadline::tools
