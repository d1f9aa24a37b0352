// What changes at a caller, said in the error log: breaker opened and closed, budget spent.
#pragma once

#include "ngx.h"

namespace loadline::ngx {

// In each worker: looks once a second, and writes what no other worker has. Init process.
ngx_int_t start_telling_events(ngx_cycle_t* cycle) noexcept;

}  // namespace loadline::ngx
