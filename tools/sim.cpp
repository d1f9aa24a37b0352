// loadline sim: the gate in virtual time.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "command.h"
#include "sim_file.h"
#include "sim_replay_command.h"
#include "sim_show.h"
#include "sim_suite_command.h"
#include "text_options.h"

namespace loadline::tools {
namespace {

constexpr const char* kFooter =
    "To compare policies in a scenario of your own, and see what happened over time:\n"
    "  loadline sim shop.yaml --plot shop.html\n"
    "What a limit of 40 or of 80 would have made of last night's traffic, had it been twice as "
    "much:\n"
    "  loadline sim --replay access.log.1.gz --limit 40 --limit 80 --workers 60 --patience 1s "
    "--faster 2\n";

// What CLI11 takes a flag without a value for.
constexpr std::string_view kFlagGiven = "true";

struct SimCommand {
  std::vector<std::string> files;
  ReplayCommand replay;
  SuiteCommand suite;
  SimShow show;
};

// Somebody who gives a log like this meant another option.
bool is_named_like_a_trace(const std::string& path) {
  constexpr std::array<std::string_view, 4> kEnds{".log", ".csv", ".gz", ".log.1"};
  return std::any_of(kEnds.begin(), kEnds.end(),
                     [&path](std::string_view end) { return path.ends_with(end); });
}

// All files are read before any is run: a fault in the last is said at once.
std::vector<SimStudy> read_files(const std::vector<std::string>& files) {
  std::vector<SimStudy> studies;
  std::string faults;
  for (const std::string& path : files) {
    studies.push_back({.title = path, .head = {}, .file = read_sim_file(path)});
    faults += describe_faults(path, studies.back().file.faults);
    if (!studies.back().file.faults.empty() && is_named_like_a_trace(path)) {
      faults += fmt::format("{}: this is no scenario; a trace is replayed with --replay {}\n", path,
                            path);
    }
  }
  if (!faults.empty()) {
    fmt::print(stderr, "{}", faults);
    studies.clear();
  }
  return studies;
}

// What cannot be read was not rightly asked for.
int run(const SimCommand& command) {
  if (!command.suite.suite.empty()) {
    return run_suite_command(command.suite, command.show);
  }
  std::vector<SimStudy> studies;
  try {
    studies = command.files.empty() ? read_replay(command.replay) : read_files(command.files);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
  }
  return studies.empty() ? kUsage : run_and_show(command.show, std::move(studies));
}

bool same_file(const std::string& a, const std::string& b) {
  std::error_code none;
  return a == b || std::filesystem::equivalent(a, b, none);
}

// A result must not be written over what is read, or over another.
void check_targets(const SimCommand& command) {
  std::vector<std::string> taken = command.files;
  taken.push_back(command.replay.trace);
  const std::pair<const char*, const std::string&> targets[] = {
      {"--plot", command.show.plot}, {"--json-file", command.show.json_file}};
  for (const auto& [option, path] : targets) {
    const bool clash = std::any_of(taken.begin(), taken.end(), [&path = path](const auto& other) {
      return !path.empty() && !other.empty() && same_file(path, other);
    });
    if (clash) {
      refuse_value(option, path, "a file of its own: this one is named already");
    }
    taken.push_back(path);
  }
}

void check_together(const SimCommand& command) {
  const std::string& plot = command.show.plot;
  const bool replays = !command.replay.trace.empty();
  const bool suite = !command.suite.suite.empty();
  if (command.files.empty() && !replays && !suite) {
    throw CLI::ValidationError("say what to run: FILE, a scenario, or --replay FILE, a trace");
  }
  if (suite && (!command.files.empty() || replays)) {
    throw CLI::ValidationError("--suite runs what is in its folder, and no other file");
  }
  if (!command.files.empty() && replays) {
    throw CLI::ValidationError(fmt::format(
        "'{}' is a scenario and --replay plays a trace: one of the two at a time (a scenario may "
        "play a trace, too: arrivals: {{trace: {}}})",
        command.files.front(), command.replay.trace));
  }
  if (!plot.empty() && !plot.ends_with(".svg") && !plot.ends_with(".html")) {
    refuse_value("--plot", plot, "the name of a file that ends in .html or .svg");
  }
  if (!plot.empty() && command.files.size() > 1) {
    throw CLI::ValidationError("--plot: one file is drawn at a time");
  }
  check_targets(command);
}

void add_show(CLI::App& command, SimShow& show) {
  command.add_option("--policy", show.policies, "Only this policy; repeatable")
      ->allow_extra_args(false)
      ->option_text("NAME");
  constexpr std::uint64_t kLastSeed = 1'000'000'000'000'000;
  command.add_option("--seed", show.seed, "The first seed")
      ->check(CLI::Range(std::uint64_t{0}, kLastSeed))
      ->option_text("N=1");
  command
      .add_option("--seeds", show.seeds,
                  "Run with so many seeds, and tell the worst of each figure; the file's, or 1")
      ->check(CLI::Range(1u, 1000u))
      ->option_text("N");
  command.add_flag_callback(
      "--no-oracle", [&show] { show.oracle = false; },
      "Do not look for the best fixed limit, which takes a run for each");
  command
      .add_flag("--explain", show.explain,
                "Say what the laws that find limits did and why; --explain=all: each step")
      ->check([](const std::string& value) {
        return value == kFlagGiven || value == "all" ? "" : "allowed is --explain or --explain=all";
      });
  command.add_flag("--json", show.json, "Print one JSON array instead of the tables");
  command.add_option("--json-file", show.json_file, "Write the JSON to this file as well")
      ->type_name("FILE");
  command
      .add_option("--plot", show.plot,
                  "Draw what happened over time into this file (.html or .svg)")
      ->type_name("FILE");
}

}  // namespace

void add_sim(CLI::App& app, Action& chosen) {
  auto* command = app.add_subcommand(
      "sim",
      "Try policies before they meet traffic: the same gate, in virtual time.\n"
      "A scenario file says who calls, what serves, and which policies to compare "
      "(docs/scenarios.md);\nor a log says who called (docs/traces.md). "
      "Exit code 1 when something that a file expects does\nnot hold.");
  const auto options = std::make_shared<SimCommand>();
  command->add_option("FILE", options->files, "Scenario files (YAML)")->type_name("");
  add_show(*command, options->show);
  add_suite(*command, options->suite);
  add_replay(*command, options->replay);
  command->footer(kFooter);
  command->callback([options, &chosen] {
    check_together(*options);
    chosen = [options] { return run(*options); };
  });
}

}  // namespace loadline::tools
