#include "sim_yaml.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "config.h"
#include "yaml_file.h"

namespace loadline::tools {
namespace {

constexpr int kDeepest = 32;
constexpr std::size_t kMostNodes = 500'000;

// An alias may lead back to what it stands in, and a few of aliases' aliases are a billion nodes.
bool walk(const YAML::Node& node, int depth, std::size_t& nodes) {
  if (depth > kDeepest || ++nodes > kMostNodes) {
    return false;
  }
  if (node.IsSequence()) {
    return std::all_of(node.begin(), node.end(), [&](const YAML::detail::iterator_value& item) {
      return walk(item, depth + 1, nodes);
    });
  }
  if (node.IsMap()) {
    return std::all_of(node.begin(), node.end(), [&](const YAML::detail::iterator_value& pair) {
      return walk(pair.first, depth + 1, nodes) && walk(pair.second, depth + 1, nodes);
    });
  }
  return true;
}

}  // namespace

bool is_walkable(const YAML::Node& node) {
  std::size_t nodes = 0;
  return walk(node, 0, nodes);
}

YamlValue::YamlValue(const YAML::Node& node, std::string path, FilePlace place, FileFaults& faults)
    : node_(node), path_(std::move(path)), place_(place), faults_(&faults) {}

YamlValue& YamlValue::operator=(const YamlValue& other) {
  if (this != &other) {
    node_.reset(other.node_);
    path_ = other.path_;
    place_ = other.place_;
    faults_ = other.faults_;
  }
  return *this;
}

const std::string& YamlValue::text() const {
  static const std::string kNone;
  return is_single() ? node_.Scalar() : kNone;
}

std::vector<YamlValue> YamlValue::items() const {
  if (!is_list()) {
    return {*this};
  }
  std::vector<YamlValue> items;
  for (const auto& item : node_) {
    const std::string path = fmt::format("{}[{}]", path_, items.size() + 1);
    items.emplace_back(item, path, place_of(item.Mark()), *faults_);
  }
  if (items.empty()) {
    fault("an empty list: allowed is at least one");
  }
  return items;
}

void YamlValue::fault(std::string_view text) const {
  faults_->push_back({place_, path_.empty() ? std::string(text)
                                            : fmt::format("key '{}': {}", printable(path_), text)});
}

void YamlValue::refuse(std::string_view allowed) const {
  if (is_single()) {
    fault(fmt::format("value '{}': allowed is {}", printable(text()), allowed));
  } else {
    fault(fmt::format("{}: allowed is {}",
                      is_list() || is_map() ? "not a single value" : "no value", allowed));
  }
}

YamlMap::YamlMap(const YamlValue& value, std::string_view allowed) : whole_(value) {
  if (!value.is_map()) {
    sound_ = false;
    if (value.is_single()) {
      value.refuse(allowed);
    } else {
      value.fault(
          fmt::format("{}: allowed is {}", value.is_list() ? "a list" : "no value", allowed));
    }
    return;
  }
  std::map<std::string_view, FilePlace> seen;
  for (const auto& pair : value.node()) {
    const FilePlace place = loadline::tools::place_of(pair.first.Mark());
    if (!pair.first.IsScalar()) {
      value.faults().push_back({place, "a key must be a name"});
      continue;
    }
    const std::string& name = pair.first.Scalar();
    const auto [known, is_new] = seen.emplace(name, place);
    if (is_new) {
      const auto at = pair.second.IsNull() ? place : loadline::tools::place_of(pair.second.Mark());
      entries_.push_back({name, place, {pair.second, path_of(name), at, value.faults()}});
    } else {
      value.faults().push_back({place, fmt::format("key '{}': given twice; first at line {}",
                                                   printable(path_of(name)), known->second.line)});
    }
  }
}

const YamlValue* YamlMap::find(std::string_view key) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) {
    known_.push_back(key);
  }
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [key](const Entry& entry) { return entry.name == key; });
  return found == entries_.end() ? nullptr : &found->value;
}

const YamlValue* YamlMap::need(std::string_view key, std::string_view example) {
  const YamlValue* const value = find(key);
  if (value == nullptr && sound_) {
    fault(key, fmt::format("missing; write '{}'", example));
  }
  return value;
}

FilePlace YamlMap::place_of_key(std::string_view key) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [key](const Entry& entry) { return entry.name == key; });
  return found == entries_.end() ? whole_.place() : found->place;
}

bool YamlMap::refuse_others() const {
  bool none = true;
  for (const Entry& entry : entries_) {
    if (std::find(known_.begin(), known_.end(), entry.name) == known_.end()) {
      fault(entry.name, unknown_name(printable(entry.name), known_));
      none = false;
    }
  }
  return none;
}

void YamlMap::fault(std::string_view key, std::string_view text) const {
  whole_.faults().push_back(
      {place_of_key(key), fmt::format("key '{}': {}", printable(path_of(key)), text)});
}

std::string YamlMap::path_of(std::string_view key) const {
  return whole_.path().empty() ? std::string(key) : fmt::format("{}.{}", whole_.path(), key);
}

}  // namespace loadline::tools
