#include "file_fault.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace loadline::tools {
namespace {

// Levenshtein's distance, one row at a time.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

void sort_faults(std::vector<FileFault>& faults) {
  std::stable_sort(faults.begin(), faults.end(),
                   [](const FileFault& a, const FileFault& b) { return a.place < b.place; });
}

std::string describe_faults(std::string_view path, const std::vector<FileFault>& faults) {
  std::string text;
  for (const FileFault& fault : faults) {
    text += fmt::format("{}:{}:{}: {}\n", path, fault.place.line, fault.place.column, fault.text);
  }
  return text;
}

std::string unknown_name(std::string_view unknown, const std::vector<std::string_view>& known) {
  std::string_view nearest;
  std::size_t least = unknown.size();
  for (const std::string_view name : known) {
    const std::size_t distance = edit_distance(unknown, name);
    if (distance < least) {
      least = distance;
      nearest = name;
    }
  }
  const bool near = !nearest.empty() && least <= std::max<std::size_t>(2, nearest.size() / 3);
  return near ? fmt::format("not known; did you mean '{}'?", nearest)
              : fmt::format("not known; known are {}", fmt::join(known, ", "));
}

}  // namespace loadline::tools
