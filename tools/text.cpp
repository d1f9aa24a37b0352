#include "text.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace loadline::tools {
namespace {

using std::chrono::nanoseconds;

struct Unit {
  std::string_view name;
  std::int64_t nanoseconds;
};

// Smallest first; format_time walks it from the other end.
constexpr std::array<Unit, 6> kUnits{{{"ns", 1},
                                      {"us", 1'000},
                                      {"ms", 1'000'000},
                                      {"s", 1'000'000'000},
                                      {"m", 60'000'000'000},
                                      {"h", 3'600'000'000'000}}};

constexpr double kLongestTime = 10.0 * 365 * 24 * 3600 * 1e9;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

template <class Integer>
std::optional<Integer> parse_whole(std::string_view text) {
  Integer value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || !is_digit(text.front()) || error != std::errc{} ||
      end != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

bool is_ipv4(const std::string& text) {
  in_addr address{};
  return inet_pton(AF_INET, text.c_str(), &address) == 1;
}

bool is_ipv6(const std::string& text) {
  in6_addr address{};
  return inet_pton(AF_INET6, text.c_str(), &address) == 1;
}

// One way to write each address, so that equal ones look equal.
std::string plain_address(const std::string& text) {
  in6_addr address{};
  std::array<char, INET6_ADDRSTRLEN> plain{};
  if (inet_pton(AF_INET6, text.c_str(), &address) != 1) {
    return text;  // IPv4 has but one
  }
  return inet_ntop(AF_INET6, &address, plain.data(), plain.size());
}

struct HostPort {
  std::string host;
  std::optional<std::string_view> port;
};

// HOST, HOST:PORT, [IPV6] or [IPV6]:PORT. An IPv6 address without brackets is refused, since its
// last group could be meant as the port.
std::optional<HostPort> split_host_port(std::string_view text) {
  if (!text.empty() && text.front() == '[') {
    const auto close = text.find(']');
    if (close == std::string_view::npos) {
      return std::nullopt;
    }
    HostPort result{std::string(text.substr(1, close - 1)), std::nullopt};
    const auto rest = text.substr(close + 1);
    if (!is_ipv6(result.host) || (!rest.empty() && rest.front() != ':')) {
      return std::nullopt;
    }
    if (!rest.empty()) {
      result.port = rest.substr(1);
    }
    return result;
  }
  const auto colon = text.find(':');
  if (colon == std::string_view::npos) {
    return HostPort{std::string(text), std::nullopt};
  }
  if (text.find(':', colon + 1) != std::string_view::npos) {
    return std::nullopt;
  }
  return HostPort{std::string(text.substr(0, colon)), text.substr(colon + 1)};
}

bool is_host_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '.' || c == '_';
  });
}

// A blank or a control character in the target would end the request line early.
bool is_target(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c != '\x7f'; });
}

bool has_http_scheme(std::string_view text) {
  constexpr std::string_view kScheme = "http://";
  return text.size() > kScheme.size() &&
         std::equal(kScheme.begin(), kScheme.end(), text.begin(), [](char wanted, char c) {
           return wanted == (c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
         });
}

std::string bracketed(const std::string& host) {
  return host.find(':') == std::string::npos ? host : "[" + host + "]";
}

}  // namespace

// from_chars alone would also take "inf", "1e9" and "-1".
std::optional<double> parse_decimal(std::string_view text) {
  const bool plain =
      std::all_of(text.begin(), text.end(), [](char c) { return is_digit(c) || c == '.'; });
  if (!plain || text.empty() || !is_digit(text.front()) || !is_digit(text.back())) {
    return std::nullopt;
  }
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

std::optional<nanoseconds> parse_time(std::string_view text) {
  if (text == "0") {
    return nanoseconds{0};
  }
  const auto digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const auto value = parse_decimal(text.substr(0, digits));
  const auto unit = std::find_if(kUnits.begin(), kUnits.end(), [&](const Unit& candidate) {
    return candidate.name == text.substr(digits);
  });
  if (!value || unit == kUnits.end()) {
    return std::nullopt;
  }
  const double result = *value * static_cast<double>(unit->nanoseconds);
  if (result > kLongestTime) {
    return std::nullopt;
  }
  return nanoseconds{std::llround(result)};
}

std::string format_time(nanoseconds time) {
  const auto count = time.count();
  if (count == 0) {
    return "0s";
  }
  const auto exact = std::find_if(kUnits.rbegin(), kUnits.rend(),
                                  [&](const Unit& unit) { return count % unit.nanoseconds == 0; });
  const auto largest = std::find_if(kUnits.rbegin(), kUnits.rend(), [&](const Unit& unit) {
    return count >= unit.nanoseconds && unit.nanoseconds <= 1'000'000'000;
  });
  auto whole = fmt::format("{}{}", count / exact->nanoseconds, exact->name);
  if (largest == kUnits.rend()) {
    return whole;  // negative: not ours to write prettily
  }
  auto fraction =
      fmt::format("{}{}", static_cast<double>(count) / static_cast<double>(largest->nanoseconds),
                  largest->name);
  const bool shorter = fraction.size() < whole.size() && parse_time(fraction) == time;
  return shorter ? fraction : whole;
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
  if (text.empty()) {
    return std::nullopt;
  }
  int shift = 0;
  switch (text.back()) {
    case 'k':
    case 'K':
      shift = 10;
      break;
    case 'm':
    case 'M':
      shift = 20;
      break;
    case 'g':
    case 'G':
      shift = 30;
      break;
    default:
      break;
  }
  if (shift != 0) {
    text.remove_suffix(1);
  }
  const auto value = parse_whole<std::uint64_t>(text);
  if (!value || *value > (UINT64_MAX >> shift)) {
    return std::nullopt;
  }
  return *value << shift;
}

std::optional<ListenAddress> parse_listen(std::string_view text) {
  if (const auto port = parse_whole<std::uint16_t>(text)) {
    return ListenAddress{.port = *port};
  }
  const auto parts = split_host_port(text);
  if (!parts || !parts->port || (!is_ipv4(parts->host) && !is_ipv6(parts->host))) {
    return std::nullopt;
  }
  const auto port = parse_whole<std::uint16_t>(*parts->port);
  if (!port) {
    return std::nullopt;
  }
  return ListenAddress{plain_address(parts->host), *port};
}

std::string Url::authority() const {
  return port == 80 ? bracketed(host) : fmt::format("{}:{}", bracketed(host), port);
}

std::string Url::text() const {
  return "http://" + authority() + target;
}

std::optional<Url> parse_url(std::string_view text) {
  if (!has_http_scheme(text)) {
    return std::nullopt;
  }
  text.remove_prefix(std::string_view("http://").size());
  text = text.substr(0, text.find('#'));
  const auto host_end = std::min(text.find_first_of("/?"), text.size());
  const auto parts = split_host_port(text.substr(0, host_end));
  if (!parts || (!is_host_name(parts->host) && !is_ipv6(parts->host))) {
    return std::nullopt;
  }
  Url url{.host = parts->host};
  if (parts->port) {
    const auto port = parse_whole<std::uint16_t>(*parts->port);
    if (!port || *port == 0) {
      return std::nullopt;
    }
    url.port = *port;
  }
  const auto target = text.substr(host_end);
  if (!is_target(target)) {
    return std::nullopt;
  }
  if (!target.empty()) {
    url.target = (target.front() == '/' ? "" : "/") + std::string(target);
  }
  return url;
}

}  // namespace loadline::tools
