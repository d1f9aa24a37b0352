// What holds its permit for long: after one time it is taken for a stream, after another the permit
// is taken back.
#pragma once

#include "request.h"

namespace loadline::ngx {

// Begins when a request has all its permits. Costs nothing where the location asks for neither.
void start_watching(RequestState& state, const LocationConf& conf) noexcept;
void stop_watching(RequestState& state) noexcept;

// Those whose time is over. At each tick of the worker, so that it is noticed at most a tick late.
void look_at_watched() noexcept;

}  // namespace loadline::ngx
