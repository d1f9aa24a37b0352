// What must hold, whatever the order of the steps: in an exchange that admits, when a ticket's
// state moves, while nobody holds the mutex, while nobody is inside an operation, and at the end.
#pragma once

#include "gate_block.h"
#include "line.h"

namespace loadline::explorer {
namespace {

class Invariants {
 public:
  Invariants(const Scenario& scenario, const GateBlock& block, Book& book)
      : scenario_(scenario), block_(block), book_(book), line_(block, book) {}

  // After each write to an atomic of the block.
  void wrote(const void* address, std::uint64_t before, std::uint64_t after) {
    if (address == &block_.head().word) {
      check_admission({before}, {after});
    } else if (address == &block_.head().published.newest_first && !block_.settled()) {
      book_.order_moved = true;
    }
    for (std::uint32_t i = 0; i < kTickets; ++i) {
      if (address == &ticket(i).state) {
        ticket_moved(ticket(i), static_cast<TicketState>(before), static_cast<TicketState>(after));
      }
    }
  }

  // A section ends.
  void section_over() {
    book_.order_moved = false;
    book_.word_before_grant = book_.word_after_grant = 0;
  }

  // In every state.
  void check() {
    if (block_.settled()) {
      check_lists();
    }
    if (somebody_inside()) {
      return;
    }
    check_accounts();
    // An audit that somebody under way was in the way of is made at the next tick.
    book_.tick_needed = book_.tick_needed || block_.head().guarded.audit_due;
    if (book_.deaths == 0 ? !block_.head().guarded.audit_due : !book_.tick_needed) {
      check_units();
      check_order();
    }
    if (book_.deaths == 0) {
      check_tenants();
      check_quota();
    }
    if (!book_.tick_needed) {
      check_rules();
      check_waiting();
      check_idle_slot();
    }
  }

  // Where nothing can happen any more.
  void check_end() const {
    for (std::uint32_t i = 0; i < block_.participants(); ++i) {
      check_seat_at_end(i);
    }
    for (std::uint32_t i = 0; i < kTickets; ++i) {
      if (detail::in_use(ticket(i).state.peek())) {
        fail("a ticket is left over");
      }
    }
    check_lists();
    check_quota_at_end();
    const auto& guarded = block_.head().guarded;
    if (guarded.audit_due) {
      fail("an audit is due");
    }
    if (guarded.corruptions.peek() != 0 || (book_.deaths == 0 && guarded.repairs.peek() != 0)) {
      fail("the block was found broken");
    }
  }

 private:
  static void fail(const char* what) { engine().fail(what); }

  [[nodiscard]] const TicketAt& ticket(std::uint32_t i) const { return block_.tickets()[i]; }
  [[nodiscard]] const Person& person(std::uint32_t who) const { return book_.people[who]; }

  [[nodiscard]] bool somebody_inside() const {
    return std::any_of(book_.people.begin(), book_.people.end(),
                       [](const Person& p) { return p.alive && p.inside; });
  }
  [[nodiscard]] bool places_are_moving() const {
    return book_.tick_needed ||
           std::any_of(book_.people.begin(), book_.people.end(),
                       [](const Person& p) { return p.alive && p.moves_much; });
  }

  [[nodiscard]] std::uint32_t share_of(std::uint32_t limit, std::uint32_t importance) const {
    const std::uint32_t share = importance == 0 ? 1000 : scenario_.low_share;
    return (limit * share + 999) / 1000;
  }

  // ---- In an exchange -------------------------------------------------------------------------

  // In the very exchange that admits. An audit raises in_flight as well: it changes nothing else,
  // and its own bracket is closed. Where units are handed on it does not rise: such an exchange is
  // known for a grant once the ticket's state says so.
  void check_admission(Word before, Word after) {
    if (after.waiting() < before.waiting()) {
      book_.word_before_grant = before.bits;
      book_.word_after_grant = after.bits;
    }
    if (after.in_flight() <= before.in_flight() || engine().current() == kOutsider) {
      return;
    }
    const std::uint32_t who = engine().current();
    const bool at_once = Bracket{block_.slot(who).bracket.peek()}.open();
    const bool granted = after.waiting() != before.waiting();
    const std::uint32_t importance = at_once && !granted ? person(who).importance : 0;
    if ((at_once || granted) && after.in_flight() > share_of(book_.allowed, importance)) {
      fail("admitted above the limit");
    }
    if (at_once && !granted && !line_.admits_all() &&
        somebody_passed(who, importance, after.in_flight() - before.in_flight(), before)) {
      fail("admitted past one who waits");
    }
  }

