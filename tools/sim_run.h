// Runs the policies of a scenario, and tells what came of them.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "sim_file.h"
#include "sim_outcome.h"

namespace loadline::tools {

struct SimRunOptions {
  std::string title;
  std::uint64_t first_seed = 1;
  std::uint64_t seeds = 1;
  unsigned threads = 1;
  bool oracle = false;          // sweep, if the file says what
  bool oracle_figures = false;  // and tell what it came to in each expectation
};

// How far all runs are together: 0 to 1, and what is being run. Called from several threads, one at
// a time.
using SimProgress = std::function<void(double done, const std::string& what)>;

// The runs were stopped: there is nothing to tell.
struct SimStopped {};

// The same file and options give the same outcome, whatever `threads` is. Throws SimStopped.
SimOutcome run_sim(const SimFile& file, const SimRunOptions& options, const SimProgress& progress,
                   const std::stop_token& stop);

}  // namespace loadline::tools
