#include "sim_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "sim_text.h"

namespace loadline::tools {
namespace {

using nlohmann::json;
using sim::Summary;
using Kind = SimPart::Kind;

constexpr std::size_t kColumns = 100;

struct Column {
  std::string_view figure;
  std::string_view heading;
  bool if_any = false;  // only where one has some
};

constexpr auto kColumnsOfATable = std::to_array<Column>({
    {"useful", "useful"},
    {"wasted", "wasted"},
    {"rejected", "rejected"},
    {"expired", "expired"},
    {"left", "left", true},
    {"failed", "failed", true},
    {"held_back", "held back", true},
    {"goodput", "goodput"},
    {"waste", "waste"},
    {"p50", "p50"},
    {"p99", "p99"},
    {"wait_p99", "wait p99"},
});

struct Breakdown {
  Kind kind;
  std::string_view title;
  std::string_view heading;
  std::string_view key;  // in JSON
};

constexpr auto kBreakdowns = std::to_array<Breakdown>({
    {Kind::callers, "By callers", "callers", "callers"},
    {Kind::of_class, "By class", "class", "classes"},
    {Kind::service, "By service", "service", "services"},
});

const std::vector<Summary>& all_of(const SimPolicyOutcome& policy) {
  static const std::vector<Summary> kNone;
  const auto found = std::find_if(policy.parts.begin(), policy.parts.end(),
                                  [](const SimPart& part) { return part.kind == Kind::all; });
  return found == policy.parts.end() ? kNone : found->by_seed;
}

std::size_t seeds_of(const SimOutcome& outcome) {
  std::size_t seeds = 0;
  for (const SimPolicyOutcome& policy : outcome.policies) {
    seeds = std::max(seeds, all_of(policy).size());
  }
  return seeds;
}

std::string oracle_name(const SimOracleFound& oracle) {
  return fmt::format("best fixed limit{} ({})", oracle.limits.size() == 1 ? "" : "s",
                     fmt::join(oracle.limits, ", "));
}

// A row before it is known which columns there are.
struct Line {
  std::vector<std::string> labels;
  const std::vector<Summary>* by_seed;
};

bool any_has(const SimFigure& figure, const std::vector<Line>& lines) {
  return std::any_of(lines.begin(), lines.end(), [&](const Line& line) {
    return std::any_of(line.by_seed->begin(), line.by_seed->end(),
                       [&](const Summary& summary) { return figure.of(summary) > 0; });
  });
}

SimGrid grid_of(std::string title, std::vector<std::string> labels,
                const std::vector<Line>& lines) {
  SimGrid grid{std::move(title), labels.size(), std::move(labels), {}};
  for (const Line& line : lines) {
    grid.rows.push_back(line.labels);
  }
  for (const Column& column : kColumnsOfATable) {
    const SimFigure* const figure = find_sim_figure(column.figure);
    if (figure == nullptr || (column.if_any && !any_has(*figure, lines))) {
      continue;
    }
    grid.header.emplace_back(column.heading);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      grid.rows[i].push_back(format_figure(*figure, figure_over_seeds(*figure, *lines[i].by_seed)));
    }
  }
  return grid;
}

std::vector<Line> lines_of_all(const SimOutcome& outcome) {
  std::vector<Line> lines;
  for (const SimPolicyOutcome& policy : outcome.policies) {
    lines.push_back({{one_line(policy.policy)}, &all_of(policy)});
  }
  if (outcome.oracle) {
    lines.push_back({{oracle_name(*outcome.oracle)}, &outcome.oracle->by_seed});
  }
  return lines;
}

// The policy's name stands at its first part only.
std::vector<Line> lines_of(const SimOutcome& outcome, Kind kind) {
  std::vector<Line> lines;
  for (const SimPolicyOutcome& policy : outcome.policies) {
    std::string name = one_line(policy.policy);
    for (const SimPart& part : policy.parts) {
      if (part.kind == kind) {
        lines.push_back({{std::exchange(name, {}), one_line(part.name)}, &part.by_seed});
      }
    }
  }
  return lines;
}

// Drawing.

std::string padded(std::string_view text, std::size_t width, bool to_the_right) {
  const std::string blanks(width - std::min(width, columns_of(text)), ' ');
  return to_the_right ? blanks + std::string(text) : std::string(text) + blanks;
}

std::string trimmed(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line + '\n';
}

class TextGrid {
 public:
  explicit TextGrid(const SimGrid& grid) : grid_(grid), widths_(grid.header.size()) {
    widen(grid.header);
    for (const auto& row : grid.rows) {
      widen(row);
    }
    fit();
  }

  [[nodiscard]] std::string text() const {
    std::string text = line(grid_.header);
    for (const auto& row : grid_.rows) {
      text += line(row);
    }
    return text;
  }

