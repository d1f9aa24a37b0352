#include "config_policy.h"

#include <algorithm>

#include "loadline/gate.h"

namespace loadline::tools {
namespace {

QueueSize queue_of(const Config& config) {
  if (config.queue == "auto") {
    return QueueSize::sized_by_budget();
  }
  return config.queue == "off"
             ? QueueSize::none()
             : QueueSize::at_most(parse_count(config.queue, 1, kMaxQueue).value());
}

Discipline discipline_of(const Config& config) {
  if (config.order == "fifo") {
    return Discipline::fifo;
  }
  return config.order == "lifo" ? Discipline::lifo : Discipline::adaptive;
}

std::uint16_t per_mille(std::uint32_t percent) {
  return static_cast<std::uint16_t>(percent * 10);
}

ClassPolicy* find_in_any_case(Policy& policy, std::string_view name) {
  for (std::uint32_t i = 0; i < policy.class_count; ++i) {
    if (lower_case(policy.classes[i].name_view()) == lower_case(name)) {
      return &policy.classes[i];
    }
  }
  return nullptr;
}

// Of a request that names none: `critical`, unless another is named, and else the first.
std::uint8_t default_class_of(const Config& config, Policy& policy) {
  const ClassPolicy* const found =
      find_in_any_case(policy, config.default_class.empty() ? "critical" : config.default_class);
  return found == nullptr ? std::uint8_t{0}
                          : static_cast<std::uint8_t>(found - policy.classes.data());
}

// MIN-MAX, as its key has checked it.
void set_return_times(const Config& config, Policy& policy) {
  const auto dash = std::min(config.retry_after.find('-'), config.retry_after.size());
  const auto low = parse_count(config.retry_after.substr(0, dash), 1, kMaxRetryAfter);
  const auto high = parse_count(
      config.retry_after.substr(std::min(dash + 1, config.retry_after.size())), 1, kMaxRetryAfter);
  if (low && high) {
    policy.retry_after_min = static_cast<std::uint16_t>(*low);
    policy.retry_after_max = static_cast<std::uint16_t>(*high);
  }
}

QuotaPolicy quota_of(const Config& config) {
  QuotaPolicy quota;
  if (config.quota) {
    quota.requests = config.quota->requests;
    quota.per = Duration::seconds(config.quota->period().count());
    quota.burst = config.quota_burst;
    quota.keys = config.quota_keys;
  }
  return quota;
}

}  // namespace

Policy policy_of(const Config& config) {
  Policy policy;
  policy.law = config.law;
  policy.limit =
      config.law == Law::fixed ? config.limit.value_or(1) : config.limit_from.value_or(0);
  policy.limit_least = config.limit_at_least.value_or(policy.limit_least);
  policy.limit_most = config.limit_at_most.value_or(policy.limit_most);
  for (const SignalSetting& signal : config.signals) {
    add_signal(policy, signal.name, parse_signal_value(signal.at_most).value_or(0));
  }
  policy.queue = queue_of(config);
  policy.discipline = discipline_of(config);
  policy.wait_budget = Duration::millis(config.wait.count());
  for (const ClassSetting& setting : config.classes) {
    add_class(policy, setting.name, per_mille(setting.percent));
  }
  fill_defaults(policy);
  policy.default_class = default_class_of(config, policy);
  for (const ClassSetting& guarantee : config.guarantees) {
    if (ClassPolicy* const found = find_in_any_case(policy, guarantee.name)) {
      found->guarantee = per_mille(guarantee.percent);
    }
  }
  policy.heavy_share = per_mille(config.heavy);
  policy.tenants = config.tenants;
  policy.quota = quota_of(config);
  set_return_times(config, policy);
  return policy;
}

std::size_t zone_mebibytes(const Config& config) {
  constexpr std::size_t kMebibyte = 1 << 20;
  // Twice what the longest queue takes: for nginx's own bookkeeping, and for what is to come.
  constexpr std::size_t kWithoutTables = 8;
  constexpr Capacity kLongest{kMaxParticipants, Capacity::kSpareTickets + kMaxQueue};
  const std::size_t tables =
      Gate::bytes_for(kLongest.for_tables(policy_of(config))) - Gate::bytes_for(kLongest);
  return kWithoutTables + (tables + kMebibyte - 1) / kMebibyte;
}

}  // namespace loadline::tools
