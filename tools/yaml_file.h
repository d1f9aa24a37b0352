// YAML files that people write: one document, of at most 1 MiB.
#pragma once

#include <yaml-cpp/yaml.h>

#include <string>
#include <vector>

#include "file_fault.h"

namespace loadline::tools {

FilePlace place_of(const YAML::Mark& mark);

// The only document of `text`, or an undefined node; what is wrong with it as YAML goes to
// `faults`.
YAML::Node load_yaml(const std::string& text, std::vector<FileFault>& faults);

// What is wrong with the value of the key `version`; empty: nothing.
std::string version_fault(const YAML::Node& value);

// Opening a pipe waits for someone to write, and a device may have no end: throws
// std::runtime_error with a one-line message. (What takes the place of a regular file after this
// look is not seen.)
void require_regular_file(const std::string& path);

// The text of a regular file (or what a link leads to) of at most 1 MiB; throws std::runtime_error
// with a one-line message if it is none or cannot be read.
std::string read_regular_file(const std::string& path);

}  // namespace loadline::tools
