#include "sim_suite.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <filesystem>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <utility>

#include "sim_expect.h"
#include "sim_figure.h"
#include "sim_run.h"

namespace loadline::tools {
namespace {

using Kind = SimBound::Kind;

// "l2_3x" is l, 2, _, 3, x: words and numbers in turn, so that 2 comes before 10.
std::vector<std::pair<std::string, unsigned long>> counted(const std::string& name) {
  constexpr const char* kDigits = "0123456789";
  constexpr std::size_t kMostDigits = 9;
  std::vector<std::pair<std::string, unsigned long>> parts;
  for (std::size_t at = 0; at < name.size();) {
    const std::size_t digits = std::min(name.find_first_of(kDigits, at), name.size());
    const std::size_t end = std::min(name.find_first_not_of(kDigits, digits), name.size());
    const std::string number = name.substr(digits, std::min(end - digits, kMostDigits));
    parts.emplace_back(name.substr(at, digits - at), number.empty() ? 0 : std::stoul(number));
    at = end;
  }
  return parts;
}

// `l2` names l2_3x, and not l20.
bool names(const std::string& wanted, const std::string& row) {
  std::string lower = wanted;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return row == lower || row.starts_with(lower + "_");
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> all;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".yaml") {
      all.push_back(entry.path().stem().string());
    }
  }
  if (all.empty()) {
    throw std::runtime_error(
        fmt::format("loadline sim: no scenario files in '{}': run this where "
                    "the project's sources are, or say --scenarios",
                    folder));
  }
  std::sort(all.begin(), all.end(),
            [](const std::string& a, const std::string& b) { return counted(a) < counted(b); });
  return all;
}

double badness(const SimBound& bound, double value) {
  switch (bound.kind) {
    case Kind::at_least:
      return -value;
    case Kind::at_most:
      return value;
    case Kind::is:
    case Kind::errors:
      break;
  }
  return std::abs(value - bound.value);
}

bool meets(const SimBound& bound, double value, double wanted) {
  switch (bound.kind) {
    case Kind::at_least:
      return value >= wanted;
    case Kind::at_most:
      return value <= wanted;
    case Kind::is:
    case Kind::errors:
      break;
  }
  return std::abs(value - wanted) <= bound.tolerance * std::abs(wanted);
}

double spread_of(std::vector<double> values) {
  std::erase_if(values, [](double value) { return std::isnan(value); });
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return values.empty() ? 0 : *most - *least;
}

// What the oracle misses nobody can be asked for; but to come near to it. What is compared with the
// oracle itself is a share of it already.
void ask_for_no_more_than(double oracle, SuiteFigure& figure) {
  const SimBound& bound = figure.expectation.bound;
  const bool ordered = bound.kind == Kind::at_least || bound.kind == Kind::at_most;
  if (ordered && bound.of != kOracle && !std::isnan(oracle) && !meets(bound, oracle, bound.value)) {
    figure.by_oracle = true;
    figure.wanted = bound.kind == Kind::at_least ? oracle * kOfOracle : oracle / kOfOracle;
  }
}

SuiteFigure figure_of_row(const SuiteRow& row, const SimExpectation& expectation,
                          const SimReached& reached) {
  SuiteFigure figure;
  figure.row = row.name;
  figure.expectation = expectation;
  const SimBound& bound = expectation.bound;
  figure.wanted = bound.value;
  figure.worst = worst_for(bound, reached.by_policy);
  figure.spread = spread_of(reached.by_policy);
  figure.oracle = worst_for(bound, reached.by_oracle);
  ask_for_no_more_than(figure.oracle, figure);
  figure.holds = meets(bound, figure.worst, figure.wanted);
  return figure;
}

// What was broken stands behind what was expected.
std::vector<std::string> broken_in(const SimOutcome& outcome, const SimFile& file) {
  std::vector<std::string> broken;
  for (const SimPolicyOutcome& policy : outcome.policies) {
    const auto expected =
        std::count_if(file.expectations.begin(), file.expectations.end(),
                      [&policy](const SimExpectation& e) { return e.policy == policy.policy; });
    for (auto i = static_cast<std::size_t>(expected); i < policy.verdicts.size(); ++i) {
      broken.push_back(fmt::format("{}: {}: {}", policy.policy, policy.verdicts[i].text,
                                   policy.verdicts[i].seen));
    }
  }
  return broken;
}

