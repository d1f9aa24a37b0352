#include "sim_run.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "sim/oracle.h"
#include "sim/world.h"
#include "sim_expect.h"

namespace loadline::tools {
namespace {

// Does `count` jobs on several threads and throws what the first of them throws.
class Crew {
 public:
  Crew(unsigned threads, const SimProgress& progress, const std::stop_token& stop, double jobs)
      : threads_(threads), progress_(progress), stop_(stop), jobs_(jobs) {}

  template <class Job>
  void do_all(std::size_t count, Job job) {
    std::atomic<std::size_t> next = 0;
    const auto work = [&] {
      try {
        for (std::size_t i = next++; i < count; i = next++) {
          job(i);
        }
      } catch (...) {
        next = count;
        const std::scoped_lock lock(mutex_);
        fault_ = fault_ ? fault_ : std::current_exception();
      }
    };
    {
      std::vector<std::jthread> others;
      const std::size_t helpers = std::min<std::size_t>(threads_, count);
      for (std::size_t t = 1; t < helpers; ++t) {
        others.emplace_back(work);
      }
      work();
    }
    if (fault_) {
      std::rethrow_exception(fault_);
    }
  }

  // One run of a scenario, which counts as one of the jobs.
  sim::Result run(const sim::Scenario& scenario, std::uint64_t seed, const std::string& what) {
    double last = 0;
    sim::Result result = sim::run(scenario, seed, [&](Instant now) {
      const double done = static_cast<double>(now.ns) / static_cast<double>(scenario.length.ns);
      advance(std::clamp(done, last, 1.0) - last, what);
      last = std::clamp(done, last, 1.0);
    });
    advance(1 - last, what);
    const std::scoped_lock lock(mutex_);
    virtual_seconds_ += static_cast<double>(result.ended.ns) * 1e-9;
    return result;
  }

  void stop_if_asked() const {
    if (stop_.stop_requested()) {
      throw SimStopped{};
    }
  }

  [[nodiscard]] double virtual_seconds() const { return virtual_seconds_; }

 private:
  void advance(double by, const std::string& what) {
    stop_if_asked();
    const std::scoped_lock lock(mutex_);
    done_ += by;
    if (progress_) {
      progress_(std::min(done_ / jobs_, 1.0), what);
    }
  }

