#include "config_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "config_yaml.h"
#include "yaml_file.h"

namespace loadline::tools {
namespace {

// Walks the document and fills a ConfigFile.
class Reader {
 public:
  ConfigFile read(const std::string& text);

 private:
  void read_document(const YAML::Node& document);
  void read_map(const YAML::Node& map, std::string_view prefix);
  void read_entry(const std::string& full, std::string_view prefix, const YAML::Node& key,
                  const YAML::Node& value);
  void read_version(const YAML::Node& value);
  void read_key(const ConfigKey& key, const YAML::Node& value);
  void add(FilePlace place, std::string_view key, std::string_view text);

  ConfigFile file_;
  std::map<std::string, FilePlace> seen_;
};

// A name that has keys below it: the "reject" of "reject.status".
bool is_section(std::string_view name) {
  const auto keys = config_keys();
  return std::any_of(keys.begin(), keys.end(), [name](const ConfigKey& key) {
    return key.name.size() > name.size() && key.name.starts_with(name) &&
           key.name[name.size()] == '.';
  });
}

// What may stand directly below a prefix ("" or "reject.").
std::vector<std::string_view> names_below(std::string_view prefix) {
  std::vector<std::string_view> names;
  if (prefix.empty()) {
    names.emplace_back("version");
  }
  for (const ConfigKey& key : config_keys()) {
    if (!key.name.starts_with(prefix)) {
      continue;
    }
    const auto rest = key.name.substr(prefix.size());
    const auto name = rest.substr(0, rest.find('.'));
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      names.push_back(name);
    }
  }
  return names;
}

ConfigFile Reader::read(const std::string& text) {
  file_.config = default_config();
  const YAML::Node document = load_yaml(text, file_.faults);
  if (document.IsDefined()) {
    read_document(document);
  }
  sort_faults(file_.faults);
  return std::move(file_);
}

void Reader::read_document(const YAML::Node& document) {
  if (!document.IsMap() && !document.IsNull()) {
    file_.faults.push_back({place_of(document.Mark()), "allowed is a map, as in 'limit: 64'"});
    return;
  }
  if (document.IsMap()) {
    read_map(document, "");
  }
  if (!seen_.contains("version")) {
    add({}, "version", "missing; write 'version: 1'");
  }
}

void Reader::read_map(const YAML::Node& map, std::string_view prefix) {
  for (const auto& entry : map) {
    const FilePlace place = place_of(entry.first.Mark());
    if (!entry.first.IsScalar()) {
      file_.faults.push_back({place, "a key must be a name"});
      continue;
    }
    const std::string full = std::string(prefix) + entry.first.Scalar();
    const auto [known, is_new] = seen_.emplace(full, place);
    if (is_new) {
      read_entry(full, prefix, entry.first, entry.second);
    } else {
      add(place, full, fmt::format("given twice; first at line {}", known->second.line));
    }
  }
}

void Reader::read_entry(const std::string& full, std::string_view prefix, const YAML::Node& key,
                        const YAML::Node& value) {
  const FilePlace place = place_of(key.Mark());
  if (full == "version") {
    read_version(value);
  } else if (const ConfigKey* known = find_config_key(full);
             known != nullptr && key.Scalar().find('.') == std::string::npos &&
             !(value.IsMap() && is_section(full))) {
    file_.places.emplace(known->name, place);
    read_key(*known, value);
  } else if (!prefix.empty() || !is_section(full)) {
    add(place, full, unknown_name(key.Scalar(), names_below(prefix)));
  } else if (value.IsMap()) {
    read_map(value, full + ".");
  } else {
    add(place_of(value.Mark()), full,
        fmt::format("allowed is a map of {}", fmt::join(names_below(full + "."), ", ")));
  }
}

void Reader::read_version(const YAML::Node& value) {
  if (const std::string fault = version_fault(value); !fault.empty()) {
    add(place_of(value.Mark()), "version", fault);
  }
}

void Reader::read_key(const ConfigKey& key, const YAML::Node& value) {
  for (const FileFault& fault : give_yaml(file_.config, key, value)) {
    add(fault.place, key.name, fault.text);
  }
}

void Reader::add(FilePlace place, std::string_view key, std::string_view text) {
  file_.faults.push_back({place, fmt::format("key '{}': {}", printable(key), text)});
}

}  // namespace

ConfigFile read_config_text(const std::string& text) {
  return Reader().read(text);
}

ConfigFile read_config_file(const std::string& path) {
  return read_config_text(read_regular_file(path));
}

std::vector<FileFault> place_contradictions(const ConfigFile& file) {
  std::vector<FileFault> faults;
  for (const ConfigFault& fault : find_contradictions(file.config)) {
    const auto place = file.places.find(fault.key);
    faults.push_back({place == file.places.end() ? FilePlace{} : place->second,
                      fmt::format("key '{}': {}", fault.key, fault.text)});
  }
  return faults;
}

}  // namespace loadline::tools
