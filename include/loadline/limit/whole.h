// What was reckoned as a fraction, as a whole number.
#pragma once

#include <cstdint>
#include <limits>

#include "loadline/limit/sample.h"
#include "loadline/time.h"

namespace loadline {

// Whatever it is: a law lies in memory that others may write to, and to turn into a whole number
// what is none, or lies outside of the range, is undefined. Not a number is 0, and so is what is
// below that.
constexpr std::uint32_t whole(double number) noexcept {
  constexpr std::uint32_t kMost = std::numeric_limits<std::uint32_t>::max();
  if (!(number > 0)) {
    return 0;
  }
  return number >= kMost ? kMost : static_cast<std::uint32_t>(number);
}

constexpr Duration nanoseconds(double ns) noexcept {
  constexpr double kMost = 9e18;
  if (!(ns > 0)) {
    return {};
  }
  return {static_cast<std::int64_t>(ns < kMost ? ns : kMost)};
}

// The whole number at or below `limit` that the bounds allow; not a number: the least.
constexpr std::uint32_t whole_within(double limit, LimitBounds bounds) noexcept {
  if (!(limit > bounds.least)) {
    return bounds.least;
  }
  return limit >= bounds.most ? bounds.most : static_cast<std::uint32_t>(limit);
}

}  // namespace loadline
