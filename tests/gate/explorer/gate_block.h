// The gate that is explored, and its block of memory laid open.
//
// Compiled against the shipped headers, and once for every planted fault against a copy with it.
#pragma once

#include <cstdlib>
#include <span>

#include "book.h"
#include "gate/judge.h"
#include "gate/lifecycle.h"
#include "gate/observe.h"
#include "gate/offer.h"
#include "gate/order.h"
#include "gate/queue.h"
#include "gate/quota.h"
#include "gate/recovery.h"
#include "gate/returns.h"
#include "gate/rules.h"
#include "gate/settle.h"
#include "gate/snapshot.h"
#include "gate/tenants.h"
#include "loadline/gate.h"
#include "stepped_sync.h"

namespace loadline::explorer {

using SteppedGate = BasicGate<SteppedSync>;

// A gate has at least 257 tickets, and the repair after a death walks over all of them: far too
// many steps. A view that knows of only a few, in a block that is laid out for so many, keeps the
// gate's code as it is. An explicit instantiation may name private members, which is how the view
// is made.
struct FinishAt {
  const void* one;  // of the two rows
  const void* other;
  std::uint64_t finish;

  template <class Accounts>
  static FinishAt in(const Accounts& accounts) {
    return {&accounts.one, &accounts.other,
            std::min(accounts.one.finish.peek(), accounts.other.finish.peek())};
  }
};
template <auto PointInto, auto ClearTables, auto RebuildLists, auto AccountsOf>
struct Opening {
  friend void narrow(SteppedGate& gate, std::byte* block, Capacity capacity) {
    (gate.*PointInto)(block, capacity);
    (gate.*ClearTables)();
    (gate.*RebuildLists)();
  }
  friend FinishAt finish_of(const SteppedGate& gate, std::uint64_t tenant,
                            std::uint32_t importance) {
    return FinishAt::in((gate.*AccountsOf)(tenant, importance));
  }
};
void narrow(SteppedGate& gate, std::byte* block, Capacity capacity);
FinishAt finish_of(const SteppedGate& gate, std::uint64_t tenant, std::uint32_t importance);
template struct Opening<&SteppedGate::point_into, &SteppedGate::clear_tables,
                        &SteppedGate::rebuild_lists, &SteppedGate::accounts_of>;

namespace {

using Head = detail::BlockHead<SteppedSync>;
using Slot = detail::ParticipantSlot<SteppedSync>;
using TicketAt = detail::TicketSlot<SteppedSync>;
using Account = detail::TenantAccount<SteppedSync>;
using QuotaCell = SteppedSync::Atomic<std::uint64_t>;
using detail::Bracket;
using detail::TicketState;

inline constexpr std::uint32_t kTenantBuckets = 64;  // of tenants, in each of two rows
inline constexpr std::uint32_t kQuotaCells = 64;
inline constexpr Duration kQuotaPeriod = Duration::seconds(1);

inline Policy policy_of(const Scenario& scenario) {
  Policy policy;
  policy.limit = scenario.limit;
  policy.queue =
      scenario.queue == 0 ? QueueSize::sized_by_budget() : QueueSize::at_most(scenario.queue);
  policy.discipline = scenario.discipline;
  policy.wait_budget = kBudget;
  add_class(policy, "high");
  add_class(policy, "low", scenario.low_share);
  policy.classes[1].guarantee = scenario.low_guarantee;
  policy.heavy_share = scenario.heavy_share;
  policy.tenants = scenario.tenants ? kTenants : 0;
  policy.quota = {.requests = scenario.quota == 0 ? 0U : 1U,
                  .per = kQuotaPeriod,
                  .burst = std::max(scenario.quota, 1U),
                  .keys = kKeys};
  policy.exempt = 1;
  return policy;
}

class GateBlock {
 public:
  GateBlock(const Scenario& scenario, Memory& memory) : scenario_(scenario), memory_(memory) {
    capacity_.participants = static_cast<std::uint32_t>(scenario.scripts.size());
    capacity_.tickets = kTickets;
    capacity_.tenant_buckets = scenario.tenants ? kTenantBuckets : 0;
    capacity_.quota_keys = scenario.quota != 0 ? kQuotaCells : 0;
  }

