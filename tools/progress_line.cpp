#include "progress_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

namespace loadline::tools {

ProgressLine::ProgressLine(std::string title)
    : title_(std::move(title)), lively_(isatty(STDERR_FILENO) != 0) {}

ProgressLine::~ProgressLine() {
  if (shown_) {
    fmt::print(stderr, "\r\033[K");
  }
}

bool ProgressLine::due() {
  const auto now = std::chrono::steady_clock::now();
  if (!lively_ || now < next_) {
    return false;
  }
  next_ = now + std::chrono::milliseconds(200);
  return true;
}

void ProgressLine::show(const std::string& what) {
  if (due()) {
    shown_ = true;
    fmt::print(stderr, "\r\033[K{}: {}", title_, what);
    std::fflush(stderr);
  }
}

void ProgressLine::show(double done, const std::string& what) {
  show(fmt::format("{:3.0f} %, {}", done * 100, what));
}

}  // namespace loadline::tools
