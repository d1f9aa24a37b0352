#include "sim_text.h"

#include <algorithm>
#include <cstdint>

namespace loadline::tools {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

bool continues(char c) {
  return (static_cast<unsigned char>(c) & 0xc0U) == 0x80;
}

// How long a character is that begins so; 0: none does.
std::size_t length_by_first_byte(unsigned char first) {
  if (first < 0x80) {
    return 1;
  }
  if (first >= 0xc2 && first < 0xe0) {
    return 2;
  }
  if (first >= 0xe0 && first < 0xf0) {
    return 3;
  }
  return first >= 0xf0 && first < 0xf5 ? 4 : 0;
}

// The length of the well-formed character (Unicode, table 3-7) at the beginning of `text`; 0: none.
std::size_t character_at(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t length = length_by_first_byte(first);
  if (length == 0 || length > text.size() ||
      !std::all_of(text.begin() + 1, text.begin() + static_cast<std::ptrdiff_t>(length),
                   continues)) {
    return 0;
  }
  if (length < 3) {
    return length;
  }
  const auto second = static_cast<unsigned char>(text[1]);
  const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool surrogate = first == 0xed && second >= 0xa0;
  const bool beyond = first == 0xf4 && second >= 0x90;
  return overlong || surrogate || beyond ? 0 : length;
}

// XML has no place for these, escaped or not.
bool is_no_character(std::string_view character) {
  const auto first = static_cast<unsigned char>(character.front());
  const bool control = first < 0x20 || first == 0x7f;
  const bool c1_control = first == 0xc2 && static_cast<unsigned char>(character[1]) < 0xa0;
  return control || c1_control || character == "\xef\xbf\xbe" || character == "\xef\xbf\xbf";
}

std::string_view shown(std::string_view character) {
  if (character == "\n" || character == "\r" || character == "\t") {
    return " ";
  }
  return is_no_character(character) ? kReplacement : character;
}

// Of the first `columns` characters.
std::size_t bytes_of(std::string_view utf8, std::size_t columns) {
  std::size_t at = 0;
  while (at < utf8.size() && (columns > 0 || continues(utf8[at]))) {
    columns -= continues(utf8[at]) ? 0 : 1;
    ++at;
  }
  return at;
}

std::string_view escaped(char c) {
  switch (c) {
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '&':
      return "&amp;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return {};
  }
}

}  // namespace

std::string one_line(std::string_view text) {
  std::string line;
  while (!text.empty()) {
    const std::size_t length = character_at(text);
    line += length == 0 ? kReplacement : shown(text.substr(0, length));
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return line;
}

std::size_t columns_of(std::string_view utf8) {
  return static_cast<std::size_t>(
      std::count_if(utf8.begin(), utf8.end(), [](char c) { return !continues(c); }));
}

std::string cut_to(std::string_view utf8, std::size_t columns) {
  if (columns_of(utf8) <= columns) {
    return std::string(utf8);
  }
  return std::string(utf8.substr(0, bytes_of(utf8, std::max<std::size_t>(columns, 1) - 1))) +
         "\u2026";
}

std::vector<std::string> wrap(std::string_view utf8, std::size_t columns) {
  std::vector<std::string> lines;
  while (columns_of(utf8) > columns) {
    const std::size_t most = bytes_of(utf8, columns);
    // A blank may follow the last that fits.
    const std::size_t blank = utf8.substr(0, most + 1).rfind(' ');
    const bool breaks = blank != std::string_view::npos && blank != 0;
    lines.emplace_back(utf8.substr(0, breaks ? blank : most));
    utf8.remove_prefix(breaks ? blank + 1 : most);
  }
  lines.emplace_back(utf8);
  return lines;
}

std::string escape_markup(std::string_view text) {
  std::string result;
  for (const char c : one_line(text)) {
    const std::string_view name = escaped(c);
    name.empty() ? result += c : result += name;
  }
  return result;
}

}  // namespace loadline::tools
