#include "sim_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "sim_canvas.h"
#include "sim_panel.h"
#include "sim_report.h"
#include "sim_text.h"

namespace loadline::tools {
namespace {

using Anchor = SimCanvas::Anchor;
using Style = SimSeries::Style;

constexpr double kLeft = 66;   // for the ticks' labels
constexpr double kRight = 28;  // for half of the last one's
constexpr double kGap = 18;
constexpr double kWhole = 900;  // of all columns, where they need no more
constexpr double kNarrowest = 190;
constexpr double kPanel = 92;
constexpr double kPanelHead = 30;  // above a panel: its title and keys
constexpr std::size_t kColumns = 6;

// Where a panel lies.
struct Box {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;

  [[nodiscard]] double at_x(const SimAxis& axis, double value) const {
    return x + width * axis.position(value);
  }
  [[nodiscard]] double at_y(const SimAxis& axis, double value) const {
    return y + height * (1 - axis.position(value));
  }
};

// The policies in rows of at most six, as even as they may be.
std::size_t columns_for(std::size_t policies) {
  const std::size_t bands = (policies + kColumns - 1) / kColumns;
  return bands == 0 ? 1 : (policies + bands - 1) / bands;
}

SimColour colour_of_policy(std::size_t i) {
  constexpr auto kOrder =
      std::to_array({SimColour::blue, SimColour::vermillion, SimColour::green, SimColour::purple,
                     SimColour::orange, SimColour::sky, SimColour::grey});
  return kOrder[i % kOrder.size()];
}

Style style_of_policy(std::size_t i) {
  return i < kSimColours - 1 ? Style::line : Style::dashed;
}

double length_of(const SimOutcome& outcome) {
  double most = 0;
  for (const SimPolicyOutcome& policy : outcome.policies) {
    const sim::Timeline& line = policy.timeline;
    const auto ns = static_cast<double>(line.from.ns) +
                    static_cast<double>(line.slice.ns) * static_cast<double>(line.offered.size());
    most = std::max(most, ns * 1e-9);
  }
  return most;
}

// A series is a stair: as many points as its steps need, broken where there is nothing, or so
// little that a logarithmic axis has no place for it.
class Stairs {
 public:
  Stairs(const Box& box, const SimAxis& across, const SimAxis& up, const sim::Timeline& line)
      : box_(box), across_(across), up_(up), line_(line) {}

  [[nodiscard]] std::vector<std::vector<SimPoint>> runs(const std::vector<double>& values) const {
    std::vector<std::vector<SimPoint>> runs;
    bool goes_on = false;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!std::isfinite(values[i]) || (up_.logarithmic && values[i] < up_.low)) {
        goes_on = false;
        continue;
      }
      if (!std::exchange(goes_on, true)) {
        runs.emplace_back();
      }
      add(runs.back(), i, box_.at_y(up_, values[i]));
    }
    return runs;
  }

  [[nodiscard]] double floor() const { return box_.y + box_.height; }

 private:
  void add(std::vector<SimPoint>& run, std::size_t slice, double y) const {
    if (run.size() >= 2 && run.back().y == y) {
      run.back().x = edge(slice + 1);
      return;
    }
    run.push_back({edge(slice), y});
    run.push_back({edge(slice + 1), y});
  }
  [[nodiscard]] double edge(std::size_t slice) const {
    const double ns = static_cast<double>(line_.from.ns) +
                      static_cast<double>(line_.slice.ns) * static_cast<double>(slice);
    return box_.at_x(across_, ns * 1e-9);
  }

  const Box& box_;
  const SimAxis& across_;
  const SimAxis& up_;
  const sim::Timeline& line_;
};

void draw_series(SimCanvas& canvas, const Stairs& stairs, const SimSeries& series) {
  if (series.style == Style::stacked) {
    for (std::vector<SimPoint>& top : stairs.runs(series.values)) {
      for (std::vector<SimPoint>& base : stairs.runs(series.below)) {
        top.insert(top.end(), base.rbegin(), base.rend());
      }
      canvas.fill(top, series.colour, false);
    }
    return;
  }
  for (std::vector<SimPoint>& run : stairs.runs(series.values)) {
    canvas.stroke(run, series.colour, series.style == Style::dashed);
    if (series.style == Style::filled) {
      run.push_back({run.back().x, stairs.floor()});
      run.push_back({run.front().x, stairs.floor()});
      canvas.fill(run, series.colour, true);
    }
  }
}

