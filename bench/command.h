// What every benchmark's command shares: how its command line is read, and what its exit code
// means.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <stdexcept>

namespace loadline::bench {

enum ExitCode : int {
  kHolds = 0,        // or nothing was to be judged
  kMissed = 1,       // a figure is not reached
  kUsage = 2,        // the command line cannot be read
  kNotMeasured = 3,  // it was asked rightly and did not work
};

// What can be put right before starting again: an option, a package.
class BadUsage : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Reads the command line into the options of `app` and measures then.
int run_command(CLI::App& app, int argc, char** argv, const std::function<ExitCode()>& measure);

// What `main` is. What `read_and_measure` throws ends as a line on stderr, behind `name`.
int run_main(const char* name, int argc, char** argv,
             int (*read_and_measure)(int argc, char** argv)) noexcept;

}  // namespace loadline::bench
