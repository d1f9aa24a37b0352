#include "config.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "loadline/policy.h"

namespace loadline::tools {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Assigns a parsed value where there is one.
template <class Field, class Value>
bool assign(Field& field, std::optional<Value> value) {
  if (value) {
    field = std::move(*value);
  }
  return value.has_value();
}

bool assign_if(std::string& field, std::string_view text, bool allowed) {
  if (allowed) {
    field = text;
  }
  return allowed;
}

// `off` empties a text that is optional.
bool assign_or_off(std::string& field, std::string_view text, bool allowed) {
  return text == "off" ? assign_if(field, "", true) : assign_if(field, text, allowed);
}

// A port that nginx can listen on: it has no "any free one".
std::optional<ListenAddress> parse_fixed_listen(std::string_view text) {
  const auto address = parse_listen(text);
  return address && address->port != 0 ? address : std::nullopt;
}

bool assign_listen_or_off(std::optional<ListenAddress>& field, std::string_view text) {
  if (text == "off") {
    field.reset();
    return true;
  }
  return assign(field, parse_fixed_listen(text));
}

// A number is a choice of its own: what a file has told a law does not go with it.
bool assign_limit(Config& config, std::string_view text) {
  if (const auto number = parse_count(text, 1, kMaxLimit)) {
    config.law = Law::fixed;
    config.limit = number;
    config.limit_from = config.limit_at_least = config.limit_at_most = std::nullopt;
    config.signals.clear();
    return true;
  }
  const Law law = law_of(text).value_or(Law::fixed);
  if (law == Law::fixed) {
    return false;
  }
  config.law = law;
  config.limit.reset();
  return true;
}

bool assign_law(Config& config, std::string_view text) {
  return !parse_count(text, 1, kMaxLimit) && assign_limit(config, text);
}

// "auto, aimd": the laws that find a limit.
std::string law_names() {
  std::string names;
  for (std::uint32_t i = 1; i < kLaws; ++i) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", name(static_cast<Law>(i)));
  }
  return names;
}

const std::string kLimitAllowed =
    fmt::format("a whole number from 1 to {}, or who finds it: {}", kMaxLimit, law_names());
const std::string kLawAllowed = law_names();
constexpr std::string_view kLimitNumberAllowed = "a whole number from 1 to 1000000";

bool assign_number_or(std::string& field, std::string_view text, std::string_view word,
                      std::uint32_t highest) {
  const bool allowed = text == "off" || text == word || parse_count(text, 1, highest);
  return assign_if(field, text, allowed);
}

bool assign_workers(Config& config, std::string_view text) {
  if (text == "auto") {
    config.workers.reset();
    return true;
  }
  return assign(config.workers, parse_count(text, 1, 32));
}

bool assign_deadline(Config& config, std::string_view text) {
  if (text == "off") {
    config.deadline = milliseconds(0);
    return true;
  }
  return assign(config.deadline, parse_millis(text, milliseconds(1), hours(1)));
}

bool assign_count_or_off(std::uint32_t& field, std::string_view text, std::uint32_t highest) {
  return assign(field, text == "off" ? std::optional(0u) : parse_count(text, 1, highest));
}

bool assign_quota(Config& config, std::string_view text) {
  if (text == "off") {
    config.quota.reset();
    return true;
  }
  return assign(config.quota, parse_quota_rate(text));
}

// NAME or NAME:PERCENT%.
bool add_class(Config& config, std::string_view text) {
  ClassSetting setting;
  const auto colon = text.find(':');
  setting.name = text.substr(0, colon);
  if (colon != std::string_view::npos) {
    const auto percent = parse_percent(text.substr(colon + 1), 100);
    if (!percent) {
      return false;
    }
    setting.percent = *percent;
  }
  if (!is_class_name(setting.name)) {
    return false;
  }
  config.classes.push_back(std::move(setting));
  return true;
}

// NAME:PERCENT%.
bool add_guarantee(Config& config, std::string_view text) {
  const auto colon = std::min(text.find(':'), text.size());
  const auto name = text.substr(0, colon);
  const auto percent = parse_percent(text.substr(std::min(colon + 1, text.size())), 90);
  if (!is_class_name(name) || !percent) {
    return false;
  }
  config.guarantees.push_back({std::string(name), *percent});
  return true;
}

