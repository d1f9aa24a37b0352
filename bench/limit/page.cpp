#include "limit/page.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <string_view>
#include <thread>

#include "sim/seconds.h"

namespace loadline::bench {
namespace {

constexpr std::size_t kWorst = 10;
constexpr double kUnlimited = 1e5;

std::string short_time(double seconds) {
  return seconds < 0.1 ? fmt::format("{:.3g} ms", seconds * 1e3) : fmt::format("{:.3g} s", seconds);
}

std::string limit_text(double limit) {
  return limit > kUnlimited ? "none" : fmt::format("{:.1f}", limit);
}

std::string step_text(const Workload& w) {
  return w.step == StepKind::none ? "-" : fmt::format("{} x{:.2f}", name(w.step), w.factor);
}

// One text for each phase.
template <class Text>
std::string by_phase(const Workload& w, Text text) {
  std::string all = text(0);
  for (std::uint32_t phase = 1; phase < w.phases(); ++phase) {
    all += ", " + text(phase);
  }
  return all;
}

std::string worst_row(const Match& m) {
  const Workload& w = m.workload;
  return fmt::format(
      "| {:.3f} | {} | {} | {} | {} | {:.2f} | {:.2f} | {} | {} | {} | {} | {} |\n", m.ratio(),
      by_phase(w, [&](auto phase) { return fmt::format("{:.3f}", m.ratio(phase)); }), w.number,
      fmt::format("{} {}", name(w.kind), w.workers), short_time(w.mean), w.cv, w.load,
      short_time(w.deadline), step_text(w), short_time(w.length),
      by_phase(w, [&](auto phase) { return limit_text(m.automatic.limit.at(phase)); }),
      by_phase(w, [&](auto phase) { return limit_text(m.oracle.limit.at(phase)); }));
}

std::string histogram(const RandomStudy& study) {
  std::string text = "| goodput of the oracle's | workloads |\n|---|---|\n";
  const std::vector<Bar> bars = histogram_of(study);
  for (std::size_t i = 0; i < bars.size(); ++i) {
    text += i + 1 < bars.size()
                ? fmt::format("| {} to {} | {} |\n", bars[i].from, bars[i + 1].from, bars[i].count)
                : fmt::format("| {} and more | {} |\n", bars[i].from, bars[i].count);
  }
  return text;
}

std::string random_text(const RandomStudy& study) {
  std::string text = "## Workloads drawn at random\n\n";
  text += fmt::format(R"(Each of {} workloads is drawn from this family (seed {}):

- a pool of workers that is first come, first served; processors that all share who are in flight; or a latency that depends on
  nothing, each as often as the others;
- 1 to 2,000 workers and a mean of 0.2 ms to 5 s of work, both log-uniform, drawn again while that is more than 100,000 requests a
  second; lognormal work of cv 0 to 3, uniform;
- a load of 0.3 to 5 times the capacity (workers / mean, also where nothing is limited), log-uniform, of callers who come as a
  Poisson process and wait for 5 to 30 means, log-uniform, and say so;
- half of them with a step in the middle: the rate x0.2 to x5, the speed x0.3 to x3, both log-uniform, or, of a pool, the workers
  x0.5 or x2;
- 4,000 means or 60 s long, whichever is longer, but no more than {:.0f} requests: {} of them are shorter for that.

The figure is the useful answers with `auto`, which begins knowing nothing, over those of the oracle: the same gate with the best
fixed limit for each phase, of those from the number of workers to 8 times that in steps of 1.25, and none. (Which is best is told
by runs of some ten thousand requests; where no limit does nearly as well, by the whole.)

| mean | p50 | p10 | p5 | least |
|---|---|---|---|---|
| {:.3f} | {:.3f} | {:.3f} | {:.3f} | {:.3f} |

)",
                      study.matches.size(), study.family.seed, study.family.most_requests,
                      study.shortened(), study.mean(), study.quantile(0.5), study.quantile(0.1),
                      study.quantile(0.05), study.quantile(0));
  text += histogram(study);
  text +=
      "\nThe worst. Two figures are of the two phases; limits of `auto` are means over time.\n\n";
  text +=
      "| ratio | by phase | number | server | mean | cv | load | deadline | step | length | limit "
      "| "
      "oracle's |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n";
  for (std::size_t i = 0; i < std::min(kWorst, study.matches.size()); ++i) {
    text += worst_row(study.matches[i]);
  }
  return text + fmt::format("\n`--seed {} --look NUMBER` shows the limits of one of them.\n",
                            study.family.seed);
}

std::string figure_text(const Row& row, const Cell& cell) {
  const double figure = worst(row.good, cell.figures);
  const std::string text = row.good == Row::Good::neither ? fmt::format("{:.1f}", figure)
                           : row.good == Row::Good::low   ? fmt::format("{:.2f} %", 100 * figure)
                                                          : fmt::format("{:.1f} %", 100 * figure);
  return cell.differs ? "**" + text + "**" : text;
}

std::string setting_text(const Setting& setting) {
  return setting.constant.empty() ? "as it is"
                                  : fmt::format("`{}` {:.4g}", setting.constant, setting.value);
}

std::string sensitivity_text(const Sensitivity& study) {
  std::string text = "## What each constant does\n\n";
  text += fmt::format(
      R"(Each constant of `AutoTuning` halved and doubled, or as near to it as is legal; of the ratios `widest` and `narrowest` their
logarithms. A figure is the worst of {} seeds from {} on (of the limit, the middle one). **Bold**: all seeds lie on one side of all
of the default's, and farther away than either of them are among each other.

)",
      study.seeds, study.seed);
  for (const Row& row : study.rows) {
    text += fmt::format("- {}: {}.\n", row.name, row.text);
  }
  text +=
      "\n32 workers of 10 ms (lognormal, cv 1) and callers with 100 ms, where nothing else is "
      "said.\n\n| |";
  std::string rule = "\n|---|";
  for (const Row& row : study.rows) {
    text += fmt::format(" {} |", row.name);
    rule += "---|";
  }
  text += rule + "\n";
  for (std::size_t i = 0; i < study.settings.size(); ++i) {
    text += fmt::format("| {} |", setting_text(study.settings[i]));
    for (std::size_t row = 0; row < study.rows.size(); ++row) {
      text += fmt::format(" {} |", figure_text(study.rows[row], study.cells[i][row]));
    }
    text += "\n";
  }
  return text;
}

}  // namespace

std::string to_markdown(const Page& page) {
  std::string text = fmt::format(R"(# Studies of `auto`

How near the limits that `auto` finds come to the best that could have been set, over many workloads; and how much hangs on each
of its constants. In virtual time, with the gate of production: the same command gives the same figures on any machine. The seeds
were not used while the law was made.

Made by `{}` on {}, on {}.
)",
                                 page.command, page.date, page.machine);
  if (page.random) {
    text += "\n" + random_text(*page.random);
  }
  if (page.sensitivity) {
    text += "\n" + sensitivity_text(*page.sensitivity);
  }
  return text;
}

std::string machine_kind() {
  utsname names{};
  uname(&names);
  return fmt::format("a machine of {} processors ({}, {} {})", std::thread::hardware_concurrency(),
                     &names.machine[0], &names.sysname[0], &names.release[0]);
}

}  // namespace loadline::bench
