#include "config.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

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

// NAME or NAME:PERCENT%.
bool add_class(Config& config, std::string_view text) {
  ClassSetting setting;
  const auto colon = text.find(':');
  setting.name = text.substr(0, colon);
  if (colon != std::string_view::npos) {
    auto share = text.substr(colon + 1);
    const auto percent = share.ends_with('%')
                             ? parse_count(share.substr(0, share.size() - 1), 1, 100)
                             : std::nullopt;
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
    {"limit", "limit", "N", "a whole number from 1 to 1000000", "",
     "How many requests the service works on at once, over all workers. Required.",
     [](Config& c, std::string_view v) { return assign(c.limit, parse_count(v, 1, 1'000'000)); }},
    {"queue", "queue", "N|auto|off", "auto, off or a whole number from 1 to 60000", "auto",
     "How many may wait for a place; auto: as many as can start within the wait budget.",
     [](Config& c, std::string_view v) { return assign_number_or(c.queue, v, "auto", 60'000); }},
    {"wait", "wait", "TIME", "a time from 1ms to 1h in whole milliseconds, as in 100ms", "100ms",
     "The longest that a request may wait before it must start.",
     [](Config& c, std::string_view v) {
       return assign(c.wait, parse_millis(v, milliseconds(1), hours(1)));
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

bool is_wildcard(std::string_view address) {
  return address == "0.0.0.0" || address == "::";
}

bool is_this_machine(std::string_view host) {
  return is_wildcard(host) || host == "localhost" || host == "::1" || host.starts_with("127.");
}

// Whether what is sent to the one may end up at the other: nginx gives a connection to the most
// exact address that listens at its port, so beside a wildcard the admin server would answer for
// the service.
bool collide(const ListenAddress& a, const ListenAddress& b) {
  return a.port == b.port &&
         (a.address == b.address || is_wildcard(a.address) || is_wildcard(b.address));
}

bool leads_to(const Upstream& upstream, const ListenAddress& listen) {
  if (upstream.port != listen.port) {
    return false;
  }
  // Which address of the two families it will be is seen only when it is looked up.
  if (upstream.host == "localhost") {
    return is_this_machine(listen.address);
  }
  return upstream.host == listen.address ||
         (is_this_machine(upstream.host) && is_wildcard(listen.address));
}

void compare_listens(const Config& config, std::vector<ConfigFault>& faults) {
  const auto taken_by_listen = [&config](const std::optional<ListenAddress>& address) {
    return address && config.listen && collide(*address, *config.listen);
  };
  if (taken_by_listen(config.admin)) {
    faults.push_back({"admin", "shares an address with 'listen': choose another port"});
  }
  if (taken_by_listen(config.metrics)) {
    faults.push_back({"metrics", "shares an address with 'listen': choose another port"});
  }
  if (config.admin && config.metrics && collide(*config.admin, *config.metrics)) {
    faults.push_back({"metrics",
                      "shares an address with 'admin', which answers /metrics already: "
                      "choose another port, or leave it out"});
  }
}

void check_upstream(const Config& config, std::vector<ConfigFault>& faults) {
  const auto leads_here = [&config](const std::optional<ListenAddress>& address) {
    return address && config.upstream && leads_to(*config.upstream, *address);
  };
  if (leads_here(config.listen)) {
    faults.push_back(
        {"upstream", "is the address of 'listen': requests would go round in circles"});
  } else if (leads_here(config.admin) || leads_here(config.metrics)) {
    faults.push_back({"upstream", "is an address of the sidecar's own, not of a service"});
  }
}

// A class without a share may fill as much as the one above it.
void check_shares(const Config& config, std::vector<ConfigFault>& faults) {
  std::uint32_t above = 100;
  for (const ClassSetting& setting : config.classes) {
    const std::uint32_t percent = setting.percent == 0 ? above : setting.percent;
    if (percent > above) {
      faults.push_back({"classes", fmt::format("class '{}' may fill {}% of the limit, and one that "
                                               "is more important only {}%: shares must not grow",
                                               setting.name, percent, above)});
    }
    above = percent;
  }
}

std::vector<std::string_view> class_names(const Config& config) {
  if (config.classes.empty()) {
    return {"critical_plus", "critical", "sheddable_plus", "sheddable"};
  }
  std::vector<std::string_view> names;
  for (const ClassSetting& setting : config.classes) {
    names.emplace_back(setting.name);
  }
  return names;
}

// In any case, as the gate finds them: clients write them as they like.
void check_classes(const Config& config, std::vector<ConfigFault>& faults) {
  std::set<std::string> seen;
  const auto names = class_names(config);
  for (const std::string_view name : names) {
    if (!seen.insert(lower_case(name)).second) {
      faults.push_back({"classes", fmt::format("class '{}' is there twice", name)});
    }
  }
  if (config.classes.size() > 8) {
    faults.push_back(
        {"classes", fmt::format("{} classes: allowed are up to 8", config.classes.size())});
  }
  if (!config.default_class.empty() && !seen.contains(lower_case(config.default_class))) {
    faults.push_back({"default_class", fmt::format("value '{}': allowed is one of {}",
                                                   config.default_class, fmt::join(names, ", "))});
  }
}

void check_tls(const Config& config, std::vector<ConfigFault>& faults) {
  const auto& upstream = config.upstream;
  const bool https = upstream && upstream->kind == Upstream::Kind::https;
  // nginx compares a certificate with names only, never with the addresses in it.
  if (https && upstream->is_numeric() && config.upstream_name.empty() &&
      config.upstream_ca != "off") {
    faults.push_back({"upstream",
                      "an https upstream given by address cannot be verified: set "
                      "upstream_name to the name in its certificate, or upstream_ca to "
                      "off"});
  }
}

void check_headers(const Config& config, std::vector<ConfigFault>& faults) {
  if (!config.deadline_header.empty() &&
      header_variable(config.deadline_header) == header_variable(config.class_header)) {
    faults.push_back(
        {"deadline.header", fmt::format("'{}' is the class_header, and one header cannot say both: "
                                        "choose another name",
                                        config.deadline_header)});
  }
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

std::vector<ConfigFault> find_contradictions(const Config& config) {
  std::vector<ConfigFault> faults;
  compare_listens(config, faults);
  check_upstream(config, faults);
  check_tls(config, faults);
  check_headers(config, faults);
  check_classes(config, faults);
  check_shares(config, faults);
  return faults;
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
