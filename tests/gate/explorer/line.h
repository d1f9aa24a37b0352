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
      units += count == Count::exact ? held : std::max(held, book_.people[i].heavy_leaving);
    }
    return units;
  }

  // Who of a class starts next while weights above 1 hold so many units: null if nobody may, since
  // the heavy ones wait for one another. `also` counts as waiting.
  [[nodiscard]] const TicketAt* next_of(std::uint32_t importance, std::uint32_t heavy_units,
                                        const TicketAt* also = nullptr) const {
    const TicketAt* light = nullptr;
    const TicketAt* heavy = nullptr;
    for (std::uint32_t i = 0; i < kTickets; ++i) {
      const TicketAt& one = block_.tickets()[i];
      if ((!waits(one) && &one != also) || one.importance != importance) {
        continue;
      }
      const TicketAt*& first = one.heavy ? heavy : light;
      first = first == nullptr || starts_before(one, *first) ? &one : first;
    }
    if (heavy == nullptr ||
        heavy_units + charge(*heavy) > block_.head().published.heavy_limit.peek()) {
      return light;
    }
    return light == nullptr || starts_before(*heavy, *light) ? heavy : light;
  }

 private:
  const GateBlock& block_;
  const Book& book_;
};

}  // namespace
}  // namespace loadline::explorer
