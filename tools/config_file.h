// The YAML file of `loadline run`: read whole, with every fault in it, each at its line and column.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config.h"
#include "file_fault.h"

namespace loadline::tools {

struct ConfigFile {
  Config config;  // defaults where the file says nothing
  std::map<std::string_view, FilePlace, std::less<>> places;  // of the keys that it gives
  std::vector<FileFault> faults;                              // in the order of their places
};

// Reads the text of a file. Contradictions between keys are not looked for: the command line may
// yet change what they say.
ConfigFile read_config_text(const std::string& text);

// Reads a regular file (or what a link leads to) of at most 1 MiB; throws std::runtime_error with a
// one-line message if it is none or cannot be read.
ConfigFile read_config_file(const std::string& path);

// The contradictions in `config`, as faults of the file it came from.
std::vector<FileFault> place_contradictions(const ConfigFile& file);

}  // namespace loadline::tools
