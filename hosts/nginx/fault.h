// Faults of Loadline itself. They never cost a request: it passes ungated, and that is counted.
#pragma once

#include "conf.h"

namespace loadline::ngx {

// Counts a request that passes ungated, and says so in the error log at most once a second.
void report_fault(HostedGate& hosted, const char* what) noexcept;

// Is it time, for whoever asks first among all workers? Moves `next` on by `interval`.
bool is_due(std::atomic<std::int64_t>& next, Instant now, Duration interval) noexcept;

}  // namespace loadline::ngx
