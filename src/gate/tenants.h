// Fair shares among tenants: who asks more waits longer, and who asks little does not wait for who
// asks much.
//
// Start-time fair queueing (Goyal, Vin, Cheng, SIGCOMM 1996) by rounds: an entry is served in the
// round up to which its tenant's work has been charged, or in the round that is being served,
// whichever is later; and its tenant is charged what it will cost. One request of mean cost is a
// round. Entries of one round are served as they came, which is why a calendar of rounds is enough
// to find an entry's place (Sharma et al., "Approximating Fair Queueing on Reconfigurable
// Switches", NSDI 2018).
//
// What a request costs is known when it is done. Before, its tenant's mean stands in, and the
// difference is made up afterwards; who is dropped before it started gets its charge back. Names
// are not stored: accounts are two rows of hashed buckets, of which the smaller is believed
// (Cormode, Muthukrishnan, "An improved data stream summary: the count-min sketch", 2005).
#pragma once

#include "loadline/gate.h"

namespace loadline {

inline constexpr std::uint64_t kRound = 65536;
// A request is charged between a sixteenth and sixty-four times the mean, whatever was measured.
inline constexpr std::uint64_t kLeastCharge = kRound / 16;
inline constexpr std::uint64_t kMostCharge = kRound * 64;

// The class is part of the key: a tenant's turn in one class says nothing about its turn in
// another.
template <class Sync>
typename BasicGate<Sync>::Accounts BasicGate<Sync>::accounts_of(
    std::uint64_t tenant, std::uint32_t importance) const noexcept {
  const std::uint64_t mask = capacity_.tenant_buckets - 1;
  const std::uint64_t key = (tenant ^ (tenant >> 32) ^ importance) * 0x9e3779b97f4a7c15U;
  return {accounts_[key >> 32 & mask], accounts_[mask + 1 + ((key ^ key >> 29) & mask)]};
}

template <class Sync>
std::uint64_t BasicGate<Sync>::finish_of(const Accounts& accounts) const noexcept {
  return std::min(accounts.one.finish.load(std::memory_order_relaxed),
                  accounts.other.finish.load(std::memory_order_relaxed));
}

// In rounds. Without a measured mean everybody costs the same.
template <class Sync>
std::uint32_t BasicGate<Sync>::rounds_of(std::uint64_t service_ns) const noexcept {
  const auto mean =
      static_cast<std::uint64_t>(published().service_mean_ns.load(std::memory_order_relaxed));
  if (mean == 0 || service_ns == 0) {
    return kRound;
  }
  constexpr std::uint64_t kLongest = std::uint64_t{1} << 46;  // a day; keeps the product in 64 bits
  const std::uint64_t rounds = std::min(service_ns, kLongest) * kRound / mean;
  return static_cast<std::uint32_t>(std::clamp(rounds, kLeastCharge, kMostCharge));
}

template <class Sync>
std::uint64_t BasicGate<Sync>::round_of(std::uint32_t importance) const noexcept {
  return board_->round[importance].load(std::memory_order_relaxed);
}

// The round in which it would be served. May be asked without the mutex, where it may be a moment
// old.
template <class Sync>
std::uint64_t BasicGate<Sync>::tag_of(const Request& request) const noexcept {
  const std::uint64_t tag = std::max(round_of(request.importance),
                                     finish_of(accounts_of(request.tenant, request.importance)));
  if (request.group >= kMaxGroups) {
    return tag;
  }
  const auto& group = board_->group_finish[request.importance][request.group];
  return std::max(tag, group.load(std::memory_order_relaxed));
}

// The mean of its tenant's service times; 0: not known.
template <class Sync>
std::uint64_t BasicGate<Sync>::cost_of(const Request& request) const noexcept {
  const Accounts accounts = accounts_of(request.tenant, request.importance);
  return std::min(accounts.one.cost_ns.load(std::memory_order_relaxed),
                  accounts.other.cost_ns.load(std::memory_order_relaxed));
}

template <class Sync>
typename BasicGate<Sync>::Turn BasicGate<Sync>::turn_of(const Request& request) const noexcept {
  return {.tag = tag_of(request), .charged = rounds_of(cost_of(request))};
}

template <class Sync>
std::int64_t BasicGate<Sync>::tenants_of_group(std::uint8_t group) const noexcept {
  return std::max<std::int64_t>(guarded().group_tenants[group].load(std::memory_order_relaxed), 1);
}

// Adds to the accounts of a ticket's tenant and group, each from `from` on, if it is not further
// already. Neither is lifted to the other: what one of them did not get, it can still ask for.
template <class Sync>
void BasicGate<Sync>::charge_accounts(std::uint32_t index, std::uint64_t from,
                                      std::int64_t rounds) noexcept {
  const detail::TenantPlace& place = places_[index];
  const std::uint32_t importance = tickets_[index].importance;
  // In one exchange: releases add what a request has cost in the end without the mutex.
  const auto add = [&](auto& finish, std::int64_t amount) {
    std::uint64_t seen = finish.load(std::memory_order_relaxed);
    while (!finish.compare_exchange_weak(seen,
                                         std::max(seen, from) + static_cast<std::uint64_t>(amount),
                                         std::memory_order_relaxed)) {
    }
  };
  const Accounts accounts = accounts_of(place.tenant, importance);
  for (auto* account : {&accounts.one, &accounts.other}) {
    add(account->finish, rounds);
  }
  if (place.group < kMaxGroups) {
    add(board_->group_finish[importance][place.group], rounds / tenants_of_group(place.group));
  }
}

// Gives an entry its place in the queue, and charges its tenant. Who finds nobody waiting is served
// next, whatever its tenant still owes: a debt is a turn later than others', and there are none.
template <class Sync>
void BasicGate<Sync>::take_turn(std::uint32_t index, const Request& request) noexcept {
  const Turn turn = turn_of(request);
  if (guarded().class_waiting[request.importance].load(std::memory_order_relaxed) == 0) {
    board_->round[request.importance].store(turn.tag, std::memory_order_relaxed);
  }
  places_[index] = {
      .tenant = request.tenant, .tag = turn.tag, .charged = turn.charged, .group = request.group};
  charge_accounts(index, round_of(request.importance), turn.charged);
  std::uint64_t& last = board_->last_tag[request.importance];
  last = std::max(last, turn.tag + turn.charged);
  const std::uint32_t before = last_not_after(index);
  insert_after(queue_of(index), before, index);
  enter_calendar(index);
  publish_farthest(request.importance);
}

template <class Sync>
void BasicGate<Sync>::refund(std::uint32_t index) noexcept {
  charge_accounts(index, 0, -std::int64_t{places_[index].charged});
}

// Called before an entry leaves that is next in turn: its round is the one being served.
template <class Sync>
void BasicGate<Sync>::advance_round(std::uint32_t index) noexcept {
  if (has_tenants()) {
    const std::uint32_t importance = tickets_[index].importance;
    board_->round[importance].store(std::max(round_of(importance), places_[index].tag),
                                    std::memory_order_relaxed);
  }
}

template <class Sync>
detail::Calendar& BasicGate<Sync>::calendar_of(std::uint32_t index) const noexcept {
  const TicketAt& ticket = tickets_[index];
  return board_->calendars[queue_number(ticket.importance, ticket.heavy != 0)];
}

namespace detail {

constexpr std::uint32_t calendar_day(std::uint64_t tag) noexcept {
  return static_cast<std::uint32_t>(tag / kRound % Calendar::kRounds);
}

}  // namespace detail

template <class Sync>
void BasicGate<Sync>::enter_calendar(std::uint32_t index) noexcept {
  const std::uint32_t day = detail::calendar_day(places_[index].tag);
  detail::Calendar& calendar = calendar_of(index);
  calendar.last[day] = index;
  calendar.used[day / 64] |= std::uint64_t{1} << day % 64;
}

// Where the calendar of a queue begins. Heavy requests that let others pass may be left behind the
// round being served.
template <class Sync>
std::uint64_t BasicGate<Sync>::first_tag(const detail::TicketList& queue,
                                         std::uint32_t importance) const noexcept {
  const std::uint64_t round = round_of(importance);
  return queue.head < capacity_.tickets ? std::min(places_[queue.head].tag, round) : round;
}

// The last entry of this one's round or, from there back to the first of its queue, of the nearest
// before it that has any; kNoTicket if it is the first.
template <class Sync>
std::uint32_t BasicGate<Sync>::last_not_after(std::uint32_t index) const noexcept {
  const detail::Calendar& calendar = calendar_of(index);
  const std::uint64_t round = places_[index].tag / kRound;
  const std::uint64_t first = first_tag(queue_of(index), tickets_[index].importance) / kRound;
  std::uint64_t left = std::min<std::uint64_t>(round - first + 1, detail::Calendar::kRounds);
  std::uint64_t at = round;
  while (left != 0) {
    const auto day = static_cast<std::uint32_t>(at % detail::Calendar::kRounds);
    const std::uint64_t here = std::min<std::uint64_t>(left, day % 64 + 1);
    // Bits of this word from `day` down, as many as are still to be looked at.
    const std::uint64_t up_to = calendar.used[day / 64] << (63 - day % 64);
    if (const int skipped = std::countl_zero(up_to); up_to != 0 && std::uint64_t(skipped) < here) {
      return calendar.last[day - static_cast<std::uint32_t>(skipped)];
    }
    left -= here;
    at -= here;
  }
  return detail::kNoTicket;
}

template <class Sync>
void BasicGate<Sync>::leave_calendar(std::uint32_t index) noexcept {
  const std::uint64_t round = places_[index].tag / kRound;
  const std::uint32_t day = detail::calendar_day(places_[index].tag);
  detail::Calendar& calendar = calendar_of(index);
  if (calendar.last[day] == index) {
    const std::uint32_t before = tickets_[index].previous;
    if (in_range(before) && places_[before].tag / kRound == round) {
      calendar.last[day] = before;
    } else {
      calendar.used[day / 64] &= ~(std::uint64_t{1} << day % 64);
    }
  }
}

// Called when an entry has joined or left. When nobody waits any more, old debts are forgotten: who
// asked much while there was room took it from nobody.
template <class Sync>
void BasicGate<Sync>::publish_farthest(std::uint32_t importance) noexcept {
  const std::uint32_t last = last_of(importance);
  if (in_range(last)) {
    published().farthest_tag[importance].store(places_[last].tag, std::memory_order_relaxed);
  } else {
    board_->round[importance].store(std::max(round_of(importance), board_->last_tag[importance]),
                                    std::memory_order_relaxed);
    published().farthest_tag[importance].store(0, std::memory_order_relaxed);
  }
}

// May it take the place of one of its own class, whose tenant has had more? Asked without the mutex
// too, where it may be a moment old.
template <class Sync>
bool BasicGate<Sync>::may_displace_its_like(const Request& request) const noexcept {
  const std::uint64_t farthest =
      published().farthest_tag[request.importance].load(std::memory_order_relaxed);
  return tag_of(request) / kRound < farthest / kRound;
}

// Its turn would come in more rounds than are looked ahead, behind others.
template <class Sync>
bool BasicGate<Sync>::beyond_horizon(const Request& request, bool heavy) const noexcept {
  const std::uint32_t importance = request.importance;
  if (!has_tenants() || guarded().class_waiting[importance].load(std::memory_order_relaxed) == 0) {
    return false;
  }
  const detail::TicketList& queue = guarded().queues[queue_number(importance, heavy)];
  return tag_of(request) / kRound - first_tag(queue, importance) / kRound >=
         detail::Calendar::kRounds;
}

// Why there is no room: because everybody has much waiting, or because its tenant has.
template <class Sync>
Reason BasicGate<Sync>::full_for(const Request& request) const noexcept {
  if (!has_tenants()) {
    return Reason::queue_full;
  }
  const std::uint64_t farthest =
      published().farthest_tag[request.importance].load(std::memory_order_relaxed);
  const std::uint64_t finish = finish_of(accounts_of(request.tenant, request.importance));
  return farthest != 0 && finish >= farthest + kRound ? Reason::tenant_share : Reason::queue_full;
}

// What a request has cost is known now.
template <class Sync>
void BasicGate<Sync>::settle_account(Charge charge, Outcome ended, Duration service) noexcept {
  if (!has_tenants() || ended == Outcome::ignored || service.ns <= 0) {
    return;
  }
  const auto cost = static_cast<std::uint64_t>(service.ns);
  const Accounts accounts = accounts_of(charge.tenant, charge.importance);
  const std::int64_t owed =
      charge.rounds == 0 ? 0 : std::int64_t{rounds_of(cost)} - std::int64_t{charge.rounds};
  for (auto* account : {&accounts.one, &accounts.other}) {
    // Racing writers lose a sample of a mean, no more.
    const std::uint64_t mean = account->cost_ns.load(std::memory_order_relaxed);
    constexpr std::uint64_t kWeight = 8;
    account->cost_ns.store(mean == 0 ? cost : mean - mean / kWeight + cost / kWeight,
                           std::memory_order_relaxed);
    if (owed != 0) {
      account->finish.fetch_add(static_cast<std::uint64_t>(owed), std::memory_order_relaxed);
    }
  }
  if (owed != 0 && charge.group < kMaxGroups) {
    board_->group_finish[charge.importance][charge.group].fetch_add(
        static_cast<std::uint64_t>(owed / tenants_of_group(charge.group)),
        std::memory_order_relaxed);
  }
}

}  // namespace loadline
