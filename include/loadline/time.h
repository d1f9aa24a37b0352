// Time as Loadline uses it: a value that is handed in, never read.
//
// Duration and Instant are whole nanoseconds in 64 bits (a span of 292 years). Arithmetic saturates
// instead of wrapping, so that a deadline of "99999999 hours" is far away and never in the past.
//
// An Instant means nothing by itself; it counts from wherever the caller's clock does. All callers
// of one gate must use the same clock, and it should be a steady one (CLOCK_MONOTONIC).
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace loadline {

struct Duration {
  std::int64_t ns = 0;

  static constexpr Duration micros(std::int64_t n) noexcept { return scaled(n, 1'000); }
  static constexpr Duration millis(std::int64_t n) noexcept { return scaled(n, 1'000'000); }
  static constexpr Duration seconds(std::int64_t n) noexcept { return scaled(n, 1'000'000'000); }
  static constexpr Duration max() noexcept { return {std::numeric_limits<std::int64_t>::max()}; }

  friend constexpr auto operator<=>(Duration, Duration) noexcept = default;

 private:
  static constexpr Duration scaled(std::int64_t n, std::int64_t unit) noexcept {
    std::int64_t result = 0;
    if (__builtin_mul_overflow(n, unit, &result)) {
      return {n > 0 ? std::numeric_limits<std::int64_t>::max()
                    : std::numeric_limits<std::int64_t>::min()};
    }
    return {result};
  }
};

namespace detail {

constexpr std::int64_t saturating_add(std::int64_t a, std::int64_t b) noexcept {
  std::int64_t result = 0;
  if (__builtin_add_overflow(a, b, &result)) {
    return b > 0 ? std::numeric_limits<std::int64_t>::max()
                 : std::numeric_limits<std::int64_t>::min();
  }
  return result;
}

constexpr std::int64_t saturating_sub(std::int64_t a, std::int64_t b) noexcept {
  std::int64_t result = 0;
  if (__builtin_sub_overflow(a, b, &result)) {
    return b < 0 ? std::numeric_limits<std::int64_t>::max()
                 : std::numeric_limits<std::int64_t>::min();
  }
  return result;
}

}  // namespace detail

constexpr Duration operator+(Duration a, Duration b) noexcept {
  return {detail::saturating_add(a.ns, b.ns)};
}
constexpr Duration operator-(Duration a, Duration b) noexcept {
  return {detail::saturating_sub(a.ns, b.ns)};
}

constexpr Duration operator*(Duration d, std::int64_t n) noexcept {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(d.ns, n, &result)) {
    return {(d.ns < 0) == (n < 0) ? std::numeric_limits<std::int64_t>::max()
                                  : std::numeric_limits<std::int64_t>::min()};
  }
  return {result};
}

struct Instant {
  std::int64_t ns = 0;

  // Later than every other instant: "no deadline".
  static constexpr Instant never() noexcept { return {std::numeric_limits<std::int64_t>::max()}; }

  friend constexpr auto operator<=>(Instant, Instant) noexcept = default;
};

constexpr Instant operator+(Instant t, Duration d) noexcept {
  return {detail::saturating_add(t.ns, d.ns)};
}
constexpr Instant operator-(Instant t, Duration d) noexcept {
  return {detail::saturating_sub(t.ns, d.ns)};
}
constexpr Duration operator-(Instant a, Instant b) noexcept {
  return {detail::saturating_sub(a.ns, b.ns)};
}

}  // namespace loadline
