// The body of one of our own pages, built piece by piece in chained buffers of one size.
//
// Its length is bounded by the number of gates, classes and reasons; no request can make it longer.
#pragma once

#include "ngx.h"

namespace loadline::ngx {

class Text {
 public:
  explicit Text(ngx_pool_t* pool) noexcept : pool_(pool) {}
  Text(const Text&) = delete;
  Text& operator=(const Text&) = delete;

  Text& operator<<(std::string_view text) noexcept;
  Text& operator<<(std::uint64_t number) noexcept;
  // "1.5" for 1,500,000 of a million-th: `number` shifted by `decimals`, without trailing zeros.
  Text& decimal(std::uint64_t number, unsigned decimals) noexcept;

  // Sends all that was written, and finalizes the request. What a content handler returns.
  ngx_int_t send(ngx_http_request_t* r, ngx_uint_t status, std::string_view type) noexcept;

 private:
  bool grow() noexcept;

  ngx_pool_t* pool_;
  ngx_chain_t* first_ = nullptr;
  ngx_chain_t* last_ = nullptr;
  off_t length_ = 0;
  bool failed_ = false;
};

}  // namespace loadline::ngx
