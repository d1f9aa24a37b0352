// Who is in line, worked out from nothing but the tickets: who waits, in which order they start,
// and who of them may. The gate's lists and counts are checked against this.
#pragma once

#include "gate_block.h"

namespace loadline::explorer {
namespace {

class Line {
 public:
  Line(const GateBlock& block, const Book& book) : block_(block), book_(book) {}

  // Its caller has gone, and the mutex was not to be had.
  [[nodiscard]] static bool gone(const TicketAt& ticket) {
    return ticket.abandoned.peek() == ticket.generation.peek();
  }
  [[nodiscard]] static bool waits(const TicketAt& ticket) {
    return ticket.state.peek() == TicketState::waiting && !gone(ticket);
  }

  [[nodiscard]] std::uint64_t tag(const TicketAt& ticket) const {
    return block_.has_tenants() ? block_.places()[block_.index_of(ticket)].tag : 0;
  }
  // In the queue: by rounds, and as they came.
  [[nodiscard]] bool stands_before(const TicketAt& one, const TicketAt& other) const {
    return tag(one) != tag(other) ? tag(one) < tag(other) : one.sequence < other.sequence;
  }
  [[nodiscard]] bool newest_first(std::uint32_t importance) const {
    const auto& published = block_.head().published;
    switch (static_cast<Discipline>(published.discipline.peek())) {
      case Discipline::lifo:
        return true;
      case Discipline::fifo:
        return false;
      case Discipline::adaptive:
        break;
    }
    return (published.newest_first.peek() >> importance & 1) != 0;
  }
  [[nodiscard]] bool starts_before(const TicketAt& one, const TicketAt& other) const {
    return newest_first(one.importance) ? stands_before(other, one) : stands_before(one, other);
  }

  [[nodiscard]] std::uint32_t threshold(std::uint32_t importance) const {
    return block_.head().published.thresholds[importance].peek();
  }
  [[nodiscard]] std::uint32_t charge(const TicketAt& ticket) const {
    const std::uint32_t most =
        ticket.heavy ? block_.head().published.heavy_limit.peek() : ticket.cost;
    return std::min({ticket.cost, most, threshold(ticket.importance)});
  }
  [[nodiscard]] bool fits(const TicketAt& ticket, Word word) const {
    return std::uint64_t{word.in_flight()} + charge(ticket) <= threshold(ticket.importance);
  }

  // What weights above 1 hold. At most: who is about to give some back may have done so already,
  // and its operation is what has to look who may start now.
  enum class Count : std::uint8_t { exact, at_most };
  [[nodiscard]] std::uint32_t heavy_units(Count count) const {
    std::uint32_t units = block_.head().guarded.granted_heavy.peek();
    for (std::uint32_t i = 0; i < block_.participants(); ++i) {
      const std::uint32_t held = block_.slot(i).heavy_held.peek();
      const Person& one = book_.people[i];
      const std::uint32_t leaving = one.heavy_leaving ? one.leaving : 0;
      units += count == Count::exact ? held : std::max(held, leaving);
    }
    return units;
  }

  // The first of a class's light or heavy ones; null: there is none. `also` counts as waiting.
  [[nodiscard]] const TicketAt* first_of(std::uint32_t importance, bool heavy,
                                         const TicketAt* also = nullptr) const {
    const TicketAt* first = nullptr;
    for (std::uint32_t i = 0; i < kTickets; ++i) {
      const TicketAt& one = block_.tickets()[i];
      const bool stands_here =
          (waits(one) || &one == also) && one.importance == importance && one.heavy == heavy;
      first = stands_here && (first == nullptr || starts_before(one, *first)) ? &one : first;
    }
    return first;
  }

  // May the first heavy one of a class start, while weights above 1 hold so many units, as soon as
  // there is room?
  [[nodiscard]] bool heavy_may_start(std::uint32_t importance, std::uint32_t heavy_units,
                                     const TicketAt* also = nullptr) const {
    const TicketAt* const heavy = first_of(importance, true, also);
    return heavy != nullptr && (admits_all() || heavy_units + charge(*heavy) <=
                                                    block_.head().published.heavy_limit.peek());
  }

  // Who of a class starts next: null if nobody may. The heavy ones of a class wait behind those
  // above that wait for their share, unless their class is owed a start.
  [[nodiscard]] const TicketAt* next_of(std::uint32_t importance, std::uint32_t heavy_units,
                                        const TicketAt* also = nullptr, bool owed = false) const {
    const TicketAt* const light = first_of(importance, false, also);
    bool heavies = heavy_may_start(importance, heavy_units, also);
    for (std::uint32_t above = 0; above < importance && !owed; ++above) {
      heavies = heavies && (first_of(above, true, also) == nullptr ||
                            heavy_may_start(above, heavy_units, also));
    }
    const TicketAt* const heavy = heavies ? first_of(importance, true, also) : nullptr;
    if (light == nullptr || heavy == nullptr) {
      return light == nullptr ? heavy : light;
    }
    return starts_before(*heavy, *light) ? heavy : light;
  }

  [[nodiscard]] bool admits_all() const {
    return (block_.head().published.flags.peek() & (detail::kFlagObserve | detail::kFlagOff)) != 0;
  }

 private:
  const GateBlock& block_;
  const Book& book_;
};

}  // namespace
}  // namespace loadline::explorer
