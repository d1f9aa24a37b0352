// loadline run: a sidecar in front of a service, as nginx with the Loadline module.
#include <fmt/format.h>

#include <memory>
#include <stdexcept>

#include "command.h"
#include "nginx_conf.h"
#include "run_folder.h"
#include "run_machine.h"
#include "run_nginx.h"
#include "run_options.h"
#include "run_supervisor.h"

namespace loadline::tools {
namespace {

constexpr const char* kFooter =
    "Signals: TERM or INT drains (again: at once), HUP reads the file again and reloads, USR1 "
    "opens "
    "the\naccess log again. `loadline set` changes the limit or the mode of a running one.\n\n"
    "Example: loadline run --limit 64 --upstream http://127.0.0.1:9000";

std::string flag_help(const ConfigKey& key) {
  std::string help(key.help);
  if (!key.fallback.empty()) {
    help += fmt::format(" Default: {}.", key.fallback);
  }
  return help;
}

// A key as an option whose values end up in `values`.
void add_key(CLI::App& command, const ConfigKey& key, std::vector<std::string>& values) {
  const std::string name = fmt::format("--{}", key.flag);
  if (key.value == "on|off") {
    // Alone it means on; --observe=off says no to a file that says yes.
    const auto take = [&values](const CLI::results_t& results) {
      values = {results.empty() || results.front().empty() ? "on" : results.front()};
      return true;
    };
    command.add_option(name, take, flag_help(key))->expected(0, 1)->option_text("[=on|off]");
    return;
  }
  CLI::Option* option = command.add_option(name, values, flag_help(key));
  option->allow_extra_args(false)->option_text(std::string(key.value));
  if (!key.is_list()) {
    option->expected(1);
  }
}

// It is for reading, or for another machine, so what is missing on this one does not matter.
int print_configuration(const RunOptions& options, const Config& config) {
  NginxSetup setup = find_setup(options, config);
  try {
    setup.module = find_module(options.module);
  } catch (const std::runtime_error&) {
    setup.module = "modules/ngx_http_loadline_module.so";
  }
  try {
    setup.servers = upstream_servers(*config.upstream);
  } catch (const std::runtime_error&) {
    setup.servers.clear();  // nginx looks the name up itself
  }
  fmt::print("{}", nginx_conf(config, setup));
  return kOk;
}

// What names folders and programs rather than configuring: checked here, since there is no key.
std::vector<std::string> find_odd_options(const RunOptions& options) {
  std::vector<std::string> faults;
  if (!is_run_name(options.name)) {
    faults.push_back(fmt::format("--name: value '{}': allowed is up to 32 letters, digits, - and _",
                                 printable(options.name)));
  }
  for (const auto& [flag, path] :
       {std::pair("--runtime", options.runtime), std::pair("--nginx", options.nginx),
        std::pair("--module", options.module)}) {
    if (!path.empty() && !is_file_path(path)) {
      faults.push_back(
          fmt::format("{}: value '{}': allowed is a path without quotes, $, \\, ; or "
                      "braces",
                      flag, printable(path)));
    }
  }
  return faults;
}

bool report(const std::vector<std::string>& faults) {
  for (const std::string& fault : faults) {
    fmt::print(stderr, "loadline: {}\n", fault);
  }
  return !faults.empty();
}

int run(const RunOptions& options) {
  if (report(find_odd_options(options))) {
    return kUsage;
  }
  LoadedConfig loaded = load_config(options);
  if (report(loaded.faults)) {
    return kUsage;
  }
  if (options.print_config) {
    return print_configuration(options, loaded.config);
  }
  return Supervisor(options, std::move(loaded.config)).run();
}

}  // namespace

void add_run(CLI::App& app, Action& chosen) {
  // The action outlives this function, so what it needs goes with it.
  const auto options = std::make_shared<RunOptions>();
  CLI::App* command = app.add_subcommand("run", "Run a sidecar in front of a service");
  command->footer(kFooter);
  for (const ConfigKey& key : config_keys()) {
    if (!key.flag.empty()) {
      options->flags.push_back({&key, {}});
      add_key(*command, key, options->flags.back().values);
    }
  }
  command
      ->add_option("--config", options->file,
                   "A YAML file with these settings and a few more; the command line wins "
                   "(docs/configuration.md)")
      ->option_text("FILE");
  command
      ->add_option("--name", options->name, "Its name, so that several can run. Default: default.")
      ->option_text("NAME");
  command
      ->add_option("--runtime", options->runtime,
                   fmt::format("Where the folders of running ones are. Default here: {}.",
                               default_runtime_base()))
      ->option_text("DIR");
  command->add_option("--nginx", options->nginx, "The nginx to run")->option_text("PATH");
  command->add_option("--module", options->module, "The Loadline module for it")
      ->option_text("PATH");
  command->add_flag("--print-config", options->print_config,
                    "Print the nginx configuration that would be used, and exit");
  command->add_flag("--off", options->off,
                    "Start with the gate off: the same nginx, and nothing is refused");
  command->callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace loadline::tools
