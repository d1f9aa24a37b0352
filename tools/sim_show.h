// What the ways into `loadline sim` share: scenarios are run, and what came of them is shown.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim_file.h"

namespace loadline::tools {

// As the command line has it.
struct SimShow {
  std::vector<std::string> policies;  // only these; empty: all
  std::uint64_t seed = 1;
  std::optional<std::uint64_t> seeds;  // in place of the file's
  bool oracle = true;
  std::string explain;  // of how limits were found: empty: nothing; "all": each step; else folded
  bool json = false;
  std::string json_file;
  std::string plot;
};

struct SimStudy {
  std::string title;
  std::string head;  // what to say before the table, in place of the file's `about`
  SimFile file;
};

// Returns an exit code: kFailed if something that was expected does not hold.
int run_and_show(const SimShow& show, std::vector<SimStudy> studies);

}  // namespace loadline::tools
