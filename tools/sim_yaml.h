// A strict way through the YAML of a scenario file: every value knows its place and its path, and
// what nobody asks for is a fault.
#pragma once

#include <yaml-cpp/yaml.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "file_fault.h"

namespace loadline::tools {

using FileFaults = std::vector<FileFault>;

// One value: a single one, a list or a map.
class YamlValue {
 public:
  YamlValue(const YAML::Node& node, std::string path, FilePlace place, FileFaults& faults);
  YamlValue(const YamlValue&) = default;
  // To assign to a YAML::Node changes what it stands for, in the document and so everywhere.
  YamlValue& operator=(const YamlValue& other);
  ~YamlValue() = default;

  [[nodiscard]] bool is_single() const { return node_.IsScalar(); }
  [[nodiscard]] bool is_list() const { return node_.IsSequence(); }
  [[nodiscard]] bool is_map() const { return node_.IsMap(); }
  [[nodiscard]] bool is_off() const { return is_single() && text() == "off"; }

  // Of a single value; else empty.
  [[nodiscard]] const std::string& text() const;
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] FilePlace place() const { return place_; }
  [[nodiscard]] const YAML::Node& node() const { return node_; }
  [[nodiscard]] FileFaults& faults() const { return *faults_; }

  // Of a list; anything else is a list of itself. An empty one is a fault.
  [[nodiscard]] std::vector<YamlValue> items() const;

  // "key 'callers.everyone.work': ..."
  void fault(std::string_view text) const;
  // The same with what the value is: "value '-1': allowed is ..."
  void refuse(std::string_view allowed) const;

 private:
  YAML::Node node_;
  std::string path_;
  FilePlace place_;
  FileFaults* faults_;
};

// A map with keys that are known, each of which is there once.
class YamlMap {
 public:
  struct Entry {
    std::string name;
    FilePlace place;  // of the key
    YamlValue value;
  };

  // Anything but a map is a fault, and as good as an empty one: `allowed` says what it is a map of.
  YamlMap(const YamlValue& value, std::string_view allowed);

  // The value of a key, which is known from now on.
  const YamlValue* find(std::string_view key);
  // The same of one that must be there; `example` is how it may be written.
  const YamlValue* need(std::string_view key, std::string_view example);

  // All that is there, in the order of the file: of a map whose keys are names that people choose.
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  // Where the key is, or else the whole map.
  [[nodiscard]] FilePlace place_of_key(std::string_view key) const;
  [[nodiscard]] const YamlValue& whole() const { return whole_; }

  // Every key that has not been asked for is a fault. Whether there are none.
  bool refuse_others() const;
  // "key 'PATH.KEY': ..." at the key, or at the map where it is not there.
  void fault(std::string_view key, std::string_view text) const;

 private:
  [[nodiscard]] std::string path_of(std::string_view key) const;

  YamlValue whole_;
  std::vector<Entry> entries_;
  std::vector<std::string_view> known_;
  bool sound_ = true;  // it is a map
};

// Whether so many nodes and no more hang together, with those that aliases repeat, so that all of
// them can be walked.
bool is_walkable(const YAML::Node& node);

}  // namespace loadline::tools
