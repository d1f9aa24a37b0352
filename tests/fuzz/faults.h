// What holds for the faults of any file.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "file_fault.h"
#include "fuzz.h"

namespace loadline::tools {

inline void check_faults(const std::string& text, const std::vector<FileFault>& faults) {
  const auto lines =
      1 + std::count(text.begin(), text.end(), '\n') + std::count(text.begin(), text.end(), '\r');
  for (const FileFault& fault : faults) {
    FUZZ_EXPECT(fault.place.line >= 1 && fault.place.line <= lines + 1);
    FUZZ_EXPECT(fault.place.column >= 1);
    // The YAML library counts bytes of UTF-8, of which it makes three from one that is none, and a
    // little past an end that it did not expect.
    FUZZ_EXPECT(static_cast<std::size_t>(fault.place.column) <= 3 * text.size() + 4);
    FUZZ_EXPECT(!fault.text.empty());
    FUZZ_EXPECT(std::none_of(fault.text.begin(), fault.text.end(), [](char c) {
      return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    }));
  }
  FUZZ_EXPECT(
      std::is_sorted(faults.begin(), faults.end(),
                     [](const FileFault& a, const FileFault& b) { return a.place < b.place; }));
  const std::string described = describe_faults("F", faults);
  FUZZ_EXPECT(static_cast<std::size_t>(std::count(described.begin(), described.end(), '\n')) ==
              faults.size());
}

}  // namespace loadline::tools
