// Connections that stay open: WebSockets, event streams, long polls. They take no capacity while
// nothing happens, and would soon hold every slot; so they leave the limit once they have turned
// out to be such, and take a place in a pool of their own.
#pragma once

#include "request.h"

namespace loadline::ngx {

// Moves a request from its gates' limits to their pools of streams. False, and nothing has changed,
// if one of them is full.
bool enter_streams(RequestState& state) noexcept;

// Its connection has ended. Does nothing for what is no stream.
void leave_streams(RequestState& state) noexcept;

// Of all workers.
std::uint32_t open_streams(const HostedGate& hosted) noexcept;

// This worker has just taken its seat at the gate, and has none open.
void forget_streams(HostedGate& hosted) noexcept;

}  // namespace loadline::ngx
