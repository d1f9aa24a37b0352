// Which operations are steps of their own. Others may come between before a step; what is no step
// is one with what came before it.
//
// Steps are left out only where no other thread could tell: where nobody else touches the cell in
// this scenario, where the mutex keeps others from writing what is read, where nothing depends on
// what is read. Each such reason is checked as the search goes, and a gate that no longer gives it
// is a violation.
#pragma once

#include <cstddef>
#include <vector>

#include "gate_block.h"

namespace loadline::explorer {
namespace {

enum class Cell : std::uint8_t {
  counter,
  service,
  word,
  next_tick,
  flags,
  rule,
  told,
  occupied,
  policy,
  occupied_since,
  newest_first,
  farthest_tag,
  round,
  class_waiting,
  granted_heavy,
  mutex,
  alive,
  bracket,
  heavy_held,
  exempt_held,
  ready,
  attached,
  ticket,
  account,
  quota,
  shadow,
  unknown,
};

inline constexpr const char* kCellNames[] = {"counter",        "service",       "word",
                                             "next_tick",      "flags",         "rule",
                                             "told",           "occupied",      "policy",
                                             "occupied_since", "newest_first",  "farthest_tag",
                                             "round",          "class_waiting", "granted_heavy",
                                             "mutex",          "alive",         "bracket",
                                             "heavy_held",     "exempt_held",   "ready",
                                             "attached",       "ticket",        "account",
                                             "quota",          "shadow",        "?"};

class Reduction {
 public:
  Reduction(const Scenario& scenario, const GateBlock& block) : scenario_(scenario), block_(block) {
    note_what_is_shared();
    map_cells();
  }

  [[nodiscard]] bool adapts() const { return adapts_; }
  [[nodiscard]] bool observes() const { return observes_; }

  [[nodiscard]] Weight weigh(std::uint32_t who, Pending next) const {
    Weight weight = next.step == Step::signal ? Weight::part : Weight::step;
    if (next.address != nullptr) {
      weight = weigh_cell(cell_of(next.address), who, next);
    }
    if (scenario_.every_step) {
      return Weight::step;
    }
    // Who may die may die before each of its operations; but it leaves the same behind before a
    // counter is read as after it.
    const bool same =
        weight == Weight::step || (weight == Weight::blind && next.step == Step::read);
    return who == scenario_.victim && !same ? Weight::mortal : weight;
  }

  [[nodiscard]] Cell cell_of(const void* address) const {
    const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(address) - start());
    return offset / 4 < cells_.size() ? cells_[offset / 4] : Cell::unknown;
  }

  [[nodiscard]] std::uint32_t slot_of(const void* address) const {
    const auto offset =
        static_cast<std::size_t>(static_cast<const std::byte*>(address) -
                                 reinterpret_cast<const std::byte*>(&block_.slot(0)));
    return static_cast<std::uint32_t>(offset / sizeof(Slot));
  }

  [[nodiscard]] std::string name(const void* address) const {
    if (address == nullptr) {
      return {};
    }
    const Cell cell = cell_of(address);
    std::string text = kCellNames[static_cast<std::size_t>(cell)];
    if (cell == Cell::alive || cell == Cell::bracket || cell == Cell::ready ||
        cell == Cell::heavy_held) {
      text += ' ';
      text += static_cast<char>('A' + slot_of(address));
    }
    if (cell == Cell::ticket) {
      static constexpr const char* kParts[] = {" state", " generation", " mark"};
      const std::size_t part = part_of_ticket(address);
      text += ' ' + std::to_string(ticket_of(address)) + (part < 3 ? kParts[part] : "");
    }
    return text;
  }

 private:
  [[nodiscard]] const std::byte* start() const {
    return reinterpret_cast<const std::byte*>(&block_.head());
  }
  [[nodiscard]] std::size_t offset_in_tickets(const void* address) const {
    return static_cast<std::size_t>(static_cast<const std::byte*>(address) -
                                    reinterpret_cast<const std::byte*>(block_.tickets()));
  }
  [[nodiscard]] std::size_t ticket_of(const void* address) const {
    return offset_in_tickets(address) / sizeof(TicketAt);
  }
  [[nodiscard]] std::size_t part_of_ticket(const void* address) const {
    return offset_in_tickets(address) % sizeof(TicketAt) / 4;
  }

  // What nobody does in this scenario, others need not be kept from seeing half done.
  void note_what_is_shared() {
    adapts_ = scenario_.discipline == Discipline::adaptive;
    predicts_ = scenario_.mean_ms != 0;
    audits_ = scenario_.victim != kNobody || scenario_.dead != kNobody;
    for (const auto* scripts : {&scenario_.scripts, &scenario_.before}) {
      for (const Script& script : *scripts) {
        for (const Act& act : script) {
          note_act(act);
        }
      }
    }
  }

