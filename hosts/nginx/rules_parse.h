// How the values of a gate's rules are written: numbers, shares, rates, ranges.
//
// Nothing here knows nginx, so that every form is tested by itself (tests/nginx).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "loadline/time.h"

namespace loadline::ngx {

// A whole number in plain digits, from `low` to `high`.
std::optional<std::uint32_t> parse_whole(std::string_view text, std::uint32_t low,
                                         std::uint32_t high) noexcept;

// "25%": whole percents from 1 to `most`, as per mille.
std::optional<std::uint16_t> parse_percent(std::string_view text, std::uint32_t most) noexcept;

// "100r/s", "600r/m" or "3600r/h", as limit_req has it; 1 to 1,000,000 requests.
struct Rate {
  std::uint32_t requests = 0;
  Duration per{};
};
std::optional<Rate> parse_rate(std::string_view text) noexcept;

// A rate from 4 an hour to 10 a second, in thousandths of one a second: "6r/m" is 100.
std::optional<std::uint32_t> parse_floor(std::string_view text) noexcept;

// "1-32": whole numbers from 1 to `most`, the smaller first.
struct Range {
  std::uint16_t low = 0;
  std::uint16_t high = 0;
};
std::optional<Range> parse_range(std::string_view text, std::uint16_t most) noexcept;

}  // namespace loadline::ngx
