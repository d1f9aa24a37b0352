// The shared memory of a gate: one nginx zone that holds a head of ours and the gate's block.
//
// Whether a reload may go on with the memory that is there is decided by the zone's name, in which
// everything stands that must be equal for that: gate, classes, tables, layout. nginx then does by
// itself what is right: equal name and size, the same memory; otherwise new memory, and the old is
// freed when the new configuration has been accepted.
#pragma once

#include "conf.h"
#include "loadline/decision.h"

namespace loadline::ngx {

// What the host itself shares between workers. All zero is its initial state.
struct ZoneHead {
  std::atomic<std::uint64_t> faults;             // requests that passed ungated
  std::atomic<std::uint64_t> malformed_headers;  // claims that were ignored
  std::atomic<std::uint64_t> leases_expired;     // permits that were taken back
  std::atomic<std::uint64_t> streams_refused;    // for want of a place in their pool
  // Streams that are open, by seat. Each number has one writer, and begins anew with the seat: what
  // a dead worker had open is closed.
  std::atomic<std::uint32_t> streams[kMaxParticipants];
  std::atomic<std::int64_t> next_lease_line;  // Instant from which a lost lease may be logged
  std::atomic<std::int64_t> next_fault_line;  // Instant from which a fault may be logged again
  std::atomic<std::int64_t> next_summary;     // Instant; who moves it writes the summary line
  // As the last summary saw them, by class and reason. Written by who moved next_summary.
  std::atomic<std::uint64_t> summed_offered;
  std::atomic<std::uint64_t> summed_rejected[kMaxClasses][kReasons];
  std::atomic<std::uint64_t> summed_observed[kMaxClasses][kReasons];
  std::atomic<std::uint64_t> summed_events;  // of the limit
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

// The smallest zone, in bytes and in whole pages, for a gate of this policy: for a fixed queue,
// for the tables of tenants and quota and for a law.
std::size_t zone_bytes_for(const Policy& policy) noexcept;

// Declares the zone of a gate whose definition is complete. An error has been logged.
ngx_int_t declare_zone(ngx_conf_t* cf, HostedGate& hosted, std::size_t bytes) noexcept;

// In the master, once the configuration has been accepted: gates that were kept get the file's
// rules, and the log says which limits are not shared with the workers that drain.
void settle_zones(ngx_cycle_t* cycle) noexcept;

}  // namespace loadline::ngx
