// What the readers of traces share: numbers and times of fixed form, taken from the front of a text
// without copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace loadline::tools {

// What is wrong with a line.
struct LineFault {
  int column = 1;  // bytes, from 1
  std::string text;
};

inline constexpr std::int64_t kSecond = 1'000'000'000;  // in nanoseconds
inline constexpr std::int64_t kLongestTookSeconds = 2'592'000;
inline constexpr std::int64_t kLongestTook = kLongestTookSeconds * kSecond;
inline constexpr const char* kLongestTookText = "30 days (2592000 s)";

inline bool is_trace_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

// Takes exactly `digits` digits, or says -1 and takes nothing.
inline int take_digits(std::string_view& text, std::size_t digits) noexcept {
  if (text.size() < digits) {
    return -1;
  }
  int value = 0;
  for (std::size_t i = 0; i < digits; ++i) {
    if (!is_trace_digit(text[i])) {
      return -1;
    }
    value = value * 10 + (text[i] - '0');
  }
  text.remove_prefix(digits);
  return value;
}

inline bool take_char(std::string_view& text, char c) noexcept {
  if (text.empty() || text.front() != c) {
    return false;
  }
  text.remove_prefix(1);
  return true;
}

// Seconds to the east of Greenwich: +0100, and with `colon` +01:00.
std::optional<int> take_zone(std::string_view& text, bool colon) noexcept;

struct CivilTime {
  int year = 0;
  int month = 0;
  int day = 0;
  int hour = 0;
  int minute = 0;
  int second = 0;  // up to 60: some clocks show a leap second
};

inline constexpr int kFirstYear = 1970;
inline constexpr int kLastYear = 2199;  // all the nanoseconds between them fit into 64 bits

// Seconds since 1970, of a time in Greenwich.
std::optional<std::int64_t> unix_second(const CivilTime& t) noexcept;

// All of `text`, digits only.
std::optional<std::int64_t> whole_number(std::string_view text, std::int64_t most) noexcept;

// A piece of a line in a fault: printable, in quotes, and not all of it if it is long.
std::string quoted_piece(std::string_view text);

}  // namespace loadline::tools