SimFile with_laws(const SimFile& file, Law law) {
  SimFile changed = file;
  for (SimPolicy& policy : changed.policies) {
    policy.scenario = with_law(policy.scenario, law, false);
  }
  return changed;
}

class RowRun {
 public:
  RowRun(const SuiteRow& row, const SuiteOptions& options, const std::stop_token& stop)
      : row_(row), options_(options), stop_(stop) {}

  SuiteRowOutcome run() {
    SuiteRowOutcome done;
    done.name = row_.name;
    done.about = row_.file.about;
    done.length = row_.file.length;
    done.longest = row_.file.longest;
    const SimOutcome outcome = run_file(row_.file, options_.seeds);
    for (std::size_t e = 0; e < row_.file.expectations.size(); ++e) {
      done.figures.push_back(figure_of_row(row_, row_.file.expectations[e], outcome.reached[e]));
    }
    done.limits = outcome.oracle ? outcome.oracle->limits : std::vector<std::uint32_t>();
    done.broken = broken_in(outcome, row_.file);
    done.wall_seconds = outcome.wall_seconds;
    for (const Law law : options_.laws) {
      add_law(law, done);
    }
    return done;
  }

 private:
  [[nodiscard]] SimOutcome run_file(const SimFile& file, std::uint64_t seeds) const {
    return run_sim(file,
                   {.title = row_.name,
                    .first_seed = options_.first_seed,
                    .seeds = seeds,
                    .threads = 1,
                    .oracle = true,
                    .oracle_figures = true},
                   {}, stop_);
  }

  // What compares with the oracle needs it, and nothing else does here.
  void add_law(Law law, SuiteRowOutcome& done) const {
    SimFile file = with_laws(row_.file, law);
    const bool compares =
        std::any_of(file.expectations.begin(), file.expectations.end(),
                    [](const SimExpectation& e) { return e.bound.of == kOracle; });
    if (file.oracle && compares) {
      file.oracle->limits = {done.limits.front()};
    } else {
      file.oracle.reset();
    }
    const SimOutcome outcome = run_file(file, 1);
    for (std::size_t e = 0; e < done.figures.size(); ++e) {
      done.figures[e].laws[law] = outcome.reached[e].by_policy.front();
    }
    done.wall_seconds += outcome.wall_seconds;
  }

  const SuiteRow& row_;
  const SuiteOptions& options_;
  const std::stop_token& stop_;
};

// About how long it takes: the longest go first, so that no processor is idle at the end.
double effort_of(const SuiteRow& row) {
  double calls = 0;
  for (const SimPolicy& policy : row.file.policies) {
    for (const sim::Population& callers : policy.scenario.populations) {
      calls += callers.arrivals.expected(policy.scenario.length);
    }
  }
  return calls;
}

std::vector<std::size_t> longest_first(const std::vector<SuiteRow>& rows) {
  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&rows](std::size_t a, std::size_t b) {
    return effort_of(rows[a]) > effort_of(rows[b]);
  });
  return order;
}

// The rows in that order, on so many threads; throws what the first of them throws.
template <class Job>
void in_parallel(const std::vector<std::size_t>& order, unsigned threads, Job job) {
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr fault;
  const auto work = [&] {
    try {
      for (std::size_t i = next++; i < order.size(); i = next++) {
        job(order[i]);
      }
    } catch (...) {
      next = order.size();
      const std::scoped_lock lock(mutex);
      fault = fault ? fault : std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    for (unsigned t = 1; t < threads; ++t) {
      others.emplace_back(work);
    }
    work();
  }
  if (fault) {
    std::rethrow_exception(fault);
  }
}

SuiteAgain run_again(const SuiteRow& row, const SuiteOptions& options,
                     const std::stop_token& stop) {
  SimFile file = row.file;
  for (SimPolicy& policy : file.policies) {
    policy.scenario = with_law(policy.scenario, Law::automatic, true);
  }
  const SimOutcome outcome = run_sim(
      file,
      {.title = row.name, .first_seed = options.first_seed, .seeds = file.seeds, .oracle = true},
      {}, stop);
  SuiteAgain done;
  done.name = row.name;
  done.wall_seconds = outcome.wall_seconds;
  for (const SimPolicyOutcome& policy : outcome.policies) {
    for (const SimVerdict& verdict : policy.verdicts) {
      ++done.expected;
      if (!verdict.holds) {
        done.missed.push_back(fmt::format("{}: {}: {}", policy.policy, verdict.text, verdict.seen));
      }
    }
  }
  return done;
}

}  // namespace

