// Pieces of a text, for whoever reads what others write. Without substr, which could throw and so
// needs the C++ library, which nginx has not.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace loadline::detail {

// What precedes the first `mark`, or all of it; it is taken off `text`, with the mark.
constexpr std::string_view cut(std::string_view& text, char mark) noexcept {
  const std::size_t length = std::min(text.find(mark), text.size());
  const std::string_view before(text.data(), length);
  text.remove_prefix(std::min(length + 1, text.size()));
  return before;
}

// Without the spaces and tabs around it.
constexpr std::string_view trimmed(std::string_view text) noexcept {
  while (text.starts_with(' ') || text.starts_with('\t')) {
    text.remove_prefix(1);
  }
  while (text.ends_with(' ') || text.ends_with('\t')) {
    text.remove_suffix(1);
  }
  return text;
}

}  // namespace loadline::detail
