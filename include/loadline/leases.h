// Leases: what was lent and is not given back in its time is taken back.
//
// A worker thread that hangs keeps its slot for ever, and a few of them stop the service although
// the gate works as it should. A lease bounds that: whoever takes a lent thing out of the book
// first, its holder by giving it back or the clock by calling it overdue, has it; the other gets
// nothing. So a thing is given back exactly once, and one that its holder gives back in time is
// never taken.
//
//   LeaseBook<Held> book(entries);                        // memory of yours
//   Lease lease = book.lend(held, name, now, due, hint);  // what is to be given back goes in
//   if (auto held = book.take_back(lease)) { ... }        // by its holder: give it back
//   book.call_in(now, [](auto overdue) { ... });          // by the clock, now and then: likewise
//
// Taking back does not stop the work; it only stops counting it. Choose a lease far above the
// longest honest duration (the deadline, say, or ten times the p99), for every lease that runs out
// lets one request more than the limit run.
//
// Nothing here allocates, blocks or reads a clock. Any thread may call anything at any time.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "loadline/time.h"

namespace loadline {

// Who holds a lease, for people. A copy, so that the caller's text need not stay; cut after 31
// bytes, and at the first NUL.
class LeaseName {
 public:
  LeaseName() noexcept = default;
  explicit LeaseName(std::string_view text) noexcept {
    text = text.substr(0, std::min({text.size(), text.find('\0'), text_.size() - 1}));
    std::copy(text.begin(), text.end(), text_.begin());
  }
  [[nodiscard]] std::string_view view() const noexcept { return text_.data(); }

 private:
  std::array<char, 32> text_{};
};

// What its holder keeps. The generation tells a used entry from what it was used for before, so a
// lease that has run out can never take back what somebody else was lent since.
struct Lease {
  std::uint32_t index = kNone;
  std::uint32_t generation = 0;

  static constexpr std::uint32_t kNone = 0xffffffff;
  [[nodiscard]] bool valid() const noexcept { return index != kNone; }
};

template <class Held>
class LeaseBook {
  static_assert(std::is_nothrow_move_constructible_v<Held> &&
                std::is_nothrow_move_assignable_v<Held> && std::is_default_constructible_v<Held>);

 public:
  struct Overdue {
    Held held;
    LeaseName name;
    Instant since{};  // lent at
  };

  class alignas(64) Entry {
    friend class LeaseBook;
    // {generation:32, state:32}: both change together or not at all.
    std::atomic<std::uint64_t> word_{0};
    std::atomic<std::int64_t> due_{0};  // read by the clock before the entry is its own
    Overdue lent_{};                    // of whoever has made the state `moving`
  };

  // `entries` must outlive the book, and be used by it alone. Twice as many as are lent at once, so
  // that a free one is found in a few steps.
  explicit LeaseBook(std::span<Entry> entries) noexcept : entries_(entries) {}

  // Writes down what is lent until `due`. `held` is moved from if the answer is valid; it is not
  // when no entry was free nearby, and then `held` is untouched. `hint`: where to look first;
  // callers that begin at different places do not meet.
  Lease lend(Held& held, LeaseName name, Instant now, Instant due, std::uint64_t hint) noexcept {
    const std::size_t tries = std::min<std::size_t>(entries_.size(), kTries);
    for (std::size_t i = 0; i < tries; ++i) {
      const auto index = static_cast<std::uint32_t>((hint + i) % entries_.size());
      Entry& entry = entries_[index];
      Word free{entry.word_.load(std::memory_order_relaxed)};
      if (free.state() != State::free ||
          !entry.word_.compare_exchange_strong(free.bits, free.with(State::moving).bits,
                                               std::memory_order_acquire,
                                               std::memory_order_relaxed)) {
        continue;
      }
      entry.lent_.held = std::move(held);
      entry.lent_.name = name;
      entry.lent_.since = now;
      entry.due_.store(due.ns, std::memory_order_relaxed);
      entry.word_.store(free.with(State::lent).bits, std::memory_order_release);
      return {index, free.generation()};
    }
    return {};
  }

  // By the holder. Empty if the clock was first, or the lease was taken back before.
  std::optional<Held> take_back(Lease lease) noexcept {
    if (lease.index >= entries_.size() || !seize(lease.index, lease.generation)) {
      return std::nullopt;
    }
    std::optional<Held> held(std::move(entries_[lease.index].lent_.held));
    set_free(lease.index, lease.generation);
    return held;
  }

  // Has it been taken back, by whomever? A look without effect.
  [[nodiscard]] bool over(Lease lease) const noexcept {
    return lease.index >= entries_.size() ||
           entries_[lease.index].word_.load(std::memory_order_acquire) !=
               Word::of(lease.generation, State::lent).bits;
  }

  // Takes back all that is overdue at `now`; `each(Overdue)` gets them one by one and gives them
  // back. Walks the whole book: call it several times in a lease, not on every request. Returns how
  // many there were.
  template <class Each>
  std::size_t call_in(Instant now, Each&& each) noexcept {
    std::size_t found = 0;
    for (std::uint32_t index = 0; index < entries_.size(); ++index) {
      Entry& entry = entries_[index];
      const Word word{entry.word_.load(std::memory_order_acquire)};
      // Should the entry have been given back and lent anew between these two reads, the due time
      // is the new one's, the generation the old one's, and seizing it fails.
      if (word.state() != State::lent || now.ns < entry.due_.load(std::memory_order_relaxed) ||
          !seize(index, word.generation())) {
        continue;
      }
      Overdue overdue(std::move(entry.lent_));
      set_free(index, word.generation());
      ++found;
      each(std::move(overdue));
    }
    return found;
  }

 private:
  static constexpr std::size_t kTries = 64;

  enum class State : std::uint32_t {
    free,
    moving,  // being filled or emptied, by one thread
    lent,
  };

  struct Word {
    std::uint64_t bits = 0;

    static constexpr Word of(std::uint32_t generation, State state) noexcept {
      return {std::uint64_t{generation} << 32 | static_cast<std::uint32_t>(state)};
    }
    [[nodiscard]] constexpr std::uint32_t generation() const noexcept {
      return std::uint32_t(bits >> 32);
    }
    [[nodiscard]] constexpr State state() const noexcept {
      return static_cast<State>(std::uint32_t(bits));
    }
    [[nodiscard]] constexpr Word with(State state) const noexcept {
      return of(generation(), state);
    }
  };

  // The one step that decides between the holder and the clock.
  bool seize(std::uint32_t index, std::uint32_t generation) noexcept {
    std::uint64_t lent = Word::of(generation, State::lent).bits;
    return entries_[index].word_.compare_exchange_strong(
        lent, Word::of(generation, State::moving).bits, std::memory_order_acq_rel,
        std::memory_order_relaxed);
  }

  void set_free(std::uint32_t index, std::uint32_t generation) noexcept {
    entries_[index].word_.store(Word::of(generation + 1, State::free).bits,
                                std::memory_order_release);
  }

  std::span<Entry> entries_;
};

}  // namespace loadline