  // While another holds the mutex, or has died with it, the tickets may be a step behind the word.
  // The word says later than the tickets that a heavy one may start now: the operation that made it
  // so looks after it.
  [[nodiscard]] bool somebody_passed(std::uint32_t who, std::uint32_t importance,
                                     std::uint32_t cost, Word before) const {
    if (before.waits_at_or_above(importance)) {
      return true;
    }
    if (!block_.settled() && !block_.mutex_held_by(who)) {
      return false;
    }
    const std::uint32_t heavy_units =
        places_are_moving() ? kMaxLimit : line_.heavy_units(Line::Count::at_most);
    for (std::uint32_t c = 0; c <= importance; ++c) {
      if (line_.next_of(c, heavy_units) != nullptr ||
          (cost > 1 && line_.first_of(c, true) != nullptr)) {
        return true;
      }
    }
    return false;
  }

  // ---- When a ticket's state moves ------------------------------------------------------------

  void ticket_moved(const TicketAt& moved, TicketState before, TicketState after) {
    if (after == TicketState::waiting) {
      check_prediction();
      charge_tenant(moved);
    }
    const bool withdrawn = before == TicketState::granted && !collects(moved);
    if (after != TicketState::granted && (before == TicketState::waiting || withdrawn)) {
      refund_tenant(moved);
    }
    if (after == TicketState::granted && before == TicketState::waiting) {
      check_units_of_grant(moved);
      check_grant(moved);
      book_.word_before_grant = book_.word_after_grant = 0;
      credit_guarantees(moved);
    }
    if (after == TicketState::refused && moved.reason == Reason::displaced) {
      check_displacement(moved);
    }
  }

  // It is its owner that comes for it.
  [[nodiscard]] bool collects(const TicketAt& granted) const {
    return granted.owner == engine().current() && person(granted.owner).seated &&
           !Line::gone(granted) && !detail::in_use(granted.state.peek());
  }

  // Those who wait start before the newcomer's time is over.
  void check_prediction() const {
    if (scenario_.mean_ms == 0 || block_.has_tenants()) {
      return;
    }
    std::uint32_t waiting = 0;
    for (std::uint32_t i = 0; i < kTickets; ++i) {
      waiting += ticket(i).state.peek() == TicketState::waiting ? 1 : 0;
    }
    if (Duration::millis(waiting * scenario_.mean_ms / scenario_.limit) > kBudget) {
      fail("one waits who will not start in time");
    }
  }

  // In its exchange in_flight stays within what its class may fill, whether its units were free
  // before or are handed on; and what is handed on is what its holder gives back.
  void check_units_of_grant(const TicketAt& granted) const {
    if (Word{book_.word_after_grant}.in_flight() > share_of(book_.allowed, granted.importance)) {
      fail("granted above the limit of its class");
    }
    const std::uint32_t who = engine().current();
    const std::uint32_t handed_on = units_handed_on(granted);
    if (handed_on != 0 && (who == kOutsider || handed_on != person(who).leaving)) {
      fail("what is handed on is not what was held");
    }
  }

  [[nodiscard]] std::uint32_t units_handed_on(const TicketAt& granted) const {
    return Word{book_.word_before_grant}.with_in_flight_added(granted.cost).in_flight() -
           Word{book_.word_after_grant}.in_flight();
  }

  void check_grant(const TicketAt& granted) const {
    const std::uint32_t own = granted.heavy ? granted.cost : 0;
    const std::uint32_t heavy_units = line_.heavy_units(Line::Count::at_most) - own;
    const std::uint32_t owed = owed_a_start(heavy_units, granted);
    const bool is_owed = owed == granted.importance;
    const TicketAt* const first = line_.next_of(granted.importance, heavy_units, &granted, is_owed);
    if (!book_.order_moved && first != nullptr && first != &granted &&
        line_.starts_before(*first, granted)) {
      fail("granted past one of its class who waits");
    }
    if (is_owed) {
      return;
    }
    if (owed < kClasses && !book_.tick_needed &&
        line_.fits(*line_.next_of(owed, heavy_units, nullptr, true), word_at_decision(granted))) {
      fail("granted past one whose class is owed a start");
    }
    for (std::uint32_t c = 0; c < granted.importance; ++c) {
      if (line_.next_of(c, heavy_units) != nullptr) {
        fail("granted past one of a class above who waits");
      }
      if (granted.heavy && !line_.admits_all() && line_.first_of(c, true) != nullptr) {
        fail("granted past a heavy one of a class above");
      }
    }
  }

