#include "sim_explain.h"

#include <fmt/format.h>

#include "sim_text.h"

namespace loadline::tools {
namespace {

constexpr std::size_t kColumns = 100;
constexpr std::size_t kTimeColumns = 11;

std::string lines_of(const SimLimitSteps& steps, Probes probes) {
  std::string text;
  for (const LimitLine& line : explain(steps.events, probes)) {
    std::string when = fmt::format("{:9.3f} s", static_cast<double>(line.at.ns) * 1e-9);
    for (const std::string& part : wrap(line.text, kColumns - kTimeColumns - 2)) {
      text += fmt::format("{:>{}}  {}\n", when, kTimeColumns, part);
      when.clear();
    }
  }
  return text;
}

}  // namespace

std::string sim_explanation(const SimOutcome& outcome, Probes probes) {
  std::string text;
  for (const SimPolicyOutcome& policy : outcome.policies) {
    for (const SimLimitSteps& steps : policy.limit_steps) {
      text += fmt::format("\nHow {} found the limit{} (seed {}):\n{}", one_line(policy.policy),
                          steps.gate.empty() ? "" : " of " + one_line(steps.gate),
                          outcome.first_seed, lines_of(steps, probes));
    }
  }
  return text.empty() ? "\nNo policy of these finds a limit: there is nothing to explain.\n" : text;
}

}  // namespace loadline::tools
