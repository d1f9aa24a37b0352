// What the subcommands take on their command lines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "command.h"

namespace loadline::tools {
namespace {

using testing::HasSubstr;

// What is wrong with a command line; empty when nothing is.
std::string fault_of(const std::string& line) {
  CLI::App app;
  Action chosen;
  add_serve(app, chosen);
  add_load(app, chosen);
  try {
    app.parse(line, false);
    return "";
  } catch (const CLI::ParseError& error) {
    return error.what();
  }
}

TEST(Options, NumbersAreFinite) {
  const std::vector<std::string> lines{
      "serve --distribution lognormal --cv ",
      "load http://127.0.0.1/ --rate ",
      "load http://127.0.0.1/ --rate 1 --class a=1,b=",
  };
  for (const std::string& line : lines) {
    EXPECT_EQ(fault_of(line + "1.5"), "") << line;
    for (const char* number : {"nan", "-nan", "inf", "-inf", "infinity", "-1", "1e308", "1e999"}) {
      EXPECT_THAT(fault_of(line + number), HasSubstr(std::string(number) + "' is not "))
          << line << number;
    }
  }
}

TEST(Options, NumbersHaveBounds) {
  EXPECT_THAT(fault_of("serve --distribution lognormal --cv 0"),
              HasSubstr("--cv: '0' is not a number from 0.001 to 100"));
  EXPECT_THAT(fault_of("load http://127.0.0.1/ --rate 1000001"), HasSubstr("--rate"));
  EXPECT_THAT(fault_of("load http://127.0.0.1/ --rate 1 --class a=1000001"), HasSubstr("--class"));
}

// What the whole command says to a command line.
std::string said_to(const std::string& line) {
  CLI::App app;
  Action chosen;
  app.require_subcommand(1);
  add_run(app, chosen);
  add_check(app, chosen);
  add_set(app, chosen);
  try {
    app.parse(line, false);
    return "";
  } catch (const CLI::ParseError& error) {
    return usage_fault(&app, error);
  }
}

TEST(UsageFault, NamesTheWordThatIsNoCommand) {
  const std::string help = "\nRun with --help for more information.\n";
  EXPECT_EQ(said_to("frobnicate --limit 5"),
            "loadline: unknown command 'frobnicate'; there are run, check, set" + help);
  EXPECT_EQ(said_to(""), "loadline: a command is needed; there are run, check, set" + help);
  EXPECT_EQ(said_to("run --frobnicate"),
            "loadline: The following argument was not expected: --frobnicate" + help);
  EXPECT_EQ(said_to("run --limit 5"), "");
}

TEST(UsageFault, AnOptionBeforeTheCommandIsNoCommand) {
  EXPECT_THAT(said_to("--limit=5"), HasSubstr("loadline: unknown option '--limit=5'; "));
}

// Beside a sidecar with its own default port, on a machine where nothing was chosen.
TEST(Options, TheServiceAndTheSidecarListenApart) {
  CLI::App app;
  Action chosen;
  add_serve(app, chosen);
  add_run(app, chosen);
  EXPECT_THAT(app.get_subcommand("serve")->help(), HasSubstr("127.0.0.1:9000"));
  EXPECT_THAT(app.get_subcommand("run")->help(), HasSubstr("127.0.0.1:8080"));
}

}  // namespace
}  // namespace loadline::tools
