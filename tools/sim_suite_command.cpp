#include "sim_suite_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>
#include <utility>

#include "command.h"
#include "loadline/limiter.h"
#include "result_file.h"
#include "sim_run.h"
#include "sim_suite.h"
#include "sim_suite_open.h"
#include "sim_suite_report.h"
#include "stop_on_signal.h"
#include "text_options.h"

namespace loadline::tools {
namespace {

constexpr const char* kGroup = "Suites, with --suite";
constexpr std::uint64_t kUsualSeeds = 5;
constexpr std::uint64_t kShortSeeds = 2;

std::vector<Law> other_laws() {
  std::vector<Law> laws;
  for (std::uint32_t i = 0; i < kLaws; ++i) {
    const auto law = static_cast<Law>(i);
    if (law != Law::fixed && law != Law::automatic) {
      laws.push_back(law);
    }
  }
  return laws;
}

SuiteOptions options_of(const SuiteCommand& command, const SimShow& show) {
  SuiteOptions options;
  options.first_seed = show.seed;
  options.seeds =
      show.seeds.value_or(command.length == SimLength::shortened ? kShortSeeds : kUsualSeeds);
  options.threads = std::max(1U, std::thread::hardware_concurrency());
  options.laws = command.all_laws ? other_laws() : std::vector<Law>();
  return options;
}

void tell(const std::string& name, double seconds, std::size_t held, std::size_t of,
          std::size_t done, std::size_t all) {
  fmt::print(stderr, "{:3}/{}  {:<24} {:>6.1f} s  {} of {} hold\n", done, all, name, seconds, held,
             of);
}

std::vector<SuiteRowOutcome> run_rows(const std::vector<SuiteRow>& rows,
                                      const SuiteOptions& options, const std::stop_token& stop) {
  const auto progress = [&rows](const SuiteRowOutcome& row, std::size_t done) {
    const auto held = std::count_if(row.figures.begin(), row.figures.end(),
                                    [](const SuiteFigure& figure) { return figure.holds; });
    tell(row.name, row.wall_seconds, static_cast<std::size_t>(held), row.figures.size(), done,
         rows.size());
  };
  return run_suite(rows, options, progress, stop);
}

std::vector<SuiteAgain> run_others(const std::vector<SuiteRow>& rows, const SuiteOptions& options,
                                   const std::stop_token& stop) {
  const auto progress = [&rows](const SuiteAgain& file, std::size_t done) {
    tell(file.name, file.wall_seconds, file.expected - file.missed.size(), file.expected, done,
         rows.size());
  };
  return run_again(rows, options, progress, stop);
}

// Of the folders whose scenarios have the right limit.
std::vector<SuiteRow> read_others(const std::string& scenarios) {
  std::vector<SuiteRow> all;
  for (const char* const folder : {"queue", "priority", "storms"}) {
    for (SuiteRow& row : read_suite(scenarios + "/" + folder, SimLength::usual)) {
      row.name = std::string(folder) + "/" + row.name;
      all.push_back(std::move(row));
    }
  }
  return all;
}

void refuse_other_suites(const std::string& suite) {
  if (suite != "limit") {
    throw std::runtime_error(
        fmt::format("loadline sim: --suite: no suite '{}'; there is: limit", suite));
  }
}

// A ResultFile ends each text's last line itself.
void write(ResultFile& file, std::string text) {
  while (!text.empty() && text.back() == '\n') {
    text.pop_back();
  }
  file.write(text);
}

int run(const SuiteCommand& command, const SimShow& show) {
  using Part = SuiteCommand::Part;
  refuse_other_suites(command.suite);
  const std::string open_path = command.scenarios + "/limit-open.yaml";
  OpenList open = read_open_list(open_path);
  std::vector<SuiteRow> rows;
  if (command.part != Part::again) {
    rows = named_rows(read_suite(command.scenarios + "/limit", command.length), command.rows);
  }
  std::vector<SuiteRow> others;
  if (command.part != Part::rows) {
    others = read_others(command.scenarios);
  }
  ResultFile json_file(show.json_file);
  ResultFile page(command.page);
  const StopOnSignal stop;
  SuiteReport report;
  report.title = "The limit that auto finds";
  report.options = options_of(command, show);
  report.rows = run_rows(rows, report.options, stop.token());
  report.again = run_others(others, report.options, stop.token());
  if (command.accept) {
    OpenList::Part& part = open.of(command.length);
    part = listed_anew(report.rows, part, report.options);
    ResultFile open_file(open_path);
    write(open_file, write_open_list(open));
  }
  report.open = open.of(command.length);
  const std::string json = suite_json(report).dump(2) + "\n";
  fmt::print("{}", show.json ? json : suite_table(report));
  write(json_file, json);
  write(page, command.page.empty() ? "" : suite_page(report, "./dev suite limit"));
  return count(report).failed == 0 ? kOk : kFailed;
}

}  // namespace

void add_suite(CLI::App& command, SuiteCommand& suite) {
  CLI::Option* const name =
      command
          .add_option("--suite", suite.suite,
                      "Run the rows of a suite (limit), and say which figures are not reached")
          ->type_name("NAME");
  const std::initializer_list<CLI::Option*> options = {
      command
          .add_option("--scenarios", suite.scenarios, "The folder in which the suite's folder is")
          ->type_name("DIR"),
      command.add_option("--row", suite.rows, "Only this row, as l2 or l2_3x; repeatable")
          ->allow_extra_args(false)
          ->option_text("NAME"),
      command.add_flag_callback(
          "--short", [&suite] { suite.length = SimLength::shortened; },
          "Shorter runs, and two seeds unless --seeds says how many"),
      command.add_flag_callback(
          "--long", [&suite] { suite.length = SimLength::full; },
          "Runs as long as the figures speak of, however long that takes"),
      command
          .add_option_function<std::string>(
              "--laws",
              [&suite](const std::string& text) {
                if (text != "all") {
                  refuse_value("--laws", text, "all");
                }
                suite.all_laws = true;
              },
              "all: what the other laws make of it, with the first seed")
          ->type_name("all"),
      add_choice(command, "--part", suite.part,
                 {{"rows", SuiteCommand::Part::rows},
                  {"again", SuiteCommand::Part::again},
                  {"all", SuiteCommand::Part::all}},
                 "The rows; what other scenarios expect, again with auto; or both"),
      command.add_flag("--accept", suite.accept,
                       "List what is not reached now as open, in place of what was"),
      command.add_option("--page", suite.page, "Write the results as a page (Markdown)")
          ->type_name("FILE")};
  name->group(kGroup);
  for (CLI::Option* const option : options) {
    option->group(kGroup)->needs(name);
  }
}

int run_suite_command(const SuiteCommand& command, const SimShow& show) {
  try {
    return run(command, show);
  } catch (const SimStopped&) {
    fmt::print(stderr, "loadline sim: stopped\n");
    return kFailed;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return kUsage;
  }
}

}  // namespace loadline::tools
