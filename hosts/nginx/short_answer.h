// An answer of a few bytes, made and sent in one go.
#pragma once

#include "ngx.h"

namespace loadline::ngx {

// What the last of all header filters may send for nginx. It lies in the state of its request.
struct ShortAnswer {
  const ngx_str_t* body = nullptr;  // lives as long as the configuration; null: none
  bool sent = false;                // head and body have been handed to the connection
};

// Sends what headers_out says, and then `body`, whose length it must give. What
// ngx_http_finalize_request takes. `answer` must be the one of the request's state.
ngx_int_t send_short(ngx_http_request_t* r, ShortAnswer& answer, const ngx_str_t& body) noexcept;

// Puts our filter behind all others of nginx and before the one that writes heads.
// Postconfiguration of a module that stands between those two (modules.c).
ngx_int_t add_short_answers(ngx_conf_t* cf) noexcept;

}  // namespace loadline::ngx
