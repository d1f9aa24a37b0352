#include "config_values.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/beast/http/field.hpp>
#include <charconv>
#include <iterator>

#include "text.h"

namespace loadline::tools {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// Letters, digits and the characters of `others`, at least one and at most `longest` bytes.
bool is_made_of(std::string_view text, std::string_view others, std::size_t longest) {
  return !text.empty() && text.size() <= longest &&
         std::all_of(text.begin(), text.end(), [others](char c) {
           return is_letter_or_digit(c) || others.find(c) != std::string_view::npos;
         });
}

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7f;
}

std::string with_replaced(std::string text, char from, char to) {
  std::replace(text.begin(), text.end(), from, to);
  return text;
}

// Registered at IANA, of a family that is, or in wide use: such a header means something already.
// '_' counts as '-', since CGI and its kin take one for the other.
bool has_meaning(std::string_view header) {
  static constexpr std::string_view kFamilies[] = {
      "access-control-", "content-", "grpc-", "if-", "proxy-", "sec-", "x-accel-", "x-forwarded-"};
  static constexpr std::string_view kInUse[] = {
      "baggage",    "dnt",       "proxy",        "traceparent",
      "tracestate", "x-real-ip", "x-request-id", "x-envoy-expected-rq-timeout-ms"};
  const std::string name = with_replaced(header_variable(header), '_', '-');
  return boost::beast::http::string_to_field(name) != boost::beast::http::field::unknown ||
         std::find(std::begin(kInUse), std::end(kInUse), name) != std::end(kInUse) ||
         std::any_of(std::begin(kFamilies), std::end(kFamilies),
                     [&name](std::string_view family) { return name.starts_with(family); });
}

bool is_address(int family, const std::string& text) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  // inet_pton stops at a NUL; what follows one must not slip through.
  return is_made_of(text, ".:", 45) && inet_pton(family, text.c_str(), bytes.data()) == 1;
}

bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) {
    return false;
  }
  text.remove_prefix(prefix.size());
  return true;
}

// Clears the bits of `address` (in network order) after the first `bits`.
template <std::size_t N>
void keep_leading_bits(std::array<unsigned char, N>& address, std::uint32_t bits) {
  for (std::size_t i = 0; i < N; ++i) {
    const auto left = static_cast<std::int64_t>(bits) - static_cast<std::int64_t>(i) * 8;
    const auto kept = std::clamp<std::int64_t>(left, 0, 8);
    address[i] = static_cast<unsigned char>(address[i] & (0xff00u >> kept));
  }
}

template <std::size_t N>
std::optional<std::string> network_of(int family, const std::string& address,
                                      std::optional<std::string_view> bits_text) {
  if (!is_address(family, address)) {
    return std::nullopt;
  }
  std::array<unsigned char, N> bytes{};
  inet_pton(family, address.c_str(), bytes.data());
  std::string suffix;
  if (bits_text) {
    const auto bits = parse_count(*bits_text, 0, N * 8);
    if (!bits) {
      return std::nullopt;
    }
    keep_leading_bits(bytes, *bits);
    suffix = fmt::format("/{}", *bits);
  }
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(family, bytes.data(), text.data(), text.size());
  return text.data() + suffix;
}

// HOST, HOST:PORT, [IPV6] or [IPV6]:PORT.
bool read_host_and_port(std::string_view text, Upstream& upstream) {
  std::string_view port;
  if (text.starts_with('[')) {
    const auto close = text.find(']');
    if (close == std::string_view::npos) {
      return false;
    }
    const auto address =
        network_of<sizeof(in6_addr)>(AF_INET6, std::string(text.substr(1, close - 1)), {});
    text.remove_prefix(close + 1);
    if (!address || (!text.empty() && text.front() != ':')) {
      return false;
    }
    upstream.host = *address;
    port = text;
  } else {
    const auto colon = std::min(text.find(':'), text.size());
    upstream.host = text.substr(0, colon);
    port = text.substr(colon);
    if (!is_host_name(upstream.host)) {
      return false;
    }
  }
  if (port.empty()) {
    return upstream.port != 0;
  }
  const auto number = parse_count(port.substr(1), 1, 65535);
  upstream.port = static_cast<std::uint16_t>(number.value_or(0));
  return number.has_value();
}

}  // namespace

std::optional<std::uint32_t> parse_count(std::string_view text, std::uint32_t low,
                                         std::uint32_t high) {
  std::uint32_t value = 0;
  const auto end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc{} || rest != end || value < low || value > high) {
    return std::nullopt;
  }
  return value;
}

std::optional<bool> parse_switch(std::string_view text) {
  if (text == "on" || text == "true") {
    return true;
  }
  if (text == "off" || text == "false") {
    return false;
  }
  return std::nullopt;
}

std::optional<milliseconds> parse_millis(std::string_view text, milliseconds low,
                                         milliseconds high) {
  const auto time = parse_time(text);
  if (!time || *time < nanoseconds(low) || *time > nanoseconds(high)) {
    return std::nullopt;
  }
  const auto whole = std::chrono::duration_cast<milliseconds>(*time);
  return nanoseconds(whole) == *time ? std::optional(whole) : std::nullopt;
}

std::optional<std::uint32_t> parse_percent(std::string_view text, std::uint32_t high) {
  return text.ends_with('%') ? parse_count(text.substr(0, text.size() - 1), 1, high) : std::nullopt;
}

std::chrono::seconds QuotaRate::period() const {
  return std::chrono::seconds(unit == 's' ? 1 : unit == 'm' ? 60 : 3600);
}

std::string QuotaRate::text() const {
  return fmt::format("{}r/{}", requests, unit);
}