// NAME:VALUE.
bool add_signal_setting(Config& config, std::string_view text) {
  const auto colon = std::min(text.find(':'), text.size());
  const auto name = text.substr(0, colon);
  const auto value = text.substr(std::min(colon + 1, text.size()));
  const auto at_most = parse_signal_value(value);
  if (!is_class_name(name) || name.size() > kMaxSignalName || !at_most || *at_most <= 0) {
    return false;
  }
  config.signals.push_back({std::string(name), std::string(value)});
  return true;
}

bool add_exempt(Config& config, std::string_view path) {
  if (is_url_path(path)) {
    config.exempt.emplace_back(path);
    return true;
  }
  return false;
}

bool add_trusted(Config& config, std::string_view text) {
  auto network = parse_network(text);
  if (network) {
    config.trusted.push_back(std::move(*network));
  }
  return network.has_value();
}

constexpr std::string_view kListenAllowed =
    "PORT, IPV4:PORT or [IPV6]:PORT, with a port from 1 to 65535";
constexpr std::string_view kListenOrOffAllowed =
    "off, PORT, IPV4:PORT or [IPV6]:PORT, with a port from 1 to 65535";
constexpr std::string_view kHeaderAllowed =
    "off or a header's name of letters, digits, - and _, up to 64 of them and none that has a "
    "meaning already, as Date, Authorization, X-Forwarded-For and grpc-timeout have";

constexpr std::string_view kRequestKeyAllowed =
    "address, or header and the name of one, of letters, digits, - and _, up to 64 of them, as in "
    "header X-Api-Key";