 private:
  void widen(const std::vector<std::string>& row) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths_[i] = std::max(widths_[i], columns_of(row[i]));
    }
  }

  // The figures keep their widths, closer to each other if need be; names share what is left.
  void fit() {
    const auto figures_from = widths_.begin() + static_cast<std::ptrdiff_t>(grid_.labels);
    const std::size_t figures = std::accumulate(figures_from, widths_.end(), std::size_t{0});
    const std::size_t names = std::accumulate(widths_.begin(), figures_from, std::size_t{0});
    const std::size_t gaps = widths_.size() - 1;
    gap_ = names + figures + 2 * gaps <= kColumns ? 2 : 1;
    const std::size_t taken = figures + gap_ * gaps;
    std::size_t left = taken < kColumns ? kColumns - taken : 0;
    for (std::size_t i = grid_.labels; i-- > 0;) {
      widths_[i] = std::min(widths_[i], std::max(left / (i + 1), kLeastName));
      left -= std::min(left, widths_[i]);
    }
  }

  // A name that is longer than its column has a line of its own; the figures follow below.
  [[nodiscard]] std::string line(const std::vector<std::string>& row) const {
    std::string above;
    std::string text;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string before(i == 0 ? 0 : gap_, ' ');
      if (i < grid_.labels && columns_of(row[i]) > widths_[i]) {
        above += trimmed(text + before + row[i]);
        text = std::string(columns_of(text) + gap_ * (i != 0) + widths_[i], ' ');
      } else {
        text += before + padded(row[i], widths_[i], i >= grid_.labels);
      }
    }
    return above + trimmed(text);
  }

  static constexpr std::size_t kLeastName = 6;

  const SimGrid& grid_;
  std::vector<std::size_t> widths_;
  std::size_t gap_ = 2;
};

std::string paragraph(std::string_view text, std::size_t indent = 0) {
  std::string result;
  for (const std::string& line : wrap(text, kColumns - indent)) {
    result += result.empty() ? "" : std::string(indent, ' ');
    result += trimmed(line);
  }
  return result;
}

std::string heading_text(const SimOutcome& outcome) {
  std::string text = paragraph(one_line(outcome.title));
  if (!outcome.about.empty()) {
    text += paragraph(one_line(outcome.about));
  }
  return text + "\n";
}

std::string verdicts_text(const SimOutcome& outcome) {
  std::string lines;
  std::size_t held = 0;
  std::size_t all = 0;
  for (const SimPolicyOutcome& policy : outcome.policies) {
    for (const SimVerdict& verdict : policy.verdicts) {
      ++all;
      held += verdict.holds ? 1 : 0;
      const std::string whose =
          outcome.policies.size() > 1 ? one_line(policy.policy) + ": " : std::string{};
      lines += paragraph(fmt::format("{}  {}{}: {}", verdict.holds ? "held  " : "FAILED", whose,
                                     one_line(verdict.text), one_line(verdict.seen)),
                         8);
    }
  }
  return all == 0 ? std::string{}
                  : fmt::format("\n{} of {} expectations held\n{}", held, all, lines);
}

std::string effort_text(const SimOutcome& outcome) {
  if (outcome.wall_seconds <= 0) {
    return {};
  }
  return fmt::format("\n{:.0f} s simulated in {:.1f} s\n", outcome.virtual_seconds,
                     outcome.wall_seconds);
}

// JSON.

std::string key_of(const SimFigure& figure) {
  std::string key(figure.name);
  std::replace_if(
      key.begin(), key.end(), [](char c) { return c == ' ' || c == '-'; }, '_');
  switch (figure.unit) {
    case SimFigure::Unit::per_second:
      return key + "_per_s";
    case SimFigure::Unit::seconds:
      return key + "_ms";
    case SimFigure::Unit::count:
    case SimFigure::Unit::share:
      break;
  }
  return key;
}

