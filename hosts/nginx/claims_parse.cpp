#include "claims_parse.h"

#include <algorithm>

namespace loadline::ngx {
namespace {

bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool equal_in_any_case(std::string_view a, std::string_view b) noexcept {
  return a == b ||
         (a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                             [](char x, char y) { return lower(x) == lower(y); }));
}

// All of `text` as a number, if it is 1 to `most` digits. `most` is at most 18, which fits.
std::optional<std::int64_t> parse_digits(std::string_view text, std::size_t most) noexcept {
  if (text.empty() || text.size() > most || !std::all_of(text.begin(), text.end(), is_digit)) {
    return std::nullopt;
  }
  std::int64_t number = 0;
  for (const char digit : text) {
    number = number * 10 + (digit - '0');
  }
  return number;
}

// Nanoseconds of a gRPC time unit; 0 if it is none.
std::int64_t grpc_unit(char unit) noexcept {
  switch (unit) {
    case 'H':
      return 3'600'000'000'000;
    case 'M':
      return 60'000'000'000;
    case 'S':
      return 1'000'000'000;
    case 'm':
      return 1'000'000;
    case 'u':
      return 1'000;
    case 'n':
      return 1;
    default:
      return 0;
  }
}

}  // namespace

std::optional<Duration> parse_grpc_timeout(std::string_view text) noexcept {
  constexpr std::size_t kMostDigits = 8;
  if (text.empty()) {
    return std::nullopt;
  }
  const std::int64_t unit = grpc_unit(text.back());
  text.remove_suffix(1);
  const auto number = parse_digits(text, kMostDigits);
  if (unit == 0 || !number || *number == 0) {
    return std::nullopt;
  }
  Duration time;
  if (__builtin_mul_overflow(*number, unit, &time.ns)) {
    return Duration::max();
  }
  return time;
}

std::optional<Duration> parse_milliseconds(std::string_view text) noexcept {
  constexpr std::size_t kMostDigits = 18;
  const bool negative = !text.empty() && text.front() == '-';
  if (negative) {
    text.remove_prefix(1);
  }
  const auto number = parse_digits(text, kMostDigits);
  if (!number) {
    return std::nullopt;
  }
  return negative ? Duration{} : Duration::millis(*number);
}

std::optional<std::uint32_t> parse_weight(std::string_view text) noexcept {
  constexpr std::size_t kMostDigits = 7;
  const auto number = parse_digits(text, kMostDigits);
  if (!number || *number < 1 || *number > kMaxLimit) {
    return std::nullopt;
  }
  return static_cast<std::uint32_t>(*number);
}

std::optional<std::uint32_t> parse_attempt_count(std::string_view text) noexcept {
  constexpr std::size_t kMostDigits = 9;
  const auto number = parse_digits(text, kMostDigits);
  if (!number || *number == 0) {
    return std::nullopt;
  }
  return static_cast<std::uint32_t>(*number);
}

std::optional<std::uint32_t> parse_previous_attempts(std::string_view text) noexcept {
  constexpr std::size_t kMostDigits = 9;
  const auto number = parse_digits(text, kMostDigits);
  if (!number) {
    return std::nullopt;
  }
  return static_cast<std::uint32_t>(*number + 1);
}

std::optional<std::uint32_t> parse_sdk_attempt(std::string_view text) noexcept {
  constexpr std::string_view kField = "attempt=";
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(';'), text.size());
    std::string_view field(text.data(), end);
    text.remove_prefix(std::min(end + 1, text.size()));
    while (!field.empty() && field.front() == ' ') {
      field.remove_prefix(1);
    }
    while (!field.empty() && field.back() == ' ') {
      field.remove_suffix(1);
    }
    if (field.starts_with(kField)) {
      field.remove_prefix(kField.size());
      return parse_attempt_count(field);
    }
  }
  return std::nullopt;
}

int find_class_in_any_case(const Policy& policy, std::string_view name) noexcept {
  for (int i = 0; i < policy.class_count; ++i) {
    if (equal_in_any_case(policy.classes[static_cast<std::size_t>(i)].name_view(), name)) {
      return i;
    }
  }
  return -1;
}

void HeaderClaims::see_class(const Policy& policy, std::string_view value) noexcept {
  const int index = find_class_in_any_case(policy, value);
  if (index < 0) {
    ++malformed_;
    return;
  }
  importance_ = std::max(importance_, index);
}

void HeaderClaims::see_time(std::optional<Duration> time) noexcept {
  if (!time) {
    ++malformed_;
    return;
  }
  time_left_ = time_left_ ? std::min(*time_left_, *time) : *time;
}

void HeaderClaims::see_attempt(std::optional<std::uint32_t> attempt) noexcept {
  if (!attempt) {
    ++malformed_;
    return;
  }
  attempt_ = std::max(attempt_, *attempt);
}

void HeaderClaims::see_tenant(std::string_view value) noexcept {
  if (value.empty() || tenants_differ_ || (!tenant_.empty() && tenant_ != value)) {
    ++malformed_;
    tenants_differ_ = tenants_differ_ || !value.empty();
    tenant_ = tenants_differ_ ? std::string_view{} : tenant_;
    return;
  }
  tenant_ = value;
}

std::uint8_t retried_class(std::uint8_t importance, const Policy& policy) noexcept {
  return importance + 1 < policy.class_count ? static_cast<std::uint8_t>(importance + 1)
                                             : importance;
}

std::uint8_t believed_class(std::uint8_t own, const HeaderClaims& claims, bool trusted) noexcept {
  if (claims.importance() < 0) {
    return own;
  }
  const auto claimed = static_cast<std::uint8_t>(claims.importance());
  return trusted ? claimed : std::max(own, claimed);
}

std::optional<Duration> believed_time(std::optional<Duration> own, const HeaderClaims& claims,
                                      bool trusted) noexcept {
  const auto claimed = claims.time_left();
  if (!claimed || !own || trusted) {
    return claimed ? claimed : own;
  }
  return std::min(*own, *claimed);
}

}  // namespace loadline::ngx
