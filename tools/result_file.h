// A file for a result that takes long to come by.
#pragma once

#include <fstream>
#include <string>
#include <string_view>

namespace loadline::tools {

// Opened before the work, so that a path that cannot be written is said at once and not after it.
// What was in the file stays until the result is there: it is written beside it and takes its place
// whole. An empty path: no file, and nothing is written.
class ResultFile {
 public:
  // Throws std::runtime_error when it cannot be written.
  explicit ResultFile(const std::string& path);
  ResultFile(const ResultFile&) = delete;
  ResultFile& operator=(const ResultFile&) = delete;
  ~ResultFile();

  // Throws std::runtime_error when it does not all get there.
  void write(std::string_view text);

 private:
  std::string path_;
  std::string beside_;  // where it is written first; empty: a device or a pipe, written as it is
  std::ofstream file_;
};

}  // namespace loadline::tools
