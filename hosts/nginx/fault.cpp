#include "fault.h"

#include "zone.h"

namespace loadline::ngx {

bool is_due(std::atomic<std::int64_t>& next, Instant now, Duration interval) noexcept {
  std::int64_t due = next.load(std::memory_order_relaxed);
  return now.ns >= due &&
         next.compare_exchange_strong(due, (now + interval).ns, std::memory_order_relaxed);
}

void report_fault(HostedGate& hosted, const char* what) noexcept {
  ZoneHead& shared = *hosted.shared;
  const std::uint64_t faults = shared.faults.fetch_add(1, std::memory_order_relaxed) + 1;
  if (is_due(shared.next_fault_line, monotonic_now(), Duration::seconds(1))) {
    ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                  "loadline_gate \"%V\": a request passes ungated: %s (%uL so far)", &hosted.name,
                  what, faults);
  }
}

}  // namespace loadline::ngx
