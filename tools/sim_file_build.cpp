// From what a file says to scenarios: names are looked up, and what only the whole can show is
// checked.
#include <algorithm>
#include <array>

#include "config_values.h"
#include "sim_file_spec.h"
#include "sim_file_values.h"

namespace loadline::tools {
namespace {

constexpr std::uint64_t kMostLinkCalls = 1000;

std::vector<std::string> class_names(const Policy& policy) {
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < policy.class_count; ++i) {
    names.emplace_back(policy.classes[i].name_view());
  }
  return names;
}

bool equal_in_any_case(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  return std::equal(
      a.begin(), a.end(), b.begin(), b.end(),
      [](const std::string& x, const std::string& y) { return lower_case(x) == lower_case(y); });
}

// A class is the same in all policies, or their figures could not be compared.
class Classes {
 public:
  explicit Classes(const SimFileSpec& spec) {
    for (const PolicySpec& policy : spec.policies) {
      for (const auto& gate : policy.gates) {
        if (gate) {
          meet(*gate);
        }
      }
    }
    if (names_.empty()) {
      Policy usual;
      fill_defaults(usual);
      names_ = class_names(usual);
      usual_ = usual.default_class;
    }
  }

  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  [[nodiscard]] std::uint8_t usual() const { return usual_; }  // where there is no gate

 private:
  void meet(const GateSpec& gate) {
    const Policy policy = gate_policy(gate);
    const auto names = class_names(policy);
    if (names_.empty()) {
      names_ = names;
      usual_ = policy.default_class;
    } else if (!equal_in_any_case(names, names_)) {
      gate.map.fault("classes", fmt::format("{} here and {} in a policy above: allowed are the "
                                            "same in all policies, in the same order",
                                            fmt::join(names, ", "), fmt::join(names_, ", ")));
    }
  }

  std::vector<std::string> names_;
  std::uint8_t usual_ = 0;
};

// How many calls of others a call of each service leads to; circles are faults.
class LinkWalk {
 public:
  LinkWalk(const std::vector<ServiceSpec>& services, const std::vector<std::string>& names)
      : services_(services), names_(names), seen_(services.size()), calls_(services.size()) {}

  // Looks at all of them; the calls of each service are bounded, with all attempts.
  void look() {
    for (std::size_t i = 0; i < services_.size(); ++i) {
      calls_of(i);
    }
  }

 private:
  enum class Seen : std::uint8_t { no, under_way, done };

  std::uint64_t calls_of(std::size_t service) {
    if (seen_[service] == Seen::done) {
      return calls_[service];
    }
    seen_[service] = Seen::under_way;
    for (const ServiceSpec::LinkSpec& link : services_[service].links) {
      if (const auto to = index_of(link.to, names_)) {
        follow(service, link, *to);
      }
    }
    seen_[service] = Seen::done;
    return calls_[service];
  }

  void follow(std::size_t service, const ServiceSpec::LinkSpec& link, std::size_t to) {
    if (seen_[to] == Seen::under_way) {
      link.to.fault(fmt::format("links go round in a circle: a call of '{0}' leads to one of '{0}'",
                                names_[to]));
      return;
    }
    const std::uint64_t before = calls_[service];
    calls_[service] += link.link.attempts * (1 + calls_of(to));
    if (before <= kMostLinkCalls && calls_[service] > kMostLinkCalls) {
      link.to.fault(
          fmt::format("a call of '{}' may lead to {} calls of others: allowed are up to "
                      "{}, with all attempts",
                      names_[service], calls_[service], kMostLinkCalls));
    }
    calls_[service] = std::min(calls_[service], kMostLinkCalls + 1);
    if (!services_[to].work) {
      link.to.fault(fmt::format("service '{}' has no work, which a link brings", names_[to]));
    }
  }

  const std::vector<ServiceSpec>& services_;
  const std::vector<std::string>& names_;
  std::vector<Seen> seen_;
  std::vector<std::uint64_t> calls_;
};

// The server stands still in each stall.
sim::Steps<double> with_stalls(const sim::Steps<double>& speed,
                               const std::vector<ServiceSpec::Stall>& stalls) {
  std::vector<sim::Steps<double>::Change> changes;
  Instant from{};
  const auto copy_until = [&](Instant until) {
    for (; from < until; from = speed.next_change(from)) {
      changes.push_back({from, speed.at(from)});
    }
    from = until;
  };
  for (const ServiceSpec::Stall& stall : stalls) {
    copy_until(stall.from);
    changes.push_back({stall.from, 0.0});
    from = stall.until;
  }
  copy_until(Instant::never());
  return {changes.front().value, {changes.begin() + 1, changes.end()}};
}

sim::Steps<bool> standstills(const std::vector<ServiceSpec::Stall>& stalls) {
  std::vector<sim::Steps<bool>::Change> changes;
  for (const ServiceSpec::Stall& stall : stalls) {
    if (stall.gate) {
      changes.push_back({stall.from, true});
      changes.push_back({stall.until, false});
    }
  }
  return {false, std::move(changes)};
}

class Builder {
 public:
  Builder(const SimFileSpec& spec, const Classes& classes, const PolicySpec& policy)
      : spec_(spec), classes_(classes), policy_(policy) {}

