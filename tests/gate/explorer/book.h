// What the explorer itself knows of the people at the gate, independent of the gate's own accounts.
#pragma once

#include <array>
#include <cstdint>

#include "loadline/decision.h"
#include "loadline/time.h"
#include "scenario.h"

namespace loadline::explorer {

inline constexpr std::uint32_t kClasses = 2;
inline constexpr std::uint32_t kTickets = 5;
inline constexpr std::uint32_t kTenants = 4;  // 1 to 3, and who has none
inline constexpr std::uint32_t kKeys = 3;     // of a quota: 1 and 2, and who has none
inline constexpr Instant kBegin{1'000'000'000'000};
inline constexpr Duration kBudget = Duration::seconds(1);
inline constexpr std::uint32_t kLastTick = 40;  // ms; those in the scenarios come no later

inline Instant time_of(std::uint32_t ms) {
  return kBegin + Duration::millis(ms);
}

// Names that do not meet in a table of 64.
inline std::uint64_t tenant_name(std::uint32_t tenant) {
  constexpr std::uint64_t kNames[kTenants] = {0, 0x1001, 0x2002, 0x3003};
  return kNames[tenant];
}
// Keys of one set of the quota's table, so that they may take each other's place.
inline std::uint64_t quota_key(std::uint32_t key) {
  return key == 0 ? 0 : std::uint64_t{key} << 40;
}

struct Person {
  Permit permit;
  Ticket ticket;
  std::uint32_t act = 0;
  std::uint32_t phase = 0;       // operations done in this act
  std::uint32_t importance = 0;  // of the present request
  std::uint32_t tenant = 0;      // of the present request
  std::uint32_t charged = 0;     // rounds, to its tenant, for the ticket that it waited with
  bool inside = false;           // an operation
  bool moves_much =
      false;  // one that frees places in one section and looks who may start in the next
  bool signalled = false;
  bool alive = true;
  bool seated = false;
  bool heavy_ticket = false;
  bool heavy_permit = false;
  bool exempt_permit = false;
  std::uint32_t leaving = 0;   // units that it is giving back
  bool heavy_leaving = false;  // of a weight above 1
};

struct Book {
  std::array<Person, kMaxThreads> people{};
  std::uint32_t running = 0;  // units that are being worked on
  std::uint32_t offered = 0;
  std::uint32_t allowed = 0;  // nobody may be admitted above it now
  std::uint32_t highest = 0;  // limit that ever was in force
  std::uint32_t timeouts = 0;
  std::uint32_t deaths = 0;
  std::uint32_t recoveries = 0;
  bool tick_needed = false;  // a lock timed out or somebody died: wait for the next tick
  bool drains = false;       // and whoever comes now must hear so

  // The last exchange after which fewer wait, and whether the order has changed since its section
  // began.
  std::uint64_t word_before_grant = 0;
  std::uint64_t word_after_grant = 0;
  bool order_moved = false;

  // What the guarantees owe, in thousandths of a start, and the tenants, in rounds: as it follows
  // from who started, who waits and who was sent away.
  std::array<std::int32_t, kClasses> credits{};
  std::array<std::array<std::uint64_t, kTenants>, kClasses> finish{};

  std::array<std::uint32_t, kKeys> quota_asked{};
  std::array<std::uint32_t, kKeys> quota_used{};
  std::uint32_t quota_returned = 0;
};

struct alignas(128) Memory {
  Book book;
  alignas(128) std::byte block[139'264];
};

}  // namespace loadline::explorer