enum class Labels : unsigned char { none, left };

void draw_up(SimCanvas& canvas, const Box& box, const SimAxis& axis, Labels labels) {
  for (const SimTick& tick : axis.ticks) {
    const double y = box.at_y(axis, tick.value);
    canvas.line({box.x, y}, {box.x + box.width, y}, "g");
    if (labels == Labels::left) {
      canvas.text({box.x - 6, y + 4}, tick.label, "m", Anchor::end);
    }
  }
}

// Labels keep to their panel, since the next one's begin right beside it.
Anchor anchor_between(const Box& box, double x) {
  constexpr double kClose = 12;
  if (x < box.x + kClose) {
    return Anchor::start;
  }
  return x > box.x + box.width - kClose ? Anchor::end : Anchor::middle;
}

void draw_across(SimCanvas& canvas, const Box& box, const SimAxis& axis, bool labelled) {
  const double floor = box.y + box.height;
  for (const SimTick& tick : axis.ticks) {
    const double x = box.at_x(axis, tick.value);
    canvas.line({x, box.y}, {x, floor}, "g");
    if (labelled) {
      canvas.line({x, floor}, {x, floor + 4}, "a");
      canvas.text({x, floor + 16}, tick.label, "m", anchor_between(box, x));
    }
  }
}

void draw_floor(SimCanvas& canvas, const Box& box) {
  canvas.line({box.x, box.y + box.height}, {box.x + box.width, box.y + box.height}, "a");
}

// The title of a panel and what its colours mean.
void draw_head(SimCanvas& canvas, SimPoint at, const SimPanel& panel) {
  const std::string title = panel.title + (panel.axis.logarithmic ? " (logarithmic)" : "");
  canvas.text(at, title, "b");
  at.x += width_of_text(title) * 1.14 + 14;
  for (const SimKey& key : panel.keys) {
    canvas.sample({at.x, at.y - 4}, key.colour, key.style);
    canvas.text({at.x + 21, at.y}, key.label, "m");
    at.x += 21 + width_of_text(key.label) + 14;
  }
}

class Picture {
 public:
  explicit Picture(const SimOutcome& outcome)
      : outcome_(outcome),
        panels_(sim_panels(outcome)),
        columns_(columns_for(outcome.policies.size())) {
    const auto n = static_cast<double>(columns_);
    column_ = std::max(kNarrowest, (kWhole - kGap * (n - 1)) / n);
    width_ = kLeft + column_ * n + kGap * (n - 1) + kRight;
    const auto ticks = static_cast<std::size_t>(column_ / 62);
    across_ = axis_of_course(length_of(outcome), std::max<std::size_t>(ticks, 2));
  }

  std::string svg(bool with_words, bool follows_reader) {
    draw_words(with_words);
    for (std::size_t first = 0; first < outcome_.policies.size(); first += columns_) {
      draw_band(first, std::min(first + columns_, outcome_.policies.size()));
    }
    draw_beyond();
    return canvas_.svg(width_, y_ + 6, outcome_.title, outcome_.about, follows_reader);
  }

 private:
  // On a page, they stand above the picture.
  void draw_words(bool with_words) {
    if (!with_words) {
      return;
    }
    constexpr double kLetterOfTitle = 10.5;
    const double room = width_ - 24 - kRight;
    y_ += 18;
    canvas_.text({24, y_},
                 cut_to(one_line(outcome_.title), static_cast<std::size_t>(room / kLetterOfTitle)),
                 "h");
    y_ += 4;
    if (!outcome_.about.empty()) {
      const double letter = width_of_text("n");
      for (const std::string& line :
           wrap(one_line(outcome_.about), static_cast<std::size_t>(room / letter))) {
        y_ += 16;
        canvas_.text({24, y_}, line, "m");
      }
    }
    y_ += 10;
  }

  [[nodiscard]] double left_of(std::size_t column) const {
    return kLeft + (column_ + kGap) * static_cast<double>(column);
  }

  void draw_band(std::size_t first, std::size_t last) {
    y_ += 18;
    for (std::size_t i = first; i < last; ++i) {
      draw_name(left_of(i - first), i);
    }
    y_ += 18;
    for (const SimPanel& panel : panels_) {
      draw_head(canvas_, {24, y_ + kPanelHead - 12}, panel);
      y_ += kPanelHead;
      for (std::size_t i = first; i < last; ++i) {
        const Box box{left_of(i - first), y_, column_, kPanel};
        draw_panel(box, panel, i, i == first, &panel == &panels_.back());
      }
      y_ += kPanel;
    }
    y_ += 30;
  }

