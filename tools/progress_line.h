// How far something is that takes a while: a line on a terminal that is written over, a few times a
// second.
#pragma once

#include <chrono>
#include <string>

namespace loadline::tools {

class ProgressLine {
 public:
  // Where stderr is no terminal nothing is ever shown.
  explicit ProgressLine(std::string title);
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine();

  void show(const std::string& what);
  void show(double done, const std::string& what);  // 0 to 1

 private:
  [[nodiscard]] bool due();

  std::string title_;
  bool lively_;
  bool shown_ = false;
  // What is done before that needs no progress.
  std::chrono::steady_clock::time_point next_ =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
};

}  // namespace loadline::tools
