#include "sim_suite_report.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>
#include <thread>
#include <utility>

#include "loadline/limiter.h"
#include "sim_text.h"
#include "text.h"

namespace loadline::tools {
namespace {

using nlohmann::json;

// "at least 3136/s": what an expectation asks for, without of what.
std::string bound_text(const SimExpectation& expectation) {
  return expectation.text.substr(std::min(expectation.what.size() + 1, expectation.text.size()));
}

std::string wanted_text(const SuiteFigure& figure) {
  if (!figure.by_oracle) {
    return bound_text(figure.expectation);
  }
  const bool least = figure.expectation.bound.kind == SimBound::Kind::at_least;
  return fmt::format("{} {} *", least ? "at least" : "at most",
                     suite_value(figure.expectation, figure.wanted));
}

bool any_by_oracle(const SuiteReport& report) {
  return std::any_of(report.rows.begin(), report.rows.end(), [](const SuiteRowOutcome& row) {
    return std::any_of(row.figures.begin(), row.figures.end(),
                       [](const SuiteFigure& figure) { return figure.by_oracle; });
  });
}

constexpr std::string_view kByOracle =
    "* What was asked for is missed with the best fixed limits, too: in its place stands 97 % of "
    "what "
    "they reach (of what should be little, that divided by 0.97).";

std::string header_of(const SuiteReport& report) {
  const std::uint64_t last = report.options.first_seed + report.options.seeds - 1;
  return fmt::format(
      "{}. Each figure is the worst of seeds {} to {}{}.", report.title, report.options.first_seed,
      last,
      report.options.laws.empty()
          ? ""
          : fmt::format("; of the laws beside it, of seed {}", report.options.first_seed));
}

std::vector<std::string> cells_of(const SuiteReport& report, const SuiteFigure& figure) {
  const SimExpectation& expectation = figure.expectation;
  std::vector<std::string> cells = {expectation.what, wanted_text(figure),
                                    suite_value(expectation, figure.worst),
                                    suite_value(expectation, figure.oracle)};
  for (const Law law : report.options.laws) {
    const auto found = figure.laws.find(law);
    cells.push_back(suite_value(
        expectation, found == figure.laws.end() ? sim::Summary::kNothing : found->second));
  }
  cells.emplace_back(name(verdict_on(figure, report.open, report.options)));
  return cells;
}

std::vector<std::string> columns_of(const SuiteReport& report) {
  std::vector<std::string> columns = {"row", "figure", "wanted", "auto", "oracle"};
  for (const Law law : report.options.laws) {
    columns.emplace_back(name(law));
  }
  columns.emplace_back("verdict");
  return columns;
}

// Of which the row's name stands at its first figure only.
std::vector<std::vector<std::string>> table_of(const SuiteReport& report) {
  std::vector<std::vector<std::string>> table;
  for (const SuiteRowOutcome& row : report.rows) {
    std::string label = row.name;
    for (const SuiteFigure& figure : row.figures) {
      std::vector<std::string> cells = cells_of(report, figure);
      cells.insert(cells.begin(), std::exchange(label, {}));
      table.push_back(std::move(cells));
    }
  }
  return table;
}

std::string broken_text(const SuiteReport& report, std::string_view mark) {
  std::string text;
  for (const SuiteRowOutcome& row : report.rows) {
    for (const std::string& broken : row.broken) {
      text += fmt::format("{}{}: {}\n", mark, row.name, broken);
    }
  }
  for (const std::string& stale : listed_for_nothing(report.rows, report.open)) {
    text += fmt::format("{}listed as open, and no figure of the row: {}\n", mark, stale);
  }
  return text;
}

std::string count_text(const SuiteReport& report) {
  const SuiteCount all = count(report);
  return fmt::format("{} figures held, {} are open{}", all.held, all.open,
                     all.failed == 0 ? std::string() : fmt::format(", {} FAILED", all.failed));
}

std::string markdown(std::string text) {
  for (std::size_t at = text.find('|'); at != std::string::npos; at = text.find('|', at + 2)) {
    text.insert(at, "\\");
  }
  return text;
}

constexpr std::string_view kAgain =
    "What the scenarios of the queue, of priority and of storms expect of the right fixed limit, "
    "with the one that auto finds in its place.";

// A file's name stands at the first that it misses.
std::vector<std::vector<std::string>> again_of(const SuiteReport& report) {
  std::vector<std::vector<std::string>> table;
  for (const SuiteAgain& file : report.again) {
    const std::size_t held = file.expected - file.missed.size();
    table.push_back({file.name, fmt::format("{} of {}", held, file.expected),
                     file.missed.empty() ? "" : file.missed.front()});
    for (std::size_t i = 1; i < file.missed.size(); ++i) {
      table.push_back({"", "", file.missed[i]});
    }
  }
  return table;
}

std::string grid_text(std::vector<std::string> header, std::vector<std::vector<std::string>> rows) {
  rows.insert(rows.begin(), std::move(header));
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], tools::columns_of(row[i]));
    }
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i] + std::string(widths[i] - tools::columns_of(row[i]) + 2, ' ');
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::string grid_markdown(const std::vector<std::string>& header,
                          const std::vector<std::vector<std::string>>& rows) {
  std::string text;
  const auto add = [&text](const std::vector<std::string>& cells) {
    for (const std::string& cell : cells) {
      text += "| " + markdown(cell) + (cell.empty() ? "" : " ");
    }
    text += "|\n";
  };
  add(header);
  for (std::size_t i = 0; i < header.size(); ++i) {
    text += "|---";
  }
  text += "|\n";
  for (const auto& row : rows) {
    add(row);
  }
  return text;
}

