// How a gate comes to be, who sits at it, and how its rules change.
#pragma once

#include <new>

#include "learn.h"
#include "loadline/gate.h"
#include "recovery.h"
#include "rules.h"
#include "section.h"
#include "settle.h"

namespace loadline {

namespace detail {

inline constexpr std::size_t kBlockAlignment = 128;

template <class Sync>
constexpr std::size_t slots_offset() noexcept {
  return sizeof(BlockHead<Sync>);
}

template <class Sync>
constexpr std::size_t tickets_offset(std::uint32_t participants) noexcept {
  return slots_offset<Sync>() + participants * sizeof(ParticipantSlot<Sync>);
}

template <class Sync>
constexpr std::size_t board_offset(Capacity capacity) noexcept {
  return tickets_offset<Sync>(capacity.participants) + capacity.tickets * sizeof(TicketSlot<Sync>);
}

template <class Sync>
constexpr std::size_t places_offset(Capacity capacity) noexcept {
  return board_offset<Sync>(capacity) +
         (capacity.tenant_buckets == 0 ? 0 : sizeof(TenantBoard<Sync>));
}

template <class Sync>
constexpr std::size_t accounts_offset(Capacity capacity) noexcept {
  return places_offset<Sync>(capacity) +
         (capacity.tenant_buckets == 0 ? 0 : capacity.tickets * sizeof(TenantPlace));
}

template <class Sync>
constexpr std::size_t quota_offset(Capacity capacity) noexcept {
  return accounts_offset<Sync>(capacity) +
         2 * std::size_t{capacity.tenant_buckets} * sizeof(TenantAccount<Sync>);
}

template <class Sync>
constexpr std::size_t shadow_offset(Capacity capacity) noexcept {
  return quota_offset<Sync>(capacity) +
         capacity.quota_keys * sizeof(typename Sync::template Atomic<std::uint64_t>);
}

template <class Sync>
constexpr std::size_t waiters_offset(Capacity capacity) noexcept {
  return shadow_offset<Sync>(capacity) + sizeof(Shadow<Sync>);
}

template <class Sync>
constexpr std::size_t learner_offset(Capacity capacity) noexcept {
  const std::size_t waiters_end =
      waiters_offset<Sync>(capacity) + capacity.tickets * sizeof(ShadowWaiter);
  constexpr std::size_t kAlign = alignof(Learner<Sync>);
  return capacity.learns == 0 ? waiters_end : (waiters_end + kAlign - 1) / kAlign * kAlign;
}

template <class Sync>
constexpr std::size_t rings_offset(Capacity capacity) noexcept {
  return learner_offset<Sync>(capacity) + (capacity.learns == 0 ? 0 : sizeof(Learner<Sync>));
}

template <class Sync>
constexpr std::size_t end_offset(Capacity capacity) noexcept {
  return rings_offset<Sync>(capacity) +
         (capacity.learns == 0 ? 0 : capacity.participants * sizeof(SampleRing<Sync>));
}

}  // namespace detail

template <class Sync>
std::size_t BasicGate<Sync>::bytes_for(Capacity capacity) noexcept {
  return detail::end_offset<Sync>(capacity);
}

template <class Sync>
std::uint32_t BasicGate<Sync>::tickets_that_fit(std::size_t bytes, Capacity beside) noexcept {
  beside.tickets = 0;
  const std::size_t before =
      bytes_for(beside) + (beside.learns == 0 ? 0 : alignof(detail::Learner<Sync>));
  const std::size_t each = sizeof(TicketAt) + sizeof(detail::ShadowWaiter) +
                           (beside.tenant_buckets == 0 ? 0 : sizeof(detail::TenantPlace));
  const std::size_t tickets = bytes < before ? 0 : (bytes - before) / each;
  if (tickets <= Capacity::kSpareTickets) {
    return 0;
  }
  return static_cast<std::uint32_t>(
      std::min<std::size_t>(tickets, std::size_t{Capacity::kSpareTickets} + kMaxQueue));
}

template <class Sync>
typename BasicGate<Sync>::OpenError BasicGate<Sync>::create(void* memory, std::size_t bytes,
                                                            Capacity capacity, const Policy& policy,
                                                            Instant now, BasicGate& gate) noexcept {
  if (reinterpret_cast<std::uintptr_t>(memory) % detail::kBlockAlignment != 0) {
    return OpenError::misaligned;
  }
  if (!capacity.sound()) {
    return OpenError::bad_capacity;
  }
  if (bytes < bytes_for(capacity)) {
    return OpenError::too_small;
  }
  auto* const base = static_cast<std::byte*>(memory);
  BasicGate made;
  ::new (base) Head{};
  made.point_into(base, capacity);
  if (!made.accepts(policy)) {
    return OpenError::bad_policy;
  }
  if (!made.guarded().mutex.init()) {
    return OpenError::no_mutex;
  }
  for (std::uint32_t i = 0; i < capacity.participants; ++i) {
    Slot* const slot = ::new (made.slots_ + i) Slot{};
    slot->rotation.store(static_cast<std::uint32_t>(detail::split_mix(policy.seed + i)) & 0xffff,
                         std::memory_order_relaxed);
    if (!slot->alive.init()) {
      return OpenError::no_mutex;
    }
  }
  for (std::uint32_t i = 0; i < capacity.tickets; ++i) {
    ::new (made.tickets_ + i) TicketAt{};
  }
  made.clear_tables();
  if (made.learner_ != nullptr && !made.learner_->mutex.init()) {
    return OpenError::no_mutex;
  }
  made.guarded().now = now;
  made.guarded().estimated_at = now;
  for (auto& since : made.published().occupied_since) {
    since.store(Instant::never().ns, std::memory_order_relaxed);
  }
  made.rebuild_lists();
  made.take_up(policy);
  if (made.learner_ != nullptr) {
    made.learner_->seal = made.learner_->knowledge.sum();
    made.learn(now, true);
  }
  made.head_->layout = detail::layout_hash<Sync>();
  made.head_->bytes = bytes_for(capacity);
  made.head_->capacity = capacity;
  made.head_->magic.store(detail::kMagic, std::memory_order_release);
  gate = made;
  return OpenError::none;
}

template <class Sync>
typename BasicGate<Sync>::OpenError BasicGate<Sync>::open(void* memory, std::size_t bytes,
                                                          BasicGate& gate) noexcept {
  if (reinterpret_cast<std::uintptr_t>(memory) % detail::kBlockAlignment != 0) {
    return OpenError::misaligned;
  }
  if (bytes < sizeof(Head)) {
    return OpenError::too_small;
  }
  auto* const base = static_cast<std::byte*>(memory);
  auto* const head = reinterpret_cast<Head*>(base);
  if (head->magic.load(std::memory_order_acquire) != detail::kMagic) {
    return OpenError::not_a_gate;
  }
  if (head->layout != detail::layout_hash<Sync>()) {
    return OpenError::other_layout;
  }
  const Capacity capacity = head->capacity;
  if (!capacity.sound() || head->bytes != bytes_for(capacity)) {
    return OpenError::not_a_gate;
  }
  if (head->bytes > bytes) {
    return OpenError::too_small;
  }
  gate.point_into(base, capacity);
  return OpenError::none;
}

template <class Sync>
void BasicGate<Sync>::point_into(std::byte* base, Capacity capacity) noexcept {
  *this = {};
  capacity_ = capacity;
  head_ = reinterpret_cast<Head*>(base);
  slots_ = reinterpret_cast<Slot*>(base + detail::slots_offset<Sync>());
  tickets_ =
      reinterpret_cast<TicketAt*>(base + detail::tickets_offset<Sync>(capacity.participants));
  if (capacity.tenant_buckets != 0) {
    board_ =
        reinterpret_cast<detail::TenantBoard<Sync>*>(base + detail::board_offset<Sync>(capacity));
    places_ = reinterpret_cast<detail::TenantPlace*>(base + detail::places_offset<Sync>(capacity));
    accounts_ = reinterpret_cast<Account*>(base + detail::accounts_offset<Sync>(capacity));
  }
  if (capacity.quota_keys != 0) {
    quota_cells_ = reinterpret_cast<QuotaCell*>(base + detail::quota_offset<Sync>(capacity));
  }
  shadow_ = reinterpret_cast<detail::Shadow<Sync>*>(base + detail::shadow_offset<Sync>(capacity));
  waiters_ = reinterpret_cast<detail::ShadowWaiter*>(base + detail::waiters_offset<Sync>(capacity));
  if (capacity.learns != 0) {
    learner_ =
        reinterpret_cast<detail::Learner<Sync>*>(base + detail::learner_offset<Sync>(capacity));
    rings_ =
        reinterpret_cast<detail::SampleRing<Sync>*>(base + detail::rings_offset<Sync>(capacity));
  }
}

// Rounds begin far from 0, so that an account never has to go below it.
template <class Sync>
void BasicGate<Sync>::clear_tables() noexcept {
  constexpr std::uint64_t kFirstRound = std::uint64_t{1} << 40;
  if (has_tenants()) {
    ::new (board_) detail::TenantBoard<Sync>{};
    for (auto& round : board_->round) {
      round.store(kFirstRound, std::memory_order_relaxed);
    }
    for (std::uint32_t i = 0; i < capacity_.tickets; ++i) {
      ::new (places_ + i) detail::TenantPlace{};
    }
    for (std::uint32_t i = 0; i < 2 * capacity_.tenant_buckets; ++i) {
      ::new (accounts_ + i) Account{};
    }
  }
  for (std::uint32_t i = 0; i < capacity_.quota_keys; ++i) {
    ::new (quota_cells_ + i) QuotaCell{};
  }
  ::new (shadow_) detail::Shadow<Sync>{};
  for (std::uint32_t i = 0; i < capacity_.tickets; ++i) {
    ::new (waiters_ + i) detail::ShadowWaiter{};
  }
  if (learner_ != nullptr) {
    ::new (learner_) detail::Learner<Sync>{};
    for (std::uint32_t i = 0; i < capacity_.participants; ++i) {
      ::new (rings_ + i) detail::SampleRing<Sync>{};
    }
  }
  forget_shadow();
}

template <class Sync>
bool BasicGate<Sync>::take_seat(std::uint32_t index) noexcept {
  Slot& seat = slots_[index];
  if (seat.attached.load(std::memory_order_relaxed) != 0) {
    return false;
  }
  const LockResult locked = seat.alive.try_lock();
  if (locked == LockResult::owner_died) {
    seat.alive.make_consistent();
  } else if (locked != LockResult::locked) {
    return false;
  }
  seat.attached.store(1, std::memory_order_release);
  return true;
}

template <class Sync>
Participant BasicGate<Sync>::attach(std::uint32_t preferred, Instant now) noexcept {
  Section section(*this, now, Section::Patience::administration);
  if (!section.held()) {
    return {};
  }
  reclaim_the_dead(section.now());
  for (std::uint32_t i = 0; i < capacity_.participants; ++i) {
    const std::uint32_t index = (preferred + i) % capacity_.participants;
    if (take_seat(index)) {
      return {index};
    }
  }
  return {};
}

// If the mutex cannot be had even so, the seat is left as the dead leave it, and the next tick
// clears it.
template <class Sync>
Signals BasicGate<Sync>::detach(Participant who, Instant now) noexcept {
  Signals signals;
  {
    Section section(*this, now, Section::Patience::administration);
    if (section.held()) {
      reclaim(who.index);
      audit();
    }
    slot(who).alive.unlock();
  }
  signals |= dispatch_all(now);
  return signals;
}

template <class Sync>
Signals BasicGate<Sync>::tick(Instant now) noexcept {
  std::int64_t due = head_->next_tick.load(std::memory_order_relaxed);
  // A time far ahead of the caller's own means that the clock was set back: then it is due as well.
  const bool early = now.ns < due && Instant{due} - now <= kTickInterval;
  if (early || !head_->next_tick.compare_exchange_strong(due, (now + kTickInterval).ns,
                                                         std::memory_order_relaxed)) {
    return {};
  }
  Signals signals;
  bool more = false;
  {
    Section section(*this, now);
    if (!section.held()) {
      return signals;
    }
    reclaim_the_dead(section.now());
    audit();
    if (shadow_in_use()) {
      catch_up(section.now());
    }
    update_estimates(section.now());
    share_spare(section.now());
    sweep_quota(section.now());
    more = section.now() >= guarded().first_due || dispatch(section.now(), signals);
  }
  if (more) {
    signals |= expire(now);
    signals |= dispatch_all(now);
  }
  signals |= learn(now, true);
  return signals;
}

template <class Sync>
bool BasicGate<Sync>::reconfigure(const Policy& policy, Instant now, Signals& signals) noexcept {
  // Somebody may wait in a class that would be gone, or be counted under another's name.
  const bool same_classes =
      policy.class_count == published().class_count.load(std::memory_order_relaxed);
  if (!same_classes || !accepts(policy)) {
    return false;
  }
  {
    Section section(*this, now, Section::Patience::administration);
    if (!section.held()) {
      return false;
    }
    take_up(policy);
  }
  signals |= dispatch_all(now);
  return true;
}

template <class Sync>
bool BasicGate<Sync>::set_limit(std::uint32_t limit, Instant now, Signals& signals) noexcept {
  if (limit == 0 || limit > kMaxLimit) {
    return false;
  }
  {
    Section section(*this, now, Section::Patience::administration);
    if (!section.held()) {
      return false;
    }
    Policy changed = policy();
    changed.limit = limit;
    changed.law = Law::fixed;
    take_up(changed);
  }
  signals |= dispatch_all(now);
  // Or the law would not know of it, were it asked again before the next tick.
  signals |= learn(now, false);
  return true;
}

template <class Sync>
Signals BasicGate<Sync>::set_mode(Mode mode, Instant now) noexcept {
  constexpr std::uint32_t kModes = detail::kFlagObserve | detail::kFlagOff;
  std::uint32_t chosen = 0;
  if (mode != Mode::on) {
    chosen = mode == Mode::observe ? detail::kFlagObserve : detail::kFlagOff;
  }
  std::uint32_t flags = published().flags.load(std::memory_order_relaxed);
  while (!published().flags.compare_exchange_weak(
      flags, (flags & ~kModes) | chosen, std::memory_order_acq_rel, std::memory_order_relaxed)) {
  }
  move_epoch();
  {
    Section section(*this, now, Section::Patience::administration);
    if (section.held()) {
      forget_shadow();
    }
  }
  return dispatch_all(now);
}

template <class Sync>
Signals BasicGate<Sync>::set_draining(bool draining, Instant now) noexcept {
  if (draining) {
    published().flags.fetch_or(detail::kFlagDraining, std::memory_order_acq_rel);
  } else {
    published().flags.fetch_and(~detail::kFlagDraining, std::memory_order_acq_rel);
  }
  return dispatch_all(now);
}

}  // namespace loadline