  void draw_name(double x, std::size_t i) {
    const SimPolicyOutcome& policy = outcome_.policies[i];
    const auto most = static_cast<std::size_t>(column_ / 7);
    canvas_.text({x, y_}, cut_to(one_line(policy.policy), most), "b");
    canvas_.text({x, y_ + 15}, gist_of(policy), "m");
  }

  // As many of its figures as there is room for.
  [[nodiscard]] std::string gist_of(const SimPolicyOutcome& policy) const {
    std::string gist;
    if (policy.parts.empty()) {
      return gist;
    }
    for (const char* const name : {"goodput", "p99", "waste"}) {
      if (const SimFigure* const figure = find_sim_figure(name)) {
        const double value = figure_over_seeds(*figure, policy.parts.front().by_seed);
        const std::string more =
            fmt::format("{}{} {}", gist.empty() ? "" : ", ", name, format_figure(*figure, value));
        gist += width_of_text(gist + more) < column_ ? more : "";
      }
    }
    return gist;
  }

  void draw_panel(const Box& box, const SimPanel& panel, std::size_t policy, bool first,
                  bool lowest) {
    draw_across(canvas_, box, across_, lowest);
    draw_up(canvas_, box, panel.axis, first ? Labels::left : Labels::none);
    const Stairs stairs(box, across_, panel.axis, outcome_.policies[policy].timeline);
    for (const SimSeries& series : panel.by_policy[policy]) {
      draw_series(canvas_, stairs, series);
    }
    draw_floor(canvas_, box);
  }

  // The share of answers that took longer, of all policies together.
  void draw_beyond() {
    constexpr double kHeight = 230;
    constexpr double kKeys = 190;
    constexpr double kWidest = 640;
    const Reach reach = reach_of_beyond();
    if (!(reach.longest > 0)) {
      return;
    }
    const SimAxis across = log_axis_of_times(reach.shortest, reach.longest, 6);
    const SimAxis up = log_axis_of_shares(reach.rarest, 7);
    canvas_.text({24, y_ + 18},
                 "Share of all answers that took longer than the time below (logarithmic)", "b");
    y_ += kPanelHead;
    const Box box{kLeft, y_, std::min(kWidest, width_ - kLeft - kRight - kKeys), kHeight};
    draw_across(canvas_, box, across, true);
    draw_up(canvas_, box, up, Labels::left);
    for (std::size_t i = 0; i < outcome_.policies.size(); ++i) {
      draw_curve(box, across, up, i);
      draw_key({box.x + box.width + 16, y_ + 6 + 18 * static_cast<double>(i)}, i);
    }
    draw_floor(canvas_, box);
    const double keys = 18 * static_cast<double>(outcome_.policies.size());
    y_ += std::max(kHeight + 30, keys + 12);
  }

  struct Reach {
    double shortest = std::numeric_limits<double>::infinity();
    double longest = 0;
    double rarest = 1;
  };

  // What the curves have to show; that nearly all take longer than next to nothing is no news.
  [[nodiscard]] Reach reach_of_beyond() const {
    constexpr double kNearlyAll = 0.97;
    Reach reach;
    for (const SimPolicyOutcome& policy : outcome_.policies) {
      for (const sim::Timeline::Beyond& point : policy.timeline.beyond) {
        reach.longest = std::max(reach.longest, point.seconds);
        if (point.share > 0) {
          reach.rarest = std::min(reach.rarest, point.share);
        }
        if (point.share < kNearlyAll && point.seconds > 0) {
          reach.shortest = std::min(reach.shortest, point.seconds);
        }
      }
    }
    return reach;
  }

  // Down at each point to the share that took longer than that.
  void draw_curve(const Box& box, const SimAxis& across, const SimAxis& up, std::size_t i) {
    std::vector<SimPoint> curve;
    double y = box.y;
    for (const sim::Timeline::Beyond& point : outcome_.policies[i].timeline.beyond) {
      const double x = box.at_x(across, point.seconds);
      curve.push_back({x, y});
      y = box.at_y(up, std::max(point.share, up.low));
      curve.push_back({x, y});
    }
    if (!curve.empty()) {
      curve.insert(curve.begin(), {box.x, box.y});
      canvas_.stroke(curve, colour_of_policy(i), style_of_policy(i) == Style::dashed);
    }
  }

