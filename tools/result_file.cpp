#include "result_file.h"

#include <fmt/format.h>

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <stdexcept>

namespace loadline::tools {
namespace {

[[noreturn]] void fail(const std::string& path) {
  throw std::runtime_error(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
}

}  // namespace

ResultFile::ResultFile(const std::string& path) : path_(path) {
  if (path.empty()) {
    return;
  }
  std::error_code none;
  if (const auto real = std::filesystem::canonical(path, none); !none) {
    path_ = real;  // a link stays a link
  }
  const bool exists = std::filesystem::exists(path_, none);
  if (exists && access(path_.c_str(), W_OK) != 0) {
    fail(path);
  }
  if (!exists || std::filesystem::is_regular_file(path_, none)) {
    beside_ = path_ + ".partial";
  }
  file_.open(beside_.empty() ? path_ : beside_);
  if (!file_) {
    beside_.clear();
    fail(path);
  }
}

ResultFile::~ResultFile() {
  if (!beside_.empty()) {
    std::error_code ignored;
    std::filesystem::remove(beside_, ignored);
  }
}

void ResultFile::write(std::string_view text) {
  if (path_.empty()) {
    return;
  }
  file_ << text << '\n';
  file_.close();
  if (!file_) {
    fail(path_);
  }
  if (!beside_.empty()) {
    if (std::rename(beside_.c_str(), path_.c_str()) != 0) {
      fail(path_);
    }
    beside_.clear();
  }
}

}  // namespace loadline::tools
