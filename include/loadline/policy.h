// What a gate is told to do: a plain struct, checked once, before any request meets it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "loadline/time.h"

namespace loadline {

inline constexpr std::uint32_t kMaxClasses = 8;
inline constexpr std::uint32_t kMaxLimit = 1'000'000;
inline constexpr std::uint32_t kMaxQueue = 60'000;
inline constexpr std::uint32_t kMaxClassName = 31;  // bytes
inline constexpr std::uint32_t kMaxGroups = 8;
inline constexpr std::uint32_t kMaxTenants = 100'000;
inline constexpr std::uint32_t kMaxQuotaKeys = 1'000'000;
inline constexpr std::uint32_t kLongestRefillSeconds = 3 * 86'400;  // of a quota's burst
inline constexpr std::uint32_t kMaxRetryAfter = 3600;               // seconds
inline constexpr std::uint32_t kMaxSignals = 4;
inline constexpr std::uint32_t kMaxSignalName = 23;  // bytes

// How many may wait. `automatic` follows the wait budget: as many as can start within it, at the
// service time that is being measured.
struct QueueSize {
  enum class Kind : std::uint8_t { off, fixed, automatic };
  Kind kind = Kind::automatic;
  std::uint32_t entries = 0;  // 1 to kMaxQueue when `fixed`, else unused

  static constexpr QueueSize none() noexcept { return {Kind::off, 0}; }
  static constexpr QueueSize at_most(std::uint32_t n) noexcept { return {Kind::fixed, n}; }
  static constexpr QueueSize sized_by_budget() noexcept { return {Kind::automatic, 0}; }
};

// Who starts next among those who wait in a class.
enum class Discipline : std::uint8_t {
  // First come, first served while the queue keeps emptying; the newest first once it stands
  // (Maurer, "Fail at Scale", ACM Queue 13(8), 2015: the newest is the one who is still there).
  // With tenants it is `fifo`: newest first would serve whoever asks most.
  adaptive,
  fifo,
  lifo,
};

// A class of requests. Its place in Policy::classes is its importance: the first is the most
// important (SRE book, "Handling Overload": criticality).
struct ClassPolicy {
  std::array<char, kMaxClassName + 1> name{};  // NUL-terminated: letters, digits, '_', '-', '.'
  // Per mille of the limit that this class may fill; 0 leaves it to the gate: all of it where there
  // is a queue (order gives priority), less for the lesser ones where there is none.
  std::uint16_t share = 0;
  // Per mille of the dispatches that this class gets at least while it has someone waiting, however
  // many more important ones wait; 0: none, and it may starve. All guarantees together leave
  // something: at most 900.
  std::uint16_t guarantee = 0;

  [[nodiscard]] std::string_view name_view() const noexcept { return name.data(); }
};

// Tenants that are served together as if they were `tenants` of them, however many names they use.
struct GroupPolicy {
  std::array<char, kMaxClassName + 1> name{};  // as a class's
  std::uint16_t tenants = 1;                   // 1 to 1000

  [[nodiscard]] std::string_view name_view() const noexcept { return name.data(); }
};

// A number that is reported from outside (Gate::report), and what is right of it at most: while it
// is above, a law that finds the limit does not raise it, and has it lowered: see limit/pressure.h.
struct SignalPolicy {
  std::array<char, kMaxSignalName + 1> name{};  // as a class's
  double at_most = 0;                           // above 0, in the unit of what is reported

  [[nodiscard]] std::string_view name_view() const noexcept { return name.data(); }
};

// How often one key may ask, whatever room there is: `requests` in each `per`, `burst` of them at
// once. A request above it is refused as `quota` (429), which is the caller's doing and not ours.
struct QuotaPolicy {
  std::uint32_t requests = 0;           // 0: no quota; else 1 to 1,000,000
  Duration per = Duration::seconds(1);  // 1 ms to 1 day; at least 10 us for each request
  std::uint32_t burst = 1;              // 1 to 1,000,000; all of it must come back within 3 days
  std::uint32_t keys = 10'000;          // that are told apart at the same time, 1 to kMaxQuotaKeys

