#include "config_yaml.h"

#include <fmt/format.h>

#include <map>

#include "yaml_file.h"

namespace loadline::tools {
namespace {

class Giver {
 public:
  Giver(Config& config, const ConfigKey& key) : config_(config), key_(key) {}

  std::vector<FileFault> give(const YAML::Node& value) {
    if (key_.is_list()) {
      read_list(value);
    } else if (!value.IsScalar()) {
      add(value, fmt::format("{}: allowed is {}",
                             value.IsNull() ? "no value" : "not a single value", key_.allowed));
    } else {
      set(value, value.Scalar());
    }
    return std::move(faults_);
  }

 private:
  void read_list(const YAML::Node& value) {
    key_.clear(config_);
    if (value.IsScalar() && value.Scalar() == "off") {
      return;
    }
    if ((key_.name == "guarantees" || key_.name == "limit.signals") && value.IsMap()) {
      read_pairs(value);
    } else if (value.IsSequence()) {
      for (const auto& item : value) {
        read_item(item);
      }
    } else {
      read_item(value);
    }
  }

  // {NAME: VALUE} is a list of NAME:VALUE.
  void read_pairs(const YAML::Node& map) {
    for (const auto& pair : map) {
      if (pair.first.IsScalar() && pair.second.IsScalar()) {
        set(pair.first, pair.first.Scalar() + ":" + pair.second.Scalar());
      } else {
        add(pair.first, fmt::format("allowed is {}", key_.allowed));
      }
    }
  }

  void read_item(const YAML::Node& item) {
    if (key_.name == "classes" && item.IsMap()) {
      read_class(item);
    } else if (item.IsScalar()) {
      set(item, item.Scalar());
    } else {
      add(item, fmt::format("allowed is {}", key_.allowed));
    }
  }

  // {name: NAME, share: PERCENT%} is NAME:PERCENT% written out.
  void read_class(const YAML::Node& item) {
    std::map<std::string, std::string> parts;
    for (const auto& part : item) {
      if (!part.first.IsScalar() || !part.second.IsScalar()) {
        add(item, "a class is a name or {name: NAME, share: PERCENT%}");
        return;
      }
      const std::string& name = part.first.Scalar();
      if (name != "name" && name != "share") {
        add(item,
            fmt::format("'{}' is {}", printable(name), unknown_name(name, {"name", "share"})));
        return;
      }
      if (!parts.emplace(name, part.second.Scalar()).second) {
        add(item, fmt::format("'{}' is given twice", name));
        return;
      }
    }
    if (!parts.contains("name")) {
      add(item, "a class needs a name");
      return;
    }
    set(item, parts.contains("share") ? parts["name"] + ":" + parts["share"] : parts["name"]);
  }

  void set(const YAML::Node& at, const std::string& text) {
    if (!key_.set(config_, text)) {
      add(at, not_allowed(key_, text));
    }
  }

  void add(const YAML::Node& at, std::string text) {
    faults_.push_back({place_of(at.Mark()), std::move(text)});
  }

  Config& config_;
  const ConfigKey& key_;
  std::vector<FileFault> faults_;
};

}  // namespace

std::vector<FileFault> give_yaml(Config& config, const ConfigKey& key, const YAML::Node& value) {
  return Giver(config, key).give(value);
}

}  // namespace loadline::tools