  // When it was decided who starts, perhaps less was free than in the exchange: not what others are
  // giving back. What is handed on was free.
  [[nodiscard]] Word word_at_decision(const TicketAt& granted) const {
    Word word = Word{book_.word_before_grant}.with_in_flight_removed(units_handed_on(granted));
    for (std::uint32_t i = 0; i < block_.participants(); ++i) {
      word = i == engine().current() ? word : word.with_in_flight_added(person(i).leaving);
    }
    return word;
  }

  // kClasses: none.
  [[nodiscard]] std::uint32_t owed_a_start(std::uint32_t heavy_units,
                                           const TicketAt& granted) const {
    std::uint32_t owed = kClasses;
    std::int32_t most = 999;
    for (std::uint32_t c = 0; c < kClasses; ++c) {
      if (guarantee_of(c) != 0 && book_.deaths == 0 && book_.credits[c] > most &&
          (c == granted.importance || line_.next_of(c, heavy_units, nullptr, true) != nullptr)) {
        owed = c;
        most = book_.credits[c];
      }
    }
    // After a death it is not known what the dead had written down already.
    return book_.deaths != 0 && guarantee_of(granted.importance) != 0 ? granted.importance : owed;
  }

  [[nodiscard]] std::int32_t guarantee_of(std::uint32_t importance) const {
    return importance == 0 ? 0 : scenario_.low_guarantee;
  }

  // A share of every start to who is guaranteed one, and a whole one from who has started.
  void credit_guarantees(const TicketAt& granted) {
    constexpr std::int32_t kMost = 4000;
    const auto units = static_cast<std::int32_t>(granted.cost);
    for (std::uint32_t c = 0; c < kClasses; ++c) {
      if (guarantee_of(c) != 0) {
        std::int32_t& credit = book_.credits[c];
        credit = std::min(credit + guarantee_of(c) * units, kMost);
        credit = std::max(credit - (c == granted.importance ? 1000 * units : 0), -kMost);
      }
    }
  }

  [[nodiscard]] std::uint32_t waiting_of(std::uint32_t importance, const TicketAt& also) const {
    std::uint32_t waiting = 0;
    for (std::uint32_t i = 0; i < kTickets; ++i) {
      const bool counts = ticket(i).state.peek() == TicketState::waiting || &ticket(i) == &also;
      waiting += counts && ticket(i).importance == importance ? 1 : 0;
    }
    return waiting;
  }
  [[nodiscard]] std::uint32_t places_kept(std::uint32_t importance) const {
    return (scenario_.queue * static_cast<std::uint32_t>(guarantee_of(importance)) + 999) / 1000;
  }

  // The least important gives way that has more than the places it keeps, and of its class who
  // would start last. Of the same class only a tenant that has had more.
  void check_displacement(const TicketAt& displaced) const {
    const Person& comes = person(engine().current());
    const std::uint32_t c = displaced.importance;
    for (std::uint32_t below = c + 1; below < kClasses; ++below) {
      if (waiting_of(below, displaced) > places_kept(below)) {
        fail("one gives way though one less important waits");
      }
    }
    if (c > comes.importance && waiting_of(c, displaced) <= places_kept(c)) {
      fail("one gives way whose place is kept");
    }
    for (std::uint32_t i = 0; i < kTickets; ++i) {
      const TicketAt& other = ticket(i);
      if (&other != &displaced && other.state.peek() == TicketState::waiting &&
          other.importance == c && !book_.order_moved && line_.starts_before(displaced, other)) {
        fail("one gives way who would have started sooner");
      }
    }
    const std::uint64_t round = block_.has_tenants() ? block_.board().round[c].peek() : 0;
    const bool more_modest =
        block_.has_tenants() && c == comes.importance &&
        std::max(round, book_.finish[c][comes.tenant]) / kRound < line_.tag(displaced) / kRound;
    if (c < comes.importance || (c == comes.importance && !more_modest)) {
      fail("one gives way to his like");
    }
  }

