// How a gate lies in memory: one block of fixed size, without a pointer in it.
//
//   BlockHead | ParticipantSlot x participants | TicketSlot x tickets
//             | with tenants: TenantBoard, TenantPlace x tickets, TenantAccount x 2 x buckets
//             | with a quota: 64 bits x keys
//             | Shadow | ShadowWaiter x tickets
//             | with a law that finds the limit: Learner, SampleRing x participants
//
// The creator provides the memory: heap for a program, shared memory for nginx's workers. Who
// writes what is written beside each member: `word` everyone by compare-and-swap; a participant's
// slot only that participant; everything else only the holder of the mutex.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "loadline/decision.h"
#include "loadline/gate/learner.h"
#include "loadline/gate/shadow.h"
#include "loadline/gate/spare.h"
#include "loadline/gate/word.h"
#include "loadline/policy.h"
#include "loadline/record.h"

namespace loadline {

inline constexpr std::uint32_t kMaxParticipants = 64;  // one bit each in Signals

// How large a gate is made. More tickets than the queue may hold: a request that has been decided
// keeps its ticket until its participant has collected it.
struct Capacity {
  std::uint32_t participants = kMaxParticipants;  // 1 to kMaxParticipants
  std::uint32_t tickets = 0;                      // kSpareTickets + 1 to kSpareTickets + kMaxQueue
  std::uint32_t tenant_buckets = 0;  // 0: no tenants; else a power of two, see for_tables
  std::uint32_t quota_keys = 0;      // 0: no quota; else a power of two, see for_tables
  std::uint32_t learns = 0;          // 1: a law may find the limit; see for_tables

  static constexpr std::uint32_t kSpareTickets = 256;
  static constexpr std::uint32_t kFewestBuckets = 1024;
  static constexpr std::uint32_t kMostTableEntries = 1U << 21;

  // With the tables that a policy's tenants and quota ask for.
  [[nodiscard]] constexpr Capacity for_tables(const Policy& policy) const noexcept {
    Capacity with = *this;
    with.tenant_buckets =
        policy.tenants == 0 ? 0 : std::bit_ceil(std::max(policy.tenants, kFewestBuckets));
    // Half as many again, since a set may be full before the table is.
    with.quota_keys =
        policy.quota.any()
            ? std::bit_ceil(std::max<std::uint32_t>(policy.quota.keys + policy.quota.keys / 2, 64))
            : 0;
    with.learns = policy.law == Law::fixed ? 0 : 1;
    return with;
  }
  // As a gate can be made with.
  [[nodiscard]] constexpr bool sound() const noexcept {
    return participants >= 1 && participants <= kMaxParticipants && tickets > kSpareTickets &&
           tickets <= kSpareTickets + kMaxQueue && table_sound(tenant_buckets) &&
           table_sound(quota_keys) && learns <= 1;
  }

 private:
  static constexpr bool table_sound(std::uint32_t entries) noexcept {
    return entries == 0 ||
           (std::has_single_bit(entries) && entries >= 64 && entries <= kMostTableEntries);
  }
};

namespace detail {

inline constexpr std::uint32_t kNoTicket = Ticket::kNone;

enum class TicketState : std::uint32_t {
  free,
  waiting,  // in its class's queue
  granted,  // its cost is in the word; its owner has not collected it
  refused,  // its owner has not collected it
  taken,    // its owner has collected it without the mutex, and left it where it stands
};

// Is there anybody who has not been told?
constexpr bool in_use(TicketState state) noexcept {
  return state != TicketState::free && state != TicketState::taken;
}

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
  std::uint8_t heavy;  // 1: of a weight above 1 (no bool: it may hold anything)
  Reason reason;       // once refused
  Reason late_reason;  // what it will be refused with when start_by has passed
  std::uint32_t previous;
  std::uint32_t next;
  Instant arrival;
  Instant start_by;
  Instant decided;
  std::uint64_t sequence;  // order of arrival, from which the queue is rebuilt
};

// What a participant has to collect: nothing, several tickets, or one, which is named so that it
// can be taken without the mutex.
struct Ready {
  static constexpr std::uint64_t kNone = 0;
  static constexpr std::uint64_t kSeveral = 1;
  // Never one of these, since a generation counts the times that its ticket was used.
  static constexpr std::uint64_t one(Ticket ticket) noexcept {
    return (std::uint64_t{ticket.generation} << 32 | ticket.index) + 2;
  }
  static constexpr std::uint32_t index_of(std::uint64_t ready) noexcept {
    return std::uint32_t(ready - 2);
  }
};

struct TicketList {
  std::uint32_t head = kNoTicket;
  std::uint32_t tail = kNoTicket;
  std::uint32_t count = 0;
};

// With tenants, what belongs to the ticket of the same index. Rounds are counted in 1/65536 (see
// src/gate/tenants.h).
struct TenantPlace {
  std::uint64_t tenant = 0;
  std::uint64_t tag = 0;      // the round in which it is served
  std::uint32_t charged = 0;  // rounds, to its tenant's account
  std::uint8_t group = Request::kNoGroup;
};

// What the tenants hold whose names fall here. There are two rows of them, and a name is believed
// in the better of its two: to be taken for another, it must meet somebody in both.
template <class Sync>
struct TenantAccount {
  template <class T>
  using Atomic = typename Sync::template Atomic<T>;