  [[nodiscard]] constexpr bool any() const noexcept { return requests != 0; }
};

// Who finds the limit: `fixed` is a person's choice, `automatic` a law of our own (see
// loadline/limit/auto_limit.h); the others exist because people know them, and to be compared with:
// loadline/limit/NAME.h says of each where it comes from.
enum class Law : std::uint8_t { fixed, automatic, aimd, vegas, gradient2, envoy, brpc, trpc };
inline constexpr std::uint32_t kLaws = 8;

struct Policy {
  // Units of work in flight at once, 1 to kMaxLimit. 0 is refused where it is fixed: there is no
  // safe default. Where a law finds it, this is where it begins; 0 leaves that to the law.
  std::uint32_t limit = 0;
  Law law = Law::fixed;
  // What a law may choose from, inclusive: 1 <= least <= most <= kMaxLimit. Where they are left as
  // they are here, a law with bounds of its own keeps to those.
  std::uint32_t limit_least = 1;
  std::uint32_t limit_most = kMaxLimit;
  // Say nothing where the limit is fixed.
  std::array<SignalPolicy, kMaxSignals> signals{};
  std::uint8_t signal_count = 0;  // 0 to kMaxSignals

  QueueSize queue{};
  Discipline discipline = Discipline::adaptive;

  // The longest a request may wait before it starts, 1 ms to 1 h; never more than half of the time
  // that is left of its deadline, or a quarter while the newest are served first.
  Duration wait_budget = Duration::millis(100);

  // Most important first. Without any, the SRE book's four: critical_plus, critical,
  // sheddable_plus, sheddable.
  std::array<ClassPolicy, kMaxClasses> classes{};
  std::uint8_t class_count = 0;    // 0 to kMaxClasses
  std::uint8_t default_class = 0;  // index; of a request that says nothing

  // Per mille of the limit that requests of a weight above 1 may hold together, 1 to 1000: the rest
  // is left to the light ones, however long the heavy ones take.
  std::uint16_t heavy_share = 500;

  // Fair shares among tenants (Request::tenant): how many names are told apart well, 1 to
  // kMaxTenants; memory is fixed by it, and more names than that only blur. 0: no tenants.
  std::uint32_t tenants = 0;
  std::array<GroupPolicy, kMaxGroups> groups{};  // Request::group is an index
  std::uint8_t group_count = 0;

  QuotaPolicy quota{};

  // Exempt requests (health probes, administration) have a pool of their own beside the limit: so
  // many at a time for each participant, 0 to 1000.
  std::uint16_t exempt = 16;

  // Each rejection gets a return time of its own from this range of whole seconds, 1 to
  // kMaxRetryAfter and ordered: the earliest second in which there is room left to serve it.
  std::uint16_t retry_after_min = 1;
  std::uint16_t retry_after_max = 32;

  // How long a participant that died keeps what it held, 0 to 10 s. A process that is killed gives
  // up its locks before its files: where its death is seen at once, its connections may still be
  // open, and what is given back to others comes on top of them. 0: nothing but the gate tells what
  // a participant holds, as in a program with threads.
  Duration death_grace{};

  // Where participants begin their turns through the return times.
  std::uint64_t seed = 0x6c6f61646c696e65;
};

// Puts the default classes into a policy that names none; `critical` becomes the default class.
void fill_defaults(Policy& policy) noexcept;

// Appends a class. False when there are kMaxClasses already or the name is too long or empty.
bool add_class(Policy& policy, std::string_view name, std::uint16_t share = 0) noexcept;

// Index of the class so named, or -1.
int find_class(const Policy& policy, std::string_view name) noexcept;

// The same for groups.
bool add_group(Policy& policy, std::string_view name, std::uint16_t tenants) noexcept;
int find_group(const Policy& policy, std::string_view name) noexcept;

// The same for signals.
bool add_signal(Policy& policy, std::string_view name, double at_most) noexcept;
int find_signal(const Policy& policy, std::string_view name) noexcept;

// A signal's value as people write it: "20%", "50ms", "1.5s", "200us" or a plain number, as "12" or
// "0.5"; up to 15 digits. Of those behind the point, the 7th and all after it are passed over.
// Shares are of 1, times in seconds.
std::optional<double> parse_signal_value(std::string_view text) noexcept;

// Why a policy was refused. `field` names the member; `text` is a sentence with the value and what
// is allowed.
struct PolicyError {
  const char* field = nullptr;  // null: the policy is sound
  std::array<char, 160> text{};

  [[nodiscard]] bool refused() const noexcept { return field != nullptr; }
};

// Checks every member. Pure; call it after fill_defaults.
PolicyError validate(const Policy& policy) noexcept;

}  // namespace loadline
