// One attempt of a call, as long as anybody has to do with it.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "loadline/decision.h"
#include "loadline/time.h"

namespace loadline::sim {

// Names an attempt while it lives; no two attempts of a run share one. Travels as the argument of
// an event.
struct AttemptId {
  std::uint64_t bits = std::numeric_limits<std::uint64_t>::max();  // nobody

  [[nodiscard]] std::uint32_t index() const noexcept { return static_cast<std::uint32_t>(bits); }
  [[nodiscard]] bool somebody() const noexcept { return *this != AttemptId{}; }
  friend bool operator==(AttemptId, AttemptId) noexcept = default;
};

// Who made it, and so who hears of its end.
enum class Origin : std::uint8_t { caller, service, probe };

struct Attempt {
  static constexpr std::uint32_t kNothing = 0xffffffff;

  Instant called{};                     // when the call's first attempt was made
  Instant offered{};                    // when this one was
  Instant deadline = Instant::never();  // when its caller loses patience
  Instant told = Instant::never();      // what the gate knows of that
  Instant started = Instant::never();   // when the door let it through
  Instant begun = Instant::never();     // when a worker took it
  double begun_clock = 0;               // what its server's clock was then
  Duration brought{};                   // its own work; what it brings to links is drawn there
  Duration work{};                      // what of that, or of a failure in its place, is done
  std::uint64_t number = 0;             // of the call in its population
  std::uint64_t tenant = 0;             // 0: none
  AttemptId parent;                     // of Origin::service: the attempt that needs it
  std::uint64_t path = 0;               // of the links that lead to it: all differ
  std::uint64_t tries = 0;              // which attempts these were, those of the callers included
  std::uint32_t instance = 0;
  std::uint32_t held = kNothing;  // its place at its instance's door, if the door holds any
  std::uint32_t cost = 1;
  std::uint32_t attempt = 1;      // 1 is the first
  std::uint32_t open_links = 0;   // that have not been answered yet
  std::uint32_t call = kNothing;  // of Callers, where those who call use the client half
  std::uint16_t population = 0;
  std::uint16_t service = 0;
  std::uint16_t link = 0;  // of Origin::service: which of its parent's service
  Origin origin = Origin::caller;
  std::uint8_t importance = 0;
  std::uint8_t group = Request::kNoGroup;
  bool needs_worker = true;
  bool fails = false;         // the answer will be an error
  bool further_down = false;  // and is marked as not its own
  bool elsewhere = false;     // not at the instance where the one before it was
  bool gone = false;          // its caller has left, and has done about it what he does
  bool worked = false;        // its own work is done; what it needs of links may not be
  bool stopped = false;       // given up for a caller who has left

  [[nodiscard]] bool needs_links(std::size_t links) const noexcept {
    return links != 0 && !fails && origin != Origin::probe;
  }
  // By the client half.
  [[nodiscard]] bool is_led() const noexcept { return call != kNothing; }
  // The next attempt of the same call.
  [[nodiscard]] Attempt again() const noexcept {
    Attempt next = *this;
    ++next.attempt;
    next.work = next.brought;
    next.offered = next.started = next.begun = Instant::never();
    next.open_links = 0;
    next.held = kNothing;
    next.fails = next.further_down = next.elsewhere = next.gone = next.worked = next.stopped =
        false;
    return next;
  }
};

class Attempts {
 public:
  AttemptId add(const Attempt& attempt) {
    const AttemptId id = add();
    places_[id.index()].attempt = attempt;
    return id;
  }

  // One like no other's yet.
  AttemptId add() {
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(places_.size()));
      places_.emplace_back();
    }
    const std::uint32_t index = free_.back();
    free_.pop_back();
    places_[index].attempt = {};
    places_[index].lives = true;
    return {std::uint64_t{places_[index].generation} << 32 | index};
  }

  void remove(AttemptId id) {
    Place& place = places_[id.index()];
    place.lives = false;
    ++place.generation;
    free_.push_back(id.index());
  }

  [[nodiscard]] bool lives(AttemptId id) const noexcept {
    return id.index() < places_.size() && places_[id.index()].lives &&
           places_[id.index()].generation == id.bits >> 32;
  }

  [[nodiscard]] Attempt& operator[](AttemptId id) noexcept { return places_[id.index()].attempt; }
  [[nodiscard]] const Attempt& operator[](AttemptId id) const noexcept {
    return places_[id.index()].attempt;
  }

  template <class Visit>
  void for_each(Visit visit) const {
    for (const Place& place : places_) {
      if (place.lives) {
        visit(place.attempt);
      }
    }
  }

 private:
  struct Place {
    Attempt attempt;
    std::uint32_t generation = 0;
    bool lives = false;
  };

  std::vector<Place> places_;
  std::vector<std::uint32_t> free_;
};

}  // namespace loadline::sim