  // ---- Tenants --------------------------------------------------------------------------------

  // Who comes to wait is charged from the round on that is being served, or from where its tenant's
  // account is already; who is sent away gets that back.
  void charge_tenant(const TicketAt& waiting) {
    if (block_.has_tenants()) {
      std::uint64_t& finish = finish_of(waiting);
      finish = std::max(finish, block_.board().round[waiting.importance].peek()) +
               block_.places()[block_.index_of(waiting)].charged;
    }
  }
  void refund_tenant(const TicketAt& gone) {
    if (block_.has_tenants()) {
      finish_of(gone) -= block_.places()[block_.index_of(gone)].charged;
    }
  }
  [[nodiscard]] std::uint64_t& finish_of(const TicketAt& ticket) {
    const std::uint64_t name = block_.places()[block_.index_of(ticket)].tenant;
    std::uint32_t tenant = 0;
    while (tenant_name(tenant) != name) {
      ++tenant;
    }
    return book_.finish[ticket.importance][tenant];
  }

  void check_tenants() const {
    if (!block_.has_tenants()) {
      return;
    }
    for (std::uint32_t c = 0; c < kClasses; ++c) {
      for (std::uint32_t t = 0; t < kTenants; ++t) {
        if (block_.finish_of(t, c).finish != book_.finish[c][t]) {
          fail("a tenant's account is not what it was charged");
        }
      }
    }
  }

  // ---- Lists ----------------------------------------------------------------------------------

  // While nobody is in a section they say what the tickets say, in the order of the line.
  void check_lists() const {
    std::array<std::uint32_t, detail::kQueues> waiting{};
    std::array<std::uint32_t, kMaxThreads> ready{};
    std::uint32_t free = 0;
    std::uint32_t heavy = 0;
    for (std::uint32_t i = 0; i < kTickets; ++i) {
      const TicketAt& one = ticket(i);
      switch (one.state.peek()) {
        case TicketState::free:
          ++free;
          break;
        case TicketState::waiting:
          ++waiting[one.importance + (one.heavy ? kMaxClasses : 0)];
          break;
        case TicketState::granted:
          heavy += one.heavy ? one.cost : 0;
          [[fallthrough]];
        case TicketState::refused:
        case TicketState::taken:
          ++ready[one.owner];
          break;
      }
    }
    for (std::uint32_t q = 0; q < detail::kQueues; ++q) {
      check_queue(q, waiting[q]);
    }
    for (std::uint32_t i = 0; i < block_.participants(); ++i) {
      const Slot& slot = block_.slot(i);
      if (slot.ready_list.count != ready[i] || slot.ready.peek() != to_collect(slot)) {
        fail("a ready list does not say what is decided");
      }
    }
    std::uint32_t listed = 0;
    for (std::uint32_t i = block_.head().guarded.free_head; i < kTickets && listed <= kTickets;
         i = ticket(i).next) {
      ++listed;
    }
    if (listed != free) {
      fail("a ticket is lost");
    }
    if (block_.head().guarded.granted_heavy.peek() != heavy) {
      fail("granted_heavy is not what is granted");
    }
  }

  [[nodiscard]] std::uint64_t to_collect(const Slot& slot) const {
    const std::uint32_t first = slot.ready_list.head;
    if (slot.ready_list.count != 1 || first >= kTickets) {
      return slot.ready_list.count == 0 ? detail::Ready::kNone : detail::Ready::kSeveral;
    }
    return detail::Ready::one({first, ticket(first).generation.peek()});
  }

  void check_queue(std::uint32_t q, std::uint32_t waiting) const {
    const detail::TicketList& queue = block_.head().guarded.queues[q];
    std::uint32_t listed = 0;
    std::uint32_t before = detail::kNoTicket;
    for (std::uint32_t i = queue.head; i < kTickets && listed <= kTickets; i = ticket(i).next) {
      const TicketAt& one = ticket(i);
      if (one.state.peek() != TicketState::waiting || one.previous != before ||
          one.importance + (one.heavy ? kMaxClasses : 0) != q) {
        fail("a queue does not say who waits");
      }
      if (before != detail::kNoTicket && !line_.stands_before(ticket(before), one)) {
        fail("a queue is out of order");
      }
      before = i;
      ++listed;
    }
    if (listed != waiting || queue.count != waiting || queue.tail != before) {
      fail("a queue does not say who waits");
    }
    if (block_.has_tenants()) {
      check_calendar(q);
    }
  }

