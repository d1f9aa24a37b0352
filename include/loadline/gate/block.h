// How a gate lies in memory: one block of fixed size, without a pointer in it.
//
//   BlockHead | ParticipantSlot x participants | TicketSlot x tickets
//
// The creator provides the memory: heap for a program, shared memory for nginx's workers. Who
// writes what is written beside each member: `word` everyone by compare-and-swap; a participant's
// slot only that participant; everything else only the holder of the mutex.
#pragma once

#include <cstddef>
#include <cstdint>

#include "loadline/decision.h"
#include "loadline/gate/word.h"
#include "loadline/limiter.h"
#include "loadline/policy.h"
#include "loadline/record.h"

namespace loadline {

inline constexpr std::uint32_t kMaxParticipants = 64;  // one bit each in Signals

// How large a gate is made. More tickets than the queue may hold: a request that has been decided
// keeps its ticket until its participant has collected it.
struct Capacity {
  std::uint32_t participants = kMaxParticipants;  // 1 to kMaxParticipants
  std::uint32_t tickets = 0;                      // kSpareTickets + 1 to kSpareTickets + kMaxQueue

  static constexpr std::uint32_t kSpareTickets = 256;
};

namespace detail {

inline constexpr std::uint32_t kNoTicket = Ticket::kNone;

enum class TicketState : std::uint32_t {
  free,
  waiting,  // in its class's queue
  granted,  // its cost is in the word; its owner has not collected it
  refused,  // its owner has not collected it
};

// One who waits. `state` is the truth about it and is stored last, so that after a death in the
// middle of a section the lists, the counts and the word can be rebuilt from the states.
template <class Sync>
struct alignas(64) TicketSlot {
  template <class T>
  using Atomic = typename Sync::template Atomic<T>;

  Atomic<TicketState> state;
  Atomic<std::uint32_t> generation;
  // Its generation, once its caller has gone and the mutex could not be had: it must not start.
  Atomic<std::uint32_t> abandoned;
  std::uint32_t owner;  // participant
  std::uint32_t cost;
  std::uint8_t importance;
  Reason reason;       // once refused
  Reason late_reason;  // what it will be refused with when start_by has passed
  std::uint32_t previous;
  std::uint32_t next;
  Instant arrival;
  Instant start_by;
  Instant decided;
  std::uint64_t sequence;  // order of arrival, from which the queue is rebuilt
};

struct TicketList {
  std::uint32_t head = kNoTicket;
  std::uint32_t tail = kNoTicket;
  std::uint32_t count = 0;
};

// A thread or an event loop. All counters have one writer, belong to the slot rather than to who
// sits in it, and are never set back, so sums over the slots only grow.
template <class Sync>
struct alignas(128) ParticipantSlot {
  template <class T>
  using Atomic = typename Sync::template Atomic<T>;

  // {sequence:32, held:32}. The sequence is odd while the participant changes the word, so that an
  // audit can tell whether `held` and the word belong together.
  Atomic<std::uint64_t> bracket;
  Atomic<std::uint64_t> generator;  // of Retry-After

  // Written under the mutex.
  Atomic<std::uint32_t> attached;  // 0 or 1
  Atomic<std::uint32_t> ready;     // decided tickets to collect
  TicketList ready_list;

  typename Sync::Mutex alive;  // held for life by the thread that attached

  Atomic<std::uint64_t> admitted[kMaxClasses];
  Atomic<std::uint64_t> cancelled[kMaxClasses];
  Atomic<std::uint64_t> rejected[kMaxClasses][kReasons];
  Atomic<std::uint64_t> observed[kMaxClasses][kReasons];
  Atomic<std::uint64_t> released_twice;
  Atomic<std::uint64_t> services;    // completions with Outcome::success
  Atomic<std::uint64_t> service_ns;  // their sum
  Atomic<std::uint64_t> service_buckets[kBuckets];
};

// What every offer reads and hardly anyone writes.
template <class Sync>
struct alignas(128) Published {
  template <class T>
  using Atomic = typename Sync::template Atomic<T>;

  Atomic<std::uint32_t> flags;
  Atomic<std::uint32_t> limit;
  Atomic<std::uint32_t> thresholds[kMaxClasses];
  Atomic<std::uint32_t> queue_limit;
  Atomic<std::uint32_t> queue_kind;   // QueueSize::Kind
  Atomic<std::uint32_t> retry_after;  // max:16 | min:16
  Atomic<std::int64_t> wait_budget_ns;
  Atomic<std::int64_t> service_mean_ns;  // 0: not known
  Atomic<std::int64_t> service_mean_at;  // Instant of the newest completion in it
  Atomic<std::uint32_t> class_count;
};

inline constexpr std::uint32_t kFlagObserve = 1;
inline constexpr std::uint32_t kFlagOff = 2;
inline constexpr std::uint32_t kFlagDraining = 4;

// What the mutex guards. Atomics are those that snapshots read without it.
template <class Sync>
struct alignas(128) Guarded {
  template <class T>
  using Atomic = typename Sync::template Atomic<T>;

  typename Sync::Mutex mutex;
  Instant now;  // the latest time seen
  std::uint64_t next_sequence;
  std::uint32_t free_head;
  TicketList queues[kMaxClasses];
  Limiter limiter;
  QueueSize queue;
  std::uint16_t shares[kMaxClasses];
  std::uint64_t seen_services;
  std::uint64_t seen_service_ns;
  Instant estimated_at;
  std::uint32_t granted_units;  // granted, not collected: in the word, in no participant's bracket
  bool audit_due;

  Atomic<std::uint32_t> class_waiting[kMaxClasses];
  Atomic<std::uint64_t> wait_buckets[kMaxClasses][kBuckets];
  Atomic<std::uint64_t> wait_ns[kMaxClasses];
  Atomic<std::uint64_t> cancelled_by_death[kMaxClasses];
  Atomic<std::uint64_t> reclaimed;
  Atomic<std::uint64_t> reclaimed_units;
  Atomic<std::uint64_t> repairs;
  Atomic<std::uint64_t> corruptions;
};

inline constexpr std::uint64_t kMagic = 0x4c4f41444c494e45;  // "LOADLINE"

template <class Sync>
struct BlockHead {
  template <class T>
  using Atomic = typename Sync::template Atomic<T>;

  Atomic<std::uint64_t> magic;  // stored last by the creator
  std::uint64_t layout;         // layout_hash() of the build that made it
  std::uint64_t bytes;
  Capacity capacity;

  alignas(128) Atomic<std::uint64_t> word;
  alignas(128) Atomic<std::int64_t> next_tick;
  Published<Sync> published;
  Guarded<Sync> guarded;
};

// A number that differs when a build would read the block differently: sizes and places of all
// parts.
template <class Sync>
constexpr std::uint64_t layout_hash() noexcept {
  constexpr std::uint64_t kVersion = 1;  // raise it when a meaning changes and no size does
  const std::uint64_t parts[] = {kVersion,
                                 sizeof(BlockHead<Sync>),
                                 sizeof(ParticipantSlot<Sync>),
                                 sizeof(TicketSlot<Sync>),
                                 sizeof(Published<Sync>),
                                 sizeof(Guarded<Sync>),
                                 sizeof(typename Sync::Mutex),
                                 alignof(BlockHead<Sync>),
                                 kMaxClasses,
                                 kReasons,
                                 kBuckets,
                                 sizeof(Limiter)};
  std::uint64_t hash = 14695981039346656037U;  // FNV-1a
  for (const std::uint64_t part : parts) {
    hash = (hash ^ part) * 1099511628211U;
  }
  return hash;
}

}  // namespace detail
}  // namespace loadline
