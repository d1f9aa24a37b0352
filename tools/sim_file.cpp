#include "sim_file.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "config.h"
#include "config_values.h"
#include "sim_file_spec.h"
#include "sim_file_values.h"
#include "sim_yaml.h"
#include "yaml_file.h"

namespace loadline::tools {
namespace {

constexpr std::uint32_t kMostSeeds = 1000;
constexpr std::size_t kMostLimits = 1000;  // that an oracle tries for each phase

// "8-64", or "8" alone.
std::optional<std::pair<std::uint32_t, std::uint32_t>> limits_of(const YamlValue& value) {
  const std::string_view text = value.text();
  const auto dash = text.find('-');
  const auto low = parse_count(text.substr(0, dash), 1, kMaxLimit);
  const auto high = dash == text.npos ? low : parse_count(text.substr(dash + 1), 1, kMaxLimit);
  if (!low || !high || *high < *low) {
    value.refuse("limits from 1 to 1000000, as in 8 or 8-64");
    return std::nullopt;
  }
  return std::pair(*low, *high);
}

void add_limits(const YamlValue& value, std::vector<std::uint32_t>& limits) {
  const auto range = limits_of(value);
  if (!range) {
    return;
  }
  const auto [low, high] = *range;
  if (!limits.empty() && low <= limits.back()) {
    value.fault(fmt::format("value '{}': the one before is {}, and they must rise", value.text(),
                            limits.back()));
  } else if (limits.size() + (high - low) >= kMostLimits) {
    value.fault(fmt::format("more than {} limits to try", kMostLimits));
  } else {
    for (std::uint32_t limit = low; limit <= high; ++limit) {
      limits.push_back(limit);
    }
  }
}

class SimReader {
 public:
  SimReader(const std::string& text, const std::string& folder, SimLength length) : text_(text) {
    spec_.folder = folder;
    form_ = length;
  }

  SimFile read() {
    const YAML::Node document = load_yaml(text_, file_.faults);
    if (document.IsDefined()) {
      read_document(document);
    }
    sort_faults(file_.faults);
    drop_repeated();
    return std::move(file_);
  }

 private:
  void read_document(const YAML::Node& document) {
    const FilePlace place = document.IsNull() ? FilePlace{} : place_of(document.Mark());
    if (!is_walkable(document)) {
      file_.faults.push_back({place, "too many values, or one inside another without an end"});
      return;
    }
    const YamlValue whole(document, "", place, file_.faults);
    YamlMap map(whole, "a map, as in 'version: 1'");
    read_version(map);
    read_run(map);
    read_parts(map);
    read_measure(map);
    if (const YamlValue* const oracle = map.find("oracle")) {
      read_oracle(*oracle);
    }
    if (const YamlValue* const expect = map.find("expect")) {
      read_expectations(*expect, file_);
    }
    map.refuse_others();
  }

  static void read_version(YamlMap& map) {
    if (const YamlValue* const version = map.need("version", "version: 1")) {
      if (const std::string fault = version_fault(version->node()); !fault.empty()) {
        version->fault(fault);
      }
    }
  }

  void read_run(YamlMap& map) {
    if (const YamlValue* const about = map.find("about")) {
      read_about(*about);
    }
    if (const YamlValue* const duration = map.need("duration", "duration: 60s")) {
      spec_.duration = time_of(*duration, Duration::millis(1)).value_or(Duration{});
    }
    file_.longest = spec_.duration;
    if (const YamlValue* const lengths = map.find("lengths")) {
      read_lengths(*lengths);
    }
    take(map, "drain", spec_.drains, switch_of);
    std::uint32_t seeds = 1;
    take(map, "seeds", seeds, count_of, 1U, kMostSeeds);
    file_.seeds = seeds;
    file_.length = spec_.duration;
  }

  void read_lengths(const YamlValue& value) {
    YamlMap lengths(value, "a map of short and full");
    Duration shortened = spec_.duration;
    Duration full = spec_.duration;
    take(lengths, "short", shortened, time_of, Duration::millis(1), kLongestSimTime);
    take(lengths, "full", full, time_of, Duration::millis(1), kLongestSimTime);
    lengths.refuse_others();
    if (spec_.duration > Duration{} && shortened > spec_.duration) {
      lengths.fault("short", "is longer than duration");
    }
    if (spec_.duration > Duration{} && full < spec_.duration) {
      lengths.fault("full", "is shorter than duration");
    }
    file_.longest = full;
    if (form_ != SimLength::usual) {
      spec_.duration = form_ == SimLength::full ? full : shortened;
    }
  }

