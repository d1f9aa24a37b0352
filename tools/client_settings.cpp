#include "client_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "config_values.h"
#include "sim_file_values.h"
#include "text.h"

namespace loadline::tools {
namespace {

using client::BackoffPolicy;
using client::BreakerPolicy;
using client::BudgetPolicy;
using client::DeadlinePolicy;
using client::Policy;
using client::RetryPolicy;
using client::ThrottlePolicy;

enum class Unit : std::uint8_t {
  on_or_off,
  number,       // whole
  share,        // PERCENT%, kept in thousandths
  thousandths,  // a number, kept so
  rate,         // a second, kept in thousandths
  time,         // kept in nanoseconds
  time_or_off,
};

// Kept as it is in the policy: thousandths, nanoseconds.
struct Setting {
  std::string_view name;
  Unit unit;
  double low;
  double high;
  void (*set)(Policy&, double);
};

template <auto Section, auto Member>
void set(Policy& policy, double value) {
  auto& field = (policy.*Section).*Member;
  if constexpr (std::is_same_v<std::remove_reference_t<decltype(field)>, Duration>) {
    field = Duration{std::llround(value)};
  } else {
    field = static_cast<std::remove_reference_t<decltype(field)>>(std::llround(value));
  }
}

constexpr double kMilli = 1e6;
constexpr double kSecond = 1e9;
constexpr double kHour = 3600 * kSecond;

constexpr auto kSettings = std::to_array<Setting>({
    {"attempts", Unit::number, 1, 100, set<&Policy::retry, &RetryPolicy::attempts>},
    {"elsewhere_at_once", Unit::on_or_off, 0, 1,
     set<&Policy::retry, &RetryPolicy::elsewhere_at_once>},
    {"backoff.base", Unit::time, kMilli, 60 * kSecond, set<&Policy::backoff, &BackoffPolicy::base>},
    {"backoff.cap", Unit::time, kMilli, kHour, set<&Policy::backoff, &BackoffPolicy::cap>},
    {"backoff.floor", Unit::time, 0, 60 * kSecond, set<&Policy::backoff, &BackoffPolicy::floor>},
    {"backoff.told_jitter", Unit::share, 0, 1000,
     set<&Policy::backoff, &BackoffPolicy::told_jitter>},
    {"backoff.longest_told", Unit::time, kSecond, 24 * kHour,
     set<&Policy::backoff, &BackoffPolicy::longest_told>},
    {"budget.share", Unit::share, 0, 1000, set<&Policy::budget, &BudgetPolicy::share>},
    {"budget.floor", Unit::rate, 0, 10'000, set<&Policy::budget, &BudgetPolicy::floor>},
    {"budget.cap", Unit::number, 1, 10'000, set<&Policy::budget, &BudgetPolicy::cap>},
    {"budget.timeout_cost", Unit::thousandths, 1000, 10'000,
     set<&Policy::budget, &BudgetPolicy::timeout_cost>},
    {"budget.at_once_share", Unit::share, 0, 1000,
     set<&Policy::budget, &BudgetPolicy::at_once_share>},
    {"budget.at_once_floor", Unit::number, 0, 1000,
     set<&Policy::budget, &BudgetPolicy::at_once_floor>},
    {"breaker", Unit::on_or_off, 0, 1, set<&Policy::breaker, &BreakerPolicy::on>},
    {"breaker.window", Unit::time, 100 * kMilli, kHour,
     set<&Policy::breaker, &BreakerPolicy::window>},
    {"breaker.failures", Unit::share, 1, 1000, set<&Policy::breaker, &BreakerPolicy::failures>},
    {"breaker.minimum", Unit::number, 1, 10'000, set<&Policy::breaker, &BreakerPolicy::minimum>},
    {"breaker.consecutive", Unit::number, 0, 10'000,
     set<&Policy::breaker, &BreakerPolicy::consecutive>},
    {"breaker.slow", Unit::time_or_off, kMilli, kHour, set<&Policy::breaker, &BreakerPolicy::slow>},
    {"breaker.open", Unit::time, kMilli, kHour, set<&Policy::breaker, &BreakerPolicy::open>},
    {"breaker.open_jitter", Unit::share, 0, 1000,
     set<&Policy::breaker, &BreakerPolicy::open_jitter>},
    {"breaker.probes", Unit::number, 1, client::kMaxProbes,
     set<&Policy::breaker, &BreakerPolicy::probes>},
    {"breaker.probe_limit", Unit::time, kMilli, kHour,
     set<&Policy::breaker, &BreakerPolicy::probe_limit>},
    {"throttle", Unit::on_or_off, 0, 1, set<&Policy::throttle, &ThrottlePolicy::on>},
    {"throttle.k", Unit::thousandths, 1000, 10'000, set<&Policy::throttle, &ThrottlePolicy::k>},
    {"throttle.window", Unit::time, 100 * kMilli, kHour,
     set<&Policy::throttle, &ThrottlePolicy::window>},
    {"throttle.most", Unit::share, 1, 999, set<&Policy::throttle, &ThrottlePolicy::most>},
    {"throttle.minimum", Unit::number, 0, 10'000, set<&Policy::throttle, &ThrottlePolicy::minimum>},
    {"deadline.margin", Unit::time, 0, 10 * kSecond,
     set<&Policy::deadline, &DeadlinePolicy::margin>},
    {"deadline.least", Unit::time, 0, 60 * kSecond, set<&Policy::deadline, &DeadlinePolicy::least>},
    {"deadline.needed", Unit::share, 0, 4000, set<&Policy::deadline, &DeadlinePolicy::needed>},
    {"deadline.expected", Unit::time, 0, kHour, set<&Policy::deadline, &DeadlinePolicy::expected>},
});

std::string plain_time(double ns) {
  return format_time(std::chrono::nanoseconds(std::llround(ns)));
}

std::string allowed(const Setting& setting) {
  const double low = setting.low;
  const double high = setting.high;
  switch (setting.unit) {
    case Unit::on_or_off:
      return "on or off";
    case Unit::number:
      return fmt::format("a whole number from {:.0f} to {:.0f}", low, high);
    case Unit::share:
      return fmt::format("a share from {:g}% to {:g}%", low / 10, high / 10);
    case Unit::thousandths:
      return fmt::format("a number from {:g} to {:g}", low / 1000, high / 1000);
    case Unit::rate:
      return fmt::format("a rate up to {:g}/s, as in 0.1/s", high / 1000);
    case Unit::time:
    case Unit::time_or_off:
      break;
  }
  return fmt::format("{}a time from {} to {}, with a unit as in 10ms",
                     setting.unit == Unit::time_or_off ? "off or " : "", plain_time(low),
                     plain_time(high));
}

std::optional<double> times_thousand(std::optional<double> value) {
  return value ? std::optional(*value * 1000) : std::nullopt;
}

std::optional<double> parse(Unit unit, std::string_view text) {
  switch (unit) {
    case Unit::on_or_off:
      return parse_switch(text);
    case Unit::number:
      return parse_count(text, 0, 1'000'000);
    case Unit::share:
      return times_thousand(parse_share(text));
    case Unit::thousandths:
      return times_thousand(parse_decimal(text));
    case Unit::rate:
      return times_thousand(parse_sim_rate(text));
    case Unit::time:
    case Unit::time_or_off:
      break;
  }
  const auto time = parse_time(text);
  return time ? std::optional(static_cast<double>(time->count())) : std::nullopt;
}

constexpr auto kNames = [] {
  std::array<std::string_view, kSettings.size()> names{};
  std::transform(kSettings.begin(), kSettings.end(), names.begin(),
                 [](const Setting& setting) { return setting.name; });
  return names;
}();

}  // namespace

std::span<const std::string_view> client_settings() {
  return kNames;
}

std::string set_client_setting(Policy& policy, std::string_view name, std::string_view value) {
  const auto found = std::find_if(kSettings.begin(), kSettings.end(),
                                  [name](const Setting& setting) { return setting.name == name; });
  if (found == kSettings.end()) {
    return fmt::format("one of {}", fmt::join(kNames, ", "));
  }
  if (found->unit == Unit::time_or_off && value == "off") {
    found->set(policy, 0);
    return {};
  }
  const auto read = parse(found->unit, value);
  if (!read || *read < found->low || *read > found->high) {
    return allowed(*found);
  }
  found->set(policy, *read);
  return {};
}

}  // namespace loadline::tools
