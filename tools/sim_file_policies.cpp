#include <algorithm>
#include <array>

#include "config_policy.h"
#include "config_yaml.h"
#include "sim_file_spec.h"
#include "sim_file_values.h"

namespace loadline::tools {
namespace {

// The keys of the sidecar's file that the gate is set by, beside `limit` alone.
constexpr std::string_view kGateKeys[] = {
    "limit.law", "limit.from",     "limit.at_least", "limit.at_most", "queue",
    "wait",      "order",          "classes",        "default_class", "guarantees",
    "heavy",     "tenants.number", "quota.rate",     "quota.burst",   "quota.keys"};

constexpr std::uint32_t kMostTenantsOfAGroup = 1000;
constexpr std::uint32_t kUsualQueueRoom = 1024;

// Reads the gate's keys of one map.
class GateReader {
 public:
  explicit GateReader(YamlMap& map) : map_(map), gate_(map) { gate_.config = default_config(); }

  std::optional<GateSpec> read(bool required) {
    if (const YamlValue* const limit = map_.find("limit"); limit != nullptr && !limit->is_map()) {
      give("limit", limit);
    }
    for (const std::string_view key : kGateKeys) {
      read_key(key);
    }
    for (auto& [name, section] : sections_) {
      if (name == "limit") {
        section.need("law", "law: auto");
      }
      section.refuse_others();
    }
    give("reject.retry_after", map_.find("retry_after"));
    read_groups();
    read_limits();
    read_predict();
    const bool off = is_off();
    if (off || given_.empty()) {
      if (off && !given_.empty()) {
        map_.fault(given_.front(), "does not go with 'gate: off'");
      } else if (!off && required) {
        map_.fault("limit", "missing; write 'limit: 64', or 'gate: off'");
      }
      return std::nullopt;
    }
    map_.need("limit", "limit: 64");
    set_queue_room();
    return gate_;
  }

 private:
  void read_key(std::string_view key) {
    const auto dot = key.find('.');
    if (dot == std::string_view::npos) {
      give(key, map_.find(key));
      return;
    }
    const std::string_view section = key.substr(0, dot);
    const YamlValue* const whole = map_.find(section);
    if (whole == nullptr || (section == "limit" && !whole->is_map())) {
      return;
    }
    note(section);
    const auto keys = sections_.try_emplace(section, *whole, keys_below(section)).first;
    give(key, keys->second.find(key.substr(dot + 1)));
  }

  static std::string keys_below(std::string_view section) {
    std::vector<std::string_view> keys;
    for (const std::string_view key : kGateKeys) {
      if (key.starts_with(section) && key.size() > section.size()) {
        keys.push_back(key.substr(section.size() + 1));
      }
    }
    return fmt::format("a map of {}", fmt::join(keys, ", "));
  }

  void give(std::string_view key, const YamlValue* value) {
    if (value == nullptr) {
      return;
    }
    note(key.substr(0, key.find('.')));
    for (const FileFault& fault : give_yaml(gate_.config, *find_config_key(key), value->node())) {
      const FilePlace place = value->node().IsNull() ? value->place() : fault.place;
      YamlValue(value->node(), value->path(), place, value->faults()).fault(fault.text);
    }
  }

  void note(std::string_view key) { given_.push_back(key == "reject" ? "retry_after" : key); }

  bool is_off() {
    const YamlValue* const value = map_.find("gate");
    if (value == nullptr) {
      return false;
    }
    const auto on = switch_of(*value);
    return on == false;
  }

  void read_groups() {
    const YamlValue* const value = map_.find("groups");
    if (value == nullptr) {
      return;
    }
    note("groups");
    for (const YamlMap::Entry& entry : named_entries(*value, "groups of tenants")) {
      if (const auto tenants = count_of(entry.value, 1U, kMostTenantsOfAGroup)) {
        gate_.groups.push_back({entry.name, *tenants});
      }
    }
    if (gate_.groups.size() > kMaxGroups) {
      value->fault(fmt::format("{} groups: allowed are up to {}", gate_.groups.size(), kMaxGroups));
    }
    if (gate_.config.tenants == 0) {
      map_.fault("groups", "needs tenants.number");
    }
  }

  void read_limits() {
    if (const YamlValue* const value = map_.find("limits")) {
      note("limits");
      if (gate_.config.law != Law::fixed) {
        map_.fault("limits",
                   fmt::format("does not go with a limit that {} finds", name(gate_.config.law)));
      }
      gate_.model.limits = changes_of<std::uint32_t>(*value, "limit", count_of, 1U, kMaxLimit);
    }
  }

