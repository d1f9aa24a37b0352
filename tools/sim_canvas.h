// A picture in SVG as it is put together: shapes by class, whose colours the style sheet names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim_panel.h"

namespace loadline::tools {

struct SimPoint {
  double x = 0;
  double y = 0;
};

class SimCanvas {
 public:
  enum class Anchor : unsigned char { start, middle, end };

  void text(SimPoint at, std::string_view text, std::string_view classes = "t",
            Anchor anchor = Anchor::start);
  void line(SimPoint from, SimPoint to, std::string_view classes);
  void stroke(const std::vector<SimPoint>& points, SimColour colour, bool dashed = false);
  void fill(const std::vector<SimPoint>& points, SimColour colour, bool faint);
  // A sample of how a series is drawn, of 16 by 8.
  void sample(SimPoint middle_left, SimColour colour, SimSeries::Style style);

  // The whole picture; `title` and `about` are for those who cannot see it.
  [[nodiscard]] std::string svg(double width, double height, std::string_view title,
                                std::string_view about, bool follows_reader) const;

 private:
  std::string shapes_;
};

// How wide a text will be at a font size of 11, about.
double width_of_text(std::string_view text);

}  // namespace loadline::tools
