// How good the limits are that `auto` finds, in virtual time, and how much hangs on its constants.
//
// With neither --random nor --sensitivity both are done. One line of JSON for each workload, for
// all of them together, and for each setting of a constant.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <stdexcept>
#include <string>

#include "command.h"
#include "limit/page.h"
#include "limit/random_study.h"
#include "limit/sensitivity.h"
#include "report.h"
#include "sim/seconds.h"

namespace loadline::bench {
namespace {

constexpr std::size_t kWorkloads = 200;

struct Options {
  std::size_t random = kWorkloads;
  std::uint64_t seeds = 3;
  Family family{.seed = 90'000};
  std::string json;
  std::string page;
};

// Written over where somebody sees it.
void show_progress(const char* what, std::size_t done, std::size_t all) {
  if (isatty(STDERR_FILENO) == 1 || done == all || done % 20 == 0) {
    const char* end = isatty(STDERR_FILENO) == 1 && done < all ? "\r" : "\n";
    fmt::print(stderr, "{}: {} of {}{}", what, done, all, end);
  }
}

void look_at(const Family& family, std::uint64_t number) {
  const Workload workload = draw_workload(family, number);
  fmt::print("{}\n", to_json(match(workload)).dump(2));
  for (const sim::LimitChange& change : limits_of(workload)) {
    fmt::print("{:.4f} {}\n", sim::seconds(change.from), change.limit);
  }
}

RandomStudy measure_random(const Options& options, Report& report) {
  RandomStudy study = study_at_random(options.family, options.random, [&](std::size_t done) {
    show_progress("workloads", done, options.random);
  });
  for (const Match& match : study.matches) {
    report.add(to_json(match));
  }
  report.add(to_json(study));
  return study;
}

Sensitivity measure_sensitivity(const Options& options, Report& report) {
  const std::size_t all = settings().size();
  Sensitivity study = study_sensitivity(options.family.seed, options.seeds, [&](std::size_t done) {
    show_progress("settings", done, all);
  });
  for (const auto& line : to_json(study)) {
    report.add(line);
  }
  return study;
}

// As somebody would give it.
std::string command_of(int argc, char** argv) {
  std::string command = "./dev bench limit-study";
  for (int i = 1; i < argc; ++i) {
    command += std::string(" ") + argv[i];
  }
  return command;
}

void write(const std::string& file, const std::string& text) {
  std::ofstream out(file, std::ios::trunc);
  out << text << std::flush;
  if (!out) {
    throw std::runtime_error("cannot write " + file);
  }
}

int read_and_measure(int argc, char** argv) {
  Options options;
  bool wants_sensitivity = false;
  CLI::App app{
      "How good the limits are that `auto` finds, in virtual time, and how much hangs on "
      "its constants. With neither --random nor --sensitivity: both."};
  const auto* random =
      app.add_option("--random", options.random,
                     "Compare it with the best fixed limits, for so many workloads drawn at random")
          ->check(CLI::Range(1, 100'000))
          ->capture_default_str();
  app.add_flag("--sensitivity", wants_sensitivity, "Halve and double each of its constants");
  app.add_option("--seed", options.family.seed, "Of all that is drawn")->capture_default_str();
  app.add_option("--seeds", options.seeds, "Seeds for each setting of a constant, from --seed on")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  app.add_option("--requests", options.family.most_requests, "Most requests of a workload")
      ->check(CLI::Range(1e3, 1e8))
      ->capture_default_str();
  std::uint64_t number = 0;
  const auto* look = app.add_option(
      "--look", number, "Only show what the limits of the workload of this number were");
  app.add_option("--json", options.json, "Write the lines to this file as well");
  app.add_option("--page", options.page, "Write the study to this file, as Markdown");
  return run_command(app, argc, argv, [&] {
    if (look->count() > 0) {
      look_at(options.family, number);
      return kHolds;
    }
    const bool both = random->count() == 0 && !wants_sensitivity;
    Report report(options.json);
    Page page{.date = fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr))),
              .machine = machine_kind(),
              .command = command_of(argc, argv)};
    if (both || random->count() > 0) {
      page.random = measure_random(options, report);
    }
    if (both || wants_sensitivity) {
      page.sensitivity = measure_sensitivity(options, report);
    }
    if (!options.page.empty()) {
      write(options.page, to_markdown(page));
    }
    return kHolds;
  });
}

}  // namespace
}  // namespace loadline::bench

int main(int argc, char** argv) {
  return loadline::bench::run_main("limit_study", argc, argv, loadline::bench::read_and_measure);
}
