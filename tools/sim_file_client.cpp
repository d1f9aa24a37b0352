// The client half in a scenario file: `retries: loadline`, or `retries: {loadline: {...}}`.
#include <algorithm>
#include <map>

#include "client_settings.h"
#include "sim_file_spec.h"
#include "sim_file_values.h"

namespace loadline::tools {
namespace {

constexpr std::uint32_t kMostProcesses = 100'000;

// Reads the settings of one map, those of sections from the maps below it.
class ClientReader {
 public:
  ClientReader(const YamlValue& value, bool of_population)
      : map_(value, shape()), of_population_(of_population) {}

  sim::ClientHalf read() {
    if (of_population_) {
      take(map_, "processes", half_.processes, count_of, 1U, kMostProcesses);
      take(map_, "within", half_.deadline, time_of, Duration::millis(1), kLongestSimTime);
    }
    take(map_, "idempotent", half_.idempotent, switch_of);
    for (const std::string_view name : client_settings()) {
      read_setting(name);
    }
    for (auto& [name, section] : sections_) {
      section.refuse_others();
    }
    if (map_.refuse_others()) {
      refuse_unsound();
    }
    return half_;
  }

 private:
  static std::string shape() {
    return "on or a map of settings of the client half, as in {attempts: 3, budget: {share: 10%}}";
  }

  void read_setting(std::string_view name) {
    const auto dot = name.find('.');
    if (dot == name.npos) {
      const YamlValue* const value = map_.find(name);
      if (value != nullptr && value->is_map() && is_section(name)) {
        set_client_setting(half_.policy, name, "on");
      } else if (value != nullptr) {
        give(name, *value);
      }
      return;
    }
    const std::string_view section = name.substr(0, dot);
    const YamlValue* const whole = map_.find(section);
    if (whole == nullptr || (!whole->is_map() && is_setting(section))) {
      return;
    }
    const auto keys = sections_.try_emplace(section, *whole, keys_below(section)).first;
    if (const YamlValue* const value = keys->second.find(name.substr(dot + 1))) {
      give(name, *value);
    }
  }

  void give(std::string_view name, const YamlValue& value) {
    if (const auto allowed = set_client_setting(half_.policy, name, value.text());
        !allowed.empty()) {
      value.refuse(allowed);
    }
  }

  static bool is_setting(std::string_view name) {
    const auto all = client_settings();
    return std::find(all.begin(), all.end(), name) != all.end();
  }

  static bool is_section(std::string_view name) {
    const auto all = client_settings();
    return std::any_of(all.begin(), all.end(), [name](std::string_view other) {
      return other.size() > name.size() && other.starts_with(name) && other[name.size()] == '.';
    });
  }

  static std::string keys_below(std::string_view section) {
    std::vector<std::string_view> keys;
    for (const std::string_view name : client_settings()) {
      if (name.starts_with(section) && name.size() > section.size() &&
          name[section.size()] == '.') {
        keys.push_back(name.substr(section.size() + 1));
      }
    }
    return fmt::format("a map of {}", fmt::join(keys, ", "));
  }

  void refuse_unsound() {
    const PolicyError error = validate(half_.policy);
    if (error.refused()) {
      const std::string_view field = error.field;
      map_.fault(field.substr(0, field.find('.')), error.text.data());
    }
  }

  YamlMap map_;
  bool of_population_;
  sim::ClientHalf half_;
  std::map<std::string_view, YamlMap> sections_;
};

}  // namespace

std::optional<sim::ClientHalf> read_client_half(const YamlValue& retries, bool of_population) {
  if (retries.is_single() && retries.text() == "loadline") {
    return sim::ClientHalf{};
  }
  if (!retries.is_map() || !retries.node()["loadline"]) {
    return std::nullopt;
  }
  YamlMap map(retries, "a map of loadline");
  const YamlValue* const settings = map.find("loadline");
  map.refuse_others();
  if (settings->is_single() && settings->text() == "on") {
    return sim::ClientHalf{};
  }
  return ClientReader(*settings, of_population).read();
}

void check_patience_of_client_half(const YamlValue& retries, Duration patience) {
  constexpr Duration kShortest = Duration::millis(1);
  constexpr Duration kLongest = Duration::seconds(3600);
  if (patience != Duration::max() && (patience < kShortest || patience > kLongest)) {
    retries.fault("loadline needs a patience from 1ms to 1h, or none");
  }
}

}  // namespace loadline::tools
