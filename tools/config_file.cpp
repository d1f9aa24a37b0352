#include "config_file.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace loadline::tools {
namespace {

constexpr std::size_t kMostBytes = 1 << 20;

constexpr const char* kVersionHint = "allowed is 1, the version of this format";

FilePlace place_of(const YAML::Mark& mark) {
  return mark.is_null() ? FilePlace{} : FilePlace{mark.line + 1, mark.column + 1};
}

// Levenshtein's distance, one row at a time.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

// The name that was probably meant, or nothing when none is near.
std::string hint(std::string_view unknown, const std::vector<std::string_view>& known) {
  std::string_view nearest;
  std::size_t least = unknown.size();
  for (const std::string_view name : known) {
    const std::size_t distance = edit_distance(unknown, name);
    if (distance < least) {
      least = distance;
      nearest = name;
    }
  }
  const bool near = !nearest.empty() && least <= std::max<std::size_t>(2, nearest.size() / 3);
  return near ? fmt::format("not known; did you mean '{}'?", nearest)
              : fmt::format("not known; known are {}", fmt::join(known, ", "));
}

// Notes where documents begin.
class Beginnings : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark&) override { awaited_ = true; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { note(mark); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { note(mark); }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                const std::string&) override {
    note(mark);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    note(mark);
  }
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    note(mark);
  }
  void OnMapEnd() override {}

  const std::vector<FilePlace>& places() const { return places_; }

 private:
  void note(const YAML::Mark& mark) {
    if (std::exchange(awaited_, false)) {
      places_.push_back(place_of(mark));
    }
  }

  bool awaited_ = false;
  std::vector<FilePlace> places_;
};

// Of the first two. YAML::LoadAll reads all, and where nothing can begin, as at a comma, it reads
// an empty document after the other without an end.
std::vector<FilePlace> places_of_documents(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  Beginnings beginnings;
  while (beginnings.places().size() < 2 && parser.HandleNextDocument(beginnings)) {
  }
  return beginnings.places();
}

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
  void read_list(const ConfigKey& key, const YAML::Node& value);
  void read_pairs(const ConfigKey& key, const YAML::Node& map);
  std::optional<std::string> read_item(const ConfigKey& key, const YAML::Node& item);
  std::optional<std::string> read_class(const YAML::Node& item);
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
  try {
    const auto places = places_of_documents(text);
    if (places.size() > 1) {
      const bool stuck = places[1] == places[0];
      file_.faults.push_back({places[1], stuck ? "not YAML: nothing can begin here"
                                               : "a second document: allowed is one"});
    }
    read_document(YAML::Load(text));
  } catch (const YAML::Exception& error) {
    file_.faults.push_back({place_of(error.mark), "not YAML: " + printable(error.msg)});
  }
  std::stable_sort(file_.faults.begin(), file_.faults.end(),
                   [](const FileFault& a, const FileFault& b) { return a.place < b.place; });
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
             known != nullptr && key.Scalar().find('.') == std::string::npos) {
    file_.places.emplace(known->name, place);
    read_key(*known, value);
  } else if (!prefix.empty() || !is_section(full)) {
    add(place, full, hint(key.Scalar(), names_below(prefix)));
  } else if (value.IsMap()) {
    read_map(value, full + ".");
  } else {
    add(place_of(value.Mark()), full,
        fmt::format("allowed is a map of {}", fmt::join(names_below(full + "."), ", ")));
  }
}

void Reader::read_version(const YAML::Node& value) {
  if (!value.IsScalar()) {
    add(place_of(value.Mark()), "version", kVersionHint);
  } else if (value.Scalar() != "1") {
    add(place_of(value.Mark()), "version",
        fmt::format("value '{}': {}", printable(value.Scalar()), kVersionHint));
  }
}

void Reader::read_key(const ConfigKey& key, const YAML::Node& value) {
  if (key.is_list()) {
    read_list(key, value);
  } else if (!value.IsScalar()) {
    add(place_of(value.Mark()), key.name,
        fmt::format("{}: allowed is {}", value.IsNull() ? "no value" : "not a single value",
                    key.allowed));
  } else if (!key.set(file_.config, value.Scalar())) {
    add(place_of(value.Mark()), key.name, not_allowed(key, value.Scalar()));
  }
}

