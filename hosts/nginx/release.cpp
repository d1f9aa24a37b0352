#include "release.h"

#include "request.h"

namespace loadline::ngx {
namespace {

ngx_http_output_header_filter_pt next_header_filter;
ngx_http_output_body_filter_pt next_body_filter;

RequestState* holder_of(ngx_http_request_t* r) noexcept {
  if (r != r->main) {
    return nullptr;
  }
  RequestState* state = find_state(r);
  return state != nullptr && state->permit.held() ? state : nullptr;
}

// An upgraded connection may stay for hours, and is no longer a request. Any other 1xx (103 Early
// Hints) is taken by nginx 1.22 for the answer itself, with a body that never ends. Neither length
// says anything about service times.
ngx_int_t on_header(ngx_http_request_t* r) noexcept {
  if (r->headers_out.status < NGX_HTTP_OK) {
    if (RequestState* state = holder_of(r)) {
      release(*state, Outcome::ignored);
    }
  }
  return next_header_filter(r);
}

bool has_end(const ngx_chain_t* chain) noexcept {
  for (; chain != nullptr; chain = chain->next) {
    if (chain->buf->last_buf) {
      return true;
    }
  }
  return false;
}

ngx_int_t on_body(ngx_http_request_t* r, ngx_chain_t* in) noexcept {
  if (has_end(in)) {
    if (RequestState* state = holder_of(r)) {
      release(*state, outcome_of(r));
    }
  }
  return next_body_filter(r, in);
}

}  // namespace

ngx_int_t add_filters(ngx_conf_t*) noexcept {
  next_header_filter = ngx_http_top_header_filter;
  ngx_http_top_header_filter = on_header;
  next_body_filter = ngx_http_top_body_filter;
  ngx_http_top_body_filter = on_body;
  return NGX_OK;
}

}  // namespace loadline::ngx
