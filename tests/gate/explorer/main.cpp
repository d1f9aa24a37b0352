// Usage: gate_explorer [--long] [--seconds N] [--trace] [--every-step] [--find] [scenario...]
//
// Without names: every scenario of the short form; --long: every scenario there is; --seconds: at
// most so many for each. Success is a search that came to its end, or in the long form to its
// bound, and found nothing. With --find it is a violation. --trace prints the steps that lead to
// one.
// --every-step takes no operation for one with that before it: the number of ends must be the same.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "scenario.h"

namespace loadline::explorer {
namespace {

struct Arguments {
  bool long_form = false;
  bool trace = false;
  bool find = false;
  bool every_step = false;
  double seconds = 3600;
  std::vector<std::string> names;
};

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--long") {
      arguments.long_form = true;
    } else if (word == "--trace") {
      arguments.trace = true;
    } else if (word == "--every-step") {
      arguments.every_step = true;
    } else if (word == "--find") {
      arguments.find = true;
    } else if (word == "--seconds" && i + 1 < argc) {
      arguments.seconds = std::atof(argv[++i]);
    } else {
      arguments.names.push_back(word);
    }
  }
  return arguments;
}

bool chosen(const Scenario& scenario, const Arguments& arguments) {
  if (arguments.names.empty()) {
    return arguments.long_form || scenario.in_short_form;
  }
  for (const std::string& name : arguments.names) {
    if (name == scenario.name) {
      return true;
    }
  }
  return false;
}

void print(const Scenario& scenario, const Report& report, bool trace) {
  const char* const verdict = report.complete ? "complete, holds" : "CUT, holds so far";
  std::printf("%-35s %9llu states %10llu steps %5llu ends %4zu deep %6.1f s  %s\n",
              scenario.name.c_str(), static_cast<unsigned long long>(report.states),
              static_cast<unsigned long long>(report.steps),
              static_cast<unsigned long long>(report.ends), report.deepest, report.seconds,
              report.violation.empty() ? verdict : report.violation.c_str());
  for (std::size_t i = 0; trace && i < report.trace.size(); ++i) {
    std::printf("  %3zu %s\n", i + 1, report.trace[i].c_str());
  }
  std::fflush(stdout);
}

int run(const Arguments& arguments) {
  std::size_t ran = 0;
  std::size_t complete = 0;
  std::uint64_t states = 0;
  bool found = false;
  for (Scenario scenario : scenarios()) {
    if (!chosen(scenario, arguments) || (arguments.find && found)) {
      continue;
    }
    scenario.every_step = arguments.every_step;
    const std::unique_ptr<Subject> subject = subject_of(scenario);
    const Report report = engine().explore(*subject, {.seconds = arguments.seconds});
    print(scenario, report, arguments.trace);
    ++ran;
    states += report.states;
    complete += report.complete ? 1 : 0;
    found = found || !report.violation.empty();
  }
  std::printf("%zu scenarios, %zu explored to the end, %llu states%s\n", ran, complete,
              static_cast<unsigned long long>(states), found ? ", VIOLATED" : "");
  const bool holds = !found && (arguments.long_form || complete == ran);
  return ran != 0 && (arguments.find ? found : holds) ? 0 : 1;
}

}  // namespace
}  // namespace loadline::explorer

int main(int argc, char** argv) {
  return loadline::explorer::run(loadline::explorer::parse(argc, argv));
}
