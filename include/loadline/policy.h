// What a gate is told to do: a plain struct, checked once, before any request meets it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "loadline/time.h"

namespace loadline {

inline constexpr std::uint32_t kMaxClasses = 8;
inline constexpr std::uint32_t kMaxLimit = 1'000'000;
inline constexpr std::uint32_t kMaxQueue = 60'000;
inline constexpr std::uint32_t kMaxClassName = 31;  // bytes

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

// A class of requests. Its place in Policy::classes is its importance: the first is the most
// important (SRE book, "Handling Overload": criticality).
struct ClassPolicy {
  std::array<char, kMaxClassName + 1> name{};  // NUL-terminated: letters, digits, '_', '-', '.'
  // Per mille of the limit that this class may fill; 0 leaves it to the gate: all of it where there
  // is a queue (order gives priority), less for the lesser ones where there is none.
  std::uint16_t share = 0;

  [[nodiscard]] std::string_view name_view() const noexcept { return name.data(); }
};

struct Policy {
  // Units of work in flight at once, 1 to kMaxLimit. 0 is refused: there is no safe default.
  std::uint32_t limit = 0;

  QueueSize queue{};

  // The longest a request may wait before it starts, 1 ms to 1 h; never more than half of the time
  // that is left of its deadline.
  Duration wait_budget = Duration::millis(100);

  // Most important first. Without any, the SRE book's four: critical_plus, critical,
  // sheddable_plus, sheddable.
  std::array<ClassPolicy, kMaxClasses> classes{};
  std::uint8_t class_count = 0;    // 0 to kMaxClasses
  std::uint8_t default_class = 0;  // index; of a request that says nothing

  // Retry-After is drawn per rejection from this range of whole seconds, 1 to 3600 and ordered.
  std::uint16_t retry_after_min = 1;
  std::uint16_t retry_after_max = 4;

  // Seeds the generators from which Retry-After is drawn.
  std::uint64_t seed = 0x6c6f61646c696e65;
};

// Puts the default classes into a policy that names none; `critical` becomes the default class.
void fill_defaults(Policy& policy) noexcept;

// Appends a class. False when there are kMaxClasses already or the name is too long or empty.
bool add_class(Policy& policy, std::string_view name, std::uint16_t share = 0) noexcept;

// Index of the class so named, or -1.
int find_class(const Policy& policy, std::string_view name) noexcept;

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
