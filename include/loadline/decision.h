// What is asked of a gate, and what it answers.
#pragma once

#include <cstdint>
#include <string_view>

#include "loadline/time.h"

namespace loadline {

// Why a request was turned away. The names are stable: they stand in metrics, logs and headers.
enum class Reason : std::uint8_t {
  none,                 // not turned away
  limit,                // no slot for its class, and it may not wait
  queue_full,           // no room to wait
  wait_budget,          // it would wait longer than it may
  queue_timeout,        // it has waited as long as it may
  deadline_unmeetable,  // its deadline is nearer than the work takes
  deadline_expired,     // its deadline had passed when it came
  displaced,            // it waited, and gave way to someone more important or more modest
  tenant_share,         // its tenant has more waiting than its fair share of the queue
  quota,                // its key asks more often than it may
  draining,             // the gate takes no more
  busy,                 // the gate itself could not answer in its bounded time
};
inline constexpr std::uint32_t kReasons = 12;

constexpr std::string_view name(Reason reason) noexcept {
  constexpr std::string_view kNames[kReasons] = {"none",
                                                 "limit",
                                                 "queue_full",
                                                 "wait_budget",
                                                 "queue_timeout",
                                                 "deadline_unmeetable",
                                                 "deadline_expired",
                                                 "displaced",
                                                 "tenant_share",
                                                 "quota",
                                                 "draining",
                                                 "busy"};
  const auto index = static_cast<std::uint32_t>(reason);
  return index < kReasons ? kNames[index] : std::string_view("unknown");
}

// Is it the caller's deadline that speaks (504), rather than our want of capacity (503)?
constexpr bool is_deadline(Reason reason) noexcept {
  return reason == Reason::deadline_unmeetable || reason == Reason::deadline_expired;
}

// Would it have been done if there were more to do it with?
constexpr bool for_want_of_capacity(Reason reason) noexcept {
  return reason != Reason::none && reason != Reason::deadline_expired && reason != Reason::quota &&
         reason != Reason::draining && reason != Reason::busy;
}

struct Request {
  static constexpr std::uint8_t kNoGroup = 0xff;

  std::uint8_t importance = 0;          // class index; 0 is the most important
  bool may_wait = true;                 // false: a slot at once, or a rejection
  bool observe = false;                 // judge and count, but admit whatever the verdict
  bool exempt = false;                  // from the limit: a health probe, an administrator
  std::uint8_t group = kNoGroup;        // index into Policy::groups, of the tenant
  std::uint32_t cost = 1;               // units of work, at least 1
  Instant deadline = Instant::never();  // when its answer becomes worthless
  std::uint64_t tenant = 0;             // a hash of the tenant's name (see hash_key); 0: none
  std::uint64_t quota = 0;              // a hash of the key that the quota counts; 0: none
};

// A name as the gate takes it: 64 bits, never 0. FNV-1a with a finishing mix; a caller who picks
// names so that they collide gains that they are taken for one.
constexpr std::uint64_t hash_key(std::string_view name) noexcept {
  std::uint64_t hash = 14695981039346656037U;
  for (const char c : name) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  }
  hash = (hash ^ (hash >> 32)) * 0xd6e8feb86659fd93U;  // spreads short names over all bits
  hash ^= hash >> 32;
  return hash == 0 ? 1 : hash;
}

// Leave to do the work, to be given back exactly once with Gate::release, by the participant that
// got it. Move-only; giving the
// same one back twice is counted and does nothing. It carries no resource of its own: a permit that
// is dropped without release holds its slot for ever, which is why hosts wrap it.
class Permit {
 public:
  Permit() noexcept = default;
  Permit(const Permit&) = delete;
  Permit& operator=(const Permit&) = delete;
  [[gnu::always_inline]] Permit(Permit&& other) noexcept { *this = static_cast<Permit&&>(other); }
  [[gnu::always_inline]] Permit& operator=(Permit&& other) noexcept {
    started_ = other.started_;
    tenant_ = other.tenant_;
    cost_ = other.cost_;
    charged_ = other.charged_;
    importance_ = other.importance_;
    group_ = other.group_;
    kind_ = other.kind_;
    held_ = other.held_;
    bound_ = other.bound_;
    other.held_ = false;
    return *this;
  }
  ~Permit() = default;

