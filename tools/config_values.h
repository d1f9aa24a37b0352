// The kinds of value a configuration holds, each with the one check that says whether a text is
// one.
//
// Much of what is configured ends up as text inside an nginx configuration. These checks are the
// first of two walls against a value that would break out of it (the second is nginx_quoted): what
// does not need odd characters does not get them.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace loadline::tools {

// A whole number in plain digits, from `low` to `high`.
std::optional<std::uint32_t> parse_count(std::string_view text, std::uint32_t low,
                                         std::uint32_t high);

// on, off, true or false.
std::optional<bool> parse_switch(std::string_view text);

// A time as parse_time reads it, in whole milliseconds, from `low` to `high`.
std::optional<std::chrono::milliseconds> parse_millis(std::string_view text,
                                                      std::chrono::milliseconds low,
                                                      std::chrono::milliseconds high);

// PERCENT%, whole and from 1 to `high`.
std::optional<std::uint32_t> parse_percent(std::string_view text, std::uint32_t high);

// How often one may ask.
struct QuotaRate {
  std::uint32_t requests = 0;  // 1 to 1,000,000
  char unit = 's';             // in each s, m or h

  std::chrono::seconds period() const;
  std::string text() const;  // as 100r/s: as nginx has it
};
std::optional<QuotaRate> parse_quota_rate(std::string_view text);

// What tells whose request it is.
struct RequestKey {
  std::string header;  // empty: the peer's address
};

// `address` or `header NAME`. Any header will do, since it is only read.
std::optional<RequestKey> parse_request_key(std::string_view text);

// MIN-MAX: whole numbers from 1 to `high`, the smaller first.
bool is_seconds_range(std::string_view text, std::uint32_t high);

// The service that is guarded.
struct Upstream {
  enum class Kind { http, https, unix_socket };

  Kind kind = Kind::http;
  std::string host;  // a name, or a numeric address without brackets; empty for a unix socket
  std::uint16_t port = 0;
  std::string path;  // of the unix socket

  // HOST:PORT with IPv6 in brackets, or unix:/PATH: as a `server` of nginx wants it.
  std::string endpoint() const;

  // As a person writes it: http://HOST:PORT, https://HOST:PORT or unix:/PATH.
  std::string text() const;

  // What it calls itself when a client names no host: as the Host header has it.
  std::string authority() const;

  bool is_numeric() const;  // whether `host` needs no looking up
};

// PORT, HOST:PORT, http://HOST[:PORT], https://HOST[:PORT] or unix:/PATH. A path after the host is
// refused, since requests are passed on with the path they came with; a lone / is let go.
std::optional<Upstream> parse_upstream(std::string_view text);

// An IPv4 or IPv6 address, or a network as ADDRESS/BITS; returned without stray host bits, since
// nginx complains of those.
std::optional<std::string> parse_network(std::string_view text);

bool is_class_name(std::string_view text);    // letters, digits, '_', '-', '.'; up to 31 bytes
bool is_run_name(std::string_view text);      // letters, digits, '_', '-'; up to 32 bytes
bool is_url_path(std::string_view text);      // /, then only what a URL holds unescaped
bool is_file_path(std::string_view text);     // no quotes, $, \, ; braces or control characters
bool is_host_name(std::string_view text);     // letters, digits, '.', '-', '_'
bool is_content_type(std::string_view text);  // TYPE/SUBTYPE, with or without ; charset=NAME
bool is_body(std::string_view text);  // up to 4096 bytes, of control characters only \n and \t

// Letters, digits, '-' and '_', up to 64 bytes, and no header that has a meaning already: it would
// be read as what it is not, and written over.
bool is_header_name(std::string_view text);

// Only A to Z change, as where nginx compares names.
std::string lower_case(std::string_view text);

// A header's name as in nginx's $http_NAME: X-Deadline-Ms is x_deadline_ms.
std::string header_variable(std::string_view header);

}  // namespace loadline::tools
