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
  const std::string least = format_figure(figure, values.front());
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
  if (std::isnan(mean.error)) {
    verdict.seen = fmt::format("{}, of one seed, which has no standard error",
                               format_figure(figure, mean.value));
    return verdict;
  }
  const double away = std::abs(mean.value - expectation.bound.value);
  verdict.holds = away <= expectation.bound.tolerance * mean.error;
  verdict.seen =
      fmt::format("{}, {:.1f} standard errors of {} away", format_figure(figure, mean.value),
                  away / mean.error, format_figure(figure, mean.error));
  return verdict;
}

}  // namespace

double figure_of(const SimExpectation& expectation, const sim::Summary& summary) {
  return find_sim_figure(expectation.figure)->of(summary);
}

SimVerdict judge(const SimExpectation& expectation, const std::vector<double>& seen,
                 const std::vector<double>& oracle) {
  const SimFigure& figure = *find_sim_figure(expectation.figure);
  const SimBound& bound = expectation.bound;
  if (bound.kind == SimBound::Kind::errors) {
    return judge_mean(expectation, figure, seen);
  }
  SimVerdict verdict{.text = expectation.text, .seen = spread(figure, bound, seen), .holds = true};
  if (bound.of_oracle && oracle.empty()) {
    return {expectation.text, verdict.seen + ", but the oracle was not looked for", false};
  }
  double worst = 0;
  for (std::size_t s = 0; s < seen.size(); ++s) {
    const double target = bound.of_oracle ? bound.value * oracle[s] : bound.value;
    verdict.holds = verdict.holds && within(bound, seen[s], target);
    const double share = bound.of_oracle ? seen[s] / oracle[s] : 0;
    const bool worse = bound.kind == SimBound::Kind::at_most ? share > worst : share < worst;
    worst = s == 0 || worse ? share : worst;
  }
  if (bound.of_oracle) {
    verdict.seen += fmt::format(", {:.1f} % of the best fixed limit's", worst * 100);
  }
  return verdict;
}

}  // namespace loadline::tools
