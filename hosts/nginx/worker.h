// A worker's part in the gates: its seats, how others wake it, and what it does every 20 ms.
#pragma once

#include "conf.h"

namespace loadline::ngx {

// In the master, before workers are forked: the eventfds by which workers wake each other. They are
// made once in the master's life, so that old and new workers know each other's by number.
void create_event_fds(ngx_log_t* log) noexcept;

// In a worker: takes a seat at each gate and starts to listen and to tick. A gate without a free
// seat is tried again every second; until then its requests pass ungated.
ngx_int_t start_worker(ngx_cycle_t* cycle) noexcept;

// Gives all seats back, with what is held.
void stop_worker(ngx_cycle_t* cycle) noexcept;

void deliver(const HostedGate& hosted, Signals signals) noexcept;

// Wakes those whom a gate's operation named. To be called at once; runs no request by itself.
inline void wake(const HostedGate& hosted, Signals signals) noexcept {
  if (signals.any()) {
    deliver(hosted, signals);
  }
}

}  // namespace loadline::ngx
