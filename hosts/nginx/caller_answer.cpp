#include "caller_answer.h"

#include "conf.h"
#include "grpc.h"
#include "headers_out.h"

namespace loadline::ngx {
namespace {

ngx_http_output_header_filter_pt next_header_filter;
ngx_http_output_body_filter_pt next_body_filter;

bool is_deadline(client::Reason reason) noexcept {
  return reason == client::Reason::deadline_expired ||
         reason == client::Reason::deadline_unmeetable;
}

bool add_retry_after(ngx_http_request_t* r, std::uint16_t seconds) noexcept {
  return seconds == 0 || add_header(r, "Retry-After", whole_seconds(r, seconds));
}

bool write_http_refusal(Calling& calling) noexcept {
  ngx_http_request_t* r = calling.request;
  const LocationConf& conf = location_conf(r);
  r->headers_out.status =
      is_deadline(calling.reason) ? ngx_uint_t{NGX_HTTP_GATEWAY_TIME_OUT} : conf.reject_status;
  r->headers_out.content_length_n = static_cast<off_t>(conf.body.len);
  r->headers_out.content_type = conf.body_type;
  r->headers_out.content_type_len = conf.body_type.len;
  r->headers_out.content_type_lowcase = nullptr;
  calling.body_is_ours = true;
  return add_header(r, "Cache-Control", constant("no-store")) &&
         add_retry_after(r, calling.retry_after);
}

bool write_grpc_refusal(const Calling& calling) noexcept {
  const std::string_view status =
      is_deadline(calling.reason) ? grpc_status::kDeadlineExceeded : grpc_status::kUnavailable;
  return write_grpc_rejection(calling.request, {status, name(calling.reason), calling.retry_after});
}

bool write_refusal(Calling& calling) noexcept {
  ngx_http_request_t* r = calling.request;
  const bool written = is_grpc(r) ? write_grpc_refusal(calling) : write_http_refusal(calling);
  return written && add_header(r, client::kRefusedHeader, constant(name(calling.reason)));
}

bool is_marked(const ngx_http_request_t* r) noexcept {
  bool marked = false;
  each_header(r->headers_out.headers, [&marked](const ngx_table_elt_t& header) {
    marked = marked || (header.hash != 0 && header.key.len == client::kFurtherDownHeader.size() &&
                        ngx_strncasecmp(header.key.data, constant(client::kFurtherDownHeader).data,
                                        header.key.len) == 0);
  });
  return marked;
}

// Is this the failure of the call? An error_page may have made something else of it.
bool is_failure(const ngx_http_request_t* r, const Calling& calling) noexcept {
  const ngx_uint_t status = r->headers_out.status;
  return status >= NGX_HTTP_INTERNAL_SERVER_ERROR ||
         (status == NGX_HTTP_OK && calling.failed && is_grpc(r));
}

bool mark(ngx_http_request_t* r) noexcept {
  return is_marked(r) || add_header(r, client::kFurtherDownHeader, constant("1"));
}

ngx_int_t on_header(ngx_http_request_t* r) noexcept {
  Calling* calling = r == r->main ? calling_of(r) : nullptr;
  if (calling == nullptr || !is_failure(r, *calling)) {
    return next_header_filter(r);
  }
  const bool ours = calling->refused && r->headers_out.status == NGX_HTTP_BAD_GATEWAY;
  if (!mark(r) || (ours && !write_refusal(*calling))) {
    return NGX_ERROR;
  }
  return next_header_filter(r);
}

// In the place of nginx's page.
ngx_int_t on_body(ngx_http_request_t* r, ngx_chain_t* in) noexcept {
  Calling* calling = r == r->main ? calling_of(r) : nullptr;
  if (calling == nullptr || !calling->body_is_ours || in == nullptr) {
    return next_body_filter(r, in);
  }
  calling->body_is_ours = false;
  auto* buffer = static_cast<ngx_buf_t*>(ngx_calloc_buf(r->pool));
  ngx_chain_t* link = ngx_alloc_chain_link(r->pool);
  if (buffer == nullptr || link == nullptr) {
    return NGX_ERROR;
  }
  const ngx_str_t& body = location_conf(r).body;
  buffer->pos = body.data;
  buffer->last = body.data + body.len;
  buffer->memory = body.len != 0;
  buffer->last_buf = 1;
  buffer->last_in_chain = 1;
  *link = {buffer, nullptr};
  return next_body_filter(r, link);
}

}  // namespace

void prepare_refusal(Calling& calling) noexcept {
  ngx_http_request_t* r = calling.request;
  if (r->error_page == 0 && !location_conf(r).error_page) {
    r->error_page = 1;  // none is looked for any more
  }
}

void add_caller_filters() noexcept {
  next_header_filter = ngx_http_top_header_filter;
  ngx_http_top_header_filter = on_header;
  next_body_filter = ngx_http_top_body_filter;
  ngx_http_top_body_filter = on_body;
}

}  // namespace loadline::ngx
