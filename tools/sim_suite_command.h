// loadline sim --suite: the rows of a suite, and whether each figure is what it must be.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "sim_file.h"
#include "sim_show.h"

namespace loadline::tools {

struct SuiteCommand {
  std::string suite;  // empty: none is to be run
  std::string scenarios = "scenarios";
  std::vector<std::string> rows;
  SimLength length = SimLength::usual;
  enum class Part : std::uint8_t { rows, again, all } part = Part::rows;
  bool all_laws = false;
  bool accept = false;
  std::string page;
};

// Its options, all of which need --suite.
void add_suite(CLI::App& command, SuiteCommand& suite);

// Returns an exit code. Of `show` it takes seeds and JSON.
int run_suite_command(const SuiteCommand& command, const SimShow& show);

}  // namespace loadline::tools
