// The loadline command: reads the command line and hands over to one subcommand.
#include <fmt/format.h>

#include <boost/system/system_error.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>

#include "command.h"

namespace {

using loadline::tools::Action;

int read_and_run(int argc, char** argv) {
  CLI::App app{
      "Loadline keeps a server useful under overload: it decides early which requests will "
      "not be done, so that the rest finish in time."};
  app.name("loadline");
  app.set_version_flag("--version", std::string("loadline ") + LOADLINE_VERSION);
  app.require_subcommand(1);
  app.failure_message(loadline::tools::usage_fault);

  Action chosen;
  loadline::tools::add_run(app, chosen);
  loadline::tools::add_check(app, chosen);
  loadline::tools::add_set(app, chosen);
  loadline::tools::add_serve(app, chosen);
  loadline::tools::add_load(app, chosen);
  loadline::tools::add_burst(app, chosen);
  loadline::tools::add_sim(app, chosen);
  loadline::tools::add_demo(app, chosen);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? loadline::tools::kOk : loadline::tools::kUsage;
  }
  return chosen();
}

// A result that nobody gets is no success, and a full disk shows only when the last of it is
// written.
int with_output_written(int code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) {
    return code;
  }
  fmt::print(stderr, "loadline: cannot write to standard output: {}\n", std::strerror(errno));
  return code == loadline::tools::kOk ? loadline::tools::kFailed : code;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return with_output_written(read_and_run(argc, argv));
  } catch (const boost::system::system_error& error) {
    // Its what() tells of source files and templates.
    fmt::print(stderr, "loadline: {}\n", error.code().message());
    return loadline::tools::kFailed;
  } catch (const std::exception& error) {
    fmt::print(stderr, "loadline: {}\n", error.what());
    return loadline::tools::kFailed;
  }
}