  void make_gate(Instant now) {
    Capacity usual = capacity_;
    usual.tickets = Capacity::kSpareTickets + std::max(scenario_.queue, kTickets);
    if (SteppedGate::create(memory_.block, sizeof memory_.block, usual, policy_of(scenario_), now,
                            gate_) != SteppedGate::OpenError::none) {
      std::abort();
    }
    narrow(gate_, memory_.block, capacity_);
  }

  [[nodiscard]] SteppedGate& gate() { return gate_; }

  [[nodiscard]] std::uint32_t participants() const { return capacity_.participants; }
  [[nodiscard]] std::size_t used_bytes() const {
    return static_cast<std::size_t>(memory_.block - reinterpret_cast<std::byte*>(&memory_)) +
           detail::end_offset<SteppedSync>(capacity_);
  }
  [[nodiscard]] bool has_tenants() const { return scenario_.tenants; }
  [[nodiscard]] bool has_quota() const { return scenario_.quota != 0; }

  [[nodiscard]] Head& head() const { return *reinterpret_cast<Head*>(memory_.block); }
  [[nodiscard]] Slot& slot(std::uint32_t i) const {
    return at<Slot>(detail::slots_offset<SteppedSync>())[i];
  }
  [[nodiscard]] TicketAt* tickets() const {
    return at<TicketAt>(detail::tickets_offset<SteppedSync>(capacity_.participants));
  }
  [[nodiscard]] detail::TenantBoard<SteppedSync>& board() const {
    return *at<detail::TenantBoard<SteppedSync>>(detail::board_offset<SteppedSync>(capacity_));
  }
  [[nodiscard]] detail::TenantPlace* places() const {
    return at<detail::TenantPlace>(detail::places_offset<SteppedSync>(capacity_));
  }
  [[nodiscard]] detail::Shadow<SteppedSync>& shadow() const {
    return *at<detail::Shadow<SteppedSync>>(detail::shadow_offset<SteppedSync>(capacity_));
  }
  [[nodiscard]] std::span<const std::byte> shadow_bytes() const {
    const std::size_t begin = detail::shadow_offset<SteppedSync>(capacity_);
    return {memory_.block + begin, detail::end_offset<SteppedSync>(capacity_) - begin};
  }
  [[nodiscard]] Account* accounts() const {
    return at<Account>(detail::accounts_offset<SteppedSync>(capacity_));
  }
  [[nodiscard]] QuotaCell* quota_cells() const {
    return at<QuotaCell>(detail::quota_offset<SteppedSync>(capacity_));
  }

  // Up to which round a tenant's work of a class has been charged.
  [[nodiscard]] FinishAt finish_of(std::uint32_t tenant, std::uint32_t importance) const {
    return explorer::finish_of(gate_, tenant_name(tenant), importance);
  }

  [[nodiscard]] Word word() const { return {head().word.peek()}; }
  [[nodiscard]] std::uint32_t index_of(const TicketAt& ticket) const {
    return static_cast<std::uint32_t>(&ticket - tickets());
  }
  [[nodiscard]] bool mutex_held_by(std::uint32_t who) const {
    return head().guarded.mutex.held_by(who);
  }
  // Nobody is in a section, nor has died there: the lists say what the tickets say.
  [[nodiscard]] bool settled() const { return head().guarded.mutex.settled(); }

 private:
  template <class T>
  [[nodiscard]] T* at(std::size_t offset) const {
    return reinterpret_cast<T*>(memory_.block + offset);
  }

  const Scenario& scenario_;
  Memory& memory_;
  Capacity capacity_{};
  SteppedGate gate_;
};

}  // namespace
}  // namespace loadline::explorer
