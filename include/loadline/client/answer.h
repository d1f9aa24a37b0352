// How an attempt ended, in the words that decide what comes next.
//
// An adapter (for libcurl, gRPC, the simulator, ...) turns what its protocol says into an Answer;
// nothing behind this header knows a protocol. The two questions that matter are "was it
// processed?", since only then a retry may do something twice, and "whose fault was it?".
//
//  Ended         processed?  retried                  breaker  HTTP / gRPC
//  success       yes         no                       good     2xx, 3xx / OK
//  caller_fault  yes         no                       good     other 4xx / NOT_FOUND, ABORTED, ...
//  refused       no          elsewhere, or as told    -        503 that says so / UNAVAILABLE
//                                                              with a pushback
//  quota         no          as told, else not        -        429 / RESOURCE_EXHAUSTED
//  unreached     no          yes                      bad      no connection, REFUSED_STREAM,
//                                                              GOAWAY before it
//  unavailable   perhaps     if idempotent            bad      502, 503 / UNAVAILABLE
//  timed_out     perhaps     if idempotent            bad      408, 504, cut off /
//                                                              DEADLINE_EXCEEDED
//  lost          perhaps     if idempotent            bad      connection broke after it was sent
//  failed        yes         no                       bad      500, other 5xx / INTERNAL, ...
//  cancelled     perhaps     no                       -        499, the caller has gone / CANCELLED
//
// For the breaker a good one that was slow is bad, and "-" counts neither way.
// Whatever ended so, it is not retried when the answer forbids it (Told::never) or when it is a
// failure from further down, which speaks for neither breaker nor throttle either.
#pragma once

#include <cstdint>
#include <string_view>

#include "loadline/client/told.h"

namespace loadline::client {

// The names are stable: they stand in metrics.
enum class Ended : std::uint8_t {
  success,       // an answer the caller can use
  caller_fault,  // an answer about the request itself, that will not change
  refused,       // turned away for want of capacity, by this instance, and not processed
  quota,         // turned away because this caller asks too often; every instance would say so
  unreached,     // never got to where it could be processed
  unavailable,   // somebody on the way, or the service, says that it cannot; perhaps half-way
  timed_out,     // no answer in the time it was given
  lost,          // the connection broke after the request was sent
  failed,        // processed, and it went wrong
  cancelled,     // given up by the caller before it ended: says nothing about whom it asked
};
inline constexpr std::uint32_t kEnds = 10;

constexpr std::string_view name(Ended ended) noexcept {
  constexpr std::string_view kNames[kEnds] = {"success",   "caller_fault", "refused",   "quota",
                                              "unreached", "unavailable",  "timed_out", "lost",
                                              "failed",    "cancelled"};
  const auto index = static_cast<std::uint32_t>(ended);
  return index < kEnds ? kNames[index] : std::string_view("unknown");
}

// Is it certain that nothing was done, so that asking again cannot do it twice?
constexpr bool is_unprocessed(Ended ended) noexcept {
  return ended == Ended::refused || ended == Ended::quota || ended == Ended::unreached;
}

// Is the call at its end because it has what it asked for?
constexpr bool is_answered(Ended ended) noexcept {
  return ended == Ended::success || ended == Ended::caller_fault;
}

struct Answer {
  Ended ended = Ended::failed;
  Told told{};
  // The one we asked says that the failure was not its own (kFurtherDownHeader).
  bool further_down = false;
  // Is there another instance of the same service that this call could go to? Then a refusal, which
  // speaks for its instance alone, may be followed by one retry elsewhere at once.
  bool another_instance = false;
  std::uint8_t malformed = 0;  // values that were not well-formed (Signs::malformed), to be counted
};

// Of an HTTP status and what the header fields said. A 503 counts as `refused` if it says when to
// come back, carries kRefusedHeader or Envoy's mark: such an answer is given before any work is
// done (RFC 9110, 15.6.4; every gate of Loadline's sends Retry-After with it). With
// `believe_retry_after` false the time alone is not enough: for services that answer so half-way
// through. A 504 with kRefusedHeader is a refusal that forbids a retry: the deadline was too near.
// 499 is `cancelled`; what is no final status is `failed`. `another_instance` is left to the
// caller.
Answer answer_of_http(std::uint32_t status, const Signs& signs,
                      bool believe_retry_after = true) noexcept;

// Of a gRPC status code (0 to 16; others are UNKNOWN) and the metadata. UNAVAILABLE with a
// pushback, also a forbidding one, is `refused`. That a stream was refused or a connection never
// made is for the adapter to know: gRPC's libraries retry those by themselves, and say UNAVAILABLE
// when they give up.
Answer answer_of_grpc(std::uint32_t code, const Signs& signs) noexcept;

}  // namespace loadline::client
