// When those who are turned away shall come back: Retry-After, one for each.
//
// Given the same number, they would come back together. Here each gets the earliest second that has
// room left, where a second's room is what could be served beside the usual traffic
// (loadline/gate/spare.h). As whole seconds keep the phase in which a client was sent away, each of
// kReturnPhases parts of a second is a virtual queue of its own, and what is kept of it is only
// where it ends: `booked`, in 1/65536 s. A queue that is full for longer than Retry-After may say
// leaves the rest to rotation, which spreads equally and books nothing.
//
// Each participant books in a book of its own, with its share of the room: a rejection writes
// nothing that others read.
#pragma once

#include "loadline/gate.h"

namespace loadline {

inline constexpr std::int64_t kSecondNs = 1'000'000'000;
inline constexpr std::int64_t kPhaseNs = kSecondNs / kReturnPhases;
inline constexpr std::uint64_t kBookedSecond = std::uint64_t{1} << 16;

template <class Sync>
[[gnu::always_inline]] inline std::uint16_t BasicGate<Sync>::book_return(Slot& mine,
                                                                         Instant now) noexcept {
  const std::uint32_t range = published().retry_after.load(std::memory_order_relaxed);
  const std::uint64_t soonest = range & 0xffff;
  const std::uint64_t latest = range >> 16;
  const std::uint32_t step = mine.return_step.load(std::memory_order_relaxed);
  // Under overload mostly so; and then the rest need not be asked again before the phase is over.
  const auto left =
      static_cast<std::uint64_t>(mine.booked_up_until.load(std::memory_order_relaxed)) -
      static_cast<std::uint64_t>(now.ns);
  const bool booked_up = left - 1 < kPhaseNs;
  if (step == 0 || booked_up || now.ns < 0) {
    return rotate_return(mine, range);
  }
  const auto time = static_cast<std::uint64_t>(now.ns);
  const std::uint64_t second = time / kSecondNs;
  const std::uint64_t phase = time % kSecondNs / kPhaseNs;
  auto& booked = mine.booked[phase];
  const std::uint64_t at =
      std::max(booked.load(std::memory_order_relaxed), (second + soonest) * kBookedSecond);
  const std::uint64_t wait = at / kBookedSecond - second;
  if (wait > latest) {
    const Instant phase_began{now.ns / kPhaseNs * kPhaseNs};
    mine.booked_up_until.store((phase_began + Duration{kPhaseNs}).ns, std::memory_order_relaxed);
    return rotate_return(mine, range);
  }
  booked.store(at + step, std::memory_order_relaxed);
  return static_cast<std::uint16_t>(wait);
}

// A stride through `span` seconds that has no divisor in common with it, so that neighbours are
// sent far apart and every second is met equally often.
constexpr std::uint32_t return_stride(std::uint32_t span) noexcept {
  for (const std::uint32_t prime : {13U, 17U, 7U, 3U}) {
    if (prime < span && span % prime != 0) {
      return prime;
    }
  }
  return 1;
}

// At first, or when the range has become smaller. The block may hold any range.
inline std::uint32_t wrapped_place(std::uint32_t place, std::uint32_t span) noexcept {
  return place % std::max(span, 1U);
}

template <class Sync>
[[gnu::always_inline]] inline std::uint16_t BasicGate<Sync>::rotate_return(
    Slot& mine, std::uint32_t range) noexcept {
  const std::uint32_t soonest = range & 0xffff;
  const std::uint32_t span = std::max((range >> 16) - soonest + 1, 1U);
  std::uint32_t place = mine.rotation.load(std::memory_order_relaxed) +
                        published().return_stride.load(std::memory_order_relaxed);
  place -= place >= span ? span : 0;
  if (place >= span) [[unlikely]] {
    place = wrapped_place(place, span);
  }
  mine.rotation.store(place, std::memory_order_relaxed);
  return static_cast<std::uint16_t>(soonest + place);
}

// Once a second: how much room there is, and whose it is. Shares go by who turned away how many in
// the last second; before anyone did, all have the same.
template <class Sync>
void BasicGate<Sync>::share_spare(Instant now) noexcept {
  SpareEstimate& spare = guarded().spare;
  spare.look(load_word().in_flight() >= limit());
  if (!spare.second_is_over(now)) {
    return;
  }
  std::uint64_t offers = load_word().waiting();
  std::uint64_t turned_away[kMaxParticipants] = {};
  std::uint64_t turned_away_by_all = 0;
  std::uint32_t seats = 0;
  for (std::uint32_t i = 0; i < capacity_.participants; ++i) {
    const std::uint64_t rejected_here = count_rejected(slots_[i]);
    turned_away[i] = rejected_here - guarded().seen_turned_away[i];
    turned_away_by_all += turned_away[i];
    guarded().seen_turned_away[i] = rejected_here;
    offers += rejected_here + count_accepted(slots_[i]);
    seats += slots_[i].attached.load(std::memory_order_relaxed);
  }
  const Services all = services_of_all();
  spare.take_second(offers, all.count, now);
  guarded().steady.take(all.count, all.ns);
  const std::uint64_t room = spare.spare(promised_rate(now));
  for (std::uint32_t i = 0; i < capacity_.participants; ++i) {
    const bool known = turned_away_by_all != 0;
    const std::uint64_t part = known ? std::max<std::uint64_t>(turned_away[i], 1) : 1;
    const std::uint64_t whole = known ? turned_away_by_all : std::max(seats, 1U);
    const std::uint64_t step =
        room == 0 ? 0
                  : kBookedSecond * kReturnPhases * whole / std::max<std::uint64_t>(room * part, 1);
    slots_[i].return_step.store(
        static_cast<std::uint32_t>(std::clamp<std::uint64_t>(step, room == 0 ? 0 : 1, 1U << 30)),
        std::memory_order_relaxed);
  }
}

// What the limit and the service time promise, in requests a second; 0: not known.
template <class Sync>
std::uint32_t BasicGate<Sync>::promised_rate(Instant now) const noexcept {
  const std::uint64_t mean = guarded().steady.mean_ns();
  if (known_service_mean(now).ns == 0 || mean == 0) {
    return 0;
  }
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(std::uint64_t{limit()} * kSecondNs / mean, 1U << 30));
}

template <class Sync>
std::uint64_t BasicGate<Sync>::count_rejected(const Slot& slot) const noexcept {
  std::uint64_t sum = 0;
  for (const auto& of_class : slot.rejected) {
    for (const auto& count : of_class) {
      sum += count.load(std::memory_order_relaxed);
    }
  }
  return sum;
}

template <class Sync>
std::uint64_t BasicGate<Sync>::count_accepted(const Slot& slot) const noexcept {
  std::uint64_t sum = 0;
  for (std::uint32_t c = 0; c < kMaxClasses; ++c) {
    sum += slot.admitted[c].load(std::memory_order_relaxed) +
           slot.cancelled[c].load(std::memory_order_relaxed);
  }
  return sum;
}

template <class Sync>
std::uint64_t BasicGate<Sync>::count_services(const Slot& slot) const noexcept {
  std::uint64_t sum = 0;
  for (const auto& bucket : slot.service_buckets) {
    sum += bucket.load(std::memory_order_relaxed);
  }
  return sum;
}

template <class Sync>
typename BasicGate<Sync>::Services BasicGate<Sync>::services_of_all() const noexcept {
  Services all;
  for (std::uint32_t i = 0; i < capacity_.participants; ++i) {
    all.count += count_services(slots_[i]);
    all.ns += slots_[i].service_ns.load(std::memory_order_relaxed);
  }
  return all;
}

}  // namespace loadline
