#include "loadline/policy.h"

#include <cstdio>
#include <cstring>

#include "loadline/cpu_pressure.h"

namespace loadline {
namespace {

constexpr Duration kShortestBudget = Duration::millis(1);
constexpr Duration kLongestBudget = Duration::seconds(3600);
constexpr Duration kLongestGrace = Duration::seconds(10);
constexpr std::uint16_t kWhole = 1000;  // per mille
constexpr std::uint16_t kMostGuaranteed = 900;
constexpr std::uint16_t kMostTenantsOfGroup = 1000;
constexpr std::uint16_t kMostExempt = 1000;

template <class... Values>
PolicyError refuse(const char* field, const char* format, Values... values) noexcept {
  PolicyError error;
  error.field = field;
  // NOLINTBEGIN(cppcoreguidelines-pro-type-vararg): bounded, and no libstdc++ inside nginx.
  if constexpr (sizeof...(values) == 0) {
    std::snprintf(error.text.data(), error.text.size(), "%s", format);
  } else {
    std::snprintf(error.text.data(), error.text.size(), format, values...);
  }
  // NOLINTEND(cppcoreguidelines-pro-type-vararg)
  return error;
}

bool good_name_character(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}

bool good_name(std::string_view name) noexcept {
  if (name.empty()) {
    return false;
  }
  for (const char c : name) {
    if (!good_name_character(c)) {
      return false;
    }
  }
  return true;
}

template <class Named, std::size_t N>
Named* add_named(std::array<Named, N>& list, std::uint8_t& count, std::string_view name) noexcept {
  if (count >= N || name.empty() || name.size() >= Named{}.name.size()) {
    return nullptr;
  }
  Named& added = list[count++];
  added = {};
  std::memcpy(added.name.data(), name.data(), name.size());
  return &added;
}

template <class Named, std::size_t N>
int find_named(const std::array<Named, N>& list, std::uint8_t count,
               std::string_view name) noexcept {
  for (std::uint32_t i = 0; i < count; ++i) {
    if (list[i].name_view() == name) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

const char* name_fault(std::string_view name, int first_so_named, std::uint32_t index) noexcept {
  if (!good_name(name)) {
    return "allowed are letters, digits, '_', '-' and '.'";
  }
  return first_so_named != static_cast<int>(index) ? "it is given twice" : nullptr;
}

PolicyError validate_class(const Policy& policy, std::uint32_t i) noexcept {
  const ClassPolicy& here = policy.classes[i];
  if (const char* fault = name_fault(here.name_view(), find_class(policy, here.name_view()), i)) {
    return refuse("classes", "class name '%s': %s", here.name.data(), fault);
  }
  if (here.share > kWhole) {
    return refuse("classes", "share of class '%s' is %u.%u%%: allowed is 0.1%% to 100%%",
                  here.name.data(), here.share / 10U, here.share % 10U);
  }
  const std::uint16_t above = i == 0 ? std::uint16_t{0} : policy.classes[i - 1].share;
  if (here.share != 0 && above != 0 && here.share > above) {
    return refuse("classes", "share of class '%s' is larger than that of the more important '%s'",
                  here.name.data(), policy.classes[i - 1].name.data());
  }
  return {};
}

PolicyError validate_guarantees(const Policy& policy) noexcept {
  std::uint32_t all = 0;
  for (std::uint32_t i = 0; i < policy.class_count; ++i) {
    const ClassPolicy& here = policy.classes[i];
    all += here.guarantee;
    if (here.guarantee != 0 && policy.queue.kind == QueueSize::Kind::off) {
      return refuse("classes", "class '%s' is guaranteed a share of the queue, but there is none",
                    here.name.data());
    }
  }
  if (all > kMostGuaranteed) {
    return refuse("classes", "guarantees of %u.%u%% in all: allowed are %u%%", all / 10U, all % 10U,
                  kMostGuaranteed / 10U);
  }
  return {};
}

PolicyError validate_classes(const Policy& policy) noexcept {
  if (policy.class_count == 0 || policy.class_count > kMaxClasses) {
    return refuse("classes", "%u classes: allowed are 1 to %u", unsigned{policy.class_count},
                  kMaxClasses);
  }
  for (std::uint32_t i = 0; i < policy.class_count; ++i) {
    const PolicyError error = validate_class(policy, i);
    if (error.refused()) {
      return error;
    }
  }
  if (policy.default_class >= policy.class_count) {
    return refuse("default_class", "class number %u: there are only %u",
                  unsigned{policy.default_class}, unsigned{policy.class_count});
  }
  return validate_guarantees(policy);
}

PolicyError validate_tenants(const Policy& policy) noexcept {
  if (policy.tenants > kMaxTenants) {
    return refuse("tenants", "%u tenants: allowed are 0 (off) to %u", policy.tenants, kMaxTenants);
  }
  if (policy.tenants != 0 && policy.queue.kind == QueueSize::Kind::off) {
    return refuse("tenants", "tenants share a queue, but there is none");
  }
  if (policy.tenants != 0 && policy.discipline == Discipline::lifo) {
    return refuse("discipline",
                  "lifo with tenants: allowed are adaptive and fifo, since newest first would "
                  "serve whoever asks most");
  }
  if (policy.group_count > kMaxGroups) {
    return refuse("groups", "%u groups: allowed are 0 to %u", unsigned{policy.group_count},
                  kMaxGroups);
  }
  for (std::uint32_t i = 0; i < policy.group_count; ++i) {
    const GroupPolicy& here = policy.groups[i];
    if (const char* fault = name_fault(here.name_view(), find_group(policy, here.name_view()), i)) {
      return refuse("groups", "group name '%s': %s", here.name.data(), fault);
    }
    if (here.tenants == 0 || here.tenants > kMostTenantsOfGroup) {
      return refuse("groups", "group '%s' counts as %u tenants: allowed are 1 to %u",
                    here.name.data(), unsigned{here.tenants}, unsigned{kMostTenantsOfGroup});
    }
  }
  return {};
}

PolicyError validate_signals(const Policy& policy) noexcept {
  if (policy.signal_count > kMaxSignals) {
    return refuse("signals", "%u signals: allowed are 0 to %u", unsigned{policy.signal_count},
                  kMaxSignals);
  }
  for (std::uint32_t i = 0; i < policy.signal_count; ++i) {
    const SignalPolicy& here = policy.signals[i];
    if (const char* fault =
            name_fault(here.name_view(), find_signal(policy, here.name_view()), i)) {
      return refuse("signals", "signal name '%s': %s", here.name.data(), fault);
    }
    if (!(here.at_most > 0) || !__builtin_isfinite(here.at_most)) {
      return refuse("signals", "signal '%s' is to be at most %g: allowed is a number above 0",
                    here.name.data(), here.at_most);
    }
    const bool is_share = here.name_view() == kCpuPressure || here.name_view() == kCpuThrottled;
    if (is_share && here.at_most > 1) {
      return refuse("signals", "signal '%s' is to be at most %g: it is a share, as in 20%%",
                    here.name.data(), here.at_most);
    }
  }
  return {};
}

PolicyError validate_quota(const QuotaPolicy& quota) noexcept {
  constexpr std::uint32_t kMostRequests = 1'000'000;
  constexpr Duration kShortestPeriod = Duration::millis(1);
  constexpr Duration kLongestPeriod = Duration::seconds(86'400);
  constexpr std::int64_t kShortestIntervalNs = 10'000;
  constexpr Duration kLongestRefill = Duration::seconds(kLongestRefillSeconds);
  if (!quota.any()) {
    return {};
  }
  if (quota.requests > kMostRequests || quota.burst == 0 || quota.burst > kMostRequests) {
    return refuse("quota", "quota of %u requests, %u at once: allowed are 1 to %u of either",
                  quota.requests, quota.burst, kMostRequests);
  }
  if (quota.per < kShortestPeriod || quota.per > kLongestPeriod) {
    return refuse("quota", "quota per %lld ms: allowed is 1 ms to 1 day",
                  static_cast<long long>(quota.per.ns / 1'000'000));
  }
  const std::int64_t interval = quota.per.ns / quota.requests;
  if (interval < kShortestIntervalNs) {
    return refuse("quota", "a quota of one request each %lld ns: allowed is one each 10 us or less",
                  static_cast<long long>(interval));
  }
  if (interval > kLongestRefill.ns / quota.burst) {
    return refuse("quota", "a burst of %u at this rate takes more than 3 days to come back",
                  quota.burst);
  }
  if (quota.keys == 0 || quota.keys > kMaxQuotaKeys) {
    return refuse("quota", "a quota for %u keys: allowed are 1 to %u", quota.keys, kMaxQuotaKeys);
  }
  return {};
}

}  // namespace

void fill_defaults(Policy& policy) noexcept {
  if (policy.class_count != 0) {
    return;
  }
  add_class(policy, "critical_plus");
  add_class(policy, "critical");
  add_class(policy, "sheddable_plus");
  add_class(policy, "sheddable");
  policy.default_class = 1;
  // Without a queue nothing but the thresholds gives priority.
  if (policy.queue.kind == QueueSize::Kind::off) {
    policy.classes[2].share = 900;
    policy.classes[3].share = 800;
  }
}

bool add_class(Policy& policy, std::string_view name, std::uint16_t share) noexcept {
  ClassPolicy* added = add_named(policy.classes, policy.class_count, name);
  if (added == nullptr) {
    return false;
  }
  added->share = share;
  return true;
}

int find_class(const Policy& policy, std::string_view name) noexcept {
  return find_named(policy.classes, policy.class_count, name);
}

bool add_group(Policy& policy, std::string_view name, std::uint16_t tenants) noexcept {
  GroupPolicy* added = add_named(policy.groups, policy.group_count, name);
  if (added == nullptr) {
    return false;
  }
  added->tenants = tenants;
  return true;
}

int find_group(const Policy& policy, std::string_view name) noexcept {
  return find_named(policy.groups, policy.group_count, name);
}

bool add_signal(Policy& policy, std::string_view name, double at_most) noexcept {
  SignalPolicy* added = add_named(policy.signals, policy.signal_count, name);
  if (added == nullptr) {
    return false;
  }
  added->at_most = at_most;
  return true;
}

int find_signal(const Policy& policy, std::string_view name) noexcept {
  return find_named(policy.signals, policy.signal_count, name);
}

std::optional<double> parse_signal_value(std::string_view text) noexcept {
  struct Unit {
    std::string_view name;
    double parts;  // of 1
  };
  constexpr Unit kUnits[] = {{"", 1}, {"%", 100}, {"s", 1}, {"ms", 1e3}, {"us", 1e6}};
  constexpr std::uint32_t kMost = 15;       // which a double holds
  constexpr std::uint32_t kMostBehind = 6;  // programs print as many as they have
  double whole = 0;                         // of digits, exact
  double divisor = 1;
  std::uint32_t before = 0;
  std::uint32_t behind = 0;
  bool point = false;
  for (; !text.empty() && (text.front() == '.' || (text.front() >= '0' && text.front() <= '9'));
       text.remove_prefix(1)) {
    if (text.front() == '.') {
      if (point) {
        return std::nullopt;
      }
      point = true;
      continue;
    }
    if (behind == kMostBehind) {
      continue;
    }
    whole = whole * 10 + (text.front() - '0');
    divisor *= point ? 10 : 1;
    (point ? behind : before) += 1;
  }
  const bool number = before >= 1 && before + behind <= kMost && point == (behind != 0);
  for (const Unit& unit : kUnits) {
    if (number && text == unit.name) {
      return whole / (divisor * unit.parts);  // rounded once, so it is what the text says
    }
  }
  return std::nullopt;
}

PolicyError validate(const Policy& policy) noexcept {
  const bool fixed = policy.law == Law::fixed;
  if ((fixed && policy.limit == 0) || policy.limit > kMaxLimit) {
    return refuse("limit", "limit %u: allowed is 1 to %u", policy.limit, kMaxLimit);
  }
  if (static_cast<std::uint32_t>(policy.law) >= kLaws) {
    return refuse("law", "law %u: there are %u", static_cast<std::uint32_t>(policy.law), kLaws);
  }
  if (policy.limit_least == 0 || policy.limit_least > policy.limit_most ||
      policy.limit_most > kMaxLimit) {
    return refuse("limit_least", "limit_least %u, limit_most %u: allowed is 1 <= least <= most",
                  policy.limit_least, policy.limit_most);
  }
  const bool within = policy.limit >= policy.limit_least && policy.limit <= policy.limit_most;
  if (!fixed && policy.limit != 0 && !within) {
    return refuse("limit_from",
                  "the limit begins at %u: allowed is limit_least %u to limit_most %u",
                  policy.limit, policy.limit_least, policy.limit_most);
  }
  if (policy.queue.kind == QueueSize::Kind::fixed &&
      (policy.queue.entries == 0 || policy.queue.entries > kMaxQueue)) {
    return refuse("queue", "queue %u: allowed is 1 to %u, 'auto' or 'off'", policy.queue.entries,
                  kMaxQueue);
  }
  if (policy.wait_budget < kShortestBudget || policy.wait_budget > kLongestBudget) {
    return refuse("wait_budget", "wait budget %lld ms: allowed is 1 ms to 1 h",
                  static_cast<long long>(policy.wait_budget.ns / 1'000'000));
  }
  if (policy.heavy_share == 0 || policy.heavy_share > kWhole) {
    return refuse("heavy_share", "heavy share %u.%u%%: allowed is 0.1%% to 100%%",
                  policy.heavy_share / 10U, policy.heavy_share % 10U);
  }
  if (policy.exempt > kMostExempt) {
    return refuse("exempt", "%u exempt requests at a time: allowed are 0 to %u",
                  unsigned{policy.exempt}, unsigned{kMostExempt});
  }
  if (policy.retry_after_min == 0 || policy.retry_after_max > kMaxRetryAfter ||
      policy.retry_after_min > policy.retry_after_max) {
    return refuse("retry_after", "retry-after %u to %u s: allowed is 1 to %u, the smaller first",
                  unsigned{policy.retry_after_min}, unsigned{policy.retry_after_max},
                  kMaxRetryAfter);
  }
  if (policy.death_grace < Duration{} || policy.death_grace > kLongestGrace) {
    return refuse("death_grace", "death grace %lld ms: allowed is 0 to 10 s",
                  static_cast<long long>(policy.death_grace.ns / 1'000'000));
  }
  const PolicyError checks[] = {validate_classes(policy), validate_tenants(policy),
                                validate_quota(policy.quota), validate_signals(policy)};
  for (const PolicyError& error : checks) {
    if (error.refused()) {
      return error;
    }
  }
  return {};
}

}  // namespace loadline
