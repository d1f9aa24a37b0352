#include "figures.h"

#include <algorithm>
#include <span>

namespace loadline::bench::storm {
namespace {

constexpr std::size_t kSecond = std::chrono::seconds(1) / kSlot;

std::size_t slot_of(std::chrono::nanoseconds time) {
  return static_cast<std::size_t>(std::max(time, std::chrono::nanoseconds(0)) / kSlot);
}

Slot sum(std::span<const Slot> slots) {
  Slot all;
  for (const Slot& slot : slots) {
    all.due += slot.due;
    all.good += slot.good;
    all.attempts += slot.attempts;
  }
  return all;
}

double share(std::uint32_t part, std::uint32_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / whole;
}

std::span<const Slot> between(const std::vector<Slot>& slots, std::chrono::nanoseconds from,
                              std::chrono::nanoseconds to) {
  const std::size_t end = std::min(slot_of(to), slots.size());
  const std::size_t begin = std::min(slot_of(from), end);
  return std::span(slots).subspan(begin, end - begin);
}

}  // namespace

void Journal::note(std::chrono::nanoseconds due, bool good, std::uint32_t attempts) noexcept {
  const std::size_t index = slot_of(due);
  if (index >= slots_.size()) {
    return;
  }
  slots_[index].due.fetch_add(1, std::memory_order_relaxed);
  slots_[index].good.fetch_add(good ? 1 : 0, std::memory_order_relaxed);
  slots_[index].attempts.fetch_add(attempts, std::memory_order_relaxed);
}

std::vector<Slot> Journal::read() const {
  std::vector<Slot> slots;
  for (const Counters& counters : slots_) {
    slots.push_back({counters.due.load(), counters.good.load(), counters.attempts.load()});
  }
  return slots;
}

Figures conclude(const std::vector<Slot>& slots, const Times& times) {
  const Slot before = sum(between(slots, times.begun, times.stall));
  const Slot during = sum(between(slots, times.stall, times.back));
  const std::span<const Slot> rest = between(slots, times.back, times.end);
  const Slot after = sum(rest);
  Figures figures{.good_before = share(before.good, before.due),
                  .attempts_stall = share(during.attempts, during.due),
                  .attempts_after = share(after.attempts, after.due),
                  .good_after = share(after.good, after.due),
                  .normal_after_s = {}};
  for (std::size_t i = 0; i + kSecond <= rest.size(); ++i) {
    const Slot second = sum(rest.subspan(i, kSecond));
    if (second.due != 0 && share(second.good, second.due) >= kNormal * figures.good_before) {
      figures.normal_after_s = static_cast<double>(i) / static_cast<double>(kSecond);
      break;
    }
  }
  return figures;
}

}  // namespace loadline::bench::storm
