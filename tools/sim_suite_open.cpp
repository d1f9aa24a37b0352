#include "sim_suite_open.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <stdexcept>

#include "sim_file_values.h"
#include "sim_yaml.h"
#include "yaml_file.h"

namespace loadline::tools {
namespace {

constexpr std::array<std::string_view, 3> kParts = {"usual", "short", "full"};  // by SimLength
constexpr double kMost = 1e12;
constexpr std::uint32_t kMostSeeds = 1000;

std::string text_of(YamlMap& map, std::string_view key) {
  const YamlValue* const value = map.need(key, fmt::format("{}: TEXT", key));
  return value == nullptr ? std::string() : value->text();
}

void read_part(const YamlValue& value, OpenList::Part& part) {
  YamlMap map(value, "a map of seed, seeds and figures");
  std::uint32_t seed = 0;
  std::uint32_t seeds = 0;
  take(map, "seed", seed, count_of, 0U, 0xffffffffU);
  take(map, "seeds", seeds, count_of, 1U, kMostSeeds);
  part.seed = seed;
  part.seeds = seeds;
  if (const YamlValue* const figures = map.find("figures")) {
    for (const YamlValue& item : figures->items()) {
      YamlMap figure(item, "a map of row, figure, worst and spread");
      OpenFigure& open = part.figures.emplace_back();
      open.row = text_of(figure, "row");
      open.figure = text_of(figure, "figure");
      take(figure, "worst", open.worst, number_of, 0.0, kMost);
      take(figure, "spread", open.spread, number_of, 0.0, kMost);
      figure.refuse_others();
    }
  }
  map.refuse_others();
}

std::string plain_number(double value) {
  return fmt::format("{:.6f}", value);
}

}  // namespace

OpenList read_open_list(const std::string& path) {
  OpenList list;
  if (!std::filesystem::exists(path)) {
    return list;
  }
  FileFaults faults;
  const YAML::Node document = load_yaml(read_regular_file(path), faults);
  if (document.IsDefined()) {
    YamlMap map(YamlValue(document, "", FilePlace{}, faults), "a map, as in 'version: 1'");
    map.find("version");
    for (std::size_t i = 0; i < kParts.size(); ++i) {
      if (const YamlValue* const part = map.find(kParts[i])) {
        read_part(*part, list.parts[i]);
      }
    }
    map.refuse_others();
  }
  if (!faults.empty()) {
    sort_faults(faults);
    std::string text = describe_faults(path, faults);
    text.pop_back();
    throw std::runtime_error(text);
  }
  return list;
}

std::string write_open_list(const OpenList& list) {
  std::string text =
      "# What the learned limit does not reach yet. Written by loadline sim --suite limit "
      "--accept;\n"
      "# see docs/scenarios.md.\n"
      "version: 1\n";
  for (std::size_t i = 0; i < kParts.size(); ++i) {
    const OpenList::Part& part = list.parts[i];
    if (part.seeds == 0) {
      continue;
    }
    text += fmt::format("{}:\n  seed: {}\n  seeds: {}\n", kParts[i], part.seed, part.seeds);
    text += part.figures.empty() ? "" : "  figures:\n";
    for (const OpenFigure& figure : part.figures) {
      text += fmt::format("    - {{row: {}, worst: {}, spread: {}, figure: \"{}\"}}\n", figure.row,
                          plain_number(figure.worst), plain_number(figure.spread), figure.figure);
    }
  }
  return text;
}

std::string_view name(SuiteVerdict verdict) {
  constexpr std::array<std::string_view, 5> kNames = {"held", "open", "MISSED", "WORSE",
                                                      "HELD, BUT LISTED"};
  return kNames[static_cast<std::size_t>(verdict)];
}

bool passes(SuiteVerdict verdict) {
  return verdict == SuiteVerdict::held || verdict == SuiteVerdict::open;
}

SuiteVerdict verdict_on(const SuiteFigure& figure, const OpenList::Part& open,
                        const SuiteOptions& options) {
  const auto listed =
      std::find_if(open.figures.begin(), open.figures.end(), [&](const OpenFigure& one) {
        return one.row == figure.row && one.figure == figure.expectation.text;
      });
  if (listed == open.figures.end()) {
    return figure.holds ? SuiteVerdict::held : SuiteVerdict::missed;
  }
  const bool same_seeds = open.seed == options.first_seed && open.seeds == options.seeds;
  if (figure.holds) {
    return same_seeds ? SuiteVerdict::closed : SuiteVerdict::held;
  }
  return is_worse(figure.expectation.bound, figure.worst, listed->worst, listed->spread)
             ? SuiteVerdict::worse
             : SuiteVerdict::open;
}

std::vector<std::string> listed_for_nothing(const std::vector<SuiteRowOutcome>& rows,
                                            const OpenList::Part& open) {
  std::vector<std::string> stale;
  for (const OpenFigure& one : open.figures) {
    const auto row = std::find_if(rows.begin(), rows.end(),
                                  [&](const SuiteRowOutcome& r) { return r.name == one.row; });
    if (row != rows.end() &&
        std::none_of(row->figures.begin(), row->figures.end(), [&](const SuiteFigure& figure) {
          return figure.expectation.text == one.figure;
        })) {
      stale.push_back(one.row + ": " + one.figure);
    }
  }
  return stale;
}

OpenList::Part listed_anew(const std::vector<SuiteRowOutcome>& rows, const OpenList::Part& open,
                           const SuiteOptions& options) {
  OpenList::Part part = open;
  part.seed = options.first_seed;
  part.seeds = options.seeds;
  for (const SuiteRowOutcome& row : rows) {
    std::erase_if(part.figures, [&](const OpenFigure& one) { return one.row == row.name; });
    for (const SuiteFigure& figure : row.figures) {
      if (!figure.holds) {
        part.figures.push_back({figure.row, figure.expectation.text, figure.worst, figure.spread});
      }
    }
  }
  return part;
}

}  // namespace loadline::tools
