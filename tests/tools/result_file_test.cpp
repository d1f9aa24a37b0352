#include "result_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

namespace loadline::tools {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(ResultFile, APathThatCannotBeWrittenIsSaidBeforeTheWork) {
  EXPECT_THAT([] { ResultFile("/nonexistent/x.json"); },
              ThrowsMessage<std::runtime_error>(
                  HasSubstr("cannot write /nonexistent/x.json: No such file or directory")));
  EXPECT_THAT([] { ResultFile("/tmp"); },
              ThrowsMessage<std::runtime_error>(HasSubstr("cannot write /tmp: Is a directory")));
}

TEST(ResultFile, AFullDiskIsSaidAfterIt) {
  ResultFile file("/dev/full");
  EXPECT_THAT([&] { file.write("{}"); }, ThrowsMessage<std::runtime_error>(HasSubstr(
                                             "cannot write /dev/full: No space left on device")));
}

TEST(ResultFile, HoldsWhatWasWritten) {
  const std::string path = testing::TempDir() + "json_file_test_" + std::to_string(getpid());
  ResultFile(path).write("{}");
  std::ifstream file(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "{}\n");
  std::remove(path.c_str());
  ResultFile("").write("{}");
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(ResultFile, KeepsWhatWasThereUntilTheResultIs) {
  const std::string path = testing::TempDir() + "result_kept_" + std::to_string(getpid());
  std::ofstream(path) << "before";
  { const ResultFile given_up(path); }
  EXPECT_EQ(text_of(path), "before");
  ResultFile file(path);
  EXPECT_EQ(text_of(path), "before");
  file.write("after");
  EXPECT_EQ(text_of(path), "after\n");
  EXPECT_FALSE(std::ifstream(path + ".partial").is_open());
  std::remove(path.c_str());
}

}  // namespace
}  // namespace loadline::tools