void Reader::read_list(const ConfigKey& key, const YAML::Node& value) {
  key.clear(file_.config);
  if (value.IsScalar() && value.Scalar() == "off") {
    return;
  }
  if (key.name == "guarantees" && value.IsMap()) {
    read_pairs(key, value);
    return;
  }
  if (!value.IsSequence()) {
    if (auto fault = read_item(key, value)) {
      add(place_of(value.Mark()), key.name, *fault);
    }
    return;
  }
  for (const auto& item : value) {
    if (auto fault = read_item(key, item)) {
      add(place_of(item.Mark()), key.name, *fault);
    }
  }
}

// {NAME: VALUE} is a list of NAME:VALUE.
void Reader::read_pairs(const ConfigKey& key, const YAML::Node& map) {
  for (const auto& pair : map) {
    if (!pair.first.IsScalar() || !pair.second.IsScalar()) {
      add(place_of(pair.first.Mark()), key.name, fmt::format("allowed is {}", key.allowed));
      continue;
    }
    const std::string text = pair.first.Scalar() + ":" + pair.second.Scalar();
    if (!key.set(file_.config, text)) {
      add(place_of(pair.first.Mark()), key.name, not_allowed(key, text));
    }
  }
}

std::optional<std::string> Reader::read_item(const ConfigKey& key, const YAML::Node& item) {
  if (key.name == "classes" && item.IsMap()) {
    return read_class(item);
  }
  if (!item.IsScalar()) {
    return fmt::format("allowed is {}", key.allowed);
  }
  return key.set(file_.config, item.Scalar()) ? std::nullopt
                                              : std::optional(not_allowed(key, item.Scalar()));
}

// {name: NAME, share: PERCENT%} is NAME:PERCENT% written out.
std::optional<std::string> Reader::read_class(const YAML::Node& item) {
  std::map<std::string, std::string> parts;
  for (const auto& part : item) {
    if (!part.first.IsScalar() || !part.second.IsScalar()) {
      return "a class is a name or {name: NAME, share: PERCENT%}";
    }
    const std::string& name = part.first.Scalar();
    if (name != "name" && name != "share") {
      return fmt::format("'{}' is {}", printable(name), hint(name, {"name", "share"}));
    }
    if (!parts.emplace(name, part.second.Scalar()).second) {
      return fmt::format("'{}' is given twice", name);
    }
  }
  if (!parts.contains("name")) {
    return "a class needs a name";
  }
  const ConfigKey& key = *find_config_key("classes");
  const std::string text =
      parts.contains("share") ? parts["name"] + ":" + parts["share"] : parts["name"];
  return key.set(file_.config, text) ? std::nullopt : std::optional(not_allowed(key, text));
}

void Reader::add(FilePlace place, std::string_view key, std::string_view text) {
  file_.faults.push_back({place, fmt::format("key '{}': {}", printable(key), text)});
}

[[noreturn]] void refuse(const std::string& path, std::string_view why) {
  throw std::runtime_error(fmt::format("{}: {}", path, why));
}

// Opening a pipe waits for someone to write, and a device may have no end. (What takes the place of
// a regular file after this look is still not read without a bound.)
void require_regular_file(const std::string& path) {
  std::error_code error;
  const auto type = std::filesystem::status(path, error).type();
  if (type == std::filesystem::file_type::directory) {
    refuse(path, "is a folder, not a file");
  }
  if (error) {
    refuse(path, "cannot be read: " + error.message());
  }
  if (type != std::filesystem::file_type::regular) {
    refuse(path, "is a pipe, a device or a socket: allowed is a regular file");
  }
}

std::string read_regular_file(const std::string& path) {
  require_regular_file(path);
  errno = 0;
  std::ifstream stream(path, std::ios::binary);
  if (!stream) {
    refuse(path, fmt::format("cannot be read: {}", std::strerror(errno)));
  }
  std::string text(kMostBytes + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  if (text.size() > kMostBytes) {
    refuse(path, "is larger than 1 MiB, which no configuration is");
  }
  return text;
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

std::string describe_faults(std::string_view path, const std::vector<FileFault>& faults) {
  std::string text;
  for (const FileFault& fault : faults) {
    text += fmt::format("{}:{}:{}: {}\n", path, fault.place.line, fault.place.column, fault.text);
  }
  return text;
}

}  // namespace loadline::tools
