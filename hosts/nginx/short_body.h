// The few bytes that end an answer of ours.
#pragma once

#include "ngx.h"

namespace loadline::ngx {

// Sends `body`, whole and last, after a header that promised its length. With one system call and
// past the body filters where nobody could tell the difference; else as any body is sent. What
// ngx_http_finalize_request takes. `body` must outlive the request.
ngx_int_t send_body(ngx_http_request_t* r, const ngx_str_t& body) noexcept;

}  // namespace loadline::ngx
