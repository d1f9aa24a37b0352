#include "limit/sensitivity.h"

#include <algorithm>
#include <chrono>

#include "limit/each.h"
#include "statistics.h"

namespace loadline::bench {
namespace {

constexpr double kNoDifference = 0.002;  // whatever the seeds say

// All gates of a setting are made before the next is in force.
std::vector<Cell> measure(const Sensitivity& study, const Setting& setting) {
  AutoLimit::tuning() = setting.tuning;
  std::vector<Cell> cells(study.rows.size());
  for (Cell& cell : cells) {
    cell.figures.resize(study.seeds);
  }
  for_each_at_once(study.rows.size() * study.seeds, [&](std::size_t i) {
    const Row& row = study.rows[i / study.seeds];
    const std::uint64_t number = i % study.seeds;
    cells[i / study.seeds].figures[number] = row.figure(run(row.scenario, study.seed + number));
  });
  AutoLimit::tuning() = {};
  return cells;
}

bool differs(const std::vector<double>& figures, const std::vector<double>& usual) {
  const auto [low, high] = std::ranges::minmax(figures);
  const auto [usual_low, usual_high] = std::ranges::minmax(usual);
  const double apart = std::max(low - usual_high, usual_low - high);
  return apart > std::max({high - low, usual_high - usual_low, kNoDifference});
}

}  // namespace

Sensitivity study_sensitivity(std::uint64_t seed, std::uint64_t seeds, const Done& done) {
  const auto begun = std::chrono::steady_clock::now();
  Sensitivity study{
      .seed = seed, .seeds = seeds, .rows = rows(), .settings = settings(), .cells = {}};
  for (const Setting& setting : study.settings) {
    std::vector<Cell> cells = measure(study, setting);
    for (std::size_t row = 0; row < cells.size() && !study.cells.empty(); ++row) {
      cells[row].differs = differs(cells[row].figures, study.cells.front()[row].figures);
    }
    study.cells.push_back(std::move(cells));
    done(study.cells.size());
  }
  study.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  return study;
}

std::vector<nlohmann::ordered_json> to_json(const Sensitivity& study) {
  std::vector<nlohmann::ordered_json> lines;
  for (std::size_t i = 0; i < study.settings.size(); ++i) {
    const Setting& setting = study.settings[i];
    nlohmann::ordered_json line = {{"name", "sensitivity"},
                                   {"constant", setting.constant},
                                   {"value", rounded(setting.value)},
                                   {"seed", study.seed}};
    for (std::size_t row = 0; row < study.rows.size(); ++row) {
      const Cell& cell = study.cells[i][row];
      line["rows"].push_back({{"row", study.rows[row].name},
                              {"worst", rounded(worst(study.rows[row].good, cell.figures))},
                              {"figures", cell.figures},
                              {"differs", cell.differs}});
    }
    lines.push_back(line);
  }
  return lines;
}

}  // namespace loadline::bench