  void read_about(const YamlValue& about) {
    if (about.is_single() && is_body(about.text())) {
      file_.about = about.text();
    } else {
      about.refuse("a text of up to 4096 bytes");
    }
  }

  void read_parts(YamlMap& map) {
    const YamlValue* const services = map.find("services");
    if (services != nullptr && map.find("service") != nullptr) {
      map.fault("services", "does not go with 'service': one is 'service', several are 'services'");
    } else if (services != nullptr) {
      read_services(*services, spec_);
    } else if (const YamlValue* const service =
                   map.need("service", "service: {workers: 8, work: 10ms}")) {
      read_service(*service, spec_);
    }
    if (const YamlValue* const callers =
            map.need("callers", "callers: {all: {arrivals: {poisson: 100/s}}}")) {
      read_callers(*callers, spec_);
    }
    if (const YamlValue* const policies =
            map.need("policies", "policies: {loadline: {limit: 8}}")) {
      read_policies(*policies, spec_);
    }
    build_policies(spec_, file_);
  }

  // Where the run goes on until all have ended, nobody knows beforehand when that is.
  void read_measure(YamlMap& map) {
    const Instant end = Instant{} + spec_.duration;
    file_.end = spec_.drains ? Instant::never() : end;
    file_.measured = {Instant{}, file_.end};
    const YamlValue* const value = map.find("measure");
    if (value == nullptr) {
      return;
    }
    YamlMap measure(*value, "a map of from and to");
    take(measure, "from", file_.measured.from, moment_of);
    take(measure, "to", file_.measured.to, moment_of);
    measure.refuse_others();
    if (file_.length < file_.longest) {
      file_.measured.to = std::min(file_.measured.to, file_.end);
    }
    if (file_.measured.from >= file_.measured.to && spec_.duration > Duration{}) {
      value->fault("nothing is left to measure: from is not before to");
    }
    if (!spec_.drains && file_.measured.to > end && spec_.duration > Duration{}) {
      measure.fault("to", "is after the end of the run");
    }
  }

  void read_oracle(const YamlValue& value) {
    YamlMap map(value, "a map of limits and phases");
    SimOracle oracle;
    if (const YamlValue* const limits = map.need("limits", "limits: 1-64")) {
      for (const YamlValue& item : limits->items()) {
        add_limits(item, oracle.limits);
      }
    }
    oracle.phases = {Instant{}};
    if (const YamlValue* const phases = map.find("phases")) {
      oracle.phases = phases_of(*phases);
    }
    map.refuse_others();
    const bool any_gate =
        std::any_of(file_.policies.begin(), file_.policies.end(), [](const SimPolicy& policy) {
          const auto& services = policy.scenario.services;
          return std::any_of(services.begin(), services.end(),
                             [](const sim::ServiceModel& service) { return service.gate; });
        });
    if (!file_.policies.empty() && !any_gate) {
      value.fault("no policy has a gate whose limit could be tried");
    }
    file_.oracle = std::move(oracle);
  }

  std::vector<Instant> phases_of(const YamlValue& value) const {
    std::vector<Instant> phases;
    for (const YamlValue& item : value.items()) {
      const auto from = moment_of(item);
      if (!from ||
          !comes_after(item, *from, phases.empty() ? std::nullopt : std::optional(phases.back()))) {
        continue;
      }
      if (phases.empty() && *from != Instant{}) {
        item.fault("the first phase begins at 0s");
      } else if (*from >= Instant{} + spec_.duration && spec_.duration > Duration{}) {
        item.fault("begins after the end of the run");
      }
      phases.push_back(*from);
    }
    return phases;
  }

  // What is wrong with what all policies share is found in each.
  void drop_repeated() {
    std::set<std::pair<FilePlace, std::string_view>> seen;
    std::vector<FileFault> once;
    for (const FileFault& fault : file_.faults) {
      if (seen.emplace(fault.place, fault.text).second) {
        once.push_back(fault);
      }
    }
    file_.faults = std::move(once);
  }

  const std::string& text_;
  SimLength form_ = SimLength::usual;
  SimFile file_;
  SimFileSpec spec_;
};

}  // namespace

SimFile read_sim_text(const std::string& text, const std::string& folder, SimLength length) {
  return SimReader(text, folder, length).read();
}

SimFile read_sim_file(const std::string& path, SimLength length) {
  const std::string text = read_regular_file(path);
  return read_sim_text(text, std::filesystem::path(path).parent_path().string(), length);
}

}  // namespace loadline::tools
