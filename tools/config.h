// What `loadline run` is told: one struct, and one table of the keys that fill it.
//
// The YAML file, the command line, their help and docs/configuration.md all follow from the table,
// so that a key is described, checked and documented in one place.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config_values.h"
#include "loadline/limiter.h"
#include "text.h"

namespace loadline::tools {

// A class and its share of something; 0: left to the gate.
struct ClassSetting {
  std::string name;
  std::uint32_t percent = 0;
};

// A signal from outside and what is right of it at most, as it is written: "20%".
struct SignalSetting {
  std::string name;
  std::string at_most;
};

// Values that nginx reads as we do are kept as their checked text ("auto", "64").
struct Config {
  std::optional<ListenAddress> listen;
  std::optional<Upstream> upstream;  // required, from the file or the command line
  std::string upstream_ca;           // "system", "off" or a file
  std::string upstream_name;         // empty: the host of `upstream`
  std::optional<ListenAddress> admin;
  std::optional<ListenAddress> metrics;

  // One of the two is required. A law is told where to begin, and within which bounds it may
  // choose.
  std::optional<std::uint32_t> limit;
  Law law = Law::fixed;
  std::optional<std::uint32_t> limit_from;
  std::optional<std::uint32_t> limit_at_least;
  std::optional<std::uint32_t> limit_at_most;
  std::vector<SignalSetting> signals;

  std::string queue;  // "auto", "off" or a number
  std::chrono::milliseconds wait{};
  std::string order;                     // "adaptive", "fifo" or "lifo"
  std::vector<ClassSetting> classes;     // shares of the limit; empty: the four default classes
  std::string default_class;             // empty: left to the gate
  std::vector<ClassSetting> guarantees;  // shares of the starts
  std::string weight_header;             // empty: none
  std::uint32_t heavy = 0;               // percent

  std::uint32_t tenants = 0;  // 0: none
  RequestKey tenant_key;
  std::optional<QuotaRate> quota;
  std::uint32_t quota_burst = 0;
  RequestKey quota_key;
  std::uint32_t quota_keys = 0;

  bool observe = false;
  std::vector<std::string> exempt;

  std::chrono::milliseconds deadline{};  // 0: none
  std::string deadline_header;           // empty: none
  std::string class_header;              // empty: none
  std::vector<std::string> trusted;

  std::uint32_t reject_status = 0;
  std::string reject_body;
  std::string reject_type;
  std::string retry_after;  // "1-32"

  std::optional<std::uint32_t> workers;  // empty: auto
  std::string access_log;                // empty: off
  std::chrono::milliseconds drain_timeout{};
};

bool has_limit(const Config& config);

// As it is written: "64" or "auto".
std::string limit_text(const Config& config);

// What a law may choose at most, or the limit; nothing where a law is not bounded.
std::optional<std::uint32_t> most_at_once(const Config& config);

// One thing that can be configured.
struct ConfigKey {
  std::string_view name;      // in the file; a dot for a key inside another, as reject.status
  std::string_view flag;      // on the command line, without dashes; empty: in the file only
  std::string_view value;     // what stands for the value in help: N, TIME
  std::string_view allowed;   // ends the sentence "allowed is ..."
  std::string_view fallback;  // what holds when it is not given, as it would be written
  std::string_view help;

  // Puts a checked value into the configuration; false, and no change, if it is not allowed.
  bool (*set)(Config&, std::string_view);

  // For a list: empties it, so that what is given replaces the default. Null for a single value.
  void (*clear)(Config&) = nullptr;

  bool is_list() const { return clear != nullptr; }
};

// All keys, in the order in which people should meet them.
std::span<const ConfigKey> config_keys();

// The key of that name, or null.
const ConfigKey* find_config_key(std::string_view name);

// What holds when nothing is given: every key's fallback.
Config default_config();

// Gives a key its values: one, or for a list any number (a lone "off" empties it). Returns the
// sentence about the first value that is not allowed, or nothing.
std::optional<std::string> give(Config& config, const ConfigKey& key,
                                std::span<const std::string> values);

// "value 'abc': allowed is a whole number ...", with what cannot be printed made visible.
std::string not_allowed(const ConfigKey& key, std::string_view value);

// `text` as it may stand in a message: control characters as \xHH, and not too long.
std::string printable(std::string_view text);

// Something that single values do not show, but together they do.
struct ConfigFault {
  std::string_view key;  // the one to look at first
  std::string text;
};

// Finds contradictions between keys. It does not ask that `limit` and `upstream` are there: a file
// may leave them to the command line.
std::vector<ConfigFault> find_contradictions(const Config& config);

// Every key as the rows of a Markdown table: the heart of docs/configuration.md.
std::string config_table();

}  // namespace loadline::tools
