// Where a request meets its gate.
//
// The way of a request: admission.cpp asks; claims.cpp says as what; hold.cpp lets it wait;
// reject.cpp turns it away; request.cpp and release.cpp give its slot back.
#pragma once

#include "ngx.h"

namespace loadline::ngx {

// Handlers of two phases; each request is asked in the one that its location names. PREACCESS:
// after realip and limit_req, before authentication and the upstream, so that a rejection costs
// none of those. PRECONTENT: after authentication, so that its result can tell how important a
// request is.
ngx_int_t admit_before_access(ngx_http_request_t* r) noexcept;
ngx_int_t admit_before_content(ngx_http_request_t* r) noexcept;

}  // namespace loadline::ngx
