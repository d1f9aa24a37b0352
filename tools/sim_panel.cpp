#include "sim_panel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "loadline/decision.h"

namespace loadline::tools {
namespace {

using sim::Timeline;
using Style = SimSeries::Style;

constexpr std::size_t kTicks = 4;
constexpr double kNothingMuch = 1e-9;  // what rounding leaves of a mean of nothing

struct Quantity {
  const char* label;
  SimColour colour;
  Style style;
  std::vector<double> Timeline::*of;
};

bool any(const std::vector<double>& values) {
  return std::any_of(values.begin(), values.end(), [](double v) { return v > kNothingMuch; });
}

struct Extent {
  double least = std::numeric_limits<double>::infinity();  // above nothing
  double most = 0;

  void take(const std::vector<double>& values) {
    for (const double value : values) {
      if (value > kNothingMuch) {
        least = std::min(least, value);
        most = std::max(most, value);
      }
    }
  }
};

Extent extent_of(const std::vector<SimSeries>& all) {
  Extent extent;
  for (const SimSeries& series : all) {
    extent.take(series.values);
  }
  return extent;
}

Extent extent_of(const SimPanel& panel) {
  Extent all;
  for (const std::vector<SimSeries>& of_policy : panel.by_policy) {
    const Extent one = extent_of(of_policy);
    all = {std::min(all.least, one.least), std::max(all.most, one.most)};
  }
  return all;
}

// The panel without its axis; without keys, if no policy has any of it.
template <std::size_t N>
SimPanel panel_of(const SimOutcome& outcome, const char* title,
                  const std::array<Quantity, N>& quantities) {
  SimPanel panel{title, {}, {}, std::vector<std::vector<SimSeries>>(outcome.policies.size())};
  for (const Quantity& quantity : quantities) {
    bool anybody = false;
    for (std::size_t i = 0; i < outcome.policies.size(); ++i) {
      const std::vector<double>& values = outcome.policies[i].timeline.*quantity.of;
      if (any(values)) {
        anybody = true;
        panel.by_policy[i].push_back({quantity.colour, quantity.style, values, {}});
      }
    }
    if (anybody) {
      panel.keys.push_back({quantity.label, quantity.colour, quantity.style});
    }
  }
  return panel;
}

SimPanel requests(const SimOutcome& outcome) {
  constexpr std::array<Quantity, 3> kQuantities{{
      {"useful answers", SimColour::green, Style::filled, &Timeline::goodput},
      {"offered", SimColour::grey, Style::line, &Timeline::offered},
      {"too late or failed", SimColour::vermillion, Style::line, &Timeline::late},
  }};
  SimPanel panel = panel_of(outcome, "Requests a second", kQuantities);
  panel.axis = axis_of_numbers(extent_of(panel).most, kTicks);
  return panel;
}

// A policy that lets all in has thousands where another has ten: both can be read only on a
// logarithmic axis.
SimPanel counts(SimPanel panel) {
  constexpr double kFarApart = 25;
  constexpr int kDecades = 6;
  double least_peak = std::numeric_limits<double>::infinity();
  for (const std::vector<SimSeries>& of_policy : panel.by_policy) {
    if (const double peak = extent_of(of_policy).most; peak > 0) {
      least_peak = std::min(least_peak, peak);
    }
  }
  const Extent extent = extent_of(panel);
  if (extent.most > kFarApart * least_peak) {
    panel.axis = log_axis_of_numbers(std::min(1.0, least_peak / 10), extent.most, kDecades);
  } else {
    panel.axis = axis_of_numbers(extent.most, kTicks);
  }
  return panel;
}

SimPanel in_flight(const SimOutcome& outcome) {
  constexpr std::array<Quantity, 2> kQuantities{{
      {"in flight", SimColour::blue, Style::line, &Timeline::in_flight},
      {"limit", SimColour::orange, Style::dashed, &Timeline::limit},
  }};
  return counts(panel_of(outcome, "In flight", kQuantities));
}

SimPanel waiting(const SimOutcome& outcome) {
  constexpr std::array<Quantity, 1> kQuantities{{
      {"waiting", SimColour::sky, Style::filled, &Timeline::waiting},
  }};
  return counts(panel_of(outcome, "Waiting at the gate", kQuantities));
}

// Told only where there is something to tell.
SimPanel in_turn(const SimOutcome& outcome) {
  constexpr std::array<Quantity, 1> kQuantities{{
      {"instances", SimColour::purple, Style::filled, &Timeline::in_turn},
  }};
  SimPanel panel = panel_of(outcome, "Instances in turn", kQuantities);
  const Extent extent = extent_of(panel);
  if (extent.most <= 1 + kNothingMuch && extent.least >= 1 - kNothingMuch) {
    panel.keys.clear();
  }
  panel.axis = axis_of_numbers(extent.most, kTicks);
  return panel;
}

SimPanel times(SimPanel panel) {
  constexpr double kTwoDecades = 100;
  constexpr int kDecades = 4;
  const Extent extent = extent_of(panel);
  panel.axis = extent.most > kTwoDecades * extent.least
                   ? log_axis_of_times(extent.least, extent.most, kDecades)
                   : axis_of_times(extent.most, kTicks);
  return panel;
}

SimPanel waits(const SimOutcome& outcome) {
  constexpr std::array<Quantity, 2> kQuantities{{
      {"p50", SimColour::sky, Style::line, &Timeline::wait_p50},
      {"p99", SimColour::blue, Style::line, &Timeline::wait_p99},
  }};
  return times(panel_of(outcome, "Wait of those let through", kQuantities));
}

SimPanel latencies(const SimOutcome& outcome) {
  constexpr std::array<Quantity, 2> kQuantities{{
      {"p50", SimColour::orange, Style::line, &Timeline::latency_p50},
      {"p99", SimColour::vermillion, Style::line, &Timeline::latency_p99},
  }};
  return times(panel_of(outcome, "Latency of useful answers", kQuantities));
}

SimColour colour_of_reason(std::size_t nth) {
  constexpr auto kOrder =
      std::to_array({SimColour::orange, SimColour::blue, SimColour::vermillion, SimColour::sky,
                     SimColour::purple, SimColour::green, SimColour::yellow, SimColour::grey});
  return kOrder[nth % kOrder.size()];
}

// The reasons that any policy has, each on those before it.
SimPanel rejections(const SimOutcome& outcome) {
  SimPanel panel{"Rejections a second", {}, {}, {}};
  panel.by_policy.resize(outcome.policies.size());
  double most = 0;
  std::vector<std::vector<double>> heights(outcome.policies.size());
  for (std::size_t reason = 0; reason < kReasons; ++reason) {
    const SimColour colour = colour_of_reason(panel.keys.size());
    bool anybody = false;
    for (std::size_t i = 0; i < outcome.policies.size(); ++i) {
      const std::vector<double>& rates = outcome.policies[i].timeline.rejected[reason];
      if (!any(rates)) {
        continue;
      }
      anybody = true;
      heights[i].resize(rates.size());
      SimSeries series{colour, Style::stacked, rates, heights[i]};
      for (std::size_t slice = 0; slice < rates.size(); ++slice) {
        series.values[slice] += heights[i][slice];
        most = std::max(most, series.values[slice]);
      }
      heights[i] = series.values;
      panel.by_policy[i].push_back(std::move(series));
    }
    if (anybody) {
      panel.keys.push_back(
          {std::string(name(static_cast<Reason>(reason))), colour, Style::stacked});
    }
  }
  panel.axis = axis_of_numbers(most, kTicks);
  return panel;
}

}  // namespace

std::vector<SimPanel> sim_panels(const SimOutcome& outcome) {
  std::vector<SimPanel> panels;
  for (auto* const make : {requests, rejections, in_flight, waiting, waits, latencies, in_turn}) {
    SimPanel panel = make(outcome);
    if (!panel.keys.empty()) {
      panels.push_back(std::move(panel));
    }
  }
  return panels;
}

}  // namespace loadline::tools