  void note_act(const Act& act) {
    const bool reconfigures = act.kind == Act::Kind::reconfigure;
    cancels_ = cancels_ || act.kind == Act::Kind::cancel;
    observes_ = observes_ || act.kind == Act::Kind::observe;
    flags_move_ = flags_move_ || act.kind == Act::Kind::observe || act.kind == Act::Kind::enforce ||
                  act.kind == Act::Kind::drain;
    rules_move_ = rules_move_ || act.kind == Act::Kind::set_limit || reconfigures;
    adapts_ = adapts_ || reconfigures;
    audits_ = audits_ || act.kind == Act::Kind::leave;
    ticks_ = ticks_ || act.kind == Act::Kind::tick;
    finishes_ = finishes_ || act.kind == Act::Kind::finish;
    const bool weighs = act.kind == Act::Kind::request || act.kind == Act::Kind::ask ||
                        act.kind == Act::Kind::take || act.kind == Act::Kind::turned_away;
    heavies_ = heavies_ || (weighs && act.units > 1);
  }

  void map_cells() {
    cells_.assign(block_.used_bytes() / 4, Cell::unknown);
    const auto mark = [&](const auto& what, Cell cell) { mark_bytes(&what, sizeof what, cell); };
    const auto& head = block_.head();
    mark(head.word, Cell::word);
    mark(head.next_tick, Cell::next_tick);
    mark(head.quota_now_us, Cell::quota);
    mark(head.published, Cell::rule);
    mark(head.published.flags, Cell::flags);
    mark(head.published.queue_kind, Cell::told);
    mark(head.published.class_count, Cell::told);
    mark(head.published.retry_after, Cell::told);
    mark(head.published.return_stride, Cell::told);
    mark(head.published.occupied_since, Cell::occupied_since);
    mark(head.published.newest_first, Cell::newest_first);
    mark(head.published.farthest_tag, Cell::farthest_tag);
    mark(head.guarded, Cell::counter);
    mark(head.guarded.class_waiting, Cell::class_waiting);
    mark(head.guarded.granted_heavy, Cell::granted_heavy);
    mark(head.guarded.occupied, Cell::occupied);
    mark(head.guarded.group_tenants, Cell::rule);
    mark(head.guarded.policy_taken_up, Cell::policy);
    mark(head.guarded.policy_applied, Cell::policy);
    mark(head.guarded.limit_told, Cell::policy);
    mark(head.guarded.mutex, Cell::mutex);
    for (std::uint32_t i = 0; i < block_.participants(); ++i) {
      const Slot& slot = block_.slot(i);
      mark(slot, Cell::counter);
      mark(slot.bracket, Cell::bracket);
      mark(slot.heavy_held, Cell::heavy_held);
      mark(slot.exempt_held, Cell::exempt_held);
      mark(slot.observed_held, Cell::shadow);
      mark(slot.observed_beside, Cell::shadow);
      mark(slot.observed_tied, Cell::shadow);
      mark(slot.ready, Cell::ready);
      mark(slot.attached, Cell::attached);
      mark(slot.alive, Cell::alive);
      mark(slot.service_ns, Cell::service);
      mark(slot.service_buckets, Cell::service);
    }
    mark(block_.shadow(), Cell::shadow);
    mark_bytes(block_.tickets(), kTickets * sizeof(TicketAt), Cell::ticket);
    if (block_.has_tenants()) {
      mark_bytes(block_.accounts(), 2 * kTenantBuckets * sizeof(Account), Cell::account);
      mark(block_.board().round, Cell::round);
      mark(block_.board().group_finish, Cell::account);
    }
    if (block_.has_quota()) {
      mark_bytes(block_.quota_cells(), kQuotaCells * sizeof(QuotaCell), Cell::quota);
    }
  }

  void mark_bytes(const void* from, std::size_t bytes, Cell cell) {
    const auto begin = static_cast<const std::byte*>(from) - start();
    std::fill_n(cells_.begin() + begin / 4, bytes / 4, cell);
  }

  static void check(bool sound, const char* what) {
    if (!sound) {
      engine().fail(what);
    }
  }

  // Of what is written only with the mutex held: who holds it reads what nobody else can change.
  [[nodiscard]] static Weight written_in_sections(bool read_outside, bool locked, bool writes,
                                                  const char* unannounced) {
    check(locked || !writes, unannounced);
    return read_outside && (writes || !locked) ? Weight::step : Weight::part;
  }

