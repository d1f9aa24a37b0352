#include "sim_canvas.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <iterator>

#include "sim_text.h"

namespace loadline::tools {
namespace {

struct Paint {
  std::string_view light;
  std::string_view dark;
};

// Okabe and Ito, "Color Universal Design" (2008); those that a dark page would swallow are lighter
// there.
constexpr std::array<Paint, kSimColours> kPaints{{{"#0072b2", "#3d9fdc"},
                                                  {"#d55e00", "#e8702a"},
                                                  {"#009e73", "#14b88a"},
                                                  {"#cc79a7", "#d68db6"},
                                                  {"#e69f00", "#e69f00"},
                                                  {"#56b4e9", "#7cc5ef"},
                                                  {"#f0e442", "#f0e442"},
                                                  {"#666666", "#b5b5b5"}}};

constexpr std::string_view kShared =
    "text{font:11px system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif}"
    ".h{font-size:19px;font-weight:600}.b{font-size:12px;font-weight:600}"
    ".e{text-anchor:end}.c{text-anchor:middle}"
    ".l{fill:none;stroke-width:1.5;stroke-linejoin:round}.d{stroke-dasharray:5 3}"
    ".w{fill-opacity:.22}";
constexpr std::string_view kLight =
    ".bg{fill:#fff}text{fill:#1c1c1c}.m{fill:#5c5c5c}.g{stroke:#e6e6e6}.a{stroke:#8a8a8a}";
constexpr std::string_view kDark =
    ".bg{fill:#15181c}text{fill:#e8e8e8}.m{fill:#a8a8a8}.g{stroke:#2c3138}.a{stroke:#6f7680}";

std::string paints(std::string_view Paint::*of) {
  std::string rules;
  for (std::size_t i = 0; i < kPaints.size(); ++i) {
    rules += fmt::format(".s{0}{{stroke:{1}}}.f{0}{{fill:{1}}}", i, kPaints[i].*of);
  }
  return rules;
}

std::string style(bool follows_reader) {
  std::string rules = std::string(kShared) + std::string(kLight) + paints(&Paint::light);
  if (follows_reader) {
    rules += fmt::format("@media (prefers-color-scheme:dark){{{}{}}}", kDark, paints(&Paint::dark));
  }
  return rules;
}

// A tenth of a pixel is more than can be seen.
std::string number(double value) {
  const double tenths = std::round(value * 10);
  return fmt::format("{}", (tenths == 0 ? 0 : tenths) / 10);
}

std::string path_of(const std::vector<SimPoint>& points) {
  std::string path;
  std::string last_x;
  std::string last_y;
  for (const SimPoint& point : points) {
    const std::string x = number(point.x);
    const std::string y = number(point.y);
    if (path.empty()) {
      path = fmt::format("M{} {}", x, y);
    } else if (x == last_x) {
      path += y == last_y ? "" : fmt::format("V{}", y);
    } else {
      path += y == last_y ? fmt::format("H{}", x) : fmt::format("L{} {}", x, y);
    }
    last_x = x;
    last_y = y;
  }
  return path;
}

unsigned index_of(SimColour colour) {
  return static_cast<unsigned>(colour);
}

}  // namespace

void SimCanvas::text(SimPoint at, std::string_view text, std::string_view classes, Anchor anchor) {
  constexpr std::array<std::string_view, 3> kAnchors{"", " c", " e"};
  fmt::format_to(std::back_inserter(shapes_), "<text class=\"{}{}\" x=\"{}\" y=\"{}\">{}</text>\n",
                 classes, kAnchors[static_cast<std::size_t>(anchor)], number(at.x), number(at.y),
                 escape_markup(text));
}

void SimCanvas::line(SimPoint from, SimPoint to, std::string_view classes) {
  fmt::format_to(std::back_inserter(shapes_), "<path class=\"{}\" d=\"{}\"/>\n", classes,
                 path_of({from, to}));
}

void SimCanvas::stroke(const std::vector<SimPoint>& points, SimColour colour, bool dashed) {
  fmt::format_to(std::back_inserter(shapes_), "<path class=\"l s{}{}\" d=\"{}\"/>\n",
                 index_of(colour), dashed ? " d" : "", path_of(points));
}

void SimCanvas::fill(const std::vector<SimPoint>& points, SimColour colour, bool faint) {
  fmt::format_to(std::back_inserter(shapes_), "<path class=\"f{}{}\" d=\"{}Z\"/>\n",
                 index_of(colour), faint ? " w" : "", path_of(points));
}

void SimCanvas::sample(SimPoint at, SimColour colour, SimSeries::Style style) {
  using Style = SimSeries::Style;
  if (style == Style::stacked || style == Style::filled) {
    fill({{at.x, at.y - 4}, {at.x + 16, at.y - 4}, {at.x + 16, at.y + 4}, {at.x, at.y + 4}}, colour,
         style == Style::filled);
  }
  if (style != Style::stacked) {
    const double y = style == Style::filled ? at.y - 4 : at.y;
    stroke({{at.x, y}, {at.x + 16, y}}, colour, style == Style::dashed);
  }
}

std::string SimCanvas::svg(double width, double height, std::string_view title,
                           std::string_view about, bool follows_reader) const {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
      "viewBox=\"0 0 {0} {1}\" role=\"img\">\n<title>{2}</title>\n<desc>{3}</desc>\n"
      "<style>{4}</style>\n<rect class=\"bg\" width=\"100%\" height=\"100%\"/>\n{5}</svg>\n",
      number(width), number(height), escape_markup(title), escape_markup(about),
      style(follows_reader), shapes_);
}

double width_of_text(std::string_view text) {
  return 6.3 * static_cast<double>(columns_of(text));
}

}  // namespace loadline::tools
