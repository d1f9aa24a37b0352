// Who is due when, of many of whom almost all leave before.
//
// A ring of lists: who is due at one tick, or a whole number of rounds later, stands in one of them
// (Varghese, Lauck, "Hashed and hierarchical timing wheels", SOSP 1987). To enter and to leave
// costs the same however many there are. nginx's own timers are a tree, with those of all
// connections in it; and whoever has one there pays for its place twice.
//
// Nothing here knows nginx, so that it is tested by itself (tests/nginx).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace loadline::ngx {

// To be derived from by who enters a wheel.
template <class Entry>
struct Spoke {
  Entry* next = nullptr;
  Entry** here = nullptr;  // what points to this one; null: in no wheel
  std::uint64_t due = 0;
};

// Moments are milliseconds of one clock. Zero is the initial state.
template <class Entry>
class Wheel {
 public:
  static constexpr std::uint64_t kTick = 20;

  // For one that is in no wheel and is due in the future, which is after the last turn.
  void enter(Entry& entry, std::uint64_t due) noexcept {
    entry.due = due;
    link(entry, places_[tick_of(due) % kPlaces]);
  }

  // Does nothing for one that is in no wheel.
  static void leave(Entry& entry) noexcept {
    if (entry.here == nullptr) {
      return;
    }
    *entry.here = entry.next;
    if (entry.next != nullptr) {
      entry.next->here = entry.here;
    }
    entry.here = nullptr;
  }

  // Hands over who is due, at most a tick late if it is called once a tick. Each has left by then,
  // and may enter again; others may leave meanwhile.
  template <class Take>
  void turn(std::uint64_t now, Take take) noexcept {
    const std::uint64_t tick = now / kTick;
    turned_ = std::max(turned_, tick - std::min<std::uint64_t>(tick, kPlaces));
    while (turned_ < tick) {
      look_at(places_[++turned_ % kPlaces], now, take);
    }
  }

 private:
  static constexpr std::size_t kPlaces = 512;

  // The first at which this moment is not in the future.
  static std::uint64_t tick_of(std::uint64_t moment) noexcept {
    return (moment + kTick - 1) / kTick;
  }

  static void link(Entry& entry, Entry*& first) noexcept {
    entry.next = first;
    entry.here = &first;
    if (first != nullptr) {
      first->here = &entry.next;
    }
    first = &entry;
  }

  template <class Take>
  void look_at(Entry*& place, std::uint64_t now, Take take) noexcept {
    Entry* left = std::exchange(place, nullptr);
    if (left != nullptr) {
      left->here = &left;
    }
    while (left != nullptr) {
      Entry& entry = *left;
      leave(entry);
      if (entry.due <= now) {
        take(entry);
      } else {
        link(entry, place);  // rounds later
      }
    }
  }

  Entry* places_[kPlaces] = {};
  std::uint64_t turned_ = 0;  // up to which tick all have been looked at
};

}  // namespace loadline::ngx
