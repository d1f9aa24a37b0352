// loadline set: changes a running sidecar at once.
#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "command.h"
#include "config.h"
#include "run_folder.h"
#include "set_change.h"
#include "set_client.h"

namespace loadline::tools {
namespace {

constexpr std::chrono::seconds kAnswerTime(5);

constexpr const char* kFooter =
    "Changes: limit=N, limit=auto (where the configuration has a law), on, observe (decide and "
    "count, refuse nothing), off, draining=on|off. "
    "Without "
    "any,\nthe current state is printed. A change holds until the next reload, which applies the "
    "configuration again.\n\nExample: loadline set limit=48";

struct SetOptions {
  std::vector<std::string> changes;
  std::string name = "default";
  std::string runtime;
};

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

int ask(const SetOptions& options, const std::string& method, const std::string& target) {
  const std::string base = options.runtime.empty() ? default_runtime_base() : options.runtime;
  const std::string folder = run_folder_path(base, options.name);
  ControlAnswer answer;
  try {
    answer = ask_control(folder + "/control.sock", method, target, kAnswerTime);
  } catch (const NotRunning& error) {
    fmt::print(stderr, "loadline: {}\n",
               why_nobody_answers(options.name, folder, look_for_run(folder), error.what()));
    return kFailed;
  }
  if (answer.status == 400) {
    fmt::print(stderr, "loadline: refused: {}\n", first_line(answer.body));
    return kUsage;
  }
  if (answer.status != 200) {
    fmt::print(stderr, "loadline: not done, status {}: {}\n", answer.status,
               first_line(answer.body));
    return kFailed;
  }
  fmt::print("loadline: run '{}': {}\n", options.name, describe_state(answer.body));
  if (options.changes.empty()) {
    fmt::print("{}", describe_limit_steps(answer.body));
  }
  return kOk;
}

int set(const SetOptions& options) {
  if (!is_run_name(options.name)) {
    fmt::print(stderr,
               "loadline: --name: value '{}': allowed is up to 32 letters, digits, - and _\n",
               printable(options.name));
    return kUsage;
  }
  if (options.changes.empty()) {
    return ask(options, "GET", "/status");
  }
  const SetRequest request = set_request(options.changes);
  if (!request.fault.empty()) {
    fmt::print(stderr, "loadline: {}\n", request.fault);
    return kUsage;
  }
  return ask(options, "POST", request.target);
}

}  // namespace

void add_set(CLI::App& app, Action& chosen) {
  const auto options = std::make_shared<SetOptions>();
  CLI::App* command =
      app.add_subcommand("set", "Say how a running sidecar stands, or change it at once");
  command->footer(kFooter);
  command->add_option("CHANGE", options->changes, "What to change; see below");
  command->add_option("--name", options->name, "Which one. Default: default.")->option_text("NAME");
  command
      ->add_option("--runtime", options->runtime,
                   fmt::format("Where the folders of running ones are. Default here: {}.",
                               default_runtime_base()))
      ->option_text("DIR");
  command->callback([options, &chosen] { chosen = [options] { return set(*options); }; });
}

}  // namespace loadline::tools
