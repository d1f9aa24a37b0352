#include "reject.h"

#include <algorithm>

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

// The gate gives 1 to 32, and two digits need neither memory nor a printer of numbers.
ngx_str_t whole_seconds(std::uint16_t seconds) noexcept {
  constexpr std::uint16_t kMost = 99;
  static constexpr auto kDigits = [] {
    std::array<char, std::size_t{2} * (kMost + 1)> digits{};
    for (std::size_t i = 0; i <= kMost; ++i) {
      digits[2 * i] = static_cast<char>('0' + i / 10);
      digits[2 * i + 1] = static_cast<char>('0' + i % 10);
    }
    return digits;
  }();
  const std::size_t shown = std::min(seconds, kMost);
  const std::size_t zeros = shown < 10 ? 1 : 0;
  return constant({kDigits.data() + 2 * shown + zeros, 2 - zeros});
}

bool add_headers(ngx_http_request_t* r, std::uint16_t retry_after) noexcept {
  if (!add_header(r, "Cache-Control", constant("no-store"))) {
    return false;
  }
  if (retry_after == 0) {
    return true;
  }
  return add_header(r, "Retry-After", whole_seconds(retry_after));
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
  ngx_http_finalize_request(r, send(state, conf, status));
  return NGX_DONE;
}

}  // namespace loadline::ngx
