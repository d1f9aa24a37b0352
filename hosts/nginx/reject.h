// The answer to a request that is turned away.
#pragma once

#include "request.h"

namespace loadline::ngx {

// Answers, or hands the status to nginx where error_page is asked for. What a phase handler
// returns. Nothing is read of the request's body, nothing logged, and the connection is kept.
ngx_int_t reject(RequestState& state, const LocationConf& conf) noexcept;

}  // namespace loadline::ngx
