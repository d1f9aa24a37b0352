// How times, sizes, addresses and URLs are written on the command line and in configuration files.
//
// Each parser takes the whole text or nothing: no leading or trailing blanks, no rest. The k...Form
// constant beside it says in words what it accepts, for the end of an error message:
//
//   --timeout: '20 ms' is not a number with a unit (ns, us, ms, s, m, h), as in 20ms
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace loadline::tools {

// A time, never negative, up to 10 years. The unit is required, since a bare number is seconds to
// nginx and milliseconds to many others; only 0 may stand alone. Fractions are fine: 1.5s.
std::optional<std::chrono::nanoseconds> parse_time(std::string_view text);
inline constexpr const char* kTimeForm = "a number with a unit (ns, us, ms, s, m, h), as in 20ms";

// The shortest text that parse_time reads back as the same time: 20ms, 1.5s, 2m, 0s.
std::string format_time(std::chrono::nanoseconds time);

// A number in plain digits, with a fraction or without; not nan, inf, -1, 1e9 or 0x10.
std::optional<double> parse_decimal(std::string_view text);

// A size in bytes: a whole number, alone or with k, m or g (powers of 1024, either case, as nginx).
std::optional<std::uint64_t> parse_size(std::string_view text);
inline constexpr const char* kSizeForm = "a whole number of bytes, or with k, m or g, as in 64k";

// Where to listen. The address is numeric IPv4 or IPv6 without brackets; loopback when left out.
struct ListenAddress {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;  // 0: any free port
};

// PORT, ADDRESS:PORT or [IPV6]:PORT.
std::optional<ListenAddress> parse_listen(std::string_view text);
inline constexpr const char* kListenForm =
    "PORT, IPV4:PORT or [IPV6]:PORT, with a port from 0 to 65535 (0: any free one)";

// Something to send requests to. There is only http://: no other scheme is spoken here.
struct Url {
  std::string host;  // a name, or a numeric address without brackets
  std::uint16_t port = 80;
  std::string target = "/";  // path and query as sent in the request line

  // As the Host header wants it: port left out when it is 80, IPv6 in brackets.
  std::string authority() const;
  std::string text() const;
};

// http://HOST[:PORT][/PATH][?QUERY]; a #fragment is dropped, as it is never sent. User names and
// passwords are refused. Whether the host resolves is not looked up here.
std::optional<Url> parse_url(std::string_view text);
inline constexpr const char* kUrlForm =
    "http://HOST[:PORT][/PATH][?QUERY]; no other scheme is spoken";

}  // namespace loadline::tools
