// The line in the error log that says what was turned away.
#pragma once

#include "conf.h"

namespace loadline::ngx {

// To be called on each tick: once an interval, one of the workers writes one line for the gate, if
// anything was rejected.
void summarize(HostedGate& hosted, Instant now) noexcept;

// The same for what has come since, when a worker ends: the end of an overload is often a restart.
void summarize_rest(HostedGate& hosted, Instant now) noexcept;

}  // namespace loadline::ngx
