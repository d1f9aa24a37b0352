// Headers of an answer of ours.
#pragma once

#include <algorithm>

#include "ngx.h"

namespace loadline::ngx {

// Neither text is copied. False without memory.
inline bool add_header(ngx_http_request_t* r, std::string_view key,
                       const ngx_str_t& value) noexcept {
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

// A text as ngx_snprintf makes it, in the request's memory, at most 95 bytes long. Empty without
// memory.
template <class... Args>
ngx_str_t print(ngx_http_request_t* r, const char* format, Args... args) noexcept {
  constexpr std::size_t kLongest = 95;
  auto* const text = static_cast<u_char*>(ngx_pnalloc(r->pool, kLongest));
  if (text == nullptr) {
    return {};
  }
  const u_char* const end = ngx_snprintf(text, kLongest, format, args...);
  return {static_cast<std::size_t>(end - text), text};
}

// The gate gives 1 to 32 by default, and two digits need neither memory nor a printer of numbers.
inline ngx_str_t whole_seconds(ngx_http_request_t* r, std::uint16_t seconds) noexcept {
  constexpr std::uint16_t kMost = 99;
  static constexpr auto kDigits = [] {
    std::array<char, std::size_t{2} * (kMost + 1)> digits{};
    for (std::size_t i = 0; i <= kMost; ++i) {
      digits[2 * i] = static_cast<char>('0' + i / 10);
      digits[2 * i + 1] = static_cast<char>('0' + i % 10);
    }
    return digits;
  }();
  if (seconds > kMost) {
    return print(r, "%ui", static_cast<ngx_uint_t>(seconds));
  }
  const std::size_t zeros = seconds < 10 ? 1 : 0;
  return constant({kDigits.data() + std::size_t{2} * seconds + zeros, 2 - zeros});
}

}  // namespace loadline::ngx
