// gRPC over HTTP/2: how its requests are known, and how they are told no. Its clients read no HTTP
// status but grpc-status (gRPC, "PROTOCOL-HTTP2": Trailers-Only responses).
#pragma once

#include "request.h"

namespace loadline::ngx {

bool is_grpc(const ngx_http_request_t* r) noexcept;

// Tells the client why: UNAVAILABLE with the time after which to come back (gRFC A6,
// `grpc-retry-pushback-ms`), RESOURCE_EXHAUSTED for a quota alone, DEADLINE_EXCEEDED for a
// deadline. What ngx_http_finalize_request takes.
ngx_int_t send_grpc_rejection(const RequestState& state) noexcept;

}  // namespace loadline::ngx
