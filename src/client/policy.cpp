#include "loadline/client/policy.h"

#include <cstdio>
#include <span>

namespace loadline::client {
namespace {

constexpr Duration kMilli = Duration::millis(1);
constexpr Duration kMinute = Duration::seconds(60);
constexpr Duration kHour = Duration::seconds(3600);
constexpr Duration kDay = Duration::seconds(86'400);

// What a number may be. Beside the range, 0 may be allowed to mean "off".
struct NumberRule {
  const char* field;
  std::int64_t value;
  std::int64_t low;
  std::int64_t high;
};

struct TimeRule {
  const char* field;
  Duration value;
  Duration low;
  Duration high;
  bool off = false;  // 0 is allowed, too
};

// The largest unit of which it is a whole number.
const char* write(Duration time, std::span<char> out) noexcept {
  struct Unit {
    std::int64_t ns;
    const char* name;
  };
  constexpr Unit kUnits[] = {
      {3'600'000'000'000, "h"}, {60'000'000'000, "min"}, {1'000'000'000, "s"},
      {1'000'000, "ms"},        {1'000, "us"},           {1, "ns"}};
  const Unit* unit = kUnits;
  while (time.ns % unit->ns != 0) {
    ++unit;
  }
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): bounded, and nothing of libstdc++.
  std::snprintf(out.data(), out.size(), "%lld %s", static_cast<long long>(time.ns / unit->ns),
                time.ns == 0 ? "ms" : unit->name);
  return out.data();
}

PolicyError refuse(const NumberRule& rule) noexcept {
  PolicyError error;
  error.field = rule.field;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg)
  std::snprintf(error.text.data(), error.text.size(), "%s is %lld: allowed is %lld to %lld",
                rule.field, static_cast<long long>(rule.value), static_cast<long long>(rule.low),
                static_cast<long long>(rule.high));
  return error;
}

PolicyError refuse(const TimeRule& rule) noexcept {
  PolicyError error;
  char value[32];
  char low[32];
  char high[32];
  error.field = rule.field;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg)
  std::snprintf(error.text.data(), error.text.size(), "%s is %s: allowed is %s%s to %s", rule.field,
                write(rule.value, value), rule.off ? "0 (off) or " : "", write(rule.low, low),
                write(rule.high, high));
  return error;
}

bool holds(const NumberRule& rule) noexcept {
  return rule.value >= rule.low && rule.value <= rule.high;
}

bool holds(const TimeRule& rule) noexcept {
  return (rule.off && rule.value == Duration{}) ||
         (rule.value >= rule.low && rule.value <= rule.high);
}

template <class Rule>
PolicyError first_broken(std::span<const Rule> rules) noexcept {
  for (const Rule& rule : rules) {
    if (!holds(rule)) {
      return refuse(rule);
    }
  }
  return {};
}

PolicyError validate_numbers(const Policy& policy) noexcept {
  const NumberRule rules[] = {
      {"retry.attempts", policy.retry.attempts, 1, 100},
      {"backoff.told_jitter", policy.backoff.told_jitter, 0, 1000},
      {"budget.share", policy.budget.share, 0, 1000},
      {"budget.floor", policy.budget.floor, 0, 10'000},
      {"budget.cap", policy.budget.cap, 1, 10'000},
      {"budget.timeout_cost", policy.budget.timeout_cost, 1000, 10'000},
      {"budget.at_once_share", policy.budget.at_once_share, 0, 1000},
      {"budget.at_once_floor", policy.budget.at_once_floor, 0, 1000},
      {"breaker.failures", policy.breaker.failures, 1, 1000},
      {"breaker.minimum", policy.breaker.minimum, 1, 10'000},
      {"breaker.consecutive", policy.breaker.consecutive, 0, 10'000},
      {"breaker.open_jitter", policy.breaker.open_jitter, 0, 1000},
      {"breaker.probes", policy.breaker.probes, 1, kMaxProbes},
      {"throttle.k", policy.throttle.k, 1000, 10'000},
      {"throttle.most", policy.throttle.most, 1, 999},
      {"throttle.minimum", policy.throttle.minimum, 0, 10'000},
      {"deadline.needed", policy.deadline.needed, 0, 4000},
  };
  return first_broken<NumberRule>(rules);
}

PolicyError validate_times(const Policy& policy) noexcept {
  const TimeRule rules[] = {
      {"backoff.base", policy.backoff.base, kMilli, kMinute},
      {"backoff.cap", policy.backoff.cap, policy.backoff.base, kHour},
      {"backoff.floor", policy.backoff.floor, {}, policy.backoff.base},
      {"backoff.longest_told", policy.backoff.longest_told, Duration::seconds(1), kDay},
      {"breaker.window", policy.breaker.window, Duration::millis(100), kHour},
      {"breaker.slow", policy.breaker.slow, kMilli, kHour, true},
      {"breaker.open", policy.breaker.open, kMilli, kHour},
      {"breaker.probe_limit", policy.breaker.probe_limit, kMilli, kHour},
      {"throttle.window", policy.throttle.window, Duration::millis(100), kHour},
      {"deadline.attempt", policy.deadline.attempt, kMilli, kHour, true},
      {"deadline.margin", policy.deadline.margin, {}, Duration::seconds(10)},
      {"deadline.least", policy.deadline.least, {}, kMinute},
      {"deadline.expected", policy.deadline.expected, {}, kHour},
      {"hedge.after", policy.hedge.after, kMilli, kHour, true},
  };
  return first_broken<TimeRule>(rules);
}

}  // namespace

PolicyError validate(const Policy& policy) noexcept {
  const PolicyError numbers = validate_numbers(policy);
  return numbers.refused() ? numbers : validate_times(policy);
}

}  // namespace loadline::client