  unsigned threads_;
  const SimProgress& progress_;
  const std::stop_token& stop_;
  double jobs_;
  double done_ = 0;
  double virtual_seconds_ = 0;
  std::mutex mutex_;
  std::exception_ptr fault_;
};

std::string run_name(const std::string& policy, std::uint64_t seed) {
  return policy + ", seed " + std::to_string(seed);
}

// Of which there are callers, most important first.
std::vector<std::uint8_t> classes_in_use(const SimFile& file) {
  std::set<std::uint8_t> found;
  for (const SimPolicy& policy : file.policies) {
    for (const sim::Population& callers : policy.scenario.populations) {
      found.insert(callers.importance);
    }
  }
  return {found.begin(), found.end()};
}

// The parts that a table shows: all, and kinds of callers, classes and services where there are
// several.
std::vector<std::pair<SimPart, sim::Selection>> parts_of(const SimFile& file) {
  std::vector<std::pair<SimPart, sim::Selection>> parts;
  const auto add = [&](SimPart::Kind kind, const std::string& name, auto choose) {
    sim::Selection selection{.span = file.measured};
    choose(selection);
    parts.emplace_back(SimPart{.name = name, .kind = kind, .by_seed = {}}, selection);
  };
  add(SimPart::Kind::all, "", [](sim::Selection&) {});
  for (std::size_t i = 0; i < file.callers.size() && file.callers.size() > 1; ++i) {
    add(SimPart::Kind::callers, file.callers[i],
        [i](sim::Selection& s) { s.populations = {static_cast<std::uint16_t>(i)}; });
  }
  const std::vector<std::uint8_t> classes = classes_in_use(file);
  for (const std::uint8_t i : classes.size() > 1 ? classes : std::vector<std::uint8_t>()) {
    add(SimPart::Kind::of_class, file.classes[i], [i](sim::Selection& s) { s.classes = {i}; });
  }
  for (std::size_t i = 0; i < file.services.size() && file.services.size() > 1; ++i) {
    add(SimPart::Kind::service, file.services[i],
        [i](sim::Selection& s) { s.service = static_cast<std::uint16_t>(i); });
  }
  return parts;
}

sim::Summary summarized(const sim::Result& result, sim::Selection selection) {
  selection.span.to = std::min(selection.span.to, result.ended + Duration{1});
  return summarize(result.journal, selection, result.limits);
}

// A gate whose limit is turned by hand at the beginning of each phase.
sim::Scenario with_limits(sim::Scenario scenario, const SimOracle& oracle,
                          const std::vector<std::uint32_t>& limits) {
  for (sim::ServiceModel& service : scenario.services) {
    if (service.gate) {
      service.gate->policy.law = Law::fixed;
      service.gate->policy.limit = limits.front();
      service.gate->limits.clear();
      for (std::size_t phase = 1; phase < limits.size(); ++phase) {
        service.gate->limits.push_back({oracle.phases[phase], limits[phase]});
      }
      break;
    }
  }
  return scenario;
}

const SimPolicy* first_with_gate(const SimFile& file) {
  const auto found =
      std::find_if(file.policies.begin(), file.policies.end(), [](const SimPolicy& policy) {
        return std::any_of(policy.scenario.services.begin(), policy.scenario.services.end(),
                           [](const sim::ServiceModel& service) { return service.gate; });
      });
  return found == file.policies.end() ? nullptr : &*found;
}

std::vector<SimLimitSteps> limit_steps_of(const sim::Result& result,
                                          const std::vector<std::string>& services) {
  std::vector<SimLimitSteps> all;
  for (const sim::Result::Steps& steps : result.limit_steps) {
    const bool alone = result.limit_steps.size() == 1;
    if (!steps.events.empty()) {
      all.push_back(
          {alone ? "" : services[steps.service] + ", instance " + std::to_string(steps.instance),
           steps.events});
    }
  }
  return all;
}

class Study {
 public:
  Study(const SimFile& file, const SimRunOptions& options, const SimProgress& progress,
        const std::stop_token& stop)
      : file_(file),
        options_(options),
        gated_(options.oracle && file.oracle ? first_with_gate(file) : nullptr),
        parts_(parts_of(file)),
        crew_(options.threads, progress, stop, jobs()) {}

  SimOutcome outcome() {
    SimOutcome done;
    done.title = options_.title;
    done.about = file_.about;
    done.first_seed = options_.first_seed;
    if (gated_ != nullptr) {
      done.oracle = look_for_oracle();
    }
    done.policies = run_policies();
    done.reached = all_reached();
    done.virtual_seconds = crew_.virtual_seconds();
    return done;
  }

 private:
  [[nodiscard]] double jobs() const {
    const auto runs = static_cast<double>(file_.policies.size() * options_.seeds);
    if (gated_ == nullptr) {
      return runs;
    }
    const std::size_t limits = file_.oracle->limits.size();
    const std::size_t tried = limits == 1 ? 0 : limits * file_.oracle->phases.size();
    return runs + static_cast<double>(tried + options_.seeds);
  }
  [[nodiscard]] std::uint64_t seed(std::size_t i) const { return options_.first_seed + i; }

  using ByExpectation = std::vector<std::vector<double>>;  // and by seed

  // What a policy or the oracle came to.
  struct Reached {
    ByExpectation seen;     // where an expectation is of it
    ByExpectation another;  // where one is compared with it
  };

  std::vector<SimPolicyOutcome> run_policies();
  [[nodiscard]] Reached no_figures() const;
  [[nodiscard]] bool is_seen(const SimExpectation& expectation, const std::string& whose) const;
  [[nodiscard]] bool is_another(const SimExpectation& expectation, const std::string& whose) const;
  void take_figures(const std::string& whose, std::size_t s, const sim::Result& result);
  [[nodiscard]] std::vector<SimVerdict> verdicts_on(const std::string& policy) const;
  [[nodiscard]] std::vector<SimReached> all_reached() const;
  SimOracleFound look_for_oracle();
  std::vector<std::uint32_t> best_limits();

