// Media types, as both directions of HTTP name them.
#pragma once

#include "ngx.h"

namespace loadline::ngx {

// Is `text` this type, alone or with parameters (RFC 9110, 8.3.1)? `lowcase` is in lower case.
inline bool is_media_type(const ngx_str_t& text, std::string_view lowcase) noexcept {
  const ngx_str_t type = constant(lowcase);
  if (text.len < type.len || ngx_strncasecmp(text.data, type.data, type.len) != 0) {
    return false;
  }
  return text.len == type.len || text.data[type.len] == ';' || text.data[type.len] == ' ';
}

}  // namespace loadline::ngx