  Atomic<std::uint64_t> finish;   // round up to which its work has been charged
  Atomic<std::uint64_t> cost_ns;  // mean of its service times; 0: not known
};

// The last ticket of each round to come, so that an entry finds its place without a walk.
struct Calendar {
  static constexpr std::uint32_t kRounds = 256;

  std::uint32_t last[kRounds] = {};
  std::uint64_t used[kRounds / 64] = {};
};

inline constexpr std::uint32_t kQueues = 2 * kMaxClasses;  // light and heavy, of each class

template <class Sync>
struct TenantBoard {
  template <class T>
  using Atomic = typename Sync::template Atomic<T>;

  Calendar calendars[kQueues];
  std::uint64_t last_tag[kMaxClasses];
  Atomic<std::uint64_t> round[kMaxClasses];  // being served
  Atomic<std::uint64_t> group_finish[kMaxClasses][kMaxGroups];
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

  Atomic<std::uint32_t> heavy_held;   // of `held`, what requests of a weight above 1 hold
  Atomic<std::uint32_t> exempt_held;  // beside the limit

  // Return times given to those who were turned away (src/gate/returns.h).
  Atomic<std::uint64_t> booked[kReturnPhases];
  Atomic<std::int64_t> booked_up_until;  // Instant: the end of a phase that has no room left
  Atomic<std::uint32_t> rotation;
  Atomic<std::uint32_t> return_step;  // written under the mutex

  // Written under the mutex.
  Atomic<std::uint32_t> attached;  // 0 or 1
  Atomic<std::int64_t> died_at;    // Instant at which its death was seen first; 0: it has not been
  Atomic<std::uint64_t> ready;     // what there is to collect (see Ready)
  TicketList ready_list;           // decided tickets, and at its head perhaps one that is taken

  std::uint64_t taken;  // what `ready` was when its owner took the one ticket that was there

  typename Sync::Mutex alive;  // held for life by the thread that attached

  Atomic<std::uint64_t> admitted[kMaxClasses];
  Atomic<std::uint64_t> cancelled[kMaxClasses];
  Atomic<std::uint64_t> rejected[kMaxClasses][kReasons];
  Atomic<std::uint64_t> released_twice;
  Atomic<std::uint64_t> service_ns;  // sum of the service times of completions with success
  Atomic<std::uint64_t> service_buckets[kBuckets];

  // Of requests that are only observed: units in the word; requests that are in no word, since
  // they would have been turned away by a gate that enforces its limit on others; and units whose
  // ends are the shadow's too (ShadowUnits).
  Atomic<std::uint32_t> observed_held;
  Atomic<std::uint32_t> observed_beside;
  Atomic<std::uint64_t> observed_tied;
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
  Atomic<std::uint32_t> queue_kind;    // QueueSize::Kind
  Atomic<std::uint32_t> discipline;    // Discipline
  Atomic<std::uint32_t> newest_first;  // while adaptive: mask of the classes whose queue stands
  Atomic<std::uint32_t> heavy_limit;   // units that requests of a weight above 1 may hold together
  Atomic<std::uint32_t> exempt_limit;
  Atomic<std::uint32_t> retry_after;  // max:16 | min:16
  Atomic<std::uint32_t> return_stride;
  Atomic<std::uint64_t> quota_interval_us;  // 0: no quota
  Atomic<std::uint64_t> quota_tolerance_us;
  Atomic<std::int64_t> wait_budget_ns;
  Atomic<std::int64_t> service_mean_ns;  // 0: not known
  Atomic<std::int64_t> drain_ns;         // service_mean_ns / limit: until a slot comes free
  Atomic<std::int64_t> occupied_since[kMaxClasses];  // Instant; never: nobody waits
  Atomic<std::uint64_t> farthest_tag[kMaxClasses];   // of who waits; with tenants
  Atomic<std::int64_t> service_mean_until;           // Instant up to which it is believed
  Atomic<std::uint32_t> class_count;
  Atomic<std::uint32_t> searching;  // 1: the limit is a guess, by which nothing is foretold
  Atomic<std::uint32_t> law;        // Law
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
  TicketList queues[kQueues];
  std::uint32_t waiting;           // in all of them
  Instant first_due;               // no ticket's time passes before; often none does then, either
  Atomic<std::uint32_t> occupied;  // mask of those that are not empty; offers read it, too
  std::uint32_t guaranteed;        // mask of the classes that have a guarantee
  std::uint32_t limit;
  QueueSize queue;
  std::uint16_t shares[kMaxClasses];
  std::uint16_t heavy_share;
  std::uint16_t guarantees[kMaxClasses];
  std::int32_t credits[kMaxClasses];
  Atomic<std::uint16_t> group_tenants[kMaxGroups];
  SpareEstimate spare;
  SteadyMean steady;
  std::uint64_t seen_turned_away[kMaxParticipants];
  std::uint64_t seen_services;
  std::uint64_t seen_service_ns;
  Instant estimated_at;
  std::uint32_t quota_swept;            // of the quota's places, where the sweep goes on
  Atomic<std::uint32_t> granted_heavy;  // of a weight above 1, granted and not collected
  std::uint8_t audit_due;               // 0 or 1

