// Where the law that finds the limit lies, what it is told, and what it has said.
//
// Who ends a request notes it in a ring of its own, without a lock; whoever ticks takes what the
// rings hold to the law, under a mutex that no request ever waits for.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>

#include "loadline/limit/sample.h"
#include "loadline/limiter.h"

namespace loadline::detail {

// The last samples of one participant, who is its only writer. What is not taken in time is
// overwritten: a law needs enough samples, and not all of them.
template <class Sync>
struct alignas(64) SampleRing {
  template <class T>
  using Atomic = typename Sync::template Atomic<T>;

  static constexpr std::uint32_t kKept = 256;
  static constexpr std::uint32_t kOutcomeShift = 1;
  static constexpr std::uint32_t kTookShift = 3;

  struct Cell {
    Atomic<std::int64_t> ended;
    Atomic<std::uint64_t> took_and_more;  // {took:61, outcome:2, bound:1}
  };

  Atomic<std::uint64_t> count;      // of all there ever were
  Atomic<std::uint64_t> unsampled;  // that have ended and say nothing
  std::array<Cell, kKept> cells;

  void add(const LimitSample& sample) noexcept {
    const std::uint64_t at = count.load(std::memory_order_relaxed);
    Cell& cell = cells[at % kKept];
    const auto took = static_cast<std::uint64_t>((sample.ended - sample.started).ns);
    cell.ended.store(sample.ended.ns, std::memory_order_relaxed);
    cell.took_and_more.store(took << kTookShift |
                                 static_cast<std::uint64_t>(sample.outcome) << kOutcomeShift |
                                 std::uint64_t{sample.bound},
                             std::memory_order_relaxed);
    count.store(at + 1, std::memory_order_release);
  }

  // Every so many samples.
  [[nodiscard]] bool is_due() const noexcept {
    return count.load(std::memory_order_relaxed) % (kKept / 4) == 0;
  }

  [[nodiscard]] LimitSample read(std::uint64_t at) const noexcept {
    const Cell& cell = cells[at % kKept];
    const std::uint64_t bits = cell.took_and_more.load(std::memory_order_relaxed);
    const Instant ended{cell.ended.load(std::memory_order_relaxed)};
    const Duration took{static_cast<std::int64_t>(bits) >> kTookShift};
    return {.started = ended - took,
            .ended = ended,
            .outcome = static_cast<Outcome>(bits >> kOutcomeShift & 3),
            .bound = (bits & 1) != 0};
  }
};

// The last events of all laws that this gate has had, for whoever asks. Its writer holds the
// learner's mutex; readers hold nothing, and see by an event's turn that it is whole.
template <class Sync>
struct EventLog {
  template <class T>
  using Atomic = typename Sync::template Atomic<T>;

  static constexpr std::uint32_t kKept = LimitEvents::kKept;
  static constexpr std::size_t kWords = sizeof(LimitEvent) / sizeof(std::uint64_t);
  static_assert(sizeof(LimitEvent) % sizeof(std::uint64_t) == 0);
  using Words = std::array<std::uint64_t, kWords>;

  struct Cell {
    Atomic<std::uint64_t> turn;  // 2 x its number + 2; one less while it is written
    std::array<Atomic<std::uint64_t>, kWords> words;
  };

  Atomic<std::uint64_t> count;  // of all there ever were
  std::array<Cell, kKept> cells;

  void add(const LimitEvent& event) noexcept {
    const std::uint64_t number = count.load(std::memory_order_relaxed);
    Cell& cell = cells[number % kKept];
    Words words;
    std::memcpy(words.data(), &event, sizeof event);
    cell.turn.store(2 * number + 1, std::memory_order_relaxed);
    for (std::size_t i = 0; i < kWords; ++i) {
      // Not before the turn is seen to be odd.
      cell.words[i].store(words[i], std::memory_order_release);
    }
    cell.turn.store(2 * number + 2, std::memory_order_release);
    count.store(number + 1, std::memory_order_release);
  }

  // False if it is no longer there, or has never been.
  bool read(std::uint64_t number, LimitEvent& event) const noexcept {
    const Cell& cell = cells[number % kKept];
    if (cell.turn.load(std::memory_order_acquire) != 2 * number + 2) {
      return false;
    }
    Words words;
    for (std::size_t i = 0; i < kWords; ++i) {
      words[i] = cell.words[i].load(std::memory_order_acquire);
    }
    if (cell.turn.load(std::memory_order_relaxed) != 2 * number + 2) {
      return false;
    }
    std::memcpy(static_cast<void*>(&event), words.data(), sizeof event);
    return true;
  }
};

// A signal from outside, and what was reported of it last: written by anybody, at any time.
template <class Sync>
struct SignalCell {
  template <class T>
  using Atomic = typename Sync::template Atomic<T>;

