// The figures of a run by name, as tables, JSON and expectations have them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "sim/summary.h"

namespace loadline::tools {

struct SimFigure {
  enum class Unit : std::uint8_t { count, per_second, share, seconds };
  enum class Better : std::uint8_t { neither, more, less };

  std::string_view name;  // useful, goodput, waste, p99 ...
  Unit unit = Unit::count;
  Better better = Better::neither;  // which of several seeds is the worst
  std::string_view help;
  double (*of)(const sim::Summary&);
};

std::span<const SimFigure> sim_figures();
const SimFigure* find_sim_figure(std::string_view name);

// As a person reads it: 6050, 970/s, 1.5 %, 489.3 ms; "-" for none.
std::string format_figure(const SimFigure& figure, double value);

}  // namespace loadline::tools
