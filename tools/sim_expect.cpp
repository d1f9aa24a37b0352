#include "sim_expect.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim_figure.h"

namespace loadline::tools {
namespace {

struct Mean {
  double value = 0;
  double error = 0;  // the standard error, from the spread between seeds
};

Mean mean_of(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0;
  for (const double value : values) {
    squares += (value - mean) * (value - mean);
  }
  return {mean, values.size() < 2 ? std::nan("") : std::sqrt(squares / (n - 1) / n)};
}

bool within(const SimBound& bound, double value, double target) {
  switch (bound.kind) {
    case SimBound::Kind::at_least:
      return value >= target;
    case SimBound::Kind::at_most:
      return value <= target;
    case SimBound::Kind::is:
    case SimBound::Kind::errors:
      return bound.tolerance == 0 ? value == target
                                  : std::abs(value - target) <= bound.tolerance * std::abs(target);
  }
  return false;
}

// "98.4 ms", or with several seeds "98.4 ms (97.1 ms to 98.4 ms)": the worst first.
std::string spread(const SimFigure& figure, const SimBound& bound, std::vector<double> values) {
  std::sort(values.begin(), values.end());
  std::string least = format_figure(figure, values.front());
  const std::string most = format_figure(figure, values.back());
  if (values.size() == 1 || least == most) {
    return least;
  }
  const auto far = [&bound](double v) { return std::abs(v - bound.value); };
  const bool least_is_worst =
      bound.kind == SimBound::Kind::at_least ||
      (bound.kind == SimBound::Kind::is && far(values.front()) > far(values.back()));
  return fmt::format("{} ({} to {})", least_is_worst ? least : most, least, most);
}

SimVerdict judge_mean(const SimExpectation& expectation, const SimFigure& figure,
                      const std::vector<double>& seen) {
  const Mean mean = mean_of(seen);
  SimVerdict verdict{.text = expectation.text, .seen = {}, .holds = false};
  if (seen.size() < 2 || std::isnan(mean.value)) {
    verdict.seen = format_figure(figure, mean.value) +
                   (seen.size() < 2 ? ", of one seed, which has no standard error"
                                    : ", nothing to measure with some seed");
    return verdict;
  }
  const double away = std::abs(mean.value - expectation.bound.value);
  verdict.holds = away <= expectation.bound.tolerance * mean.error;
  verdict.seen = mean.error == 0 ? format_figure(figure, mean.value) + " with every seed"
                                 : fmt::format("{}, {:.1f} standard errors of {} away",
                                               format_figure(figure, mean.value), away / mean.error,
                                               format_figure(figure, mean.error));
  return verdict;
}

// "166.7 % of b's": the share that is the worst of the seeds', where there are such shares.
std::string compared(const SimFigure& figure, const SimBound& bound,
                     const std::vector<double>& seen, const std::vector<double>& another) {
  const std::string whose = (bound.of == kOracle ? "the best fixed limit" : bound.of) + "'s";
  std::vector<double> shares;
  for (std::size_t s = 0; s < seen.size(); ++s) {
    if (!std::isnan(seen[s]) && another[s] > 0) {
      shares.push_back(seen[s] / another[s]);
    }
  }
  if (shares.empty()) {
    return fmt::format("; {} {}", whose, format_figure(figure, another.front()));
  }
  const auto [least, most] = std::minmax_element(shares.begin(), shares.end());
  const double worst = bound.kind == SimBound::Kind::at_most ? *most : *least;
  return fmt::format(", {:.1f} % of {}", worst * 100, whose);
}

bool guarantees_any(const sim::Scenario& scenario) {
  return std::any_of(
      scenario.services.begin(), scenario.services.end(), [](const sim::ServiceModel& service) {
        return service.gate &&
               std::any_of(service.gate->policy.classes.begin(), service.gate->policy.classes.end(),
                           [](const auto& c) { return c.guarantee != 0; });
      });
}

}  // namespace

double figure_of(const SimExpectation& expectation, const sim::Summary& summary) {
  return find_sim_figure(expectation.figure)->of(summary);
}

double worst_of(const SimExpectation& expectation, const std::vector<sim::Summary>& pieces) {
  const SimBound& bound = expectation.bound;
  const auto badness = [&bound](double value) {
    switch (bound.kind) {
      case SimBound::Kind::at_least:
        return -value;
      case SimBound::Kind::at_most:
        return value;
      case SimBound::Kind::is:
      case SimBound::Kind::errors:
        break;
    }
    return std::abs(value - bound.value);
  };
  double worst = sim::Summary::kNothing;
  for (const sim::Summary& piece : pieces) {
    const double value = figure_of(expectation, piece);
    if (std::isnan(worst) || badness(value) > badness(worst)) {
      worst = value;
    }
  }
  return worst;
}

SimVerdict judge(const SimExpectation& expectation, const std::vector<double>& seen,
                 const std::vector<double>& another) {
  const SimFigure& figure = *find_sim_figure(expectation.figure);
  const SimBound& bound = expectation.bound;
  if (bound.kind == SimBound::Kind::errors) {
    return judge_mean(expectation, figure, seen);
  }
  SimVerdict verdict{.text = expectation.text, .seen = spread(figure, bound, seen), .holds = true};
  const bool compares = !bound.of.empty();
  if (compares && another.empty()) {
    return {expectation.text, verdict.seen + ", but the oracle was not looked for", false};
  }
  for (std::size_t s = 0; s < seen.size(); ++s) {
    const double target = compares ? bound.value * another[s] : bound.value;
    verdict.holds = verdict.holds && within(bound, seen[s], target);
  }
  if (compares) {
    verdict.seen += compared(figure, bound, seen, another);
  }
  return verdict;
}

std::vector<SimVerdict> broken_rules(const sim::Scenario& scenario,
                                     const std::vector<sim::Watch>& by_seed,
                                     std::uint64_t first_seed) {
  struct Rule {
    std::string_view text;
    std::uint64_t sim::Watch::*broken;
    bool holds_here;
  };
  // A guarantee is kept by starting one before others who are more important.
  const Rule rules[] = {
      {"a slot is never idle beside a waiter", &sim::Watch::idle_beside_waiter, true},
      {"the gate's count is right", &sim::Watch::miscounts, true},
      {"nobody is passed by a less important one", &sim::Watch::passed, !guarantees_any(scenario)}};
  std::vector<SimVerdict> verdicts;
  for (const Rule& rule : rules) {
    const auto first = std::find_if(by_seed.begin(), by_seed.end(), [&](const sim::Watch& watch) {
      return watch.*rule.broken != 0;
    });
    if (rule.holds_here && first != by_seed.end()) {
      verdicts.push_back(
          {std::string(rule.text),
           fmt::format("broken {} times with seed {}", (*first).*rule.broken,
                       first_seed + static_cast<std::uint64_t>(first - by_seed.begin())),
           false});
    }
  }
  return verdicts;
}

}  // namespace loadline::tools
