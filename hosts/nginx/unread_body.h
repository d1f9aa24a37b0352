// Bodies that are still on their way. A permit taken before would be held by whoever sends slowly,
// so the verdict falls on the header, then the body is read, and then the permit is taken.
#pragma once

#include "conf.h"

namespace loadline::ngx {

// Is there a body to be read first? Not one that is to be streamed: longer than the configuration
// lets be stored, or a gRPC client's over HTTP/2.
bool is_yet_to_come(const ngx_http_request_t* r, const LocationConf& conf) noexcept;

// Reads it, and invites it where the client waits to be asked. The request's phases then go on from
// the handler that calls this, whose answer this is.
ngx_int_t read_body_first(ngx_http_request_t* r) noexcept;

}  // namespace loadline::ngx
