#include "text.h"

#include <algorithm>

namespace loadline::ngx {
namespace {

constexpr std::size_t kBufferBytes = 4096;

bool add_no_store(ngx_http_request_t* r) noexcept {
  auto* header = static_cast<ngx_table_elt_t*>(ngx_list_push(&r->headers_out.headers));
  if (header == nullptr) {
    return false;
  }
  *header = {};
  header->hash = 1;
  header->key = constant("Cache-Control");
  header->value = constant("no-store");
  return true;
}

}  // namespace

bool Text::grow() noexcept {
  ngx_chain_t* link = ngx_alloc_chain_link(pool_);
  ngx_buf_t* buffer = ngx_create_temp_buf(pool_, kBufferBytes);
  if (link == nullptr || buffer == nullptr) {
    failed_ = true;
    return false;
  }
  link->buf = buffer;
  link->next = nullptr;
  (last_ == nullptr ? first_ : last_->next) = link;
  last_ = link;
  return true;
}

Text& Text::operator<<(std::string_view text) noexcept {
  while (!text.empty() && !failed_) {
    if ((last_ == nullptr || last_->buf->last == last_->buf->end) && !grow()) {
      return *this;
    }
    ngx_buf_t& buffer = *last_->buf;
    const auto room = static_cast<std::size_t>(buffer.end - buffer.last);
    const std::size_t count = std::min(room, text.size());
    buffer.last = ngx_cpymem(buffer.last, text.data(), count);
    length_ += static_cast<off_t>(count);
    text.remove_prefix(count);
  }
  return *this;
}

Text& Text::operator<<(std::uint64_t number) noexcept {
  u_char digits[NGX_INT64_LEN + 1];
  const u_char* end = ngx_snprintf(digits, sizeof digits, "%uL", number);
  return *this << std::string_view(reinterpret_cast<char*>(digits),
                                   static_cast<std::size_t>(end - digits));
}

Text& Text::decimal(std::uint64_t number, unsigned decimals) noexcept {
  constexpr unsigned kMost = 18;
  std::uint64_t unit = 1;
  for (unsigned i = 0; i < std::min(decimals, kMost); ++i) {
    unit *= 10;
  }
  *this << number / unit;
  std::uint64_t rest = number % unit;
  if (rest == 0) {
    return *this;
  }
  char digits[1 + kMost] = {'.'};
  std::size_t length = 1;
  for (; rest != 0; rest %= unit) {
    unit /= 10;
    digits[length++] = static_cast<char>('0' + rest / unit);
  }
  return *this << std::string_view(digits, length);
}

ngx_int_t Text::send(ngx_http_request_t* r, ngx_uint_t status, std::string_view type) noexcept {
  if (failed_ || (last_ == nullptr && !grow()) || !add_no_store(r)) {
    return NGX_HTTP_INTERNAL_SERVER_ERROR;
  }
  last_->buf->last_buf = r == r->main ? 1 : 0;
  last_->buf->last_in_chain = 1;
  r->headers_out.status = status;
  r->headers_out.content_length_n = length_;
  r->headers_out.content_type = constant(type);
  r->headers_out.content_type_len = type.size();
  const ngx_int_t sent = ngx_http_send_header(r);
  if (sent == NGX_ERROR || sent > NGX_OK || r->header_only) {
    return sent;
  }
  return ngx_http_output_filter(r, first_);
}

}  // namespace loadline::ngx