  const SimFile& file_;
  const SimRunOptions& options_;
  const SimPolicy* gated_;
  std::vector<std::pair<SimPart, sim::Selection>> parts_;
  Crew crew_;
  std::map<std::string, Reached> reached_;
  std::vector<SimVerdict> broken_by_oracle_;
};

std::vector<SimPolicyOutcome> Study::run_policies() {
  const std::size_t seeds = options_.seeds;
  std::vector<SimPolicyOutcome> outcomes(file_.policies.size());
  std::vector<std::vector<sim::Watch>> watches(file_.policies.size());
  for (std::size_t p = 0; p < outcomes.size(); ++p) {
    outcomes[p].policy = file_.policies[p].name;
    for (const auto& [part, selection] : parts_) {
      outcomes[p].parts.push_back(part);
      outcomes[p].parts.back().by_seed.resize(seeds);
    }
    watches[p].resize(seeds);
    reached_[outcomes[p].policy] = no_figures();
  }
  crew_.do_all(outcomes.size() * seeds, [&](std::size_t job) {
    const std::size_t p = job / seeds;
    const std::size_t s = job % seeds;
    const SimPolicy& policy = file_.policies[p];
    const sim::Result result = crew_.run(policy.scenario, seed(s), run_name(policy.name, seed(s)));
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      outcomes[p].parts[i].by_seed[s] = summarized(result, parts_[i].second);
    }
    take_figures(policy.name, s, result);
    watches[p][s] = result.watch;
    if (s == 0) {
      outcomes[p].timeline =
          timeline_of(result.journal, result.ended, result.limits, result.turnouts);
      outcomes[p].limit_steps = limit_steps_of(result, file_.services);
    }
  });
  for (std::size_t p = 0; p < outcomes.size(); ++p) {
    outcomes[p].verdicts = verdicts_on(outcomes[p].policy);
    const auto add = [&verdicts = outcomes[p].verdicts](const std::vector<SimVerdict>& broken) {
      verdicts.insert(verdicts.end(), broken.begin(), broken.end());
    };
    add(broken_rules(file_.policies[p].scenario, watches[p], options_.first_seed));
    if (gated_ == &file_.policies[p]) {
      add(broken_by_oracle_);
    }
  }
  return outcomes;
}

Study::Reached Study::no_figures() const {
  const ByExpectation none(file_.expectations.size(), std::vector<double>(options_.seeds));
  return {none, none};
}

bool Study::is_seen(const SimExpectation& expectation, const std::string& whose) const {
  return expectation.policy == whose || (options_.oracle_figures && whose == kOracle);
}

// The oracle's other times are what its own figures are compared with.
bool Study::is_another(const SimExpectation& expectation, const std::string& whose) const {
  const std::string& of = expectation.bound.of;
  return of == whose || (options_.oracle_figures && whose == kOracle && of == expectation.policy);
}

// Most expectations of a file are of a few selections, and each is a walk over all attempts.
class Summaries {
 public:
  explicit Summaries(const sim::Result& result) : result_(result) {}

  const std::vector<sim::Summary>& of(const sim::Selection& from, Duration each, Duration every) {
    auto found = std::find_if(known_.begin(), known_.end(), [&](const Known& one) {
      return one.from == from && one.each == each && one.every == every;
    });
    if (found == known_.end()) {
      found = known_.insert(
          found,
          {from, each, every,
           each > Duration{} ? summarize_each(result_.journal, from, each, every, result_.limits)
                             : std::vector<sim::Summary>{summarized(result_, from)}});
    }
    return found->summaries;
  }

 private:
  struct Known {
    sim::Selection from;
    Duration each;
    Duration every;
    std::vector<sim::Summary> summaries;
  };

