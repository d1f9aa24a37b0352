// The value of one key of the configuration, as YAML has it.
#pragma once

#include <yaml-cpp/yaml.h>

#include <vector>

#include "config.h"
#include "file_fault.h"

namespace loadline::tools {

// Gives the key its value: a single one, a list or a map, whatever the key takes. Returns what is
// not allowed, without the key's name.
std::vector<FileFault> give_yaml(Config& config, const ConfigKey& key, const YAML::Node& value);

}  // namespace loadline::tools
