// The panels of a picture: which quantities each has, and where they lie on its axis.
#pragma once

#include <string>
#include <vector>

#include "sim_axis.h"
#include "sim_outcome.h"

namespace loadline::tools {

// Colours by number: of Okabe and Ito, which those tell apart, too, who do not see red or green.
enum class SimColour : unsigned char {
  blue,
  vermillion,
  green,
  purple,
  orange,
  sky,
  yellow,
  grey,
};
inline constexpr unsigned kSimColours = 8;

// A quantity over the slices of a run.
struct SimSeries {
  enum class Style : unsigned char { line, dashed, filled, stacked };

  SimColour colour = SimColour::grey;
  Style style = Style::line;
  std::vector<double> values;  // NaN: none
  std::vector<double> below;   // of `stacked`: where it stands on
};

struct SimKey {
  std::string label;
  SimColour colour = SimColour::grey;
  SimSeries::Style style = SimSeries::Style::line;
};

// One quantity or some of a kind, of all policies on the same axis.
struct SimPanel {
  std::string title;
  std::vector<SimKey> keys;
  SimAxis axis;
  std::vector<std::vector<SimSeries>> by_policy;
};

// Those of which any policy has any.
std::vector<SimPanel> sim_panels(const SimOutcome& outcome);

}  // namespace loadline::tools
