#include "loadline/policy.h"

#include <cstdio>
#include <cstring>

namespace loadline {
namespace {

constexpr Duration kShortestBudget = Duration::millis(1);
constexpr Duration kLongestBudget = Duration::seconds(3600);
constexpr std::uint16_t kWhole = 1000;  // per mille
constexpr std::uint16_t kLongestRetryAfter = 3600;

template <class... Values>
PolicyError refuse(const char* field, const char* format, Values... values) noexcept {
  PolicyError error;
  error.field = field;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): bounded, and no libstdc++ inside nginx.
  std::snprintf(error.text.data(), error.text.size(), format, values...);
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

PolicyError validate_class(const Policy& policy, std::uint32_t i) noexcept {
  const ClassPolicy& here = policy.classes[i];
  if (!good_name(here.name_view())) {
    return refuse("classes", "class name '%s': allowed are letters, digits, '_', '-' and '.'",
                  here.name.data());
  }
  if (find_class(policy, here.name_view()) != static_cast<int>(i)) {
    return refuse("classes", "class name '%s' is given twice", here.name.data());
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
  if (policy.class_count >= kMaxClasses || name.empty() || name.size() > kMaxClassName) {
    return false;
  }
  ClassPolicy& added = policy.classes[policy.class_count++];
  added = {};
  std::memcpy(added.name.data(), name.data(), name.size());
  added.share = share;
  return true;
}

int find_class(const Policy& policy, std::string_view name) noexcept {
  for (std::uint32_t i = 0; i < policy.class_count; ++i) {
    if (policy.classes[i].name_view() == name) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

PolicyError validate(const Policy& policy) noexcept {
  if (policy.limit == 0 || policy.limit > kMaxLimit) {
    return refuse("limit", "limit %u: allowed is 1 to %u", policy.limit, kMaxLimit);
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
  if (policy.retry_after_min == 0 || policy.retry_after_max > kLongestRetryAfter ||
      policy.retry_after_min > policy.retry_after_max) {
    return refuse("retry_after", "retry-after %u to %u s: allowed is 1 to %u, the smaller first",
                  unsigned{policy.retry_after_min}, unsigned{policy.retry_after_max},
                  unsigned{kLongestRetryAfter});
  }
  return validate_classes(policy);
}

}  // namespace loadline
