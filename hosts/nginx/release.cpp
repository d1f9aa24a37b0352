#include "release.h"

#include "media_type.h"
#include "reports.h"
#include "request.h"
#include "streams.h"

namespace loadline::ngx {
namespace {

ngx_http_output_header_filter_pt next_header_filter;
ngx_http_output_body_filter_pt next_body_filter;

// Null where no gate was asked, and for subrequests.
RequestState* asker(ngx_http_request_t* r) noexcept {
  return r == r->main ? find_state(r) : nullptr;
}

bool is_event_stream(const ngx_http_request_t* r) noexcept {
  return is_media_type(r->headers_out.content_type, "text/event-stream");
}

// An upgraded connection may stay for hours, and is no longer a request.
bool is_stream(const ngx_http_request_t* r) noexcept {
  return r->headers_out.status == NGX_HTTP_SWITCHING_PROTOCOLS || is_event_stream(r);
}

// Only now is it known that there is no place for it. What the upstream has said is thrown away.
ngx_int_t refuse_stream(ngx_http_request_t* r) noexcept {
  return ngx_http_filter_finalize_request(r, &ngx_http_loadline_module,
                                          NGX_HTTP_SERVICE_UNAVAILABLE);
}

ngx_int_t on_header(ngx_http_request_t* r) noexcept {
  RequestState* state = asker(r);
  if (state == nullptr) {
    return next_header_filter(r);
  }
  take_reports(*state);  // also where nothing is held any more: so late an answer tells most
  if (!state->holds()) {
    return next_header_filter(r);
  }
  if (is_stream(r)) {
    if (!enter_streams(*state)) {
      return refuse_stream(r);
    }
    if (r->upstream != nullptr) {
      r->upstream->buffering = 0;  // an event that waits until a buffer is full comes too late
    }
  } else if (r->headers_out.status < NGX_HTTP_OK) {
    // Any other 1xx (103 Early Hints) is taken by nginx 1.22 for the answer itself, with a body
    // that never ends. Its length says nothing about service times.
    release(*state, Outcome::ignored);
  } else if (state->release_at == ReleaseAt::header) {
    release_at_end(*state);
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
    RequestState* state = asker(r);
    if (state != nullptr && state->holds() && state->release_at != ReleaseAt::end) {
      release_at_end(*state);
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
