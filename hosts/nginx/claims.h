// What one request is judged as: its class and its deadline, from the configuration and from
// headers.
#pragma once

#include "conf.h"

namespace loadline::ngx {

struct Claims {
  std::uint8_t importance = 0;
  Instant deadline = Instant::never();
};

// Reads them. Malformed values are ignored and counted.
Claims read_claims(ngx_http_request_t* r, const LocationConf& conf, Instant now) noexcept;

// The hash that nginx keeps beside every request header, of a lower-case name.
constexpr ngx_uint_t header_hash(std::string_view lowcase) noexcept {
  ngx_uint_t hash = 0;
  for (const char c : lowcase) {
    hash = ngx_hash(hash, static_cast<u_char>(c));
  }
  return hash;
}

}  // namespace loadline::ngx