// Which rows are not run for as long as their figures speak of.
std::string shorter_text(const SuiteReport& report) {
  std::string rows;
  for (const SuiteRowOutcome& row : report.rows) {
    if (row.length < row.longest) {
      rows += fmt::format("{}{} {} of {}", rows.empty() ? "" : ", ", row.name,
                          format_time(std::chrono::nanoseconds(row.length.ns)),
                          format_time(std::chrono::nanoseconds(row.longest.ns)));
    }
  }
  return rows.empty() ? rows
                      : fmt::format(
                            "Shorter than asked for, so that all of it takes minutes (with "
                            "--long it does not): {}.\n",
                            rows);
}

// A machine as the page names it: what it is, and not whose.
std::string machine_text() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  const std::string flags(std::istreambuf_iterator<char>(cpuinfo), {});
  utsname system{};
  uname(&system);
  return fmt::format(
      "{} of {} cores ({}, {})",
      flags.find(" hypervisor") != std::string::npos ? "a virtual machine" : "a machine",
      std::max(1U, std::thread::hardware_concurrency()), system.machine, system.sysname);
}

json number_or_null(double value) {
  return std::isnan(value) ? json(nullptr) : json(value);
}

json figure_json(const SuiteReport& report, const SuiteFigure& figure) {
  json object = {{"row", figure.row},
                 {"figure", figure.expectation.text},
                 {"wanted", number_or_null(figure.wanted)},
                 {"by_oracle", figure.by_oracle},
                 {"worst", number_or_null(figure.worst)},
                 {"spread", figure.spread},
                 {"oracle", number_or_null(figure.oracle)},
                 {"verdict", name(verdict_on(figure, report.open, report.options))}};
  for (const auto& [law, value] : figure.laws) {
    object["laws"][std::string(name(law))] = number_or_null(value);
  }
  return object;
}

}  // namespace

SuiteCount count(const SuiteReport& report) {
  SuiteCount all;
  for (const SuiteRowOutcome& row : report.rows) {
    all.failed += row.broken.size();
    for (const SuiteFigure& figure : row.figures) {
      const SuiteVerdict verdict = verdict_on(figure, report.open, report.options);
      ++(verdict == SuiteVerdict::held   ? all.held
         : verdict == SuiteVerdict::open ? all.open
                                         : all.failed);
    }
  }
  all.failed += listed_for_nothing(report.rows, report.open).size();
  return all;
}

std::string suite_table(const SuiteReport& report) {
  std::string text = header_of(report) + "\n";
  if (!report.rows.empty()) {
    text += "\n" + grid_text(columns_of(report), table_of(report));
    text += any_by_oracle(report) ? fmt::format("\n{}\n", kByOracle) : std::string();
    const std::string broken = broken_text(report, "");
    text += (broken.empty() ? "" : "\n" + broken) + "\n" + count_text(report) + "\n";
  }
  if (!report.again.empty()) {
    text +=
        fmt::format("\n{}\n\n", kAgain) + grid_text({"file", "held", "not held"}, again_of(report));
  }
  return text;
}

json suite_json(const SuiteReport& report) {
  json object = {{"rows", json::array()}, {"again", json::array()}};
  for (const SuiteRowOutcome& row : report.rows) {
    for (const SuiteFigure& figure : row.figures) {
      object["rows"].push_back(figure_json(report, figure));
    }
  }
  for (const SuiteAgain& file : report.again) {
    object["again"].push_back(
        {{"file", file.name}, {"expected", file.expected}, {"missed", file.missed}});
  }
  return object;
}

std::string suite_page(const SuiteReport& report, const std::string& command) {
  std::string text =
      "# How good the limit is that auto finds\n\n"
      "Each row is a scenario in virtual time, with the gate that protects real services, told "
      "neither what the server\n"
      "can do nor how many workers it has "
      "([scenarios/limit](../scenarios/README.md#the-learned-limit)). The oracle is the same gate\n"
      "with the best fixed limits, found by trying. Open is what is not reached yet.\n\n"
      "The law was made with seeds from 1 on, and these are others. Clock jumps and samples that "
      "cannot be are tested in\n"
      "`tests/limit`, leases that run out in `tests/leases`.\n\n";
  text += fmt::format("{:%F}, {}, by `{}`. {}\n{}\n", fmt::gmtime(std::time(nullptr)),
                      machine_text(), command, header_of(report), shorter_text(report));
  text += grid_markdown(columns_of(report), table_of(report));
  text += any_by_oracle(report) ? fmt::format("\n\\{}\n", kByOracle) : std::string();
  const std::string broken = broken_text(report, "- ");
  text += (broken.empty() ? "" : "\n" + broken) + "\n" + count_text(report) + ".\n";
  if (!report.again.empty()) {
    text += fmt::format(
                "\n## Where the right limit was given\n\n{} Seeds {} and on, as many as each file "
                "says.\n\n",
                kAgain, report.options.first_seed) +
            grid_markdown({"file", "held", "not held"}, again_of(report));
  }
  return text;
}

}  // namespace loadline::tools
