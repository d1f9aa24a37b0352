// What a benchmark's exit code means: who runs it in a script has nothing else.
#include "command.h"

#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace loadline::bench {
namespace {

std::function<ExitCode()> measure_now;
int times = 1;

int read_and_measure(int argc, char** argv) {
  CLI::App app{"Measures nothing."};
  app.add_option("--times", times, "How often")->check(CLI::Range(1, 10));
  return run_command(app, argc, argv, measure_now);
}

class Command : public testing::Test {
 protected:
  int run(
      std::vector<std::string> arguments,
      const std::function<ExitCode()>& measure = [] { return kHolds; }) {
    arguments.insert(arguments.begin(), "some_bench");
    std::vector<char*> words;
    words.reserve(arguments.size());
    for (std::string& argument : arguments) {
      words.push_back(argument.data());
    }
    measure_now = measure;
    testing::internal::CaptureStderr();
    testing::internal::CaptureStdout();
    const int code =
        run_main("some_bench", static_cast<int>(words.size()), words.data(), read_and_measure);
    testing::internal::GetCapturedStdout();
    said = testing::internal::GetCapturedStderr();
    return code;
  }

  std::string said;
};

TEST_F(Command, EndsAsTheMeasurementSays) {
  EXPECT_EQ(run({"--times", "7"}, [] { return times == 7 ? kMissed : kHolds; }), 1);
  EXPECT_EQ(run({}), 0);
  EXPECT_EQ(said, "");
}

TEST_F(Command, HelpIsNoFault) {
  EXPECT_EQ(run({"--help"}, [] { return kMissed; }), 0);
}

TEST_F(Command, ThatCannotBeReadMeasuresNothing) {
  bool measured = false;
  const auto measure = [&measured] {
    measured = true;
    return kHolds;
  };
  EXPECT_EQ(run({"--time", "7"}, measure), 2);
  EXPECT_EQ(run({"--times", "11"}, measure), 2);
  EXPECT_NE(said, "");
  EXPECT_FALSE(measured);
}

TEST_F(Command, SaysWhatIsAmissAndWhetherItCanBePutRight) {
  EXPECT_EQ(run({}, []() -> ExitCode { throw BadUsage("wrk is missing"); }), 2);
  EXPECT_EQ(said, "some_bench: wrk is missing\n");
  EXPECT_EQ(run({}, []() -> ExitCode { throw std::runtime_error("the server is gone"); }), 3);
  EXPECT_EQ(said, "some_bench: the server is gone\n");
}

}  // namespace
}  // namespace loadline::bench
