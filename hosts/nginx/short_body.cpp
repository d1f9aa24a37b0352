#include "short_body.h"

#include <cstring>

namespace loadline::ngx {
namespace {

// Has every header filter left the answer as it was made? One whose body filter means to change
// the body has to say so in the header: it takes the length away, or asks for the body in memory.
bool nobody_changes(const ngx_http_request_t* r, const ngx_str_t& body) noexcept {
  return r == r->main && r->postponed == nullptr &&
         r->headers_out.content_length_n == static_cast<off_t>(body.len) && !r->chunked &&
         !r->filter_need_in_memory && !r->filter_need_temporary && !r->main_filter_need_in_memory;
}

// nginx holds a small header back in r->out, to send it together with the body. Over HTTP/2 and for
// a client that does not read it lies elsewhere, or there is more of it.
bool header_waits_alone(const ngx_http_request_t* r) noexcept {
  return r->out != nullptr && r->out->next == nullptr && ngx_buf_in_memory(r->out->buf) &&
         ngx_buf_size(r->out->buf) == static_cast<off_t>(r->header_size);
}

bool connection_is_free(const ngx_connection_t* c) noexcept {
  return c->write->ready && !c->write->delayed && !c->error && c->buffered == 0;
}

ngx_buf_t* joined(ngx_http_request_t* r, const ngx_str_t& body) noexcept {
  const ngx_buf_t* header = r->out->buf;
  const auto header_length = static_cast<std::size_t>(header->last - header->pos);
  ngx_buf_t* both = ngx_create_temp_buf(r->pool, header_length + body.len);
  if (both != nullptr) {
    both->last = ngx_cpymem(ngx_cpymem(both->pos, header->pos, header_length), body.data, body.len);
    both->last_buf = 1;
    both->last_in_chain = 1;
  }
  return both;
}

// What the connection does not take now, nginx sends when it does.
ngx_int_t send_at_once(ngx_http_request_t* r, ngx_buf_t* both) noexcept {
  ngx_connection_t* c = r->connection;
  r->out = nullptr;
  const ssize_t sent = c->send(c, both->pos, static_cast<std::size_t>(both->last - both->pos));
  if (sent == NGX_ERROR) {
    c->error = 1;
    return NGX_ERROR;
  }
  both->pos += sent > 0 ? sent : 0;
  if (both->pos == both->last) {
    return NGX_OK;
  }
  ngx_chain_t rest{both, nullptr};
  return ngx_http_write_filter(r, &rest);
}

ngx_int_t send_through_filters(ngx_http_request_t* r, const ngx_str_t& body) noexcept {
  auto* buffer = static_cast<ngx_buf_t*>(ngx_calloc_buf(r->pool));
  if (buffer == nullptr) {
    return NGX_ERROR;
  }
  buffer->pos = body.data;
  buffer->last = body.data + body.len;
  buffer->memory = body.len != 0;
  buffer->last_buf = 1;
  buffer->last_in_chain = 1;
  ngx_chain_t out{buffer, nullptr};
  return ngx_http_output_filter(r, &out);
}

}  // namespace

// One send() of one piece costs the kernel less than a writev() of two, and walking the body
// filters costs nginx more than copying some three hundred bytes.
ngx_int_t send_body(ngx_http_request_t* r, const ngx_str_t& body) noexcept {
  if (nobody_changes(r, body) && header_waits_alone(r) && connection_is_free(r->connection)) {
    if (ngx_buf_t* both = joined(r, body)) {
      return send_at_once(r, both);
    }
  }
  return send_through_filters(r, body);
}

}  // namespace loadline::ngx