double worst_for(const SimBound& bound, const std::vector<double>& values) {
  double worst = sim::Summary::kNothing;
  for (const double value : values) {
    if (std::isnan(value)) {
      return value;
    }
    if (std::isnan(worst) || badness(bound, value) > badness(bound, worst)) {
      worst = value;
    }
  }
  return worst;
}

bool is_worse(const SimBound& bound, double value, double than, double margin) {
  return std::isnan(value) ? !std::isnan(than)
                           : badness(bound, value) > badness(bound, than) + margin;
}

sim::Scenario with_law(sim::Scenario scenario, Law law, bool of_fixed) {
  for (sim::ServiceModel& service : scenario.services) {
    if (service.gate && (service.gate->policy.law != Law::fixed || of_fixed)) {
      service.gate->policy.law = law;
      service.gate->policy.limit = 0;
      service.gate->limits.clear();
    }
  }
  return scenario;
}

std::string suite_value(const SimExpectation& expectation, double value) {
  const SimFigure& figure = *find_sim_figure(expectation.figure);
  if (expectation.bound.of.empty() || std::isnan(value)) {
    return format_figure(figure, value);
  }
  return fmt::format("{:.1f} %", value * 100);
}

std::vector<SuiteRow> read_suite(const std::string& folder, SimLength length) {
  std::vector<SuiteRow> rows;
  std::string faults;
  for (const std::string& name : names_in(folder)) {
    const std::string path = fmt::format("{}/{}.yaml", folder, name);
    rows.push_back({name, read_sim_file(path, length)});
    faults += describe_faults(path, rows.back().file.faults);
  }
  if (!faults.empty()) {
    faults.pop_back();  // the last line's end
    throw std::runtime_error(faults);
  }
  return rows;
}

std::vector<SuiteRow> named_rows(std::vector<SuiteRow> rows,
                                 const std::vector<std::string>& wanted) {
  for (const std::string& want : wanted) {
    if (std::none_of(rows.begin(), rows.end(),
                     [&want](const SuiteRow& row) { return names(want, row.name); })) {
      std::vector<std::string> all;
      all.reserve(rows.size());
      for (const SuiteRow& row : rows) {
        all.push_back(row.name);
      }
      throw std::runtime_error(fmt::format("loadline sim: --row: no row '{}'; there are: {}", want,
                                           fmt::join(all, ", ")));
    }
  }
  std::erase_if(rows, [&wanted](const SuiteRow& row) {
    return !wanted.empty() &&
           std::none_of(wanted.begin(), wanted.end(),
                        [&row](const std::string& want) { return names(want, row.name); });
  });
  return rows;
}

std::vector<SuiteRowOutcome> run_suite(const std::vector<SuiteRow>& rows,
                                       const SuiteOptions& options, const SuiteProgress& progress,
                                       const std::stop_token& stop) {
  std::vector<SuiteRowOutcome> outcomes(rows.size());
  std::mutex mutex;
  std::size_t done = 0;
  in_parallel(longest_first(rows), options.threads, [&](std::size_t i) {
    outcomes[i] = RowRun(rows[i], options, stop).run();
    const std::scoped_lock lock(mutex);
    progress(outcomes[i], ++done);
  });
  return outcomes;
}

std::vector<SuiteAgain> run_again(const std::vector<SuiteRow>& rows, const SuiteOptions& options,
                                  const SuiteAgainProgress& progress, const std::stop_token& stop) {
  std::vector<SuiteAgain> outcomes(rows.size());
  std::mutex mutex;
  std::size_t done = 0;
  in_parallel(longest_first(rows), options.threads, [&](std::size_t i) {
    outcomes[i] = run_again(rows[i], options, stop);
    const std::scoped_lock lock(mutex);
    progress(outcomes[i], ++done);
  });
  return outcomes;
}

}  // namespace loadline::tools
