#include "rules_parse.h"

#include <algorithm>

namespace loadline::ngx {
namespace {

// What precedes the first `c`, which is taken off `text` together with it; none: no `c`.
std::optional<std::string_view> take_until(std::string_view& text, char c) noexcept {
  const char* const end = text.data() + text.size();
  const char* const found = std::find(text.data(), end, c);
  if (found == end) {
    return std::nullopt;
  }
  const std::string_view before(text.data(), static_cast<std::size_t>(found - text.data()));
  text.remove_prefix(before.size() + 1);
  return before;
}

std::optional<Duration> period_of(std::string_view unit) noexcept {
  if (unit == "s") {
    return Duration::seconds(1);
  }
  if (unit == "m") {
    return Duration::seconds(60);
  }
  if (unit == "h") {
    return Duration::seconds(3600);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::uint32_t> parse_whole(std::string_view text, std::uint32_t low,
                                         std::uint32_t high) noexcept {
  std::uint64_t number = 0;
  for (const char digit : text) {
    if (digit < '0' || digit > '9') {
      return std::nullopt;
    }
    number = number * 10 + static_cast<std::uint64_t>(digit - '0');
    if (number > high) {
      return std::nullopt;
    }
  }
  if (text.empty() || number < low) {
    return std::nullopt;
  }
  return static_cast<std::uint32_t>(number);
}

std::optional<std::uint16_t> parse_percent(std::string_view text, std::uint32_t most) noexcept {
  if (text.empty() || text.back() != '%') {
    return std::nullopt;
  }
  text.remove_suffix(1);
  const auto percent = parse_whole(text, 1, most);
  return percent ? std::optional(static_cast<std::uint16_t>(*percent * 10)) : std::nullopt;
}

std::optional<Rate> parse_rate(std::string_view text) noexcept {
  constexpr std::uint32_t kMostRequests = 1'000'000;
  const auto digits = take_until(text, 'r');
  const auto between = take_until(text, '/');
  if (!digits || !between || !between->empty()) {
    return std::nullopt;
  }
  const auto requests = parse_whole(*digits, 1, kMostRequests);
  const auto per = period_of(text);
  return requests && per ? std::optional(Rate{*requests, *per}) : std::nullopt;
}

std::optional<std::uint32_t> parse_floor(std::string_view text) noexcept {
  constexpr std::int64_t kSecond = 1'000'000'000;
  constexpr std::int64_t kMost = 10'000;
  const auto rate = parse_rate(text);
  const std::int64_t milli =
      rate ? std::int64_t{rate->requests} * 1000 / (rate->per.ns / kSecond) : 0;
  return milli >= 1 && milli <= kMost ? std::optional(static_cast<std::uint32_t>(milli))
                                      : std::nullopt;
}

std::optional<Range> parse_range(std::string_view text, std::uint16_t most) noexcept {
  const auto first = take_until(text, '-');
  if (!first) {
    return std::nullopt;
  }
  const auto low = parse_whole(*first, 1, most);
  const auto high = parse_whole(text, 1, most);
  if (!low || !high || *low > *high) {
    return std::nullopt;
  }
  return Range{static_cast<std::uint16_t>(*low), static_cast<std::uint16_t>(*high)};
}

}  // namespace loadline::ngx
