#include "reject.h"

#include "short_body.h"

namespace loadline::ngx {
namespace {

// A client that waits for "100 Continue" will not send its body after this answer, yet nginx would
// take the next request for it. So that connection is closed; every other is kept, since a client
// that has to connect anew costs three times as much.
void give_up_unsent_body(ngx_http_request_t* r) noexcept {
  const bool has_body = r->headers_in.content_length_n > 0 || r->headers_in.chunked;
  if (r->headers_in.expect != nullptr && has_body) {
    r->keepalive = 0;
  }
  r->expect_tested = 1;  // and no "100 Continue" before it
}

bool add_header(ngx_http_request_t* r, std::string_view key, const ngx_str_t& value) noexcept {
  auto* header = static_cast<ngx_table_elt_t*>(ngx_list_push(&r->headers_out.headers));
  if (header == nullptr) {
    return false;
  }
  *header = {};
  header->hash = 1;
  header->key = constant(key);
  header->value = value;
  return true;
}

bool add_headers(ngx_http_request_t* r, std::uint16_t retry_after) noexcept {
  if (!add_header(r, "Cache-Control", constant("no-store"))) {
    return false;
  }
  if (retry_after == 0) {
    return true;
  }
  constexpr std::size_t kDigits = 5;
  ngx_str_t value;
  value.data = static_cast<u_char*>(ngx_pnalloc(r->pool, kDigits));
  if (value.data == nullptr) {
    return false;
  }
  value.len = static_cast<std::size_t>(
      ngx_sprintf(value.data, "%ui", static_cast<ngx_uint_t>(retry_after)) - value.data);
  return add_header(r, "Retry-After", value);
}

// Header and body. As ngx_http_finalize_request takes it.
ngx_int_t send(ngx_http_request_t* r, const LocationConf& conf, ngx_uint_t status) noexcept {
  r->headers_out.status = status;
  r->headers_out.content_length_n = static_cast<off_t>(conf.body.len);
  r->headers_out.content_type = conf.body_type;
  r->headers_out.content_type_len = conf.body_type.len;

  const ngx_int_t sent = ngx_http_send_header(r);
  if (sent == NGX_ERROR || sent > NGX_OK || r->header_only) {
    return sent;
  }
  return send_body(r, conf.body);
}

}  // namespace

ngx_int_t reject(RequestState& state, const LocationConf& conf) noexcept {
  ngx_http_request_t* r = state.request;
  const ngx_uint_t status =
      is_deadline(state.reason) ? ngx_uint_t{NGX_HTTP_GATEWAY_TIME_OUT} : conf.reject_status;
  state.answered = true;
  give_up_unsent_body(r);
  if (!add_headers(r, state.retry_after)) {
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
  ngx_http_finalize_request(r, send(r, conf, status));
  return NGX_DONE;
}

}  // namespace loadline::ngx
