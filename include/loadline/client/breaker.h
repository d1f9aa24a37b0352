// Leaves someone alone who fails: after too many failures nothing is sent for a while, then a few
// probes, and only when they all succeed everything again (Nygard, "Release It!", 2nd ed., 2018,
// "Circuit Breaker").
//
//   closed     all may pass. Opens when `failures` of at least `minimum` results of the last
//   `window`
//              were bad, or `consecutive` in a row: a share alone needs half a window to notice.
//   open       none may, for `open` (shortened at random by up to `open_jitter`, so that a crowd
//              of callers does not probe in step).
//   half-open  `probes` may, once each; when all are good it closes, at the first bad one it opens.
//              One that has no result after `probe_limit` is a bad one, whether or not anybody
//              asks.
//
// Results are tied to the state they began in by a generation: what began before the last change
// counts for nothing. A result that says nothing (a refusal, which a healthy but busy service
// gives; a caller who left; a failure from further down) counts neither way, and frees its probe
// for another call. So no state is without a way out, whatever calls do or fail to do.
//
// Nothing depends on a timer or on being called: what should have happened meanwhile is made up for
// at the next call, as if it had happened in time.
//
// Threads: every function may be called by any thread at any time; nothing blocks.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "loadline/client/random.h"
#include "loadline/client/window.h"
#include "loadline/time.h"

namespace loadline::client {

inline constexpr std::uint32_t kMaxProbes = 16;

struct BreakerPolicy {
  bool on = true;
  Duration window = Duration::seconds(5);  // 100 ms to 1 h
  std::uint16_t failures = 500;            // per mille of the results in the window, 1 to 1000
  std::uint32_t minimum = 20;  // results in the window before a share says anything, 1 to 10,000
  std::uint32_t consecutive = 10;  // bad results in a row, 1 to 10,000; 0: not looked at
  Duration slow{};                 // a success that takes longer is bad; 1 ms to 1 h, 0: none is
  Duration open = Duration::seconds(1);          // 1 ms to 1 h
  std::uint16_t open_jitter = 500;               // per mille of `open`, 0 to 1000
  std::uint8_t probes = 3;                       // 1 to kMaxProbes
  Duration probe_limit = Duration::seconds(10);  // 1 ms to 1 h
};

enum class BreakerState : std::uint8_t { closed, open, half_open };

constexpr std::string_view name(BreakerState state) noexcept {
  constexpr std::string_view kNames[3] = {"closed", "open", "half_open"};
  const auto index = static_cast<std::uint32_t>(state);
  return index < 3 ? kNames[index] : std::string_view("unknown");
}

// Why it changed its state.
enum class BreakerCause : std::uint8_t {
  none,
  failure_share,  // to open
  consecutive,    // to open
  probe_failed,   // to open
  probe_overdue,  // to open
  time_to_probe,  // to half-open
  probes_passed,  // to closed
};

class CircuitBreaker {
 public:
  // Leave to pass, to be settled with exactly one result.
  struct Pass {
    static constexpr std::uint8_t kNoProbe = 0xff;

    std::uint32_t generation = 0;
    std::uint8_t probe = kNoProbe;  // its number, in half-open
    bool allowed = false;
    // When not allowed: when to ask again. The end of the open state; or when the probes that run
    // will be overdue, at the latest.
    Instant come_back{};
  };
  enum class Result : std::uint8_t { good, bad, nothing };

  struct Change {
    BreakerCause cause = BreakerCause::none;
    BreakerState now = BreakerState::closed;
    std::uint32_t results = 0;  // that it was concluded from, with failure_share and consecutive
    std::uint32_t bad = 0;
    Duration open{};  // to open: for how long
    Instant at{};     // when it was due, which may be a while ago
  };
  // What an operation changed, for the record: an overdue probe and the time after it may be made
  // up for at once.
  struct Changes {
    std::uint32_t count = 0;
    Change list[2];

    void note(const Change& change) noexcept {
      if (count < 2) {
        list[count++] = change;
      }
    }
  };

  // `policy` is sound; `seed` draws how long it stays open. `now` is when time begins.
  CircuitBreaker(const BreakerPolicy& policy, std::uint64_t seed, Instant now) noexcept;
  CircuitBreaker(const CircuitBreaker&) = delete;
  CircuitBreaker& operator=(const CircuitBreaker&) = delete;
  ~CircuitBreaker() = default;

  // May a call pass? Begins the half-open state when it is time. What has changed is added to
  // `changes`.
  Pass ask(Instant now, Changes& changes) noexcept;

  // The result of a pass. False if it belongs to an earlier state and counted for nothing.
  bool settle(const Pass& pass, Result result, Instant now, Changes& changes) noexcept;

  // As it stands at `now`; with open: until when.
  [[nodiscard]] BreakerState state(Instant now) const noexcept;
  [[nodiscard]] Instant open_until() const noexcept;  // Instant{} unless open
  [[nodiscard]] std::uint32_t generation() const noexcept;

 private:
  // The state, or one probe, with its generation and the time when it ends, in 64 bits.
  struct Word {
    std::uint8_t kind = 0;         // of BreakerState, or of Probe
    std::uint32_t generation = 0;  // kGenerationBits
    std::uint64_t until_ms = 0;    // since origin_: end of the open state, limit of a probe
  };
  enum Probe : std::uint8_t { unused, running, passed };

  [[nodiscard]] static Word unpack(std::uint64_t bits) noexcept;
  [[nodiscard]] static std::uint64_t pack(Word word) noexcept;
  [[nodiscard]] static Word next(Word word, BreakerState state, std::uint64_t until_ms) noexcept;
  [[nodiscard]] std::uint64_t millis(Instant now) const noexcept;
  [[nodiscard]] Instant instant(std::uint64_t ms) const noexcept;

  bool take_probe(Word word, std::uint64_t now_ms, Pass& pass) noexcept;
  void settle_closed(Word word, Result result, Instant now, Changes& changes) noexcept;
  bool settle_probe(Word word, std::uint8_t number, Result result, Instant now,
                    Changes& changes) noexcept;
  void close_if_all_passed(Word word, Instant now, Changes& changes) noexcept;
  bool trip_if_overdue(Word word, std::uint64_t now_ms, Changes& changes) noexcept;
  void trip(Word seen, Change change, std::uint64_t at_ms, Changes& changes) noexcept;
  [[nodiscard]] std::uint32_t bad_in_a_row(std::uint32_t generation) noexcept;

  BreakerPolicy policy_;
  Instant origin_;
  Random random_;
  std::atomic<std::uint64_t> word_{0};
  std::atomic<std::uint64_t> row_{0};  // generation:32 | bad results in a row:32
  SlidingCounts results_;              // marked: bad
  std::atomic<std::uint64_t> probes_[kMaxProbes]{};
};

}  // namespace loadline::client
