// loadline check: says what is wrong with a configuration file, all of it.
#include <fmt/format.h>

#include <exception>
#include <memory>
#include <string>

#include "command.h"
#include "config_file.h"

namespace loadline::tools {
namespace {

struct CheckOptions {
  std::string file;
  bool keys = false;
};

// What the file leaves to the command line.
std::string missing_text(const Config& config) {
  if (has_limit(config) && config.upstream) {
    return "";
  }
  return fmt::format("; {} must be given on the command line", has_limit(config) ? "--upstream"
                                                               : config.upstream
                                                                   ? "--limit"
                                                                   : "--limit and --upstream");
}

int check_file(const std::string& path) {
  const ConfigFile file = read_config_file(path);
  auto faults = file.faults;
  if (faults.empty()) {
    faults = place_contradictions(file);
  }
  if (!faults.empty()) {
    fmt::print(stderr, "{}", describe_faults(path, faults));
    return kUsage;
  }
  fmt::print("{}: a valid configuration{}\n", path, missing_text(file.config));
  return kOk;
}

int check(const CheckOptions& options) {
  if (options.keys) {
    fmt::print("{}", config_table());
    return kOk;
  }
  if (options.file.empty()) {
    fmt::print(stderr, "loadline: check needs a file, as in: loadline check sidecar.yaml\n");
    return kUsage;
  }
  try {
    return check_file(options.file);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return kUsage;
  }
}

}  // namespace

void add_check(CLI::App& app, Action& chosen) {
  const auto options = std::make_shared<CheckOptions>();
  CLI::App* command = app.add_subcommand("check", "Check a configuration file of `run`");
  command->add_option("FILE", options->file, "The YAML file");
  command->add_flag("--keys", options->keys,
                    "Print the keys that it may hold, as a Markdown table");
  command->callback([options, &chosen] { chosen = [options] { return check(*options); }; });
}

}  // namespace loadline::tools
