#include "reject.h"

#include "grpc.h"
#include "headers_out.h"
#include "loadline/client/told.h"

namespace loadline::ngx {
namespace {

// A client that waits for "100 Continue" will not send its body after this answer, yet nginx would
// take the next request for it. So that connection is closed; every other is kept, since a client
// that has to connect anew costs three times as much.
void give_up_unsent_body(ngx_http_request_t* r) noexcept {
  const bool has_body = r->headers_in.content_length_n > 0 || r->headers_in.chunked;
  if (r->headers_in.expect != nullptr && has_body && r->request_body == nullptr) {
    r->keepalive = 0;
  }
  r->expect_tested = 1;  // and no "100 Continue" before it
}

// RateLimit fields (draft-ietf-httpapi-ratelimit-headers-10): the quota, that nothing is left of
// it, and when there will be.
bool add_quota_headers(const RequestState& state) noexcept {
  ngx_http_request_t* r = state.request;
  const QuotaPolicy& quota = state.hosted->policy.quota;
  constexpr std::int64_t kSecond = 1'000'000'000;
  const auto window = static_cast<ngx_uint_t>((quota.per.ns + kSecond - 1) / kSecond);
  return add_header(r, "RateLimit-Policy",
                    print(r, "\"%V\";q=%uD;w=%ui", &state.hosted->name, quota.requests, window)) &&
         add_header(r, "RateLimit",
                    print(r, "\"%V\";r=0;t=%ui", &state.hosted->name,
                          static_cast<ngx_uint_t>(state.retry_after)));
}

bool add_headers(const RequestState& state) noexcept {
  ngx_http_request_t* r = state.request;
  if (!add_header(r, "Cache-Control", constant("no-store")) ||
      !add_header(r, client::kRefusedHeader, constant(name(state.reason)))) {
    return false;
  }
  if (state.reason == Reason::quota && !add_quota_headers(state)) {
    return false;
  }
  return state.retry_after == 0 ||
         add_header(r, "Retry-After", whole_seconds(r, state.retry_after));
}

ngx_uint_t status_of(const RequestState& state, const LocationConf& conf) noexcept {
  if (is_deadline(state.reason)) {
    return NGX_HTTP_GATEWAY_TIME_OUT;
  }
  return state.reason == Reason::quota ? ngx_uint_t{NGX_HTTP_TOO_MANY_REQUESTS}
                                       : conf.reject_status;
}

// Header and body. As ngx_http_finalize_request takes it.
ngx_int_t send(RequestState& state, const LocationConf& conf, ngx_uint_t status) noexcept {
  ngx_http_request_t* r = state.request;
  r->headers_out.status = status;
  r->headers_out.content_length_n = static_cast<off_t>(conf.body.len);
  r->headers_out.content_type = conf.body_type;
  r->headers_out.content_type_len = conf.body_type.len;
  return send_short(r, state.short_answer, conf.body);
}

}  // namespace

ngx_int_t reject(RequestState& state, const LocationConf& conf) noexcept {
  ngx_http_request_t* r = state.request;
  const ngx_uint_t status = status_of(state, conf);
  state.answered = true;
  give_up_unsent_body(r);
  if (!add_headers(state)) {
    return NGX_HTTP_INTERNAL_SERVER_ERROR;
  }
  if (conf.error_page) {
    return static_cast<ngx_int_t>(status);
  }
  // A body that cannot even be thrown away (malformed chunks) changes nothing about the verdict.
  // Were its 400 returned, an error_page could send a rejected request on to the service.
  if (ngx_http_discard_request_body(r) != NGX_OK) {
    r->keepalive = 0;
  }
  ngx_http_finalize_request(r, is_grpc(r) ? send_grpc_rejection(state) : send(state, conf, status));
  return NGX_DONE;
}

}  // namespace loadline::ngx