  const sim::Result& result_;
  std::vector<Known> known_;
};

void Study::take_figures(const std::string& whose, std::size_t s, const sim::Result& result) {
  Summaries summaries(result);
  Reached& reached = reached_.at(whose);
  for (std::size_t e = 0; e < file_.expectations.size(); ++e) {
    const SimExpectation& expectation = file_.expectations[e];
    crew_.stop_if_asked();
    if (is_seen(expectation, whose)) {
      reached.seen[e][s] = worst_of(
          expectation, summaries.of(expectation.from, expectation.each, expectation.every));
    }
    if (is_another(expectation, whose)) {
      sim::Selection other = expectation.from;
      other.span = expectation.bound.of_span.value_or(other.span);
      reached.another[e][s] = figure_of(expectation, summaries.of(other, {}, {}).front());
    }
  }
}

std::vector<SimVerdict> Study::verdicts_on(const std::string& policy) const {
  static const std::vector<double> kNone;
  std::vector<SimVerdict> verdicts;
  for (std::size_t e = 0; e < file_.expectations.size(); ++e) {
    const SimExpectation& expectation = file_.expectations[e];
    if (expectation.policy == policy) {
      const auto another = reached_.find(expectation.bound.of);
      verdicts.push_back(judge(expectation, reached_.at(policy).seen[e],
                               another == reached_.end() ? kNone : another->second.another[e]));
    }
  }
  return verdicts;
}

std::vector<SimReached> Study::all_reached() const {
  std::vector<SimReached> all(file_.expectations.size());
  const auto figures = [this](const std::string& whose, const std::string& of, std::size_t e) {
    const auto seen = reached_.find(whose);
    const auto another = reached_.find(of);
    if (seen == reached_.end() || (!of.empty() && another == reached_.end())) {
      return std::vector<double>();
    }
    std::vector<double> values = seen->second.seen[e];
    for (std::size_t s = 0; s < values.size() && !of.empty(); ++s) {
      values[s] /= another->second.another[e][s];
    }
    return values;
  };
  for (std::size_t e = 0; e < all.size(); ++e) {
    const SimExpectation& expectation = file_.expectations[e];
    const std::string& of = expectation.bound.of;
    const std::string oracle(kOracle);
    all[e].by_policy = figures(expectation.policy, of, e);
    if (options_.oracle_figures) {
      all[e].by_oracle = figures(oracle, of == expectation.policy ? oracle : of, e);
    }
  }
  return all;
}

// Phase by phase, with the best of the phases before in force, on the first seed.
std::vector<std::uint32_t> Study::best_limits() {
  const SimOracle& oracle = *file_.oracle;
  if (oracle.limits.size() == 1) {
    std::vector<std::uint32_t> same(oracle.phases.size(), oracle.limits.front());
    return same;
  }
  const auto begin_of = [&](std::size_t phase) {
    return phase < oracle.phases.size() ? oracle.phases[phase]
                                        : Instant{} + gated_->scenario.length;
  };
  const auto goodput = [&](const std::vector<std::uint32_t>& limits, std::size_t phase) {
    const sim::Result result = crew_.run(with_limits(gated_->scenario, oracle, limits), seed(0),
                                         "limit " + std::to_string(limits[phase]));
    return summarize(result.journal, {.span = {begin_of(phase), begin_of(phase + 1)}}).goodput;
  };
  return sim::best_of_phases(oracle.phases.size(), oracle.limits, goodput,
                             [this](std::size_t count, auto job) { crew_.do_all(count, job); });
}

SimOracleFound Study::look_for_oracle() {
  SimOracleFound found;
  found.limits = best_limits();
  found.by_seed.resize(options_.seeds);
  const std::string name(kOracle);
  reached_[name] = no_figures();
  const sim::Scenario scenario = with_limits(gated_->scenario, *file_.oracle, found.limits);
  std::vector<sim::Watch> watches(options_.seeds);
  crew_.do_all(options_.seeds, [&](std::size_t s) {
    const sim::Result result = crew_.run(scenario, seed(s), run_name("the best limit", seed(s)));
    found.by_seed[s] = summarized(result, parts_.front().second);
    take_figures(name, s, result);
    watches[s] = result.watch;
  });
  for (SimVerdict& broken : broken_rules(scenario, watches, options_.first_seed)) {
    broken.text += ", with the best fixed limit";
    broken_by_oracle_.push_back(std::move(broken));
  }
  return found;
}

}  // namespace

SimOutcome run_sim(const SimFile& file, const SimRunOptions& options, const SimProgress& progress,
                   const std::stop_token& stop) {
  const auto begun = std::chrono::steady_clock::now();
  SimOutcome outcome = Study(file, options, progress, stop).outcome();
  outcome.wall_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  return outcome;
}

}  // namespace loadline::tools