  // Each round that somebody waits for is marked, with who is last in it; no other is.
  void check_calendar(std::uint32_t q) const {
    const detail::Calendar& calendar = block_.board().calendars[q];
    std::uint32_t rounds = 0;
    const detail::TicketList& queue = block_.head().guarded.queues[q];
    std::uint32_t left = kTickets;
    for (std::uint32_t i = queue.head; i < kTickets && left > 0; i = ticket(i).next, --left) {
      const std::uint64_t round = line_.tag(ticket(i)) / kRound;
      const std::uint32_t after = ticket(i).next;
      if (after < kTickets && line_.tag(ticket(after)) / kRound == round) {
        continue;
      }
      const std::uint32_t day = detail::calendar_day(line_.tag(ticket(i)));
      if ((calendar.used[day / 64] >> day % 64 & 1) == 0 || calendar.last[day] != i) {
        fail("a calendar does not say whose turn is when");
      }
      ++rounds;
    }
    for (const std::uint64_t days : calendar.used) {
      rounds -= static_cast<std::uint32_t>(std::popcount(days));
    }
    if (rounds != 0) {
      fail("a calendar keeps the turn of one who has gone");
    }
  }

  // ---- While nobody is inside an operation ------------------------------------------------------

  // offered = admitted + rejected + cancelled + those who have not been told yet, but for one a
  // death.
  void check_accounts() const {
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i < block_.participants(); ++i) {
      const Slot& slot = block_.slot(i);
      for (std::uint32_t c = 0; c < kClasses; ++c) {
        sum += slot.admitted[c].peek() + slot.cancelled[c].peek();
        for (const auto& rejected : slot.rejected[c]) {
          sum += rejected.peek();
        }
      }
    }
    for (std::uint32_t c = 0; c < kClasses; ++c) {
      sum += block_.head().guarded.cancelled_by_death[c].peek();
    }
    for (std::uint32_t i = 0; i < kTickets; ++i) {
      sum += detail::in_use(ticket(i).state.peek()) && !Line::gone(ticket(i)) ? 1 : 0;
    }
    const std::uint64_t off = sum > book_.offered ? sum - book_.offered : book_.offered - sum;
    if (off > book_.deaths) {
      fail("the accounts do not add up");
    }
  }

  // The word says what is really held.
  void check_units() const {
    std::uint32_t units = 0;
    std::uint32_t granted = 0;
    for (std::uint32_t i = 0; i < block_.participants(); ++i) {
      const Person& one = person(i);
      units += one.permit.held() ? one.permit.cost() : 0;
      const std::uint32_t heavy = one.permit.held() && one.heavy_permit ? one.permit.cost() : 0;
      if (one.alive && block_.slot(i).heavy_held.peek() != heavy) {
        fail("heavy_held is not what its owner holds of weights above 1");
      }
    }
    if (units != book_.running) {
      fail("explorer: the book does not add up");
    }
    for (std::uint32_t i = 0; i < kTickets; ++i) {
      granted += ticket(i).state.peek() == TicketState::granted ? ticket(i).cost : 0;
    }
    if (block_.word().in_flight() != units + granted) {
      fail("in_flight is not what is held");
    }
  }

  // A class stands, and so serves its newest first, only while somebody of it waits.
  void check_order() const {
    const auto& published = block_.head().published;
    const auto discipline = static_cast<Discipline>(published.discipline.peek());
    for (std::uint32_t c = 0; c < kClasses; ++c) {
      const std::uint32_t waiting = block_.head().guarded.class_waiting[c].peek();
      const bool newest = (published.newest_first.peek() >> c & 1) != 0;
      const bool stands = published.occupied_since[c].peek() != Instant::never().ns;
      if (discipline == Discipline::adaptive && !block_.has_tenants()) {
        if (waiting == 0 && newest) {
          fail("newest first though nobody waits");
        }
        if (stands != (waiting != 0)) {
          fail("occupied_since does not say whether somebody waits");
        }
      } else if (stands) {
        fail("occupied_since where it does not matter");
      }
    }
  }

