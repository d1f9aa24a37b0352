// What `loadline sim` prints: tables for people, JSON for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "sim_figure.h"
#include "sim_outcome.h"

namespace loadline::tools {

// Of several seeds the worst; the median, where neither more nor less is better. Seeds that had
// none to measure do not count, unless none had any.
double figure_over_seeds(const SimFigure& figure, const std::vector<sim::Summary>& by_seed);

// A table, before it is drawn: the first `labels` columns are names, the others figures.
struct SimGrid {
  std::string title;
  std::size_t labels = 1;
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
};

// All attempts by policy; then, where there are several, callers, classes and services.
std::vector<SimGrid> sim_grids(const SimOutcome& outcome);

// Where figures of several seeds come from; empty with one.
std::string seeds_text(const SimOutcome& outcome);

// At most 100 columns wide, and what a name needs where it is longer than that.
std::string sim_table(const SimOutcome& outcome);

// One object a policy. The same outcome, whenever it was found, is the same JSON.
nlohmann::json sim_json(const SimOutcome& outcome);

}  // namespace loadline::tools