  void read_predict() {
    if (const YamlValue* const value = map_.find("predict")) {
      note("predict");
      gate_.model.tells_service_times = switch_of(*value).value_or(true);
    }
  }

  void set_queue_room() {
    const Policy policy = policy_of(gate_.config);
    gate_.model.queue_room =
        policy.queue.kind == QueueSize::Kind::fixed ? policy.queue.entries : kUsualQueueRoom;
  }

  YamlMap& map_;
  GateSpec gate_;
  std::map<std::string_view, YamlMap> sections_;
  std::vector<std::string_view> given_;
};

// The key of the file that a member of Policy is set by, where find_contradictions has not found
// the fault before.
void refuse_unsound(const GateSpec& gate) {
  Config config = gate.config;
  config.weight_header = "weight";  // here, callers say what they weigh
  const auto contradictions = find_contradictions(config);
  for (const ConfigFault& fault : contradictions) {
    gate.map.fault(fault.key.substr(0, fault.key.find('.')), fault.text);
  }
  if (contradictions.empty()) {
    const PolicyError error = validate(gate_policy(gate));
    if (error.refused()) {
      gate.map.fault(error.field, error.text.data());
    }
  }
}

class PolicyReader {
 public:
  PolicyReader(const YamlMap::Entry& entry, const SimFileSpec& file)
      : file_(file),
        map_(entry.value, "a map of limit, queue and more, or {gate: off}"),
        policy_{entry.name, entry.value, file.services, {}, file.callers} {
    policy_.gates.resize(file.services.size());
  }

  PolicySpec read() {
    const YamlValue* const services = map_.find("services");
    const YamlValue* const callers = map_.find("callers");
    if (callers != nullptr) {
      change_callers(*callers, policy_);
    }
    if (file_.services.empty()) {
      return std::move(policy_);  // that is fault enough
    }
    const bool named = services != nullptr && names_the_first(*services);
    read_of(map_, 0, !named);
    map_.refuse_others();
    if (services != nullptr) {
      read_others(*services);
    }
    return std::move(policy_);
  }

 private:
  [[nodiscard]] bool names_the_first(const YamlValue& services) const {
    const auto is_first = [&](const YAML::detail::iterator_value& pair) {
      return pair.first.IsScalar() && pair.first.Scalar() == file_.service_names.front();
    };
    return services.is_map() &&
           std::any_of(services.node().begin(), services.node().end(), is_first);
  }

  void read_of(YamlMap& map, std::size_t service, bool gate_required) {
    read_service_keys(map, policy_.services[service]);
    auto gate = read_gate(map, gate_required && map.whole().is_map());
    if (gate) {
      refuse_unsound(*gate);
      policy_.gates[service].emplace(std::move(*gate));
    }
  }

  void read_others(const YamlValue& value) {
    const YamlMap map(value, "a map of services, each with what is its own");
    for (const YamlMap::Entry& entry : map.entries()) {
      const auto& names = file_.service_names;
      const auto found = std::find(names.begin(), names.end(), entry.name);
      if (found == names.end()) {
        map.fault(entry.name, unknown_name(entry.name, std::vector<std::string_view>(names.begin(),
                                                                                     names.end())));
      } else if (found == names.begin() && !has_only_others()) {
        map.fault(entry.name, "is the first service, whose keys stand in the policy itself");
      } else {
        YamlMap keys(entry.value, "a map of limit, queue and more");
        read_of(keys, static_cast<std::size_t>(found - names.begin()), found == names.begin());
        keys.refuse_others();
      }
    }
  }

  [[nodiscard]] bool has_only_others() const {
    return std::all_of(map_.entries().begin(), map_.entries().end(),
                       [](const YamlMap::Entry& entry) {
                         return entry.name == "services" || entry.name == "callers";
                       });
  }

  const SimFileSpec& file_;
  YamlMap map_;
  PolicySpec policy_;
};

}  // namespace

std::optional<GateSpec> read_gate(YamlMap& map, bool required) {
  return GateReader(map).read(required);
}

Policy gate_policy(const GateSpec& gate) {
  Policy policy = policy_of(gate.config);
  for (const GateSpec::Group& group : gate.groups) {
    add_group(policy, group.name, static_cast<std::uint16_t>(group.tenants));
  }
  return policy;
}

void read_policies(const YamlValue& value, SimFileSpec& file) {
  for (const YamlMap::Entry& entry : named_entries(value, "policies")) {
    if (entry.name == kOracle) {
      entry.value.fault("that is what the best fixed limits are called: choose another name");
    }
    file.policies.push_back(PolicyReader(entry, file).read());
  }
}

}  // namespace loadline::tools
