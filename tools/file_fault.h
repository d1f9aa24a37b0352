// Faults of files that people write: each at its line and column, and with what would be right.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace loadline::tools {

// Counted from 1, as editors do.
struct FilePlace {
  int line = 1;
  int column = 1;

  auto operator<=>(const FilePlace&) const = default;
};

struct FileFault {
  FilePlace place;
  std::string text;  // "key 'limit': value 'abc': allowed is ..."
};

// By place; those of the same place stay in the order in which they were found.
void sort_faults(std::vector<FileFault>& faults);

// "FILE:LINE:COL: ..." for each fault.
std::string describe_faults(std::string_view path, const std::vector<FileFault>& faults);

// "not known; did you mean 'limit'?", or, where no name is near, which are known.
std::string unknown_name(std::string_view unknown, const std::vector<std::string_view>& known);

}  // namespace loadline::tools
