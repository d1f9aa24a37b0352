#include "report.h"

#include <iostream>
#include <stdexcept>

namespace loadline::bench {

Report::Report(const std::string& file) {
  if (file.empty()) {
    return;
  }
  file_.open(file, std::ios::trunc);
  if (!file_) {
    throw std::runtime_error("cannot write " + file);
  }
}

void Report::add(const nlohmann::ordered_json& line) {
  std::cout << line.dump() << std::endl;
  if (file_.is_open()) {
    file_ << line.dump() << std::endl;
  }
}

}  // namespace loadline::bench
