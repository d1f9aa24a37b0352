#include "claims.h"

#include <algorithm>

#include "zone.h"

namespace loadline::ngx {
namespace {

constexpr std::string_view kGrpcTimeout = "grpc-timeout";
constexpr std::string_view kEnvoyTimeout = "x-envoy-expected-rq-timeout-ms";
constexpr ngx_uint_t kGrpcTimeoutHash = header_hash(kGrpcTimeout);
constexpr ngx_uint_t kEnvoyTimeoutHash = header_hash(kEnvoyTimeout);

bool is_named(const ngx_table_elt_t& header, std::string_view lowcase, ngx_uint_t hash) noexcept {
  return header.hash == hash && header.key.len == lowcase.size() &&
         std::memcmp(header.lowcase_key, lowcase.data(), lowcase.size()) == 0;
}

bool is_named(const ngx_table_elt_t& header, const HeaderName& name) noexcept {
  return name.lowcase.len != 0 && is_named(header, view(name.lowcase), name.hash);
}

void see(HeaderClaims& claims, const ngx_table_elt_t& header, const LocationConf& conf) noexcept {
  const std::string_view value = view(header.value);
  if (is_named(header, conf.class_header)) {
    claims.see_class(conf.gate->policy, value);
  } else if (is_named(header, conf.deadline_header) ||
             is_named(header, kEnvoyTimeout, kEnvoyTimeoutHash)) {
    claims.see_milliseconds(value);
  } else if (is_named(header, kGrpcTimeout, kGrpcTimeoutHash)) {
    claims.see_grpc_timeout(value);
  }
}

HeaderClaims read_headers(const ngx_http_request_t* r, const LocationConf& conf) noexcept {
  HeaderClaims claims;
  for (const ngx_list_part_t* part = &r->headers_in.headers.part; part != nullptr;
       part = part->next) {
    const auto* headers = static_cast<const ngx_table_elt_t*>(part->elts);
    for (ngx_uint_t i = 0; i < part->nelts; ++i) {
      see(claims, headers[i], conf);
    }
  }
  return claims;
}

bool is_trusted(const ngx_http_request_t* r, const LocationConf& conf) noexcept {
  return conf.trusted != nullptr && ngx_cidr_match(r->connection->sockaddr, conf.trusted) == NGX_OK;
}

// Empty if the value is not set or cannot be had.
ngx_str_t evaluate(ngx_http_request_t* r, ngx_http_complex_value_t* value) noexcept {
  ngx_str_t text{};
  if (value == nullptr || ngx_http_complex_value(r, value, &text) != NGX_OK) {
    return {};
  }
  return text;
}

std::uint8_t own_class(ngx_http_request_t* r, const LocationConf& conf) noexcept {
  const Policy& policy = conf.gate->policy;
  if (conf.fixed_class >= 0) {
    return static_cast<std::uint8_t>(conf.fixed_class);
  }
  if (conf.class_value == nullptr) {
    return policy.default_class;
  }
  const ngx_str_t name = evaluate(r, conf.class_value);
  const int index = find_class_in_any_case(policy, view(name));
  return index < 0 ? policy.default_class : static_cast<std::uint8_t>(index);
}

std::optional<Duration> own_time(ngx_http_request_t* r, const LocationConf& conf,
                                 std::uint32_t& malformed) noexcept {
  if (conf.fixed_deadline > Duration{}) {
    return conf.fixed_deadline;
  }
  ngx_str_t text = evaluate(r, conf.deadline_value);
  if (text.len == 0) {
    return std::nullopt;
  }
  const ngx_int_t milliseconds = ngx_parse_time(&text, 0);
  if (milliseconds == NGX_ERROR) {
    ++malformed;
    return std::nullopt;
  }
  if (milliseconds == 0) {
    return std::nullopt;  // as for a constant: none
  }
  return Duration::millis(milliseconds);
}

// Since the request's first byte. That moment is known by the wall clock only, hence the bounds: a
// clock that jumps must neither revive nor kill a request.
Duration age_of(const ngx_http_request_t* r) noexcept {
  constexpr std::int64_t kOldest = 60'000;
  const ngx_time_t* now = ngx_timeofday();
  const auto ms = static_cast<std::int64_t>(now->msec) - static_cast<std::int64_t>(r->start_msec);
  const std::int64_t age = (std::int64_t{now->sec} - r->start_sec) * 1000 + ms;
  return Duration::millis(std::clamp(age, std::int64_t{0}, kOldest));
}

// The age is known to the millisecond, so that less than one left is nothing left.
Instant deadline_after(Duration given, Duration age, Instant now) noexcept {
  const Duration left = given - age;
  return left < Duration::millis(1) ? now : now + left;
}

}  // namespace

Claims read_claims(ngx_http_request_t* r, const LocationConf& conf, Instant now) noexcept {
  const HeaderClaims claims = read_headers(r, conf);
  std::uint32_t malformed = claims.malformed();
  const std::uint8_t own = own_class(r, conf);
  const std::optional<Duration> time = own_time(r, conf, malformed);
  const bool trusted = claims.any() && is_trusted(r, conf);
  if (malformed != 0) {
    conf.gate->shared->malformed_headers.fetch_add(malformed, std::memory_order_relaxed);
  }
  Claims result{believed_class(own, claims, trusted), Instant::never()};
  if (const auto given = believed_time(time, claims, trusted); given && *given < Duration::max()) {
    result.deadline = deadline_after(*given, age_of(r), now);
  }
  return result;
}

}  // namespace loadline::ngx