  [[nodiscard]] Weight weigh_cell(Cell cell, std::uint32_t who, Pending next) const {
    const bool writes = next.step != Step::read;
    const bool locked = block_.mutex_held_by(who);
    const bool own = slot_of(next.address) == who;
    switch (cell) {
      case Cell::word:
      case Cell::next_tick:
      case Cell::quota:
        return Weight::step;
      case Cell::ready:
        // Only its owner reads it.
        return own && writes ? Weight::part : Weight::step;
      case Cell::mutex:
      case Cell::alive:
        // To unlock is one with what came before: nobody could tell the difference (Lipton: it
        // moves to the left).
        return next.step == Step::unlock ? Weight::part : Weight::step;
      case Cell::flags:
        check(flags_move_ || !writes, "explorer: the flags move unannounced");
        return flags_move_ ? Weight::step : Weight::part;
      case Cell::rule:
        check(rules_move_ || !writes, "explorer: the rules move unannounced");
        return written_in_sections(rules_move_, locked, writes,
                                   "explorer: a rule without the mutex");
      case Cell::told:
        // Read for a snapshot, or to say when to come back: nothing here depends on it.
        check(rules_move_ || !writes, "explorer: the rules move unannounced");
        return Weight::blind;
      case Cell::occupied_since:
        return written_in_sections(adapts_, locked, writes,
                                   "explorer: occupied_since without the mutex");
      case Cell::newest_first:
        check(adapts_ || !writes, "explorer: the order moves unannounced");
        return written_in_sections(adapts_, locked, writes,
                                   "explorer: the order moves without the mutex");
      case Cell::round:
        return written_in_sections(true, locked, writes, "explorer: a round without the mutex");
      case Cell::occupied:
        return written_in_sections(true, locked, writes, "explorer: occupied without the mutex");
      case Cell::policy:
        check(locked, "explorer: the policy without the mutex");
        return Weight::part;
      case Cell::farthest_tag:
        return written_in_sections(block_.has_tenants(), locked, writes,
                                   "explorer: farthest_tag without the mutex");
      case Cell::class_waiting:
        // Read without the mutex only to predict a wait, which without a known mean is none.
        if (!predicts_ && !locked) {
          check(!writes, "explorer: class_waiting without the mutex");
          return Weight::blind;
        }
        return written_in_sections(predicts_, locked, writes,
                                   "explorer: class_waiting without the mutex");
      case Cell::granted_heavy:
        return written_in_sections(heavies_, locked, writes,
                                   "explorer: granted_heavy without the mutex");
      case Cell::heavy_held:
        return weigh_heavy_held(own, locked, writes, next);
      case Cell::exempt_held:
        check(own || locked, "explorer: another's exempt");
        return Weight::part;
      case Cell::bracket:
        check(audits_ || own, "explorer: another's bracket");
        // While its owner lives, nobody else writes it.
        return audits_ && (writes || !own) ? Weight::step : Weight::part;
      case Cell::ticket:
        return weigh_ticket(who, locked, writes, next);
      case Cell::account:
        check(locked || !writes || finishes_, "explorer: an account without the mutex");
        return finishes_ ? Weight::step : written_in_sections(true, locked, writes, "");
      case Cell::attached:
        check(locked, "explorer: a seat without the mutex");
        return Weight::part;
      case Cell::service:
        check(!writes || (finishes_ && !ticks_), "explorer: a mean moves unannounced");
        return Weight::blind;
      case Cell::counter:
        check(locked || own, "explorer: another's counter");
        return Weight::blind;
      case Cell::shadow:
        // Counted there is what nobody reads here.
        check(observes_ || locked || !writes, "explorer: observed unannounced");
        return observes_ ? Weight::step : Weight::part;
      case Cell::unknown:
        break;
    }
    check(false, "explorer: an operation outside of the gate");
    return Weight::step;
  }

  // It grows only with the mutex held, unless the gate observes: who holds that and reads 0 reads
  // what will stay so.
  [[nodiscard]] Weight weigh_heavy_held(bool own, bool locked, bool writes, Pending next) const {
    if (!heavies_) {
      const auto& cell = *static_cast<const SteppedSync::Atomic<std::uint32_t>*>(next.address);
      check(cell.peek() == 0, "explorer: weight that nobody asked for");
      return Weight::part;
    }
    if (writes) {
      return Weight::step;
    }
    const auto& cell = *static_cast<const SteppedSync::Atomic<std::uint32_t>*>(next.address);
    const bool stays = own || (locked && !observes_ && cell.peek() == 0);
    return stays ? Weight::part : Weight::step;
  }

  // State and generation are written with the mutex held, the mark of who has gone without. But
  // what is granted its owner may take at any moment.
  [[nodiscard]] Weight weigh_ticket(std::uint32_t who, bool locked, bool writes,
                                    Pending next) const {
    constexpr std::size_t kState = 0;
    constexpr std::size_t kMark = 2;
    const std::size_t part = part_of_ticket(next.address);
    if (part == kMark) {
      return cancels_ ? Weight::step : Weight::part;
    }
    const TicketAt& ticket = block_.tickets()[ticket_of(next.address)];
    const bool own = ticket.owner == who;
    check(locked || !writes || (part == kState && own), "explorer: a ticket without the mutex");
    if (part == kState && ticket.state.peek() == detail::TicketState::granted && !(own && locked)) {
      return Weight::step;
    }
    return (cancels_ || part == kState) && (writes ? cancels_ : !locked) ? Weight::step
                                                                         : Weight::part;
  }

  const Scenario& scenario_;
  const GateBlock& block_;
  std::vector<Cell> cells_;  // of every four bytes of the block
  bool cancels_ = false;
  bool observes_ = false;
  bool flags_move_ = false;
  bool rules_move_ = false;
  bool adapts_ = false;
  bool predicts_ = false;
  bool heavies_ = false;
  bool finishes_ = false;
  bool audits_ = false;
  bool ticks_ = false;
};

}  // namespace
}  // namespace loadline::explorer
