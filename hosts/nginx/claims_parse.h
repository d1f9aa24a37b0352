// What a request may claim about itself in headers: how it is read, and how far it is believed.
//
// Nothing here knows nginx, so that every rule is tested by itself (tests/nginx). A value that is
// not well-formed is ignored and counted; of several values the most modest counts: the least
// important class, the shortest time. Clocks of other machines are never compared with ours: all
// times are relative ("what is left").
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "loadline/policy.h"
#include "loadline/time.h"

namespace loadline::ngx {

// grpc-timeout (gRPC over HTTP/2, "Timeout"): 1 to 8 digits and one of H M S m u n, not zero. The
// largest, 99999999H, is some 11,000 years and saturates.
std::optional<Duration> parse_grpc_timeout(std::string_view text) noexcept;

// Whole milliseconds, 1 to 18 digits; 0 and negative mean that the time has run out.
std::optional<Duration> parse_milliseconds(std::string_view text) noexcept;

// Index of the class so named, regardless of case; -1 if there is none. Google's own names are
// written in capitals in places.
int find_class_in_any_case(const Policy& policy, std::string_view name) noexcept;

// What the headers of one request say, taken together.
class HeaderClaims {
 public:
  void see_class(const Policy& policy, std::string_view value) noexcept;
  void see_grpc_timeout(std::string_view value) noexcept { see_time(parse_grpc_timeout(value)); }
  void see_milliseconds(std::string_view value) noexcept { see_time(parse_milliseconds(value)); }

  // -1: no valid claim.
  [[nodiscard]] int importance() const noexcept { return importance_; }
  [[nodiscard]] std::optional<Duration> time_left() const noexcept { return time_left_; }
  [[nodiscard]] std::uint32_t malformed() const noexcept { return malformed_; }
  [[nodiscard]] bool any() const noexcept { return importance_ >= 0 || time_left_.has_value(); }

 private:
  void see_time(std::optional<Duration> time) noexcept;

  int importance_ = -1;
  std::optional<Duration> time_left_;
  std::uint32_t malformed_ = 0;
};

// The class a request is judged as. `own` is what it would be without headers. A trusted peer
// decides; another may only make its request less important, since everyone would claim the most.
std::uint8_t believed_class(std::uint8_t own, const HeaderClaims& claims, bool trusted) noexcept;

// The time it is given, counted from its first byte; none: no deadline. `own` is the operator's. A
// trusted peer's replaces it; another's may only shorten it.
std::optional<Duration> believed_time(std::optional<Duration> own, const HeaderClaims& claims,
                                      bool trusted) noexcept;

}  // namespace loadline::ngx