std::optional<QuotaRate> parse_quota_rate(std::string_view text) {
  const auto sign = text.find("r/");
  if (sign == std::string_view::npos || text.size() != sign + 3) {
    return std::nullopt;
  }
  const auto requests = parse_count(text.substr(0, sign), 1, 1'000'000);
  const char unit = text.back();
  const bool known = unit == 's' || unit == 'm' || unit == 'h';
  return requests && known ? std::optional(QuotaRate{*requests, unit}) : std::nullopt;
}

std::optional<RequestKey> parse_request_key(std::string_view text) {
  if (text == "address") {
    return RequestKey{};
  }
  const bool is_header = take_prefix(text, "header ") && is_made_of(text, "-_", 64);
  return is_header ? std::optional(RequestKey{std::string(text)}) : std::nullopt;
}

bool is_seconds_range(std::string_view text, std::uint32_t high) {
  const auto dash = std::min(text.find('-'), text.size());
  const auto low = parse_count(text.substr(0, dash), 1, high);
  return low && dash != text.size() && parse_count(text.substr(dash + 1), *low, high);
}

std::string Upstream::endpoint() const {
  if (kind == Kind::unix_socket) {
    return "unix:" + path;
  }
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port)
                                             : fmt::format("[{}]:{}", host, port);
}

std::string Upstream::text() const {
  switch (kind) {
    case Kind::http:
      return "http://" + endpoint();
    case Kind::https:
      return "https://" + endpoint();
    case Kind::unix_socket:
      break;
  }
  return endpoint();
}

std::string Upstream::authority() const {
  if (kind == Kind::unix_socket) {
    return "localhost";
  }
  const std::uint16_t usual = kind == Kind::https ? 443 : 80;
  const std::string whole = endpoint();
  return port == usual ? whole.substr(0, whole.rfind(':')) : whole;
}

bool Upstream::is_numeric() const {
  return kind == Kind::unix_socket || is_address(AF_INET, host) || is_address(AF_INET6, host);
}

std::optional<Upstream> parse_upstream(std::string_view text) {
  Upstream upstream;
  if (take_prefix(text, "unix:")) {
    upstream.kind = Upstream::Kind::unix_socket;
    upstream.path = text;
    // sun_path holds 108 bytes with the NUL; a colon would begin a URI to nginx.
    const bool sound = text.starts_with('/') && is_made_of(text, "/._~@+,=-", 107);
    return sound ? std::optional(upstream) : std::nullopt;
  }
  if (const auto port = parse_count(text, 1, 65535)) {
    upstream.host = "127.0.0.1";
    upstream.port = static_cast<std::uint16_t>(*port);
    return upstream;
  }
  bool with_scheme = true;
  if (take_prefix(text, "https://")) {
    upstream.kind = Upstream::Kind::https;
    upstream.port = 443;
  } else if (take_prefix(text, "http://")) {
    upstream.port = 80;
  } else {
    with_scheme = false;
  }
  if (with_scheme && text.ends_with('/')) {
    text.remove_suffix(1);
  }
  return read_host_and_port(text, upstream) ? std::optional(upstream) : std::nullopt;
}

std::optional<std::string> parse_network(std::string_view text) {
  const auto slash = text.find('/');
  const std::string address(text.substr(0, slash));
  std::optional<std::string_view> bits;
  if (slash != std::string_view::npos) {
    bits = text.substr(slash + 1);
  }
  if (auto network = network_of<sizeof(in_addr)>(AF_INET, address, bits)) {
    return network;
  }
  return network_of<sizeof(in6_addr)>(AF_INET6, address, bits);
}

bool is_class_name(std::string_view text) {
  return is_made_of(text, "_-.", 31);
}

bool is_run_name(std::string_view text) {
  return is_made_of(text, "_-", 32);
}

bool is_url_path(std::string_view text) {
  const auto has_dot_segment = [text] {
    return text.find("/./") != text.npos || text.find("/../") != text.npos ||
           text.ends_with("/.") || text.ends_with("/..");
  };
  return text.starts_with('/') && is_made_of(text, "/._~@+,=:-", 1024) && !has_dot_segment();
}

bool is_file_path(std::string_view text) {
  return !text.empty() && text.size() <= 4000 && std::none_of(text.begin(), text.end(), [](char c) {
    return is_control(c) || std::string_view("\"'$\\;{}").find(c) != std::string_view::npos;
  });
}

bool is_host_name(std::string_view text) {
  return is_made_of(text, ".-_", 253) && text.front() != '-' && text.front() != '.';
}

bool is_content_type(std::string_view text) {
  const auto semicolon = text.find(';');
  const auto media = text.substr(0, semicolon);
  const auto slash = media.find('/');
  const bool sound = slash != std::string_view::npos &&
                     is_made_of(media.substr(0, slash), "+-.", 64) &&
                     is_made_of(media.substr(slash + 1), "+-.", 64);
  if (!sound || semicolon == std::string_view::npos) {
    return sound;
  }
  auto rest = text.substr(semicolon + 1);
  take_prefix(rest, " ");
  return take_prefix(rest, "charset=") && is_made_of(rest, "-_", 32);
}

bool is_body(std::string_view text) {
  return text.size() <= 4096 && std::none_of(text.begin(), text.end(), [](char c) {
           return is_control(c) && c != '\n' && c != '\t';
         });
}

bool is_header_name(std::string_view text) {
  return is_made_of(text, "-_", 64) && !has_meaning(text);
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return lower;
}

std::string header_variable(std::string_view header) {
  return with_replaced(lower_case(header), '-', '_');
}

}  // namespace loadline::tools
