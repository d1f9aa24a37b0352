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

// A weight: a whole number from 1 to kMaxLimit.
std::optional<std::uint32_t> parse_weight(std::string_view text) noexcept;

// Which attempt a request says it is, the first being 1. `x-envoy-attempt-count` counts so;
// `grpc-previous-rpc-attempts` counts those before, so 0 is the first; `amz-sdk-request` holds
// "attempt=N" among other fields. At most 9 digits.
std::optional<std::uint32_t> parse_attempt_count(std::string_view text) noexcept;
std::optional<std::uint32_t> parse_previous_attempts(std::string_view text) noexcept;
std::optional<std::uint32_t> parse_sdk_attempt(std::string_view text) noexcept;

// Index of the class so named, regardless of case; -1 if there is none. Google's own names are
// written in capitals in places.
int find_class_in_any_case(const Policy& policy, std::string_view name) noexcept;

// What the headers of one request say, taken together.
class HeaderClaims {
 public:
  void see_class(const Policy& policy, std::string_view value) noexcept;
  void see_grpc_timeout(std::string_view value) noexcept { see_time(parse_grpc_timeout(value)); }
  void see_milliseconds(std::string_view value) noexcept { see_time(parse_milliseconds(value)); }

  void see_attempt(std::optional<std::uint32_t> attempt) noexcept;
  // Only a trusted peer's is ever used.
  void see_tenant(std::string_view value) noexcept;

  // -1: no valid claim.
  [[nodiscard]] int importance() const noexcept { return importance_; }
  [[nodiscard]] std::optional<Duration> time_left() const noexcept { return time_left_; }
  // Of several values the largest: it is a claim to less.
  [[nodiscard]] bool retry() const noexcept { return attempt_ > 1; }
  // Empty: none, or several that differ.
  [[nodiscard]] std::string_view tenant() const noexcept { return tenant_; }
  [[nodiscard]] std::uint32_t malformed() const noexcept { return malformed_; }
  // Is there anything to which it matters whether the peer is trusted?
  [[nodiscard]] bool any() const noexcept {
    return importance_ >= 0 || time_left_.has_value() || !tenant_.empty();
  }

 private:
  void see_time(std::optional<Duration> time) noexcept;

  int importance_ = -1;
  std::optional<Duration> time_left_;
  std::uint32_t attempt_ = 0;
  std::string_view tenant_;  // of the request's own memory
  bool tenants_differ_ = false;
  std::uint32_t malformed_ = 0;
};

// The class a request is judged as. `own` is what it would be without headers. A trusted peer
// decides; another may only make its request less important, since everyone would claim the most.
std::uint8_t believed_class(std::uint8_t own, const HeaderClaims& claims, bool trusted) noexcept;

// A retry stands one class lower than a first attempt would, whoever says that it is one: under
// overload a caller who has not been served at all comes before one who asks again.
std::uint8_t retried_class(std::uint8_t importance, const Policy& policy) noexcept;

// The time it is given, counted from its first byte; none: no deadline. `own` is the operator's. A
// trusted peer's replaces it; another's may only shorten it.
std::optional<Duration> believed_time(std::optional<Duration> own, const HeaderClaims& claims,
                                      bool trusted) noexcept;

}  // namespace loadline::ngx
