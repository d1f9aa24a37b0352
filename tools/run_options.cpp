#include "run_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "config_file.h"
#include "nginx_conf.h"

namespace loadline::tools {
namespace {

constexpr const char* kNeedsLimit =
    "a limit is needed: --limit N, or 'limit: N' in the file; or --limit auto, and it is found. "
    "How "
    "many requests does the service do well at once? A little above its connection pool's size, or "
    "a small multiple of its cores; or "
    "raise the concurrency of a load test until p99 bends, and take the value just below.";

constexpr const char* kNeedsUpstream =
    "an upstream is needed: --upstream URL, or 'upstream: URL' in the file: the service to guard, "
    "as "
    "in http://127.0.0.1:9000";

bool was_given(const RunOptions& options, std::string_view key) {
  return std::any_of(options.flags.begin(), options.flags.end(), [key](const GivenFlag& flag) {
    return flag.key->name == key && !flag.values.empty();
  });
}

void apply_flags(const RunOptions& options, LoadedConfig& loaded) {
  for (const GivenFlag& flag : options.flags) {
    if (flag.values.empty()) {
      continue;
    }
    if (const auto fault = give(loaded.config, *flag.key, flag.values)) {
      loaded.faults.push_back(fmt::format("--{}: {}", flag.key->flag, *fault));
    }
  }
}

// Names the place where the contradicting value came from: a flag, a line of the file, or a
// default.
std::string describe_contradiction(const RunOptions& options, const ConfigFile& file,
                                   const ConfigFault& fault) {
  if (was_given(options, fault.key)) {
    return fmt::format("--{}: {}", find_config_key(fault.key)->flag, fault.text);
  }
  const auto place = file.places.find(fault.key);
  if (place == file.places.end()) {
    return fmt::format("key '{}': {}", fault.key, fault.text);
  }
  return fmt::format("{}:{}:{}: key '{}': {}", options.file, place->second.line,
                     place->second.column, fault.key, fault.text);
}

void check_whole(const RunOptions& options, const ConfigFile& file, LoadedConfig& loaded) {
  for (const ConfigFault& fault : find_contradictions(loaded.config)) {
    loaded.faults.push_back(describe_contradiction(options, file, fault));
  }
  if (!has_limit(loaded.config)) {
    loaded.faults.emplace_back(kNeedsLimit);
  }
  if (!loaded.config.upstream) {
    loaded.faults.emplace_back(kNeedsUpstream);
  }
}

// nginx runs in a folder of its own, so a path relative to ours would mean something else to it.
void make_absolute(std::string& path) {
  if (!path.empty()) {
    path = std::filesystem::absolute(path).string();
  }
}

}  // namespace

LoadedConfig load_config(const RunOptions& options) {
  ConfigFile file;
  file.config = default_config();
  LoadedConfig loaded;
  if (!options.file.empty()) {
    file = read_config_file(options.file);
    for (const FileFault& fault : file.faults) {
      loaded.faults.push_back(fmt::format("{}:{}:{}: {}", options.file, fault.place.line,
                                          fault.place.column, fault.text));
    }
  }
  loaded.config = file.config;
  apply_flags(options, loaded);
  // What is wrong by itself would only look wrong again beside the rest.
  if (loaded.faults.empty()) {
    check_whole(options, file, loaded);
  }
  make_absolute(loaded.config.access_log);
  if (loaded.config.upstream_ca != "system" && loaded.config.upstream_ca != "off") {
    make_absolute(loaded.config.upstream_ca);
  }
  return loaded;
}

std::string describe_run(const Config& config, bool off) {
  std::string text = fmt::format("listening on http://{}, guarding {} with limit {}, queue {}",
                                 listen_text(*config.listen), config.upstream->text(),
                                 limit_text(config), config.queue);
  if (config.queue != "off") {
    text += fmt::format(", wait {}", format_time(config.wait));
  }
  if (config.admin) {
    text += fmt::format(", status on http://{}/status", listen_text(*config.admin));
  }
  if (config.metrics) {
    text += fmt::format(", metrics on http://{}/metrics", listen_text(*config.metrics));
  }
  if (off) {
    text += "; the gate is off: nothing is refused";
  } else if (config.observe) {
    text += "; observing only: nothing is refused";
  }
  return text;
}

}  // namespace loadline::tools