  Atomic<std::uint32_t> class_waiting[kMaxClasses];
  Atomic<std::uint64_t> wait_buckets[kMaxClasses][kBuckets];
  Atomic<std::uint64_t> wait_ns[kMaxClasses];
  Atomic<std::uint64_t> cancelled_by_death[kMaxClasses];
  Atomic<std::uint32_t> in_grace;  // participants that have died and keep what they held so far
  Atomic<std::uint64_t> reclaimed;
  Atomic<std::uint64_t> reclaimed_units;
  Atomic<std::uint64_t> taken_back;
  Atomic<std::uint64_t> repairs;
  Atomic<std::uint64_t> corruptions;

  // The policy in force, and room for the next one. A change is written beside the old one, taken
  // up by one store, and then applied; after a death, what was taken up is applied again.
  Policy policies[2];
  Atomic<std::uint32_t> policy_taken_up;  // index into policies
  Atomic<std::uint32_t> policy_applied;   // the same, once everything follows from it
  Atomic<std::uint32_t> limit_told;       // `limit`, once everything follows from it
  // How often a policy was applied: the learner looks here whether its rules are still in force.
  Atomic<std::uint32_t> rules_version;
};

// One who would wait.
struct ShadowWaiter {
  Instant start_by;
  std::uint64_t sequence;  // order of arrival
  std::uint32_t previous;
  std::uint32_t next;
  std::uint32_t cost;
  std::uint8_t importance;
  Reason late_reason;
};

// The gate that an observing one would have been, in a time of its own that follows. What the mutex
// guards, but for the atomics.
template <class Sync>
struct Shadow {
  template <class T>
  using Atomic = typename Sync::template Atomic<T>;

  // Those who are observed would have been turned away. Written by all.
  Atomic<std::uint64_t> observed[kMaxClasses][kReasons];
  // Units that have ended for real, and so here too (ShadowUnits). Added to by all.
  Atomic<std::uint64_t> ended;

  Instant now;        // so far it has come
  Instant looked_at;  // when `others` and `beside` were counted
  // Units in the word that are none of its own, and requests that run beside the word.
  std::uint32_t others;
  std::uint32_t beside;
  ShadowUnits in_flight;
  std::uint32_t waiting;
  std::uint32_t occupied;  // mask of the queues
  std::uint32_t class_waiting[kMaxClasses];
  std::uint32_t newest_first;  // mask of classes
  Instant occupied_since[kMaxClasses];
  TicketList queues[kQueues];
  std::uint32_t free_head;
  std::uint32_t fresh;  // from this one on, no waiter's place has been used yet
  std::uint64_t next_sequence;

  ShadowEnds ends;
  ShadowTimes times;
  std::uint64_t draws;
  ShadowServices services;  // of this window
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
  alignas(128) Atomic<std::uint64_t> quota_now_us;  // the latest that a quota was asked at
  Published<Sync> published;
  Guarded<Sync> guarded;
};

// A number that differs when a build would read the block differently: sizes and places of all
// parts.
template <class Sync>
constexpr std::uint64_t layout_hash() noexcept {
  constexpr std::uint64_t kVersion = 7;  // raise it when a meaning changes and no size does
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
                                 sizeof(TenantPlace),
                                 sizeof(TenantAccount<Sync>),
                                 sizeof(TenantBoard<Sync>),
                                 sizeof(Shadow<Sync>),
                                 sizeof(ShadowWaiter),
                                 sizeof(Learner<Sync>),
                                 sizeof(SampleRing<Sync>)};
  std::uint64_t hash = 14695981039346656037U;  // FNV-1a
  for (const std::uint64_t part : parts) {
    hash = (hash ^ part) * 1099511628211U;
  }
  return hash;
}

}  // namespace detail
}  // namespace loadline
