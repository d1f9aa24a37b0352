#include "command.h"

#include <cstdio>
#include <exception>

namespace loadline::bench {

int run_command(CLI::App& app, int argc, char** argv, const std::function<ExitCode()>& measure) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kHolds : kUsage;
  }
  return measure();
}

int run_main(const char* name, int argc, char** argv,
             int (*read_and_measure)(int argc, char** argv)) noexcept {
  try {
    return read_and_measure(argc, argv);
  } catch (const BadUsage& error) {
    std::fprintf(stderr, "%s: %s\n", name, error.what());
    return kUsage;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", name, error.what());
    return kNotMeasured;
  }
}

}  // namespace loadline::bench
