#include "sim_show.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "command.h"
#include "progress_line.h"
#include "result_file.h"
#include "sim_explain.h"
#include "sim_plot.h"
#include "sim_report.h"
#include "sim_run.h"
#include "stop_on_signal.h"
#include "text_options.h"

namespace loadline::tools {
namespace {

using Json = decltype(sim_json({}));

void keep_policies(SimFile& file, const std::vector<std::string>& wanted) {
  if (wanted.empty()) {
    return;
  }
  for (const std::string& name : wanted) {
    const bool known = std::any_of(file.policies.begin(), file.policies.end(),
                                   [&](const SimPolicy& p) { return p.name == name; });
    if (!known) {
      std::string names;
      for (const SimPolicy& policy : file.policies) {
        names += (names.empty() ? "" : ", ") + policy.name;
      }
      refuse_value("--policy", name, "one of its policies: " + names);
    }
  }
  const auto is_wanted = [&](const std::string& name) {
    return std::find(wanted.begin(), wanted.end(), name) != wanted.end();
  };
  std::erase_if(file.policies, [&](const SimPolicy& p) { return !is_wanted(p.name); });
  // Nor can one be compared with a policy that is not run.
  std::erase_if(file.expectations, [&](const SimExpectation& e) {
    const std::string& other = e.bound.of;
    return !is_wanted(e.policy) || (!other.empty() && other != kOracle && !is_wanted(other));
  });
}

SimOutcome run_one(const SimShow& show, const SimStudy& study, const std::stop_token& stop) {
  ProgressLine line(study.title);
  return run_sim(
      study.file,
      {.title = study.title,
       .first_seed = show.seed,
       .seeds = show.seeds.value_or(study.file.seeds),
       .threads = std::max(1u, std::thread::hardware_concurrency()),
       .oracle = show.oracle},
      [&line](double done, const std::string& what) { line.show(done, what); }, stop);
}

bool all_hold(const SimOutcome& outcome) {
  return std::all_of(outcome.policies.begin(), outcome.policies.end(), [](const auto& policy) {
    return std::all_of(policy.verdicts.begin(), policy.verdicts.end(),
                       [](const SimVerdict& verdict) { return verdict.holds; });
  });
}

std::string picture(const std::string& path, const SimOutcome& outcome) {
  return path.ends_with(".svg") ? sim_svg(outcome) : sim_html(outcome);
}

std::string table(const SimStudy& study, SimOutcome outcome) {
  if (!study.head.empty()) {
    outcome.about.clear();  // has been said
  }
  return sim_table(outcome);
}

void say(const std::string& text) {
  fmt::print("{}", text);
  std::fflush(stdout);
}

int run_all(const SimShow& show, std::vector<SimStudy>& studies) {
  ResultFile json_file(show.json_file);
  ResultFile plot(show.plot);
  const StopOnSignal stop;
  Json all = Json::array();
  bool hold = true;
  for (SimStudy& study : studies) {
    if (!show.json) {
      say((&study == &studies.front() ? "" : "\n") + study.head);
    }
    const SimOutcome outcome = run_one(show, study, stop.token());
    hold = hold && all_hold(outcome);
    const auto policies = sim_json(outcome);
    all.insert(all.end(), policies.begin(), policies.end());
    if (!show.json) {
      say((study.head.empty() ? "" : "\n") + table(study, outcome));
      if (!show.explain.empty()) {
        const Probes probes = show.explain == "all" ? Probes::told : Probes::folded;
        say(sim_explanation(outcome, probes));
      }
    }
    plot.write(show.plot.empty() ? "" : picture(show.plot, outcome));
  }
  const std::string text = all.dump(2) + "\n";
  json_file.write(text);
  if (show.json) {
    say(text);
  }
  return hold ? kOk : kFailed;
}

}  // namespace

int run_and_show(const SimShow& show, std::vector<SimStudy> studies) {
  try {
    for (SimStudy& study : studies) {
      keep_policies(study.file, show.policies);
      if (!show.oracle) {
        std::erase_if(study.file.expectations,
                      [](const SimExpectation& e) { return e.bound.of == kOracle; });
      }
    }
  } catch (const CLI::ValidationError& error) {
    fmt::print(stderr, "loadline sim: {}\n", error.what());
    return kUsage;
  }
  try {
    return run_all(show, studies);
  } catch (const SimStopped&) {
    fmt::print(stderr, "loadline sim: stopped\n");
    return kFailed;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr,
               "loadline sim: there is not enough memory: an attempt takes about 160 bytes, and "
               "each instance's gate about 100 kB; run for a shorter time, or with fewer\n");
    return kFailed;
  }
}

}  // namespace loadline::tools
