#include "command.h"

#include <fmt/core.h>

#include <exception>

namespace loadline::bench {

int run_command(CLI::App& app, int argc, char** argv, const std::function<ExitCode()>& measure) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kHolds : kUsage;
  }
  try {
    return measure();
  } catch (const BadUsage& error) {
    fmt::print(stderr, "{}: {}\n", app.get_name(), error.what());
    return kUsage;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", app.get_name(), error.what());
    return kNotMeasured;
  }
}

}  // namespace loadline::bench
