#include "sim_trace_scan.h"

#include <fmt/format.h>

#include <charconv>
#include <chrono>

#include "config.h"

namespace loadline::tools {

std::optional<int> take_zone(std::string_view& text, bool colon) noexcept {
  const bool west = take_char(text, '-');
  if (!west && !take_char(text, '+')) {
    return std::nullopt;
  }
  const int hours = take_digits(text, 2);
  if (colon && !take_char(text, ':')) {
    return std::nullopt;
  }
  const int minutes = take_digits(text, 2);
  if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) {
    return std::nullopt;
  }
  return (west ? -1 : 1) * (hours * 3600 + minutes * 60);
}

std::optional<std::int64_t> unix_second(const CivilTime& t) noexcept {
  if (t.year < kFirstYear || t.year > kLastYear || t.month < 1 || t.day < 1 || t.hour < 0 ||
      t.hour > 23 || t.minute < 0 || t.minute > 59 || t.second < 0 || t.second > 60) {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year(t.year),
                                         std::chrono::month(static_cast<unsigned>(t.month)),
                                         std::chrono::day(static_cast<unsigned>(t.day))};
  if (!date.ok()) {
    return std::nullopt;
  }
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  const int of_day = t.hour * 3600 + t.minute * 60 + t.second;
  return days * 86'400 + of_day;
}

std::optional<std::int64_t> whole_number(std::string_view text, std::int64_t most) noexcept {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || !is_trace_digit(text.front()) || error != std::errc{} ||
      end != text.data() + text.size() || value > most) {
    return std::nullopt;
  }
  return value;
}

std::string quoted_piece(std::string_view text) {
  constexpr std::size_t kMostBytes = 40;
  const bool cut = text.size() > kMostBytes;
  return fmt::format("'{}{}'", printable(text.substr(0, kMostBytes)), cut ? "..." : "");
}

}  // namespace loadline::tools
