// What `loadline run` is told on its command line, and the configuration that comes of it.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "config.h"

namespace loadline::tools {

// A key's values from the command line; they win over the file's.
struct GivenFlag {
  const ConfigKey* key = nullptr;
  std::vector<std::string> values;  // empty: not given
};

struct RunOptions {
  std::string name = "default";
  std::string runtime;  // empty: default_runtime_base()
  std::string nginx;    // empty: looked for
  std::string module;   // empty: looked for
  std::string file;     // empty: none
  bool print_config = false;
  bool off = false;  // start with the gate off

  std::deque<GivenFlag> flags;  // a deque: the command line's reader keeps pointers into it
};

struct LoadedConfig {
  Config config;
  std::vector<std::string> faults;  // lines; empty: all is well
};

// Reads the file, lets the flags win, and checks the whole. Throws std::runtime_error when the file
// cannot be read.
LoadedConfig load_config(const RunOptions& options);

// "listening on http://..., guarding http://... with limit 64, queue auto, wait 100ms"
std::string describe_run(const Config& config, bool off);

}  // namespace loadline::tools
