#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "config.h"
#include "config_policy.h"

namespace loadline::tools {
namespace {

bool is_wildcard(std::string_view address) {
  return address == "0.0.0.0" || address == "::";
}

bool is_this_machine(std::string_view host) {
  return is_wildcard(host) || host == "localhost" || host == "::1" || host.starts_with("127.");
}

// Whether what is sent to the one may end up at the other: nginx gives a connection to the most
// exact address that listens at its port, so beside a wildcard the admin server would answer for
// the service.
bool collide(const ListenAddress& a, const ListenAddress& b) {
  return a.port == b.port &&
         (a.address == b.address || is_wildcard(a.address) || is_wildcard(b.address));
}

bool leads_to(const Upstream& upstream, const ListenAddress& listen) {
  if (upstream.port != listen.port) {
    return false;
  }
  // Which address of the two families it will be is seen only when it is looked up.
  if (upstream.host == "localhost") {
    return is_this_machine(listen.address);
  }
  return upstream.host == listen.address ||
         (is_this_machine(upstream.host) && is_wildcard(listen.address));
}

void compare_listens(const Config& config, std::vector<ConfigFault>& faults) {
  const auto taken_by_listen = [&config](const std::optional<ListenAddress>& address) {
    return address && config.listen && collide(*address, *config.listen);
  };
  if (taken_by_listen(config.admin)) {
    faults.push_back({"admin", "shares an address with 'listen': choose another port"});
  }
  if (taken_by_listen(config.metrics)) {
    faults.push_back({"metrics", "shares an address with 'listen': choose another port"});
  }
  if (config.admin && config.metrics && collide(*config.admin, *config.metrics)) {
    faults.push_back({"metrics",
                      "shares an address with 'admin', which answers /metrics already: "
                      "choose another port, or leave it out"});
  }
}

void check_upstream(const Config& config, std::vector<ConfigFault>& faults) {
  const auto leads_here = [&config](const std::optional<ListenAddress>& address) {
    return address && config.upstream && leads_to(*config.upstream, *address);
  };
  if (leads_here(config.listen)) {
    faults.push_back(
        {"upstream", "is the address of 'listen': requests would go round in circles"});
  } else if (leads_here(config.admin) || leads_here(config.metrics)) {
    faults.push_back({"upstream", "is an address of the sidecar's own, not of a service"});
  }
}

// A class without a share may fill as much as the one above it.
void check_shares(const Config& config, std::vector<ConfigFault>& faults) {
  std::uint32_t above = 100;
  for (const ClassSetting& setting : config.classes) {
    const std::uint32_t percent = setting.percent == 0 ? above : setting.percent;
    if (percent > above) {
      faults.push_back({"classes", fmt::format("class '{}' may fill {}% of the limit, and one that "
                                               "is more important only {}%: shares must not grow",
                                               setting.name, percent, above)});
    }
    above = percent;
  }
}

std::vector<std::string_view> class_names(const Config& config) {
  if (config.classes.empty()) {
    return {"critical_plus", "critical", "sheddable_plus", "sheddable"};
  }
  std::vector<std::string_view> names;
  for (const ClassSetting& setting : config.classes) {
    names.emplace_back(setting.name);
  }
  return names;
}

// In any case, as the gate finds them: clients write them as they like.
void check_classes(const Config& config, std::vector<ConfigFault>& faults) {
  std::set<std::string> seen;
  const auto names = class_names(config);
  for (const std::string_view name : names) {
    if (!seen.insert(lower_case(name)).second) {
      faults.push_back({"classes", fmt::format("class '{}' is there twice", name)});
    }
  }
  if (config.classes.size() > 8) {
    faults.push_back(
        {"classes", fmt::format("{} classes: allowed are up to 8", config.classes.size())});
  }
  if (!config.default_class.empty() && !seen.contains(lower_case(config.default_class))) {
    faults.push_back({"default_class", fmt::format("value '{}': allowed is one of {}",
                                                   config.default_class, fmt::join(names, ", "))});
  }
}

void check_tls(const Config& config, std::vector<ConfigFault>& faults) {
  const auto& upstream = config.upstream;
  const bool https = upstream && upstream->kind == Upstream::Kind::https;
  // nginx compares a certificate with names only, never with the addresses in it.
  if (https && upstream->is_numeric() && config.upstream_name.empty() &&
      config.upstream_ca != "off") {
    faults.push_back({"upstream",
                      "an https upstream given by address cannot be verified: set "
                      "upstream_name to the name in its certificate, or upstream_ca to "
                      "off"});
  }
}

// One header cannot say two things.
void check_headers(const Config& config, std::vector<ConfigFault>& faults) {
  struct Use {
    std::string_view key;
    const std::string& header;
  };
  const Use uses[] = {{"class_header", config.class_header},
                      {"deadline.header", config.deadline_header},
                      {"weight_header", config.weight_header}};
  for (const Use* use = std::begin(uses); use != std::end(uses); ++use) {
    const auto* const earlier = std::find_if(std::begin(uses), use, [use](const Use& other) {
      return header_variable(other.header) == header_variable(use->header);
    });
    if (!use->header.empty() && earlier != use) {
      faults.push_back({use->key, fmt::format("'{}' is the {}, and one header cannot say both: "
                                              "choose another name",
                                              use->header, earlier->key)});
    }
  }
}

void check_guarantees(const Config& config, std::vector<ConfigFault>& faults) {
  std::set<std::string> known;
  const auto names = class_names(config);
  for (const std::string_view name : names) {
    known.insert(lower_case(name));
  }
  std::set<std::string> seen;
  for (const ClassSetting& guarantee : config.guarantees) {
    const std::string name = lower_case(guarantee.name);
    if (!known.contains(name)) {
      faults.push_back({"guarantees", fmt::format("class '{}': allowed is one of {}",
                                                  guarantee.name, fmt::join(names, ", "))});
    } else if (!seen.insert(name).second) {
      faults.push_back({"guarantees", fmt::format("class '{}' is there twice", guarantee.name)});
    }
  }
}

void check_signals(const Config& config, std::vector<ConfigFault>& faults) {
  std::set<std::string_view> seen;
  for (const SignalSetting& signal : config.signals) {
    if (!seen.insert(signal.name).second) {
      faults.push_back({"limit.signals", fmt::format("signal '{}' is there twice", signal.name)});
    }
  }
  if (config.signals.size() > kMaxSignals) {
    faults.push_back({"limit.signals", fmt::format("{} signals: allowed are up to {}",
                                                   config.signals.size(), kMaxSignals)});
  }
}

// What only means something to a law.
void check_bounds(const Config& config, std::vector<ConfigFault>& faults) {
  const std::pair<std::string_view, bool> numbers[] = {
      {"limit.from", config.limit_from.has_value()},
      {"limit.at_least", config.limit_at_least.has_value()},
      {"limit.at_most", config.limit_at_most.has_value()},
      {"limit.signals", !config.signals.empty()}};
  for (const auto& [key, given] : numbers) {
    if (given && config.law == Law::fixed) {
      faults.push_back({key, "needs a law that finds the limit, as in limit: {law: auto}"});
    }
  }
}

// What would be written down and do nothing.
void check_idle(const Config& config, std::vector<ConfigFault>& faults) {
  const Config plain = default_config();
  check_bounds(config, faults);
  if (config.heavy != plain.heavy && config.weight_header.empty()) {
    faults.push_back({"heavy", "needs weight_header: without it, no request weighs more than 1"});
  }
  if (config.tenant_key.header != plain.tenant_key.header && config.tenants == 0) {
    faults.push_back({"tenants.key", "needs tenants.number"});
  }
  if (config.quota) {
    return;
  }
  if (config.quota_burst != plain.quota_burst) {
    faults.push_back({"quota.burst", "needs quota.rate"});
  }
  if (config.quota_key.header != plain.quota_key.header) {
    faults.push_back({"quota.key", "needs quota.rate"});
  }
  if (config.quota_keys != plain.quota_keys) {
    faults.push_back({"quota.keys", "needs quota.rate"});
  }
}

// The key that a member of Policy is set by.
std::string_view key_of(std::string_view field) {
  if (field == "tenants") {
    return "tenants.number";
  }
  if (field == "quota") {
    return "quota.rate";
  }
  if (field == "limit_least") {
    return "limit.at_least";
  }
  if (field == "limit_from") {
    return "limit.from";
  }
  if (field == "signals") {
    return "limit.signals";
  }
  if (field == "discipline") {
    return "order";
  }
  return "guarantees";  // of `classes`, all else has been looked at before
}

// The gate's own view of the whole. It says one thing at a time.
void ask_the_gate(const Config& config, std::vector<ConfigFault>& faults) {
  const PolicyError error = validate(policy_of(config));
  if (error.refused()) {
    faults.push_back({key_of(error.field), error.text.data()});
  }
}

}  // namespace

std::vector<ConfigFault> find_contradictions(const Config& config) {
  std::vector<ConfigFault> faults;
  compare_listens(config, faults);
  check_upstream(config, faults);
  check_tls(config, faults);
  check_headers(config, faults);
  check_classes(config, faults);
  check_shares(config, faults);
  check_guarantees(config, faults);
  check_signals(config, faults);
  check_idle(config, faults);
  if (faults.empty()) {
    ask_the_gate(config, faults);
  }
  return faults;
}

}  // namespace loadline::tools
