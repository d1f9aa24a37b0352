// Requests that wait for a slot: how they are held, how they go on, and what ends their wait.
#pragma once

#include "request.h"

namespace loadline::ngx {

// Holds a request that the gate lets wait. What a phase handler returns then.
ngx_int_t hold(RequestState& state, Instant start_by, Instant now) noexcept;

// Its caller has gone, or nginx gives it up: its place is free at once.
void cancel(RequestState& state) noexcept;

// Takes the gate's decisions about this worker's waiting requests, and lets those requests go on.
void collect(HostedGate& hosted, Instant now) noexcept;

}  // namespace loadline::ngx
