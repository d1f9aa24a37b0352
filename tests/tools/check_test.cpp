#include <gtest/gtest.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <string>

#include "command.h"
#include "config.h"

namespace loadline::tools {
namespace {

struct Said {
  int code = 0;
  std::string out;
  std::string err;
};

// Runs `loadline check` on a file of this text.
Said check(const std::string& text) {
  const std::string path = testing::TempDir() + "check_test_" + std::to_string(getpid()) + ".yaml";
  std::ofstream(path) << text;
  CLI::App app;
  Action chosen;
  add_check(app, chosen);
  app.parse("check " + path, false);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Said said;
  said.code = chosen();
  std::fflush(stdout);
  said.out = testing::internal::GetCapturedStdout();
  said.err = testing::internal::GetCapturedStderr();
  for (std::string* each : {&said.out, &said.err}) {
    for (auto at = each->find(path); at != std::string::npos; at = each->find(path)) {
      each->replace(at, path.size(), "F");
    }
  }
  std::remove(path.c_str());
  return said;
}

TEST(Check, AValidFileIsOneLineAndZero) {
  const Said said = check("version: 1\nlimit: 5\nupstream: 9000\n");
  EXPECT_EQ(said.code, kOk);
  EXPECT_EQ(said.out, "F: a valid configuration\n");
  EXPECT_EQ(said.err, "");
}

TEST(Check, SaysWhatIsLeftToTheCommandLine) {
  EXPECT_EQ(check("version: 1\nlimit: 5\n").out,
            "F: a valid configuration; --upstream must be given on the command line\n");
}

TEST(Check, AllFaultsAndTwo) {
  const Said said = check("version: 1\nlimit: abc\nqueu: 5\n");
  EXPECT_EQ(said.code, kUsage);
  EXPECT_EQ(said.out, "");
  EXPECT_EQ(said.err, "F:2:8: key 'limit': value 'abc': allowed is " +
                          std::string(find_config_key("limit")->allowed) +
                          "\n"
                          "F:3:1: key 'queu': not known; did you mean 'queue'?\n");
}

TEST(Check, ContradictionsToo) {
  const Said said = check("version: 1\nlisten: 8080\nmetrics: 8080\n");
  EXPECT_EQ(said.code, kUsage);
  EXPECT_EQ(said.err,
            "F:3:1: key 'metrics': shares an address with 'listen': choose another port\n");
}

}  // namespace
}  // namespace loadline::tools
