#include "claims.h"

#include <algorithm>

#include "headers_out.h"

namespace loadline::ngx {
namespace {

constexpr std::string_view kGrpcTimeout = "grpc-timeout";
constexpr std::string_view kEnvoyTimeout = "x-envoy-expected-rq-timeout-ms";
constexpr ngx_uint_t kGrpcTimeoutHash = header_hash(kGrpcTimeout);
constexpr ngx_uint_t kEnvoyTimeoutHash = header_hash(kEnvoyTimeout);
constexpr std::string_view kEnvoyAttempt = "x-envoy-attempt-count";
constexpr std::string_view kGrpcAttempts = "grpc-previous-rpc-attempts";
constexpr std::string_view kSdkRequest = "amz-sdk-request";
constexpr ngx_uint_t kEnvoyAttemptHash = header_hash(kEnvoyAttempt);
constexpr ngx_uint_t kGrpcAttemptsHash = header_hash(kGrpcAttempts);
constexpr ngx_uint_t kSdkRequestHash = header_hash(kSdkRequest);

bool is_named(const ngx_table_elt_t& header, std::string_view lowcase, ngx_uint_t hash) noexcept {
  return header.hash == hash && header.key.len == lowcase.size() &&
         std::memcmp(header.lowcase_key, lowcase.data(), lowcase.size()) == 0;
}

bool is_named(const ngx_table_elt_t& header, const HeaderName& name) noexcept {
  return name.lowcase.len != 0 && is_named(header, view(name.lowcase), name.hash);
}

void see(HeaderClaims& claims, const ngx_table_elt_t& header, const LocationConf& conf,
         const Policy& policy) noexcept {
  const std::string_view value = view(header.value);
  if (is_named(header, conf.class_header)) {
    claims.see_class(policy, value);
  } else if (is_named(header, conf.tenant_header)) {
    claims.see_tenant(value);
  } else if (is_named(header, conf.deadline_header) ||
             is_named(header, kEnvoyTimeout, kEnvoyTimeoutHash)) {
    claims.see_milliseconds(value);
  } else if (is_named(header, kGrpcTimeout, kGrpcTimeoutHash)) {
    claims.see_grpc_timeout(value);
  } else if (is_named(header, kEnvoyAttempt, kEnvoyAttemptHash)) {
    claims.see_attempt(parse_attempt_count(value));
  } else if (is_named(header, kGrpcAttempts, kGrpcAttemptsHash)) {
    claims.see_attempt(parse_previous_attempts(value));
  } else if (is_named(header, kSdkRequest, kSdkRequestHash)) {
    claims.see_attempt(parse_sdk_attempt(value));
  }
}

HeaderClaims read_headers(const ngx_http_request_t* r, const LocationConf& conf,
                          const Policy& policy) noexcept {
  HeaderClaims claims;
  each_header(r->headers_in.headers,
              [&](const ngx_table_elt_t& header) { see(claims, header, conf, policy); });
  return claims;
}

bool is_trusted(const ngx_http_request_t* r, const LocationConf& conf) noexcept {
  return conf.trusted != nullptr && ngx_cidr_match(r->connection->sockaddr, conf.trusted) == NGX_OK;
}

std::uint8_t own_class(ngx_http_request_t* r, const Ask& ask) noexcept {
  const Policy& policy = ask.gate->policy;
  if (ask.fixed_class >= 0) {
    return static_cast<std::uint8_t>(ask.fixed_class);
  }
  if (ask.class_value == nullptr) {
    return policy.default_class;
  }
  const ngx_str_t name = evaluate(r, ask.class_value);
  const int index = find_class_in_any_case(policy, view(name));
  return index < 0 ? policy.default_class : static_cast<std::uint8_t>(index);
}

std::optional<Duration> own_time(ngx_http_request_t* r, const Ask& ask,
                                 std::uint32_t& malformed) noexcept {
  if (ask.fixed_deadline > Duration{}) {
    return ask.fixed_deadline;
  }
  ngx_str_t text = evaluate(r, ask.deadline_value);
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

std::uint32_t own_weight(ngx_http_request_t* r, const Ask& ask, std::uint32_t& malformed) noexcept {
  const ngx_str_t text = evaluate(r, ask.weight_value);
  if (text.len == 0) {
    return ask.fixed_weight;
  }
  const auto weight = parse_weight(view(text));
  malformed += weight ? 0 : 1;
  return weight.value_or(1);
}

std::uint8_t own_group(ngx_http_request_t* r, const Ask& ask) noexcept {
  const ngx_str_t name = evaluate(r, ask.group_value);
  if (name.len == 0) {
    return ask.fixed_group;
  }
  const int index = find_group(ask.gate->policy, view(name));
  return index < 0 ? Request::kNoGroup : static_cast<std::uint8_t>(index);
}

// 0: none, which is nobody's and counts as no tenant.
std::uint64_t key_of(const ngx_str_t& name) noexcept {
  return name.len == 0 ? 0 : hash_key(view(name));
}

ngx_str_t time_left(ngx_http_request_t* r, Duration left, bool grpc) noexcept {
  return print(r, grpc ? "%Lm" : "%L", milliseconds_to_hand_on(left));
}

bool is_exempt(ngx_http_request_t* r, const LocationConf& conf) noexcept {
  return conf.exempt_set ? any_holds(r, conf.exempt) : is_preflight(r);
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

}  // namespace

// The age is known to the millisecond, so that less than one left is nothing left.
Instant deadline_after(const ngx_http_request_t* r, Duration given, Instant now) noexcept {
  const Duration left = given - age_of(r);
  return left < Duration::millis(1) ? now : now + left;
}

Claims read_claims(ngx_http_request_t* r, const LocationConf& conf, const Ask& ask,
                   Instant now) noexcept {
  const Policy& policy = ask.gate->policy;
  const HeaderClaims said = read_headers(r, conf, policy);
  const bool trusted = said.any() && is_trusted(r, conf);
  Claims claims;
  Request& request = claims.request;
  claims.malformed = said.malformed();
  const std::optional<Duration> time = own_time(r, ask, claims.malformed);

  request.importance = believed_class(own_class(r, ask), said, trusted);
  if (said.retry() && conf.lower_retries != 0) {
    request.importance = retried_class(request.importance, policy);
  }
  if (const auto given = believed_time(time, said, trusted); given && *given < Duration::max()) {
    request.deadline = deadline_after(r, *given, now);
  }
  request.observe = conf.observe != 0;
  request.exempt = is_exempt(r, conf);
  request.cost = own_weight(r, ask, claims.malformed);
  if (policy.tenants != 0) {
    request.tenant = trusted && !said.tenant().empty() ? hash_key(said.tenant())
                                                       : key_of(evaluate(r, ask.tenant_value));
    request.group = own_group(r, ask);
  }
  if (policy.quota.any()) {
    request.quota = key_of(evaluate(r, ask.quota_value));
  }
  return claims;
}

bool is_preflight(const ngx_http_request_t* r) noexcept {
  if (r->method != NGX_HTTP_OPTIONS) {
    return false;
  }
  constexpr std::string_view kOrigin = "origin";
  constexpr std::string_view kMethod = "access-control-request-method";
  constexpr ngx_uint_t kOriginHash = header_hash(kOrigin);
  constexpr ngx_uint_t kMethodHash = header_hash(kMethod);
  bool has_origin = false;
  bool has_method = false;
  each_header(r->headers_in.headers, [&](const ngx_table_elt_t& header) {
    has_origin = has_origin || is_named(header, kOrigin, kOriginHash);
    has_method = has_method || is_named(header, kMethod, kMethodHash);
  });
  return has_origin && has_method;
}

void rewrite_claims(const RequestState& state, const LocationConf& conf) noexcept {
  ngx_http_request_t* r = state.request;
  const Policy& policy = state.hosted->policy;
  each_header(r->headers_in.headers, [&](ngx_table_elt_t& header) {
    if (is_named(header, conf.class_header)) {
      header.value = constant(policy.classes[state.importance].name_view());
    } else if (is_named(header, conf.tenant_header)) {
      header.value = is_trusted(r, conf) ? header.value : ngx_str_t{};
    } else if (state.deadline != Instant::never()) {
      const bool grpc = is_named(header, kGrpcTimeout, kGrpcTimeoutHash);
      if (grpc || is_named(header, conf.deadline_header) ||
          is_named(header, kEnvoyTimeout, kEnvoyTimeoutHash)) {
        header.value = time_left(r, state.deadline - monotonic_now(), grpc);
      }
    }
  });
}

}  // namespace loadline::ngx
