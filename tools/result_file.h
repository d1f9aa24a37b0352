// A file for a result that takes long to come by.
#pragma once

#include <fstream>
#include <string>
#include <string_view>

namespace loadline::tools {

// Opened before the work, so that a path that cannot be written is said at once and not after it.
// An empty path: no file, and nothing is written.
class ResultFile {
 public:
  // Throws std::runtime_error when it cannot be opened; what was in it is gone.
  explicit ResultFile(const std::string& path);

  // Throws std::runtime_error when it does not all get there.
  void write(std::string_view text);

 private:
  std::string path_;
  std::ofstream file_;
};

}  // namespace loadline::tools
