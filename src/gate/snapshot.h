// What a gate says about itself. Reads only, and takes no mutex: a reader must never be in the way.
#pragma once

#include "loadline/gate.h"

namespace loadline {

template <class Sync>
std::uint32_t BasicGate<Sync>::limit() const noexcept {
  return published().limit.load(std::memory_order_relaxed);
}

template <class Sync>
std::uint32_t BasicGate<Sync>::in_flight() const noexcept {
  return load_word().in_flight();
}

template <class Sync>
bool BasicGate<Sync>::is_taken(std::uint32_t seat) const noexcept {
  return valid() && seat < capacity_.participants &&
         slots_[seat].attached.load(std::memory_order_relaxed) != 0;
}

namespace detail {

template <class Sync>
void add_slot(const ParticipantSlot<Sync>& slot, std::uint32_t classes, Snapshot& all) noexcept {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  for (std::uint32_t c = 0; c < classes; ++c) {
    Snapshot::Class& here = all.classes[c];
    here.admitted += slot.admitted[c].load(kRelaxed);
    here.cancelled += slot.cancelled[c].load(kRelaxed);
    for (std::uint32_t r = 0; r < kReasons; ++r) {
      here.rejected[r] += slot.rejected[c][r].load(kRelaxed);
    }
  }
  for (std::uint32_t b = 0; b < kBuckets; ++b) {
    all.service.counts[b] += slot.service_buckets[b].load(kRelaxed);
  }
  all.service.sum_ns += slot.service_ns.load(kRelaxed);
  all.heavy_in_flight += slot.heavy_held.load(kRelaxed);
  all.exempt_in_flight += slot.exempt_held.load(kRelaxed);
  all.participants += slot.attached.load(kRelaxed);
  all.released_twice += slot.released_twice.load(kRelaxed);
}

template <class Sync>
void add_class(const Guarded<Sync>& guarded, std::uint32_t c, Snapshot::Class& here) noexcept {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  here.waiting = guarded.class_waiting[c].load(kRelaxed);
  here.cancelled += guarded.cancelled_by_death[c].load(kRelaxed);
  for (std::uint32_t b = 0; b < kBuckets; ++b) {
    here.wait.counts[b] = guarded.wait_buckets[c][b].load(kRelaxed);
  }
  here.wait.sum_ns = guarded.wait_ns[c].load(kRelaxed);
}

constexpr Mode mode_of(std::uint32_t flags) noexcept {
  if ((flags & kFlagOff) != 0) {
    return Mode::off;
  }
  return (flags & kFlagObserve) != 0 ? Mode::observe : Mode::on;
}

}  // namespace detail

template <class Sync>
Snapshot BasicGate<Sync>::snapshot() const noexcept {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  Snapshot all;
  const std::uint32_t flags = published().flags.load(kRelaxed);
  const Word word = load_word();
  all.mode = detail::mode_of(flags);
  all.draining = (flags & detail::kFlagDraining) != 0;
  all.limit = limit();
  all.in_flight = word.in_flight();
  all.waiting = word.waiting();
  all.queue_limit = published().queue_limit.load(kRelaxed);
  all.queue_kind = static_cast<QueueSize::Kind>(published().queue_kind.load(kRelaxed));
  all.discipline = discipline();
  all.heavy_limit = published().heavy_limit.load(kRelaxed);
  all.heavy_in_flight = guarded().granted_heavy.load(kRelaxed);
  all.wait_budget = Duration{published().wait_budget_ns.load(kRelaxed)};
  all.service_mean = Duration{published().service_mean_ns.load(kRelaxed)};
  all.class_count = std::min(published().class_count.load(kRelaxed), kMaxClasses);
  for (std::uint32_t i = 0; i < capacity_.participants; ++i) {
    detail::add_slot<Sync>(slots_[i], all.class_count, all);
  }
  for (std::uint32_t c = 0; c < all.class_count; ++c) {
    detail::add_class<Sync>(guarded(), c, all.classes[c]);
    for (std::uint32_t r = 0; r < kReasons; ++r) {
      all.classes[c].observed[r] = shadow_->observed[c][r].load(kRelaxed);
    }
    all.classes[c].threshold = threshold(c);
    all.classes[c].newest_first = newest_first(c);
  }
  all.law = static_cast<Law>(published().law.load(kRelaxed));
  all.searching = published().searching.load(kRelaxed) != 0;
  if (learner_ != nullptr) {
    all.limit_events = learner_->log.count.load(kRelaxed);
    all.left_out = learner_->left_out.load(kRelaxed);
  }
  all.reclaimed = guarded().reclaimed.load(kRelaxed);
  all.reclaimed_units = guarded().reclaimed_units.load(kRelaxed);
  all.taken_back = guarded().taken_back.load(kRelaxed);
  all.repairs = guarded().repairs.load(kRelaxed);
  all.corruptions = guarded().corruptions.load(kRelaxed);
  return all;
}

}  // namespace loadline
