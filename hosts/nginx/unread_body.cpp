#include "unread_body.h"

#include "grpc.h"

namespace loadline::ngx {
namespace {

// Of a length that only its end will tell.
bool has_unknown_length(const ngx_http_request_t* r) noexcept {
#if (NGX_HTTP_V2)
  if (r->stream != nullptr) {
    return r->headers_in.content_length_n < 0 && !r->stream->in_closed;
  }
#endif
  return r->headers_in.chunked;
}

// A gRPC client may go on sending for as long as it is answered. Only HTTP/2 can, so that nobody is
// believed who merely says that he is one.
bool may_stream(const ngx_http_request_t* r) noexcept {
  return r->http_version >= NGX_HTTP_VERSION_20 && is_grpc(r);
}

// ngx_http_dav_module wants the body in a file that stays, and says so just before it reads it
// itself. Where nothing else answers, a PUT is its.
bool is_put_to_a_file(const ngx_http_request_t* r) noexcept {
  return r->method == NGX_HTTP_PUT && core_conf(r).handler == nullptr;
}

void go_on(ngx_http_request_t* r) noexcept {
  r->write_event_handler = ngx_http_core_run_phases;
  ngx_http_core_run_phases(r);
}

}  // namespace

bool is_yet_to_come(const ngx_http_request_t* r, const LocationConf& conf) noexcept {
  if (conf.read_body == 0 || r->request_body != nullptr || is_put_to_a_file(r)) {
    return false;
  }
  const off_t length = r->headers_in.content_length_n;
  if (length > 0) {
    return length <= conf.read_body;
  }
  return conf.read_body == NGX_MAX_OFF_T_VALUE && has_unknown_length(r) && !may_stream(r);
}

ngx_int_t read_body_first(ngx_http_request_t* r) noexcept {
  const ngx_int_t rc = ngx_http_read_client_request_body(r, go_on);
  if (rc >= NGX_HTTP_SPECIAL_RESPONSE) {
    return rc;
  }
  ngx_http_finalize_request(r, NGX_DONE);  // the reading holds the request, not this call
  return NGX_DONE;
}

}  // namespace loadline::ngx
