// What one request is judged as, from the configuration and from headers.
#pragma once

#include "request.h"

namespace loadline::ngx {

struct Claims {
  Request request;
  std::uint32_t malformed = 0;  // values that were ignored
};

// As what this gate is to judge this request: class, deadline, weight, tenant, quota key, and
// whether it is exempt.
Claims read_claims(ngx_http_request_t* r, const LocationConf& conf, const Ask& ask,
                   Instant now) noexcept;

// The deadline of a request that was given so much time from its first byte on.
Instant deadline_after(const ngx_http_request_t* r, Duration given, Instant now) noexcept;

// What is left of a deadline, as it is handed on: at least 1, since 0 means "no timeout" to some
// who read such headers; at most what grpc-timeout can carry.
inline std::int64_t milliseconds_to_hand_on(Duration left) noexcept {
  constexpr std::int64_t kMillisecond = 1'000'000;
  constexpr std::int64_t kMost = 99'999'999;
  return std::clamp(left.ns / kMillisecond, std::int64_t{1}, kMost);
}

// May browsers ask whether they may ask (CORS preflight, Fetch Standard 3.2.2)?
bool is_preflight(const ngx_http_request_t* r) noexcept;

// Writes into the request's headers what has been decided about it, so that the next one does not
// read what has not been believed here: the class it was judged as, what is left of its deadline,
// and no tenant that a stranger named. Headers that it does not have are not added.
void rewrite_claims(const RequestState& state, const LocationConf& conf) noexcept;

// The hash that nginx keeps beside every request header, of a lower-case name.
constexpr ngx_uint_t header_hash(std::string_view lowcase) noexcept {
  ngx_uint_t hash = 0;
  for (const char c : lowcase) {
    hash = ngx_hash(hash, static_cast<u_char>(c));
  }
  return hash;
}

}  // namespace loadline::ngx