  [[nodiscard]] bool held() const noexcept { return held_; }
  [[nodiscard]] Instant started() const noexcept { return started_; }
  // 0 for one that runs beside the limit: exempt, or observed (Request::observe) where a gate in
  // force would have turned it away.
  [[nodiscard]] std::uint32_t cost() const noexcept { return cost_; }
  [[nodiscard]] std::uint8_t importance() const noexcept { return importance_; }

 private:
  template <class Sync>
  friend class BasicGate;

  // What is to be done beside giving back the units: nothing, or any of these together.
  enum Kind : std::uint8_t {
    plain = 0,
    heavy = 1,
    exempt = 2,
    observed = 4,
    timed = 8,  // observed, and its time is that of a service within its limit
    tied = 16,  // observed, and it ends in the shadow when it ends here
  };

  Permit(Instant started, std::uint32_t cost, std::uint8_t importance) noexcept
      : started_(started), cost_(cost), importance_(importance), held_(true) {}

  Instant started_{};
  std::uint64_t tenant_ = 0;
  std::uint32_t cost_ = 0;
  std::uint32_t charged_ = 0;  // to the tenant, before it was known (gate/tenants.h)
  std::uint8_t importance_ = 0;
  std::uint8_t group_ = 0xff;        // that was charged, too
  std::uint8_t kind_ = Kind::plain;  // of Kind
  bool held_ = false;
  bool bound_ = false;  // it took the last slot, or had waited for one
};

// A place in the queue. `index` is below Gate::capacity().tickets, so a host may keep what belongs
// to a waiting request in an array of its own; `generation` tells a reused index from the old one.
struct Ticket {
  std::uint32_t index = kNone;
  std::uint32_t generation = 0;

  static constexpr std::uint32_t kNone = 0xffffffff;
  [[nodiscard]] bool valid() const noexcept { return index != kNone; }
  friend bool operator==(const Ticket&, const Ticket&) noexcept = default;
};

// Participants (bit i: participant i) that have something to collect. A host turns each bit into a
// wake-up; losing one only delays the collection until that participant's next tick.
struct Signals {
  std::uint64_t participants = 0;

  Signals& operator|=(Signals other) noexcept {
    participants |= other.participants;
    return *this;
  }
  [[nodiscard]] bool any() const noexcept { return participants != 0; }
};

// The answer to an offer.
struct Offer {
  enum class Kind : std::uint8_t { admit, wait, reject };

  Offer() noexcept = default;
  Offer(const Offer&) = delete;
  Offer& operator=(const Offer&) = delete;
  // Always in place: an admission then lives in registers, and costs half.
  [[gnu::always_inline]] Offer(Offer&& other) noexcept { *this = static_cast<Offer&&>(other); }
  [[gnu::always_inline]] Offer& operator=(Offer&& other) noexcept {
    kind = other.kind;
    reason = other.reason;
    retry_after = other.retry_after;
    permit = static_cast<Permit&&>(other.permit);
    ticket = other.ticket;
    start_by = other.start_by;
    signals = other.signals;
    return *this;
  }
  ~Offer() = default;

  Kind kind = Kind::reject;
  Reason reason = Reason::none;  // of the rejection; with `admit`: what observing would have said
  std::uint16_t retry_after =
      0;               // seconds; with `reject`, where waiting helps (not for a deadline)
  Permit permit;       // with `admit`
  Ticket ticket;       // with `wait`
  Instant start_by{};  // with `wait`: settled by then, one way or the other
  Signals signals;
};

// What became of a request that waited.
struct Settled {
  enum class Kind : std::uint8_t { waiting, admit, reject, unknown };

  Kind kind = Kind::unknown;  // `unknown`: no such ticket (any more)
  Reason reason = Reason::none;
  std::uint16_t retry_after = 0;
  Ticket ticket;
  Permit permit;
  Duration waited{};
};

// How admitted work ended. Only `success` tells the gate how long the work takes: a fast failure, a
// stream that stays open, or a caller who left half-way says nothing about that.
enum class Outcome : std::uint8_t {
  success,
  failure,
  ignored,
  late,  // done or given up when its caller had ceased to wait: its deadline had passed, it timed
         // out
};

}  // namespace loadline
