// Where a request meets its gate.
//
// The way of a request: admission.cpp asks; claims.cpp says as what; hold.cpp lets it wait;
// reject.cpp turns it away; request.cpp and release.cpp give its slot back.
#pragma once

#include "ngx.h"

namespace loadline::ngx {

// The handler of the PREACCESS phase: after realip and limit_req, before authentication and the
// upstream, so that a rejection costs none of those.
ngx_int_t admit(ngx_http_request_t* r) noexcept;

}  // namespace loadline::ngx