  // Those of before a change, or those of after it.
  void check_rules() const {
    const auto& published = block_.head().published;
    const std::uint32_t limit = published.limit.peek();
    bool whole = limit == block_.head().guarded.limit;
    for (std::uint32_t c = 0; c < kClasses; ++c) {
      whole = whole && published.thresholds[c].peek() == share_of(limit, c);
    }
    const std::uint32_t heavy = std::max(limit * scenario_.heavy_share / 1000, 1U);
    if (!whole || published.heavy_limit.peek() != heavy) {
      fail("half of the rules are new");
    }
  }

  void check_waiting() const {
    std::uint32_t waiting = 0;
    std::uint32_t mask = 0;
    for (std::uint32_t c = 0; c < kClasses; ++c) {
      const bool eligible = line_.next_of(c, line_.heavy_units(Line::Count::exact)) != nullptr;
      mask |= eligible ? 1U << c : 0U;
    }
    for (std::uint32_t i = 0; i < kTickets; ++i) {
      waiting += ticket(i).state.peek() == TicketState::waiting ? 1 : 0;
    }
    if (block_.word().waiting() != waiting || block_.word().mask() != mask) {
      fail("the word does not say who waits");
    }
  }

  // Nobody is inside an operation, so nothing will move by itself: neither who is owed a start nor
  // the first in line may fit.
  void check_idle_slot() const {
    const std::uint32_t heavy_units = line_.heavy_units(Line::Count::exact);
    bool first = true;
    for (std::uint32_t c = 0; c < kClasses; ++c) {
      const bool owed = guarantee_of(c) != 0 && book_.deaths == 0 && book_.credits[c] >= 1000;
      const TicketAt* const next = line_.next_of(c, heavy_units, nullptr, owed);
      if (next == nullptr) {
        continue;
      }
      if ((first || owed) && (line_.fits(*next, block_.word()) || line_.admits_all())) {
        fail("a slot is idle beside one who waits");
      }
      first = false;
    }
  }

  // Of each key, what was paid for and not given back.
  void check_quota() const {
    if (!block_.has_quota()) {
      return;
    }
    const auto interval = static_cast<std::uint64_t>(kQuotaPeriod.ns) / 1000;
    const auto now_us = static_cast<std::uint64_t>(kBegin.ns) / 1000;
    for (std::uint32_t key = 1; key < kKeys; ++key) {
      std::uint64_t paid = 0;
      for (std::uint32_t i = 0; i < kQuotaCells; ++i) {
        const detail::QuotaEntry entry{block_.quota_cells()[i].peek()};
        paid += entry.mark() == detail::quota_mark(quota_key(key)) ? entry.ahead_of(now_us) : 0;
      }
      if (paid != book_.quota_used[key] * interval) {
        fail("a quota has not been charged what was used of it");
      }
      if (book_.quota_used[key] > scenario_.quota) {
        fail("more than the quota was let through");
      }
    }
  }

  // ---- At the end -------------------------------------------------------------------------------

  void check_seat_at_end(std::uint32_t i) const {
    const Person& one = person(i);
    if (one.alive && one.ticket.valid()) {
      fail("one who waits is never told");
    }
    const Slot& slot = block_.slot(i);
    const Bracket bracket{slot.bracket.peek()};
    if (bracket.open() || bracket.held() != (one.permit.held() ? one.permit.cost() : 0)) {
      fail("an account is not what its owner holds");
    }
    if (slot.exempt_held.peek() != (one.permit.held() && one.exempt_permit ? 1U : 0U)) {
      fail("exempt_held is not what its owner holds");
    }
    if (slot.heavy_held.peek() != (one.permit.held() && one.heavy_permit ? one.permit.cost() : 0)) {
      fail("heavy_held is not what its owner holds of weights above 1");
    }
    if (slot.released_twice.peek() != 0) {
      fail("explorer: released twice");
    }
  }

  // Nobody was refused for what others gave back, so all of it has been had.
  void check_quota_at_end() const {
    for (std::uint32_t key = 1; key < kKeys && block_.has_quota(); ++key) {
      if (book_.deaths == 0 && book_.quota_returned == 0 &&
          book_.quota_used[key] != std::min(book_.quota_asked[key], scenario_.quota)) {
        fail("a quota was not used up");
      }
    }
  }

  const Scenario& scenario_;
  const GateBlock& block_;
  Book& book_;
  const Line line_;
};

}  // namespace
}  // namespace loadline::explorer