const ConfigKey kKeys[] = {
    {"listen", "listen", "[ADDR:]PORT", kListenAllowed, "127.0.0.1:8080",
     "Where requests arrive. Only this machine reaches it unless an address is given.",
     [](Config& c, std::string_view v) { return assign(c.listen, parse_fixed_listen(v)); }},
    {"upstream", "upstream", "URL",
     "http://HOST[:PORT], https://HOST[:PORT], HOST:PORT, PORT or unix:/PATH, with no path after "
     "the host: requests keep the one they came with",
     "", "The service that is guarded. Required.",
     [](Config& c, std::string_view v) { return assign(c.upstream, parse_upstream(v)); }},
    {"upstream_ca", "upstream-ca", "FILE|system|off",
     "system, off or the path of a file with PEM certificates", "system",
     "Whom an https upstream's certificate must be signed by; off does not verify it.",
     [](Config& c, std::string_view v) { return assign_if(c.upstream_ca, v, is_file_path(v)); }},
    {"upstream_name", "upstream-name", "NAME", "off or a host name", "off",
     "The name that an https upstream is asked for and verified by, if not the one in upstream.",
     [](Config& c, std::string_view v) {
       return assign_or_off(c.upstream_name, v, is_host_name(v));
     }},
    {"limit", "limit", "N|auto", kLimitAllowed, "",
     "How many requests the service works on at once, over all workers; auto finds it. Required.",
     assign_limit},
    {"limit.law", "", "LAW", kLawAllowed, "", "The same as limit: LAW, beside the following four.",
     assign_law},
    {"limit.from", "limit-from", "N", kLimitNumberAllowed, "",
     "Where a law begins. Not given: where it likes.",
     [](Config& c, std::string_view v) {
       return assign(c.limit_from, parse_count(v, 1, kMaxLimit));
     }},
    {"limit.at_least", "limit-at-least", "N", kLimitNumberAllowed, "",
     "The least that a law may choose. Not given: 1.",
     [](Config& c, std::string_view v) {
       return assign(c.limit_at_least, parse_count(v, 1, kMaxLimit));
     }},
    {"limit.at_most", "limit-at-most", "N", kLimitNumberAllowed, "",
     "The most that a law may choose. Not given: 1000000.",
     [](Config& c, std::string_view v) {
       return assign(c.limit_at_most, parse_count(v, 1, kMaxLimit));
     }},
    {"limit.signals", "", "MAP",
     "off or up to 4 names of letters, digits, '_', '-' and '.', up to 23 of them, each with a "
     "share, a time or a number above 0, as in {cpu_pressure: 20%, db_latency: 50ms}",
     "off",
     "What is right at most of what is told from outside: while it is above, a law does not raise "
     "the limit, and it is lowered. cpu_pressure and cpu_throttled are read from the kernel, all "
     "others from the service's X-Loadline-Report headers.",
     add_signal_setting, [](Config& c) { c.signals.clear(); }},
    {"queue", "queue", "N|auto|off", "auto, off or a whole number from 1 to 60000", "auto",
     "How many may wait for a place; auto: as many as can start within the wait budget.",
     [](Config& c, std::string_view v) { return assign_number_or(c.queue, v, "auto", 60'000); }},
    {"wait", "wait", "TIME", "a time from 1ms to 1h in whole milliseconds, as in 100ms", "100ms",
     "The longest that a request may wait before it must start.",
     [](Config& c, std::string_view v) {
       return assign(c.wait, parse_millis(v, milliseconds(1), hours(1)));
     }},
    {"order", "order", "adaptive|fifo|lifo", "adaptive, fifo or lifo", "adaptive",
     "Who of a class starts next: fifo, lifo (the newest), or adaptive: the newest once the queue "
     "stands.",
     [](Config& c, std::string_view v) {
       return assign_if(c.order, v, v == "adaptive" || v == "fifo" || v == "lifo");
     }},
    {"classes", "", "LIST",
     "up to 8 names of letters, digits, '_', '-' and '.', up to 31 of them, each with or without "
     "a share from 1% to 100%",
     "off",
     "Classes of requests, most important first, each a NAME or {name: NAME, share: PERCENT%}; a "
     "share is how much of the limit the class may fill. off: critical_plus, critical, "
     "sheddable_plus, sheddable.",
     add_class, [](Config& c) { c.classes.clear(); }},
    {"default_class", "", "NAME", "off or the name of a class", "off",
     "The class of a request that names none. off: critical, else the first class.",
     [](Config& c, std::string_view v) {
       return assign_or_off(c.default_class, v, is_class_name(v));
     }},
    {"guarantees", "", "MAP",
     "off or names of classes, each with a share from 1% to 90%, as in {sheddable: 10%}; all "
     "together at most 90%",
     "off",
     "The share of the starts that a class gets at least while it has somebody waiting, however "
     "many more important ones wait.",
     add_guarantee, [](Config& c) { c.guarantees.clear(); }},
    {"weight_header", "", "NAME|off", kHeaderAllowed, "off",
     "A header that says how many units of the limit a request takes up; 1 where it says nothing.",
     [](Config& c, std::string_view v) {
       return assign_or_off(c.weight_header, v, is_header_name(v));
     }},
    {"heavy", "", "PERCENT%", "a share from 1% to 100%", "50%",
     "How much of the limit requests of a weight above 1 may hold together.",
     [](Config& c, std::string_view v) { return assign(c.heavy, parse_percent(v, 100)); }},
    {"tenants.number", "tenants", "N|off", "off or a whole number from 1 to 100000", "off",
     "Those who wait are served tenant by tenant, and so many are told apart well.",
     [](Config& c, std::string_view v) { return assign_count_or_off(c.tenants, v, kMaxTenants); }},
    {"tenants.key", "tenant-key", "address|header NAME", kRequestKeyAllowed, "address",
     "Whose request it is: the peer's address, or what a header says (else the address).",
     [](Config& c, std::string_view v) { return assign(c.tenant_key, parse_request_key(v)); }},
    {"quota.rate", "quota", "RATE|off",
     "off or 1 to 1000000 requests a second, minute or hour, as in 100r/s, 600r/m or 3600r/h, and "
     "no more than 100000r/s",
     "off",
     "How often one key may ask, whatever room there is. What is above it is refused with 429.",
     assign_quota},
    {"quota.burst", "quota-burst", "N", "a whole number from 1 to 1000000", "1",
     "How many of them at once.",
     [](Config& c, std::string_view v) {
       return assign(c.quota_burst, parse_count(v, 1, 1'000'000));
     }},
    {"quota.key", "quota-key", "address|header NAME", kRequestKeyAllowed, "address",
     "Whose request it is: the peer's address, or what a header says (else the address).",
     [](Config& c, std::string_view v) { return assign(c.quota_key, parse_request_key(v)); }},
    {"quota.keys", "", "N", "a whole number from 1 to 1000000", "10000",
     "How many keys are told apart at the same time; while more ask, the rest pass.",
     [](Config& c, std::string_view v) {
       return assign(c.quota_keys, parse_count(v, 1, kMaxQuotaKeys));
     }},
    {"observe", "observe", "on|off", "on or off", "off",
     "Decide and count, but let every request pass.",
     [](Config& c, std::string_view v) { return assign(c.observe, parse_switch(v)); }},
    {"exempt", "exempt", "PATH",
     "off or paths that begin with / and hold only letters, digits and / . _ ~ @ + , = : -",
     "/healthz /livez /readyz",
     "Paths that stay outside the gate, such as health checks: neither counted nor refused. What "
     "is "
     "given replaces the default ones.",
     add_exempt, [](Config& c) { c.exempt.clear(); }},
    {"deadline.default", "deadline", "TIME|off",
     "off or a time from 1ms to 1h in whole milliseconds, as in 2s", "off",
     "How long a request may take from its first byte, when it does not say. Work that cannot "
     "finish in time is not begun.",
     assign_deadline},
    {"deadline.header", "deadline-header", "NAME|off", kHeaderAllowed, "off",
     "A header with the milliseconds that are left, read from requests and handed on to the "
     "service. grpc-timeout and x-envoy-expected-rq-timeout-ms are read in any case.",
     [](Config& c, std::string_view v) {
       return assign_or_off(c.deadline_header, v, is_header_name(v));
     }},
    {"class_header", "", "NAME|off", kHeaderAllowed, "X-Request-Criticality",
     "A header that names a request's class. Only trusted peers may raise it.",
     [](Config& c, std::string_view v) {
       return assign_or_off(c.class_header, v, is_header_name(v));
     }},
    {"trusted", "trusted", "CIDR", "off or IPv4 or IPv6 addresses, alone or with /BITS", "off",
     "Peers whose class, deadline and X-Forwarded headers are believed.", add_trusted,
     [](Config& c) { c.trusted.clear(); }},
    {"reject.status", "", "CODE", "a whole number from 400 to 599", "503",
     "The status of a rejection for want of capacity. One for a deadline is always 504.",
     [](Config& c, std::string_view v) {
       return assign(c.reject_status, parse_count(v, 400, 599));
     }},
    {"reject.body", "", "TEXT",
     "a text of up to 4096 bytes, without control characters but \\n and \\t", "overloaded\n",
     "What a rejection says.",
     [](Config& c, std::string_view v) { return assign_if(c.reject_body, v, is_body(v)); }},
    {"reject.type", "", "TYPE", "a media type, as in application/json", "text/plain",
     "The Content-Type of that text.",
     [](Config& c, std::string_view v) { return assign_if(c.reject_type, v, is_content_type(v)); }},
    {"reject.retry_after", "", "MIN-MAX",
     "whole seconds from 1 to 3600 and the smaller first, as in 1-32", "1-32",
     "The seconds from which each rejection gets its Retry-After.",
     [](Config& c, std::string_view v) {
       return assign_if(c.retry_after, v, is_seconds_range(v, kMaxRetryAfter));
     }},
    {"admin", "admin", "[ADDR:]PORT|off", kListenOrOffAllowed, "off",
     "Where /status (JSON), /metrics (Prometheus) and /healthz are answered. Read-only.",
     [](Config& c, std::string_view v) { return assign_listen_or_off(c.admin, v); }},
    {"metrics", "metrics", "[ADDR:]PORT|off", kListenOrOffAllowed, "off",
     "Where /metrics alone is answered.",
     [](Config& c, std::string_view v) { return assign_listen_or_off(c.metrics, v); }},
    {"workers", "workers", "N|auto", "auto or a whole number from 1 to 32", "auto",
     "How many processes do the work; auto: one a CPU that may be used, up to 8.", assign_workers},
    {"access_log", "access-log", "FILE|off",
     "off or the path of a file without quotes, $, \\, ; or braces", "off",
     "Where a line about each request is written.",
     [](Config& c, std::string_view v) { return assign_or_off(c.access_log, v, is_file_path(v)); }},
    {"drain_timeout", "drain-timeout", "TIME",
     "a time from 0 to 1h in whole milliseconds, as in 30s", "30s",
     "How long requests may finish after SIGTERM before they are cut off.",
     [](Config& c, std::string_view v) {
       return assign(c.drain_timeout, parse_millis(v, milliseconds(0), hours(1)));
     }},
};

// A list's default is written with blanks between its parts.
std::vector<std::string> fallback_values(const ConfigKey& key) {
  std::vector<std::string> values;
  if (!key.is_list()) {
    values.emplace_back(key.fallback);
    return values;
  }
  std::string_view rest = key.fallback;
  while (!rest.empty()) {
    const auto blank = std::min(rest.find(' '), rest.size());
    values.emplace_back(rest.substr(0, blank));
    rest.remove_prefix(std::min(blank + 1, rest.size()));
  }
  return values;
}

std::string table_cell(std::string_view text) {
  std::string cell;
  for (const char c : text) {
    if (c == '|') {
      cell += "\\|";
    } else if (c == '\n') {
      cell += "\\n";
    } else {
      cell += c;
    }
  }
  return cell;
}

}  // namespace

std::span<const ConfigKey> config_keys() {
  return kKeys;
}

const ConfigKey* find_config_key(std::string_view name) {
  const auto found = std::find_if(std::begin(kKeys), std::end(kKeys),
                                  [name](const ConfigKey& key) { return key.name == name; });
  return found == std::end(kKeys) ? nullptr : found;
}

bool has_limit(const Config& config) {
  return config.limit || config.law != Law::fixed;
}

std::string limit_text(const Config& config) {
  return config.law == Law::fixed ? fmt::to_string(config.limit.value_or(0))
                                  : std::string(name(config.law));
}

std::optional<std::uint32_t> most_at_once(const Config& config) {
  return config.law == Law::fixed ? config.limit : config.limit_at_most;
}

Config default_config() {
  Config config;
  for (const ConfigKey& key : kKeys) {
    if (!key.fallback.empty()) {
      give(config, key, fallback_values(key));
    }
  }
  return config;
}

std::optional<std::string> give(Config& config, const ConfigKey& key,
                                std::span<const std::string> values) {
  if (key.is_list()) {
    key.clear(config);
    if (values.size() == 1 && values.front() == "off") {
      return std::nullopt;
    }
  }
  for (const std::string& value : values) {
    if (!key.set(config, value)) {
      return not_allowed(key, value);
    }
  }
  return std::nullopt;
}

std::string not_allowed(const ConfigKey& key, std::string_view value) {
  return fmt::format("value '{}': allowed is {}", printable(value), key.allowed);
}

std::string printable(std::string_view text) {
  constexpr std::size_t kLongest = 80;
  std::string result;
  for (const char c : text.substr(0, kLongest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      result += fmt::format("\\x{:02x}", byte);
    } else {
      result += c;
    }
  }
  return text.size() > kLongest ? result + "..." : result;
}

std::string config_table() {
  std::string table = "| key | flag | allowed | default | what it does |\n|---|---|---|---|---|\n";
  for (const ConfigKey& key : kKeys) {
    const std::string flag = key.flag.empty() ? "" : fmt::format("`--{}`", key.flag);
    const std::string fallback =
        key.fallback.empty() ? "" : fmt::format("`{}`", table_cell(key.fallback));
    table += fmt::format("| `{}` | {} | {} | {} | {} |\n", key.name, flag, table_cell(key.allowed),
                         fallback, table_cell(key.help));
  }
  return table;
}

}  // namespace loadline::tools