  void draw_key(SimPoint at, std::size_t i) {
    canvas_.sample(at, colour_of_policy(i), style_of_policy(i));
    canvas_.text({at.x + 22, at.y + 4}, cut_to(one_line(outcome_.policies[i].policy), 26));
  }

  const SimOutcome& outcome_;
  std::vector<SimPanel> panels_;
  std::size_t columns_;
  SimAxis across_;
  double column_ = 0;
  double width_ = 0;
  double y_ = 6;
  SimCanvas canvas_;
};

// The page.

constexpr std::string_view kPageStyle =
    "body{font:15px/1.45 system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;"
    "margin:24px;background:#fff;color:#1c1c1c}"
    "h1{font-size:22px;margin:0 0 8px}h2{font-size:16px;margin:24px 0 6px}"
    "p,ul{max-width:95ch;margin:6px 0}.wide{overflow-x:auto}svg{display:block}"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums;white-space:nowrap}"
    "th,td{padding:3px 12px;border-bottom:1px solid #ddd;text-align:left}"
    "th:first-child,td:first-child{padding-left:0}.n{text-align:right}"
    "ul{list-style:none;padding:0}.ok{color:#00785a;font-weight:600}"
    ".no{color:#b84d00;font-weight:600}.m{color:#5c5c5c}"
    "@media (prefers-color-scheme:dark){body{background:#15181c;color:#e8e8e8}"
    "th,td{border-color:#363c44}.ok{color:#2cc79c}.no{color:#ff8a45}.m{color:#a8a8a8}}";

std::string row_html(const SimGrid& grid, const std::vector<std::string>& row, const char* cell) {
  std::string html = "<tr>";
  for (std::size_t i = 0; i < row.size(); ++i) {
    html += fmt::format("<{0}{1}>{2}</{0}>", cell, i < grid.labels ? "" : " class=\"n\"",
                        escape_markup(row[i]));
  }
  return html + "</tr>\n";
}

std::string grid_html(const SimGrid& grid) {
  std::string html = grid.title.empty() ? "" : "<h2>" + escape_markup(grid.title) + "</h2>\n";
  html += "<div class=\"wide\"><table>\n<thead>" + row_html(grid, grid.header, "th") +
          "</thead>\n<tbody>\n";
  for (const auto& row : grid.rows) {
    html += row_html(grid, row, "td");
  }
  return html + "</tbody></table></div>\n";
}

std::string verdicts_html(const SimOutcome& outcome) {
  std::string items;
  for (const SimPolicyOutcome& policy : outcome.policies) {
    for (const SimVerdict& verdict : policy.verdicts) {
      items += fmt::format("<li><span class=\"{}\">{}</span> {}: {}: {}</li>\n",
                           verdict.holds ? "ok" : "no", verdict.holds ? "held" : "FAILED",
                           escape_markup(policy.policy), escape_markup(verdict.text),
                           escape_markup(verdict.seen));
    }
  }
  return items.empty() ? items : "<h2>Expected</h2>\n<ul>\n" + items + "</ul>\n";
}

std::string paragraph_html(std::string_view text, std::string_view attributes = {}) {
  return text.empty() ? std::string{}
                      : fmt::format("<p{}>{}</p>\n", attributes, escape_markup(text));
}

}  // namespace

std::string sim_svg(const SimOutcome& outcome) {
  return Picture(outcome).svg(true, false);
}

std::string sim_html(const SimOutcome& outcome) {
  const std::string title = escape_markup(outcome.title);
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<meta name=\"color-scheme\" content=\"light dark\"/>\n"
      "<title>{0}</title>\n<style>{1}</style>\n</head>\n<body>\n<h1>{0}</h1>\n",
      title, kPageStyle);
  html += paragraph_html(outcome.about);
  const std::vector<SimGrid> grids = sim_grids(outcome);
  html += grid_html(grids.front());
  html += paragraph_html(seeds_text(outcome), " class=\"m\"");
  html += verdicts_html(outcome);
  html +=
      "<h2>Over time</h2>\n<div class=\"wide\">\n" + Picture(outcome).svg(false, true) + "</div>\n";
  std::for_each(grids.begin() + 1, grids.end(),
                [&](const SimGrid& grid) { html += grid_html(grid); });
  return html + "</body>\n</html>\n";
}

}  // namespace loadline::tools
