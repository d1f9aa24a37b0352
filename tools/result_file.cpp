#include "result_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
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
  file_.open(path);
  if (!file_) {
    fail(path);
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
}

}  // namespace loadline::tools