  sim::Scenario build() {
    sim::Scenario scenario;
    scenario.length = spec_.duration;
    scenario.drains = spec_.drains;
    LinkWalk(policy_.services, spec_.service_names).look();
    scenario.services.clear();
    for (std::size_t i = 0; i < policy_.services.size(); ++i) {
      scenario.services.push_back(service(policy_.services[i], policy_.gates[i]));
    }
    for (const CallersSpec& callers : policy_.callers) {
      scenario.populations.push_back(population(callers));
    }
    return scenario;
  }

 private:
  sim::ServiceModel service(const ServiceSpec& spec, const std::optional<GateSpec>& gate) {
    sim::ServiceModel model = spec.model;
    model.server.speed = with_stalls(model.server.speed, spec.stalls);
    if (spec.work) {
      model.work = *spec.work;
    }
    if (gate) {
      model.gate = gate->model;
      model.gate->policy = gate_policy(*gate);
      model.gate->stopped = standstills(spec.stalls);
    }
    for (const ServiceSpec::LinkSpec& link : spec.links) {
      if (const auto to = index_of(link.to, spec_.service_names)) {
        model.links.push_back(link.link);
        model.links.back().service = static_cast<std::uint32_t>(*to);
      }
    }
    check_instances(spec);
    return model;
  }

  static void check_instances(const ServiceSpec& spec) {
    const std::uint32_t most =
        std::max(spec.model.instances, spec.model.scaling ? spec.model.scaling->most : 1);
    if (spec.autoscale && spec.model.scaling->most < spec.model.instances) {
      spec.autoscale->fault(
          fmt::format("there are {} instances from the beginning", spec.model.instances));
    }
    if (spec.paces && spec.model.paces.size() > most) {
      spec.paces->fault(
          fmt::format("{} paces for at most {} instances", spec.model.paces.size(), most));
    }
  }

  sim::Population population(const CallersSpec& spec) {
    sim::Population population = spec.population;
    if (spec.service) {
      population.service =
          static_cast<std::uint32_t>(index_of(*spec.service, spec_.service_names).value_or(0));
    }
    if (policy_.services.empty()) {
      return population;
    }
    const auto& gate = policy_.gates[population.service];
    population.importance = importance(spec, gate);
    population.tenants.group = group(spec, gate);
    check_patience(spec);
    if (const auto& own = spec.work; own) {
      population.work = *own;
    } else if (const auto& usual = policy_.services[population.service].work; usual) {
      population.work = *usual;
    } else if (!spec.bring_work) {
      spec.whole.fault("no work: write 'work: 10ms' here or at the service");
    }
    return population;
  }

  [[nodiscard]] std::uint8_t importance(const CallersSpec& spec,
                                        const std::optional<GateSpec>& gate) const {
    if (spec.importance) {
      return static_cast<std::uint8_t>(
          index_of_class(*spec.importance, classes_.names()).value_or(classes_.usual()));
    }
    return gate ? gate_policy(*gate).default_class : classes_.usual();
  }

  // A policy without groups takes them for what others are; but somewhere the group must be known.
  std::uint8_t group(const CallersSpec& spec, const std::optional<GateSpec>& gate) {
    if (!spec.group) {
      return Request::kNoGroup;
    }
    std::vector<std::string> known;
    for (const PolicySpec& policy : spec_.policies) {
      for (const auto& other : policy.gates) {
        for (const GateSpec::Group& one : other ? other->groups : std::vector<GateSpec::Group>()) {
          known.push_back(one.name);
        }
      }
    }
    if (known.empty()) {
      spec.group->refuse("a group of some policy, of which there are none");
      return Request::kNoGroup;
    }
    if (!index_of(*spec.group, known) || !gate) {
      return Request::kNoGroup;
    }
    const int index = find_group(gate_policy(*gate), spec.group->text());
    return index < 0 ? Request::kNoGroup : static_cast<std::uint8_t>(index);
  }

  static void check_patience(const CallersSpec& spec) {
    if (spec.client) {
      check_patience_of_client_half(*spec.client, spec.population.patience);
    }
    if (spec.population.patience != Duration::max()) {
      return;
    }
    if (spec.leaves && spec.population.departs) {
      spec.leaves->fault("needs patience: without it, nobody leaves");
    }
    if (spec.after_timeout) {
      spec.after_timeout->fault("needs patience: without it, no time runs out");
    }
  }

  const SimFileSpec& spec_;
  const Classes& classes_;
  const PolicySpec& policy_;
};

}  // namespace

std::optional<std::size_t> index_of(const YamlValue& name, const std::vector<std::string>& names) {
  const auto found = std::find(names.begin(), names.end(), name.text());
  if (found == names.end()) {
    name.refuse(fmt::format("one of {}", fmt::join(names, ", ")));
    return std::nullopt;
  }
  return static_cast<std::size_t>(found - names.begin());
}

std::optional<std::size_t> index_of_class(const YamlValue& name,
                                          const std::vector<std::string>& names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (lower_case(names[i]) == lower_case(name.text())) {
      return i;
    }
  }
  return index_of(name, names);
}

void build_policies(const SimFileSpec& spec, SimFile& file) {
  const Classes classes(spec);
  file.classes = classes.names();
  file.services = spec.service_names;
  for (const CallersSpec& callers : spec.callers) {
    file.callers.push_back(callers.population.name);
  }
  for (const PolicySpec& policy : spec.policies) {
    file.policies.push_back({policy.name, Builder(spec, classes, policy).build()});
  }
}

}  // namespace loadline::tools
