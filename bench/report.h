// Where results go: one JSON object a line, to stdout and, if asked for, to a file.
#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

namespace loadline::bench {

class Report {
 public:
  // To stdout only if `file` is empty. Throws std::runtime_error if it cannot be written.
  explicit Report(const std::string& file);

  void add(const nlohmann::ordered_json& line);

 private:
  std::ofstream file_;
};

}  // namespace loadline::bench
