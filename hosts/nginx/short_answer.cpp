#include "short_answer.h"

extern "C" {
#include <nginx.h>
}

#include "request.h"

namespace loadline::ngx {
namespace {

ngx_http_output_header_filter_pt write_head;  // nginx's own, the end of the chain

constexpr std::string_view kEnd = "\r\n";

// As nginx words them. Any other status is left to nginx.
std::string_view status_line(ngx_uint_t status) noexcept {
  switch (status) {
    case NGX_HTTP_TOO_MANY_REQUESTS:
      return "HTTP/1.1 429 Too Many Requests\r\n";
    case NGX_HTTP_SERVICE_UNAVAILABLE:
      return "HTTP/1.1 503 Service Temporarily Unavailable\r\n";
    case NGX_HTTP_GATEWAY_TIME_OUT:
      return "HTTP/1.1 504 Gateway Time-out\r\n";
    default:
      return {};
  }
}

std::string_view server_line(const ngx_http_request_t* r) noexcept {
  switch (core_conf(r).server_tokens) {
    case NGX_HTTP_SERVER_TOKENS_OFF:
      return "Server: nginx\r\n";
    case NGX_HTTP_SERVER_TOKENS_ON:
      return "Server: " NGINX_VER "\r\n";
    default:
      return {};
  }
}

std::string_view connection_line(const ngx_http_request_t* r) noexcept {
  return r->keepalive ? "Connection: keep-alive\r\n" : "Connection: close\r\n";
}

// Is this an answer of one piece to somebody who takes it now? Has no filter claimed the body? One
// whose body filter means to change it has to say so in the header by now: it takes the length
// away, or asks for the body in memory.
bool body_is_ours(const ngx_http_request_t* r, const ngx_str_t& body) noexcept {
  const ngx_connection_t* c = r->connection;
  return r == r->main && r->postponed == nullptr && r->out == nullptr && !r->header_only &&
         r->method != NGX_HTTP_HEAD && r->http_version >= NGX_HTTP_VERSION_10 &&
         r->headers_out.content_length_n == static_cast<off_t>(body.len) && !r->chunked &&
         !r->filter_need_in_memory && !r->filter_need_temporary && !r->main_filter_need_in_memory &&
         c->write->ready && !c->write->delayed && !c->error && c->buffered == 0;
}

// Is there nothing in the head that only nginx knows how to write?
bool head_is_ours(const ngx_http_request_t* r) noexcept {
  const auto& out = r->headers_out;
  return out.status_line.len == 0 && !status_line(out.status).empty() && out.server == nullptr &&
         out.date == nullptr && out.content_length == nullptr && out.content_encoding == nullptr &&
         out.location == nullptr && out.last_modified_time == -1 && out.charset.len == 0 &&
         !r->gzip_vary && core_conf(r).keepalive_header == 0 && !server_line(r).empty();
}

// Everything of a head but the headers of the list: the longest of each, and some to spare.
constexpr std::size_t kFixedPart = 384;

class Head {
 public:
  explicit Head(u_char* at) noexcept : at_(at) {}

  Head& operator<<(std::string_view text) noexcept {
    at_ = ngx_cpymem(at_, text.data(), text.size());
    return *this;
  }
  Head& operator<<(const ngx_str_t& text) noexcept { return *this << view(text); }
  [[nodiscard]] u_char* end() const noexcept { return at_; }

 private:
  u_char* at_;
};

// Those that no filter has taken out.
template <class Visit>
void each_header_sent(const ngx_http_request_t* r, Visit visit) noexcept {
  each_header(r->headers_out.headers, [&](const ngx_table_elt_t& header) {
    if (header.hash != 0) {
      visit(header);
    }
  });
}

ngx_str_t number(std::array<u_char, NGX_OFF_T_LEN>& digits, off_t value) noexcept {
  u_char* at = digits.end();
  do {
    *--at = static_cast<u_char>('0' + value % 10);
    value /= 10;
  } while (value != 0);
  return {static_cast<std::size_t>(digits.end() - at), at};
}

ngx_buf_t* write_answer(ngx_http_request_t* r, const ngx_str_t& body) noexcept {
  const auto& out = r->headers_out;
  std::size_t longest = kFixedPart + out.content_type.len + body.len;
  each_header_sent(r, [&](const ngx_table_elt_t& header) {
    longest += header.key.len + 2 + header.value.len + kEnd.size();
  });
  ngx_buf_t* answer = ngx_create_temp_buf(r->pool, longest);
  if (answer == nullptr) {
    return nullptr;
  }
  std::array<u_char, NGX_OFF_T_LEN> digits;
  Head head(answer->pos);
  const ngx_str_t now{ngx_cached_http_time.len, ngx_cached_http_time.data};
  head << status_line(out.status) << server_line(r) << "Date: " << now << kEnd;
  if (out.content_type.len != 0) {
    head << "Content-Type: " << out.content_type << kEnd;
  }
  head << "Content-Length: " << number(digits, out.content_length_n) << kEnd << connection_line(r);
  each_header_sent(r, [&](const ngx_table_elt_t& header) {
    head << header.key << ": " << header.value << kEnd;
  });
  head << kEnd;
  r->header_size = static_cast<std::size_t>(head.end() - answer->pos);
  head << body;
  answer->last = head.end();
  answer->last_buf = 1;
  answer->last_in_chain = 1;
  return answer;
}

// What the connection does not take now, nginx sends when it does.
ngx_int_t send_at_once(ngx_http_request_t* r, ngx_buf_t* answer) noexcept {
  ngx_connection_t* c = r->connection;
  const ssize_t sent =
      c->send(c, answer->pos, static_cast<std::size_t>(answer->last - answer->pos));
  if (sent == NGX_ERROR) {
    c->error = 1;
    return NGX_ERROR;
  }
  answer->pos += sent > 0 ? sent : 0;
  if (answer->pos == answer->last) {
    return NGX_OK;
  }
  ngx_chain_t rest{answer, nullptr};
  return ngx_http_write_filter(r, &rest);
}

// All filters have been asked about the header. What is left of nginx's work is to write it down,
// to take the body through as many filters, and to send two pieces with a call that costs the
// kernel more than that of one. Where nobody could tell the difference, it is done here.
ngx_int_t on_header(ngx_http_request_t* r) noexcept {
  auto* state = static_cast<RequestState*>(ngx_http_get_module_ctx(r, ngx_http_loadline_module));
  if (state == nullptr || state->short_answer.body == nullptr || r->header_sent ||
      !body_is_ours(r, *state->short_answer.body) || !head_is_ours(r)) {
    return write_head(r);
  }
  ngx_buf_t* answer = write_answer(r, *state->short_answer.body);
  if (answer == nullptr) {
    return NGX_ERROR;
  }
  r->header_sent = 1;
  state->short_answer.sent = true;
  return send_at_once(r, answer);
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

ngx_int_t send_short(ngx_http_request_t* r, ShortAnswer& answer, const ngx_str_t& body) noexcept {
  answer = {&body, false};
  const ngx_int_t rc = ngx_http_send_header(r);
  answer.body = nullptr;
  if (answer.sent || rc == NGX_ERROR || rc > NGX_OK || r->header_only) {
    return rc;
  }
  return send_through_filters(r, body);
}

ngx_int_t add_short_answers(ngx_conf_t*) noexcept {
  write_head = ngx_http_top_header_filter;
  ngx_http_top_header_filter = on_header;
  return NGX_OK;
}

}  // namespace loadline::ngx