// null where there was none to measure: 0 would be a claim.
json value_of(const SimFigure& figure, double value) {
  if (!std::isfinite(value)) {
    return nullptr;
  }
  switch (figure.unit) {
    case SimFigure::Unit::count:  // a mean of counts is none
      return value == std::floor(value) ? json(std::llround(value)) : json(value);
    case SimFigure::Unit::seconds:
      return std::round(value * 1e9) / 1e6;  // whole nanoseconds
    case SimFigure::Unit::per_second:
    case SimFigure::Unit::share:
      break;
  }
  return value;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

json reasons_json(const std::vector<Summary>& by_seed) {
  json reasons = json::object();
  for (std::size_t i = 0; i < sim::Summary{}.refused.size() && !by_seed.empty(); ++i) {
    std::vector<double> counts;
    counts.reserve(by_seed.size());
    for (const Summary& summary : by_seed) {
      counts.push_back(static_cast<double>(summary.refused[i]));
    }
    if (std::any_of(counts.begin(), counts.end(), [](double count) { return count > 0; })) {
      reasons[std::string(name(static_cast<Reason>(i)))] = std::llround(median(counts));
    }
  }
  return reasons;
}

// Those stand together, under rejected_by_reason.
bool is_of_a_reason(const SimFigure& figure) {
  return figure.name.starts_with("rejected_");
}

json figures_json(const std::vector<Summary>& by_seed) {
  json object = json::object();
  for (const SimFigure& figure : sim_figures()) {
    if (is_of_a_reason(figure)) {
      continue;
    }
    object[key_of(figure)] = value_of(figure, figure_over_seeds(figure, by_seed));
  }
  object["rejected_by_reason"] = reasons_json(by_seed);
  return object;
}

json seeds_json(std::uint64_t first, const std::vector<Summary>& by_seed) {
  json seeds = json::array();
  for (const Summary& summary : by_seed) {
    json seed = figures_json({summary});
    seed["seed"] = first++;
    seeds.push_back(std::move(seed));
  }
  return seeds;
}

json part_json(std::uint64_t first_seed, const std::vector<Summary>& by_seed) {
  json object = figures_json(by_seed);
  if (by_seed.size() > 1) {
    object["seeds"] = seeds_json(first_seed, by_seed);
  }
  return object;
}

json verdicts_json(const std::vector<SimVerdict>& verdicts) {
  json array = json::array();
  for (const SimVerdict& verdict : verdicts) {
    array.push_back({{"text", one_line(verdict.text)},
                     {"seen", one_line(verdict.seen)},
                     {"holds", verdict.holds}});
  }
  return array;
}

json policy_json(const SimOutcome& outcome, const SimPolicyOutcome& policy) {
  json object = part_json(outcome.first_seed, all_of(policy));
  object["policy"] = one_line(policy.policy);
  object["scenario"] = one_line(outcome.title);
  for (const Breakdown& breakdown : kBreakdowns) {
    for (const SimPart& part : policy.parts) {
      if (part.kind == breakdown.kind) {
        object[std::string(breakdown.key)][one_line(part.name)] =
            part_json(outcome.first_seed, part.by_seed);
      }
    }
  }
  object["expectations"] = verdicts_json(policy.verdicts);
  if (outcome.oracle) {
    object["oracle"] = part_json(outcome.first_seed, outcome.oracle->by_seed);
    object["oracle"]["limits"] = outcome.oracle->limits;
  }
  return object;
}

}  // namespace

double figure_over_seeds(const SimFigure& figure, const std::vector<Summary>& by_seed) {
  std::vector<double> values;
  for (const Summary& summary : by_seed) {
    if (const double value = figure.of(summary); !std::isnan(value)) {
      values.push_back(value);
    }
  }
  if (values.empty()) {
    return Summary::kNothing;
  }
  switch (figure.better) {
    case SimFigure::Better::more:
      return *std::min_element(values.begin(), values.end());
    case SimFigure::Better::less:
      return *std::max_element(values.begin(), values.end());
    case SimFigure::Better::neither:
      break;
  }
  return median(std::move(values));
}

std::vector<SimGrid> sim_grids(const SimOutcome& outcome) {
  std::vector<SimGrid> grids{grid_of("", {"policy"}, lines_of_all(outcome))};
  for (const Breakdown& breakdown : kBreakdowns) {
    const std::vector<Line> lines = lines_of(outcome, breakdown.kind);
    if (!lines.empty()) {
      grids.push_back(
          grid_of(std::string(breakdown.title), {"policy", std::string(breakdown.heading)}, lines));
    }
  }
  return grids;
}

std::string seeds_text(const SimOutcome& outcome) {
  const std::size_t seeds = seeds_of(outcome);
  if (seeds <= 1) {
    return {};
  }
  return fmt::format(
      "Each figure is the worst of seeds {} to {}; the median, where neither more nor less is "
      "better.",
      outcome.first_seed, outcome.first_seed + seeds - 1);
}

std::string sim_table(const SimOutcome& outcome) {
  std::string text = heading_text(outcome);
  for (const SimGrid& grid : sim_grids(outcome)) {
    text += grid.title.empty() ? "" : "\n" + grid.title + "\n";
    text += TextGrid(grid).text();
  }
  if (const std::string seeds = seeds_text(outcome); !seeds.empty()) {
    text += "\n" + paragraph(seeds);
  }
  return text + verdicts_text(outcome) + effort_text(outcome);
}

json sim_json(const SimOutcome& outcome) {
  json array = json::array();
  for (const SimPolicyOutcome& policy : outcome.policies) {
    array.push_back(policy_json(outcome, policy));
  }
  return array;
}

}  // namespace loadline::tools
