// Policies by key and value.
#include <charconv>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

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
  if (const auto limit = number<std::uint32_t>(value, 1, kMaxLimit)) {
    out.policy.law = Law::fixed;
    out.policy.limit = *limit;
    return true;
  }
  out.policy.law = law_of(value).value_or(Law::fixed);
  out.policy.limit = 0;
  return out.policy.law != Law::fixed;
}

template <std::uint32_t Policy::*Number>
bool set_limit_number(loadline_policy& out, std::string_view value) noexcept {
  const auto given = number<std::uint32_t>(value, 1, kMaxLimit);
  out.policy.*Number = given.value_or(0);
  return given.has_value();
}

// What stands before the first mark and behind it; without one, all of it is `first`.
struct Cut {
  std::string_view first;
  std::string_view rest;
  bool has_rest = false;
};
Cut cut_at(std::string_view text, char mark) noexcept {
  const std::size_t at = text.find(mark);
  return at == std::string_view::npos ? Cut{.first = text, .rest = {}}
                                      : Cut{text.substr(0, at), text.substr(at + 1), true};
}

bool set_signal(loadline_policy& out, std::string_view value) noexcept {
  const Cut name = cut_at(value, ':');
  const auto at_most = parse_signal_value(name.rest);
  return at_most && *at_most > 0 && find_signal(out.policy, name.first) < 0 &&
         add_signal(out.policy, name.first, *at_most);
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

// A whole per cent, as per mille.
std::optional<std::uint16_t> percent(std::string_view text) noexcept {
  if (!text.ends_with('%')) {
    return std::nullopt;
  }
  const auto whole = number<std::uint16_t>(text.substr(0, text.size() - 1), 1, 100);
  return whole ? std::optional(static_cast<std::uint16_t>(*whole * 10)) : std::nullopt;
}

bool set_class(loadline_policy& out, std::string_view value) noexcept {
  const Cut name = cut_at(value, ':');
  const Cut share = cut_at(name.rest, ':');
  const auto fills = name.has_rest ? percent(share.first) : std::uint16_t{0};
  const auto guarantee = share.has_rest ? percent(share.rest) : std::uint16_t{0};
  if (!fills || !guarantee || find_class(out.policy, name.first) >= 0 ||
      !add_class(out.policy, name.first, *fills)) {
    return false;
  }
  out.policy.classes[out.policy.class_count - 1].guarantee = *guarantee;
  return true;
}

bool set_group(loadline_policy& out, std::string_view value) noexcept {
  const Cut name = cut_at(value, ':');
  const auto tenants = name.has_rest ? number<std::uint16_t>(name.rest, 1, 1000) : std::uint16_t{1};
  return tenants && find_group(out.policy, name.first) < 0 &&
         add_group(out.policy, name.first, *tenants);
}

bool set_discipline(loadline_policy& out, std::string_view value) noexcept {
  constexpr std::pair<std::string_view, Discipline> kNames[] = {
      {"adaptive", Discipline::adaptive}, {"fifo", Discipline::fifo}, {"lifo", Discipline::lifo}};
  for (const auto& [name, discipline] : kNames) {
    if (value == name) {
      out.policy.discipline = discipline;
      return true;
    }
  }
  return false;
}

bool set_heavy_share(loadline_policy& out, std::string_view value) noexcept {
  const auto share = percent(value);
  out.policy.heavy_share = share.value_or(0);
  return share.has_value();
}

bool set_tenants(loadline_policy& out, std::string_view value) noexcept {
  const auto tenants = value == "off" ? 0U : number<std::uint32_t>(value, 1, kMaxTenants);
  out.policy.tenants = tenants.value_or(0);
  return tenants.has_value();
}

bool set_quota(loadline_policy& out, std::string_view value) noexcept {
  constexpr std::uint32_t kMost = 1'000'000;
  QuotaPolicy& quota = out.policy.quota;
  if (value == "off") {
    quota.requests = 0;
    return true;
  }
  const Cut rate = cut_at(value, '/');
  const Cut period = cut_at(rate.rest, ':');
  const auto requests = number<std::uint32_t>(rate.first, 1, kMost);
  const auto per = time(period.first, Duration::millis(1), Duration::seconds(86'400));
  const auto burst = period.has_rest ? number<std::uint32_t>(period.rest, 1, kMost) : 1U;
  if (!requests || !per || !burst) {
    return false;
  }
  quota.requests = *requests;
  quota.per = *per;
  quota.burst = *burst;
  return true;
}

bool set_quota_keys(loadline_policy& out, std::string_view value) noexcept {
  const auto keys = number<std::uint32_t>(value, 1, kMaxQuotaKeys);
  out.policy.quota.keys = keys.value_or(0);
  return keys.has_value();
}

bool set_exempt(loadline_policy& out, std::string_view value) noexcept {
  const auto exempt = number<std::uint16_t>(value, 0, 1000);
  out.policy.exempt = exempt.value_or(0);
  return exempt.has_value();
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
  const Cut range = cut_at(value, '-');
  const auto low = number<std::uint16_t>(range.first, 1, kLongest);
  if (!low) {
    return false;
  }
  const auto high = number<std::uint16_t>(range.rest, *low, kLongest);
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
    {"limit", set_limit, "a whole number from 1 to 1000000, or auto"},
    {"limit_from", set_limit_number<&Policy::limit>, "a whole number from 1 to 1000000"},
    {"limit_least", set_limit_number<&Policy::limit_least>, "a whole number from 1 to 1000000"},
    {"limit_most", set_limit_number<&Policy::limit_most>, "a whole number from 1 to 1000000"},
    {"signal", set_signal,
     "NAME:VALUE, a new name each time, up to 4 of up to 23 bytes, with a value above 0 as 20%, "
     "50ms or 12"},
    {"queue", set_queue, "auto, off or a whole number from 1 to 60000"},
    {"discipline", set_discipline, "adaptive, fifo or lifo"},
    {"heavy_share", set_heavy_share, "a share from 1% to 100%"},
    {"tenants", set_tenants, "off or a whole number from 1 to 100000"},
    {"group", set_group,
     "NAME or NAME:COUNT, a new name each time, up to 8 of up to 31 bytes, with 1 to 1000"},
    {"quota", set_quota, "off, REQUESTS/TIME or REQUESTS/TIME:BURST, as in 100/1s:20"},
    {"quota_keys", set_quota_keys, "a whole number from 1 to 1000000"},
    {"exempt", set_exempt, "a whole number from 0 to 1000"},
    {"wait", set_wait, "a time from 1ms to 1h, as in 100ms"},
    {"class", set_class,
     "NAME, NAME:SHARE% or NAME:SHARE%:GUARANTEE%, a new name each time, up to 8 of up to 31 "
     "bytes, "
     "with 1% to 100%"},
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