  Atomic<std::uint64_t> key;     // hash_key of its name; 0: there is none
  Atomic<std::uint64_t> report;  // {value:24, ms:40}; 0: nothing yet

  // The value and its time in one word, so that nobody ever sees one report's value with another's
  // time. A float without its sign, which is never set, and without the last 7 of its 23 bits: so
  // it is less than what was reported by up to 1/65536, and never more. Milliseconds last 34 years.
  static constexpr std::uint32_t kDropped = 7;
  static constexpr std::uint32_t kTimeBits = 40;
  static constexpr std::uint64_t kTimeMask = (std::uint64_t{1} << kTimeBits) - 1;
  static constexpr std::int64_t kMillisecond = 1'000'000;

  static constexpr std::uint64_t packed(double value, Instant now) noexcept {
    const double bounded = std::min(value, double{std::numeric_limits<float>::max()});
    const auto single = static_cast<float>(bounded);
    // The nearest may lie above.
    auto bits = std::bit_cast<std::uint32_t>(single);
    bits -= double{single} > bounded ? 1U : 0U;
    return std::uint64_t{bits >> kDropped} << kTimeBits |
           (static_cast<std::uint64_t>(now.ns / kMillisecond) & kTimeMask);
  }
  static constexpr double value_of(std::uint64_t report) noexcept {
    return double{
        std::bit_cast<float>(static_cast<std::uint32_t>(report >> kTimeBits) << kDropped)};
  }
  static constexpr Instant time_of(std::uint64_t report) noexcept {
    return report == 0 ? Instant::never()
                       : Instant{static_cast<std::int64_t>(report & kTimeMask) * kMillisecond};
  }
};

// All that is known of how to find the limit.
struct Knowledge {
  LimitRules rules{};               // in force
  std::uint32_t rules_version = 0;  // 0: none yet
  LimitView view{};                 // that the law was shown last
  std::uint64_t looks = 0;
  std::uint64_t reclaimed = 0;       // participants that had died, when it was looked last
  std::uint64_t seen[64] = {};       // of each participant's samples
  std::uint64_t unsampled[64] = {};  // the same
  std::uint64_t logged = 0;          // of the limiter's events
  Limiter limiter;

  // A sum over every bit of it. A law is arithmetic on what lies here; rather than have each law
  // bear whatever may lie here after a death in its midst or a stray write, what is not as it was
  // left is not used.
  [[nodiscard]] std::uint64_t sum() const noexcept {
    constexpr std::size_t kLanes = 4;  // that do not wait for each other
    constexpr std::size_t kBytes = kLanes * sizeof(std::uint64_t);
    constexpr std::uint64_t kPrime = 1099511628211U;
    const auto* const bytes = reinterpret_cast<const unsigned char*>(this);
    std::uint64_t lanes[kLanes] = {1, 2, 3, 4};
    for (std::size_t at = 0; at < sizeof *this; at += kBytes) {
      std::uint64_t words[kLanes] = {};
      std::memcpy(words, bytes + at, std::min(kBytes, sizeof *this - at));
      for (std::size_t i = 0; i < kLanes; ++i) {
        lanes[i] = std::rotl((lanes[i] ^ words[i]) * kPrime, 29);
      }
    }
    std::uint64_t all = 0;
    for (const std::uint64_t lane : lanes) {
      all = std::rotl((all ^ lane) * kPrime, 29);
    }
    return all | kIsASum;
  }

  // In place of the sum: it is being changed, or was left whole without one. The death of who
  // changes it leaves the former. The latter is a number that nobody writes by chance.
  static constexpr std::uint64_t kInWork = 0;
  static constexpr std::uint64_t kOpen = 0x9e3779b97f4a7c15;
  static constexpr std::uint64_t kIsASum = 2;
};

template <class Sync>
struct alignas(64) Learner {
  template <class T>
  using Atomic = typename Sync::template Atomic<T>;

  typename Sync::Mutex mutex;  // taken by those who learn, and never waited for
  std::uint64_t seal;          // what knowledge.sum() was when the mutex was let go
  Knowledge knowledge;
  Atomic<std::uint64_t> left_out;  // Limiter::left_out, for whoever asks
  SignalCell<Sync> signals[kMaxSignals];
  EventLog<Sync> log;
};

}  // namespace loadline::detail
