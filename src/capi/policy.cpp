// Policies by key and value.
#include <charconv>
#include <new>
#include <optional>
#include <string_view>

#include "handles.h"

namespace loadline::capi {
namespace {

template <class Number>
std::optional<Number> number(std::string_view text, Number low, Number high) noexcept {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < low || value > high) {
    return std::nullopt;
  }
  return value;
}

std::optional<Duration> time(std::string_view text) noexcept {
  struct Unit {
    std::string_view name;
    std::int64_t ns;
  };
  constexpr Unit kUnits[] = {
      {"ms", 1'000'000}, {"s", 1'000'000'000}, {"m", 60'000'000'000}, {"h", 3'600'000'000'000}};
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto count = number<std::int64_t>(text.substr(0, digits), 0, 86'400'000);
  for (const Unit& unit : kUnits) {
    if (count && text.substr(digits) == unit.name) {
      return Duration{*count * unit.ns};
    }
  }
  return std::nullopt;
}

std::optional<Duration> time(std::string_view text, Duration low, Duration high) noexcept {
  const std::optional<Duration> value = time(text);
  return value && *value >= low && *value <= high ? value : std::nullopt;
}

bool set_limit(loadline_policy& out, std::string_view value) noexcept {
  const auto limit = number<std::uint32_t>(value, 1, kMaxLimit);
  out.policy.limit = limit.value_or(0);
  return limit.has_value();
}

bool set_queue(loadline_policy& out, std::string_view value) noexcept {
  if (value == "auto") {
    out.policy.queue = QueueSize::sized_by_budget();
    return true;
  }
  if (value == "off") {
    out.policy.queue = QueueSize::none();
    return true;
  }
  const auto entries = number<std::uint32_t>(value, 1, kMaxQueue);
  out.policy.queue = QueueSize::at_most(entries.value_or(0));
  return entries.has_value();
}

bool set_wait(loadline_policy& out, std::string_view value) noexcept {
  const auto budget = time(value, Duration::millis(1), Duration::seconds(3600));
  out.policy.wait_budget = budget.value_or(Duration{});
  return budget.has_value();
}

bool set_class(loadline_policy& out, std::string_view value) noexcept {
  const std::size_t colon = std::min(value.find(':'), value.size());
  std::uint16_t share = 0;
  if (colon != value.size()) {
    const std::string_view percent = value.substr(colon + 1);
    if (!percent.ends_with('%')) {
      return false;
    }
    const auto whole = number<std::uint16_t>(percent.substr(0, percent.size() - 1), 1, 100);
    if (!whole) {
      return false;
    }
    share = static_cast<std::uint16_t>(*whole * 10);
  }
  const std::string_view name = value.substr(0, colon);
  return find_class(out.policy, name) < 0 && add_class(out.policy, name, share);
}

bool set_default_class(loadline_policy& out, std::string_view value) noexcept {
  if (value.empty() || value.size() > kMaxClassName) {
    return false;
  }
  std::memcpy(out.default_class, value.data(), value.size());
  out.default_class[value.size()] = '\0';
  return true;
}

bool set_retry_after(loadline_policy& out, std::string_view value) noexcept {
  constexpr std::uint16_t kLongest = 3600;
  const std::size_t dash = std::min(value.find('-'), value.size());
  const auto low = number<std::uint16_t>(value.substr(0, dash), 1, kLongest);
  if (!low || dash == value.size()) {
    return false;
  }
  const auto high = number<std::uint16_t>(value.substr(dash + 1), *low, kLongest);
  out.policy.retry_after_min = *low;
  out.policy.retry_after_max = high.value_or(0);
  return high.has_value();
}

bool set_lease(loadline_policy& out, std::string_view value) noexcept {
  const auto lease = value == "off" ? std::optional(Duration{})
                                    : time(value, Duration::millis(100), Duration::seconds(86'400));
  out.lease = lease.value_or(Duration{});
  return lease.has_value();
}

struct Key {
  std::string_view name;
  bool (*set)(loadline_policy& out, std::string_view value) noexcept;
  const char* allowed;
};

constexpr Key kKeys[] = {
    {"limit", set_limit, "a whole number from 1 to 1000000"},
    {"queue", set_queue, "auto, off or a whole number from 1 to 60000"},
    {"wait", set_wait, "a time from 1ms to 1h, as in 100ms"},
    {"class", set_class,
     "NAME or NAME:SHARE%, a new name each time, up to 8 of up to 31 bytes, with 1% to 100%"},
    {"default_class", set_default_class, "the name of a class"},
    {"retry_after", set_retry_after, "MIN-MAX in seconds, 1 to 3600, the smaller first"},
    {"lease", set_lease, "off or a time from 100ms to 24h, as in 30s"},
};

}  // namespace
}  // namespace loadline::capi

using namespace loadline::capi;

loadline_policy* loadline_policy_new(void) {
  return new (std::nothrow) loadline_policy;
}

int loadline_policy_set(loadline_policy* policy, const char* key, const char* value, char* error,
                        size_t error_size) {
  if (policy == nullptr || key == nullptr || value == nullptr) {
    say(error, error_size, "policy, key and value must not be null");
    return 0;
  }
  for (const Key& known : kKeys) {
    if (known.name != key) {
      continue;
    }
    loadline_policy changed = *policy;
    if (!known.set(changed, value)) {
      say(error, error_size, "%s: '%s' is not %s", key, value, known.allowed);
      return 0;
    }
    *policy = changed;
    return 1;
  }
  say(error, error_size, "there is no key '%s'", key);
  return 0;
}

void loadline_policy_on_expired_lease(loadline_policy* policy, loadline_expired_callback expired,
                                      void* user) {
  if (policy != nullptr) {
    policy->expired = expired;
    policy->expired_user = user;
  }
}

void loadline_policy_free(loadline_policy* policy) {
  delete policy;
}
