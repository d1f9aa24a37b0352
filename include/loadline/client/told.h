// What an answer says about coming back: Retry-After, grpc-retry-pushback-ms, and the words that
// tell a refusal from a failure.
//
//   Signs signs;
//   for (const auto& [name, value] : response.headers) {  // trailers of gRPC as well
//     signs.see(name, value, wall_clock_now);
//   }
//   Answer answer = answer_of_http(response.status, signs);   // loadline/client/answer.h
//
// Everything here is a pure function of text; nothing allocates or throws. A value that is not
// well-formed is counted and otherwise as good as absent, but for the pushback, of which gRPC says
// that it then forbids a retry. Any thread, each with a Signs of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "loadline/time.h"

namespace loadline::client {

// The time of day, in nanoseconds since 1970-01-01T00:00:00Z (CLOCK_REALTIME): needed only for the
// dates that Retry-After may hold. Not an Instant: it may be set, and nothing is decided by it.
struct WallTime {
  std::int64_t ns = 0;

  static constexpr WallTime seconds(std::int64_t n) noexcept { return {Duration::seconds(n).ns}; }
  friend constexpr auto operator<=>(WallTime, WallTime) noexcept = default;
};

// What was told.
struct Told {
  enum class Kind : std::uint8_t {
    nothing,  // not a word about coming back
    wait,     // not before `after`
    never,    // not at all
  };

  Kind kind = Kind::nothing;
  Duration after{};  // with `wait`: from when the answer came; 0 or more, Duration::max() for ever

  static constexpr Told wait(Duration after) noexcept { return {Kind::wait, after}; }
  static constexpr Told never() noexcept { return {Kind::never, {}}; }
  friend constexpr bool operator==(Told, Told) noexcept = default;
};

// Names of header fields, in lower case as HTTP/2 and gRPC write them.
inline constexpr std::string_view kRetryAfterHeader = "retry-after";
inline constexpr std::string_view kPushbackHeader = "grpc-retry-pushback-ms";
// "This was not our failure, but that of somebody we asked": its value does not matter. Whoever
// hands on a failure of a call that it made for the request says so, and no layer above tries
// again or counts it against whoever it asked (see docs/client.md).
inline constexpr std::string_view kFurtherDownHeader = "x-loadline-further-down";
// "Turned away before any work was done"; the value is the reason (loadline::name(Reason)).
inline constexpr std::string_view kRefusedHeader = "x-loadline-refused";
// Envoy's word for the same ("true"); it says nothing about when to come back.
inline constexpr std::string_view kEnvoyOverloadedHeader = "x-envoy-overloaded";

// Retry-After (RFC 9110, 10.2.3): whole seconds of any number of digits, or a date in one of the
// three forms of 5.6.7 (IMF-fixdate, RFC 850's, asctime's), which is in GMT and has its zone where
// the form has one. Blanks around it do not matter. A date that has passed is 0; what is too large
// for a Duration is Duration::max(). A fraction ("1.5"), which the RFC does not allow but some
// send, is rounded up to whole seconds: later than told is never wrong. Everything else (signs,
// exponents, hex, "31 Feb", an empty value) is none. Two digits of a year mean the year that is
// at most 50 years ahead of `now`.
std::optional<Duration> parse_retry_after(std::string_view text, WallTime now) noexcept;

// grpc-retry-pushback-ms (gRFC A6): whole milliseconds. Negative or not a number forbids a retry;
// so there is always an answer.
Told parse_pushback(std::string_view text) noexcept;

// What the header fields of one answer say, taken together: of several times the longest counts,
// and one "never" outweighs all times.
class Signs {
 public:
  // Looks at one field, whatever its name: those that say nothing here cost a comparison of
  // lengths. Names are compared regardless of case. `now` matters for a Retry-After alone.
  void see(std::string_view name, std::string_view value, WallTime now) noexcept;

  void see_retry_after(std::string_view value, WallTime now) noexcept;
  void see_pushback(std::string_view value) noexcept;
  void see_further_down() noexcept { further_down_ = true; }
  void see_refused() noexcept { refused_ = true; }

  [[nodiscard]] Told told() const noexcept { return told_; }
  // Did one say that it was turned away before any work was done?
  [[nodiscard]] bool refused() const noexcept { return refused_; }
  [[nodiscard]] bool further_down() const noexcept { return further_down_; }
  // How many values were not well-formed.
  [[nodiscard]] std::uint8_t malformed() const noexcept { return malformed_; }

 private:
  void take(Told told) noexcept;
  void note_malformed() noexcept;

  Told told_{};
  bool refused_ = false;
  bool further_down_ = false;
  std::uint8_t malformed_ = 0;
};

}  // namespace loadline::client
