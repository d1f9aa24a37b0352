// A gate among a few people who use it, and what must hold whatever the order of their steps.
//
// This is the one file that is compiled against the gate: against the shipped headers, and once for
// every planted fault against a copy with that fault.
#include <algorithm>
#include <cstdlib>
#include <utility>

#include "gate/judge.h"
#include "gate/lifecycle.h"
#include "gate/offer.h"
#include "gate/queue.h"
#include "gate/recovery.h"
#include "gate/rules.h"
#include "gate/settle.h"
#include "gate/snapshot.h"
#include "loadline/gate.h"
#include "scenario.h"
#include "stepped_sync.h"

namespace loadline::explorer {

using SteppedGate = BasicGate<SteppedSync>;

// A gate has at least 257 tickets, and the repair after a death walks over all of them: far too
// many steps. A view that knows of only a few keeps the gate's code as it is. An explicit
// instantiation may name private members, which is how the view is made.
template <auto Capacity, auto Rebuild>
struct Narrowing {
  friend void narrow(SteppedGate& gate, std::uint32_t tickets) {
    (gate.*Capacity).tickets = tickets;
    (gate.*Rebuild)();
  }
};
void narrow(SteppedGate& gate, std::uint32_t tickets);
template struct Narrowing<&SteppedGate::capacity_, &SteppedGate::rebuild_lists>;

namespace {

using detail::Bracket;
using detail::TicketState;
using Head = detail::BlockHead<SteppedSync>;
using Slot = detail::ParticipantSlot<SteppedSync>;
using TicketAt = detail::TicketSlot<SteppedSync>;

constexpr std::uint32_t kTickets = 5;
constexpr Instant kBegin{1'000'000'000'000};
constexpr Duration kBudget = Duration::seconds(1);
constexpr std::uint32_t kLastTick = 60;  // ms; those in the scenarios come sooner

struct Person {
  Permit permit;
  Ticket ticket;
  std::uint32_t act = 0;
  std::uint32_t phase = 0;       // operations done in this act
  std::uint32_t importance = 0;  // of the present request
  bool inside = false;           // an operation
  bool signalled = false;
  bool alive = true;
  bool seated = false;
};

// The book that the explorer keeps, independent of the gate's own.
struct Book {
  std::array<Person, kMaxThreads> people{};
  std::uint32_t running = 0;  // units that are being worked on
  std::uint32_t offered = 0;
  std::uint32_t allowed = 0;  // nobody may be admitted above it now
  std::uint32_t highest = 0;  // limit that ever was in force
  std::uint32_t timeouts = 0;
  std::uint32_t deaths = 0;
  std::uint32_t recoveries = 0;
  bool tick_needed = false;  // a lock timed out or somebody died: wait for the next tick
};

struct alignas(128) Memory {
  Book book;
  alignas(128) std::byte block[40'000];
};

// What a cell of the block is, to know who may touch it.
enum class Cell : std::uint8_t {
  counter,
  word,
  next_tick,
  published,
  class_waiting,
  mutex,
  alive,
  bracket,
  ready,
  attached,
  ticket,
  unknown,
};

class GateWorld final : public Subject {
 public:
  explicit GateWorld(Scenario scenario);

  [[nodiscard]] std::uint32_t threads() const override {
    return static_cast<std::uint32_t>(scenario_.scripts.size());
  }
  void live(std::uint32_t who) override;
  std::span<std::byte> memory() override {
    return {reinterpret_cast<std::byte*>(memory_.get()), used_bytes()};
  }
  [[nodiscard]] std::uint64_t digest() const override;
  [[nodiscard]] std::uint64_t guarded_digest() const override;
  Weight weigh(std::uint32_t who, Pending next) override;
  [[nodiscard]] bool can_run(std::uint32_t who, Pending next) const override;
  [[nodiscard]] bool can_time_out(std::uint32_t who, Pending next) const override;
  [[nodiscard]] bool can_die(std::uint32_t who) const override;
  [[nodiscard]] bool can_recover() const override { return book().tick_needed; }
  void wrote(const void* address, std::uint64_t before, std::uint64_t after) override;
  void timed_out(std::uint32_t) override;
  void died(std::uint32_t who) override;
  void recover() override;
  void check() override;
  void check_end() override;
  [[nodiscard]] std::string name(const void* address) const override;

 private:
  [[nodiscard]] Book& book() const { return memory_->book; }
  [[nodiscard]] Person& person(std::uint32_t who) const { return book().people[who]; }
  [[nodiscard]] Head& head() const { return *reinterpret_cast<Head*>(memory_->block); }
  [[nodiscard]] Slot& slot(std::uint32_t i) const {
    return reinterpret_cast<Slot*>(memory_->block + detail::slots_offset<SteppedSync>())[i];
  }
  [[nodiscard]] TicketAt* tickets() const {
    return reinterpret_cast<TicketAt*>(memory_->block +
                                       detail::tickets_offset<SteppedSync>(threads()));
  }
  [[nodiscard]] std::size_t used_bytes() const {
    return static_cast<std::size_t>(reinterpret_cast<std::byte*>(tickets() + kTickets) -
                                    reinterpret_cast<std::byte*>(memory_.get()));
  }
  [[nodiscard]] Word word() const { return {head().word.peek()}; }
  [[nodiscard]] std::uint32_t share_of(std::uint32_t limit, std::uint32_t importance) const;

  void note_what_is_shared();
  void make_gate();

  // What the people do.
  void prepare(std::uint32_t who);
  void perform(std::uint32_t who, const Act& act);
  template <class Operation>
  auto inside(std::uint32_t who, Operation operation);
  void offer(std::uint32_t who, const Act& act);
  void await(std::uint32_t who);
  void collect(std::uint32_t who);
  void cancel(std::uint32_t who, Instant now);
  void settle(std::uint32_t who, Instant now);
  void set_limit(std::uint32_t who, const Act& act);
  void absorb(std::uint32_t who, Settled& settled);
  void start_work(std::uint32_t who, Permit& permit);
  void work(std::uint32_t who);
  void release(std::uint32_t who);
  void deliver(Signals signals);
  void wait_for_signal(std::uint32_t who);

  // What must hold.
  void fail(const char* what) const { engine().fail(what); }
  void check_admission(Word before, Word after) const;
  void check_grant(const TicketAt& granted) const;
  void check_idle_slot() const;
  void check_accounts() const;
  void check_units() const;
  void check_waiting() const;
  [[nodiscard]] bool gone(const TicketAt& ticket) const;
  [[nodiscard]] bool waits(const TicketAt& ticket) const;
  [[nodiscard]] bool somebody_inside() const;

  void map_cells();
  [[nodiscard]] Cell cell_of(const void* address) const;
  [[nodiscard]] std::uint32_t slot_of(const void* address) const;
  void check_reduction(bool sound, const char* what) const;
  Weight weigh_cell(Cell cell, std::uint32_t who, Pending next);

  const Scenario scenario_;
  std::unique_ptr<Memory> memory_ = std::make_unique<Memory>();
  SteppedGate gate_;
  std::vector<Cell> cells_;  // of every four bytes of the block
  bool cancels_ = false;
  bool rules_move_ = false;
  bool audits_ = false;
};

Instant at(std::uint32_t ms) {
  return kBegin + Duration::millis(ms);
}

GateWorld::GateWorld(Scenario scenario) : scenario_(std::move(scenario)) {
  note_what_is_shared();
  make_gate();
  map_cells();
  book().allowed = book().highest = scenario_.limit;
  book().timeouts = scenario_.timeouts;
  for (std::uint32_t who = 0; who < threads(); ++who) {
    engine().act_as(*this, who, [&] { prepare(who); });
  }
  if (scenario_.dead != kNobody) {
    died(scenario_.dead);
  }
}

// What nobody does in this scenario, others need not be kept from seeing half done.
void GateWorld::note_what_is_shared() {
  for (const auto* scripts : {&scenario_.scripts, &scenario_.before}) {
    for (const Script& script : *scripts) {
      for (const Act& act : script) {
        cancels_ = cancels_ || act.kind == Act::Kind::cancel;
        rules_move_ =
            rules_move_ || act.kind == Act::Kind::set_limit || act.kind == Act::Kind::observe;
        audits_ = audits_ || act.kind == Act::Kind::leave;
      }
    }
  }
  audits_ = audits_ || scenario_.victim != kNobody || scenario_.dead != kNobody;
}

void GateWorld::make_gate() {
  Policy policy;
  policy.limit = scenario_.limit;
  policy.queue = QueueSize::at_most(scenario_.queue);
  policy.wait_budget = kBudget;
  add_class(policy, "high");
  add_class(policy, "low", scenario_.low_share);
  const Capacity capacity{threads(), Capacity::kSpareTickets + scenario_.queue};
  if (SteppedGate::create(memory_->block, sizeof memory_->block, capacity, policy, kBegin, gate_) !=
      SteppedGate::OpenError::none) {
    std::abort();
  }
  narrow(gate_, kTickets);
}

// A scenario that does not begin as it says is a mistake in the scenario.
void GateWorld::prepare(std::uint32_t who) {
  Person& me = person(who);
  me.seated = gate_.attach(who, kBegin).index == who;
  bool as_said = me.seated;
  const Script none;
  for (const Act& act : who < scenario_.before.size() ? scenario_.before[who] : none) {
    perform(who, act);
    as_said = as_said && (act.kind == Act::Kind::ask ? me.ticket.valid() : me.permit.held());
  }
  if (!as_said) {
    std::abort();
  }
}

// ---- What the people do -----------------------------------------------------------------------

void GateWorld::live(std::uint32_t who) {
  Person& me = person(who);
  for (const Script& script = scenario_.scripts[who]; me.act < script.size(); ++me.act) {
    me.phase = 0;
    perform(who, script[me.act]);
  }
  while (true) {
    me.phase = 0;
    wait_for_signal(who);
    collect(who);
    work(who);
  }
}

// An operation of the gate. What its thread knew inside is forgotten after it: the answer goes into
// the book before the next step.
template <class Operation>
auto GateWorld::inside(std::uint32_t who, Operation operation) {
  Person& me = person(who);
  me.inside = true;
  auto answer = operation(Participant{who});
  me.inside = false;
  ++me.phase;
  engine().forget();
  return answer;
}

void GateWorld::perform(std::uint32_t who, const Act& act) {
  Person& me = person(who);
  const Instant now = at(act.at_ms);
  switch (act.kind) {
    case Act::Kind::request:
      offer(who, act);
      await(who);
      work(who);
      break;
    case Act::Kind::ask:
      offer(who, act);
      work(who);
      break;
    case Act::Kind::take:
      offer(who, act);
      await(who);
      break;
    case Act::Kind::give:
      release(who);
      break;
    case Act::Kind::cancel:
      cancel(who, now);
      break;
    case Act::Kind::settle:
      settle(who, now);
      work(who);
      break;
    case Act::Kind::await:
      await(who);
      work(who);
      break;
    case Act::Kind::poll:
      collect(who);
      work(who);
      break;
    case Act::Kind::set_limit:
      set_limit(who, act);
      break;
    case Act::Kind::observe:
      book().allowed = book().highest = kMaxLimit;
      deliver(inside(who, [&](Participant) { return gate_.set_mode(Mode::observe, now); }));
      break;
    case Act::Kind::tick:
      deliver(inside(who, [&](Participant) { return gate_.tick(now); }));
      break;
    case Act::Kind::leave:
      if (me.permit.held()) {  // what it holds goes back with the seat
        book().running -= me.permit.cost();
        me.permit = Permit();
      }
      me.ticket = {};
      me.seated = false;
      deliver(inside(who, [&](Participant self) { return gate_.detach(self, now); }));
      break;
    case Act::Kind::sit:
      me.seated = inside(who, [&](Participant) { return gate_.attach(who, now); }).index == who;
      if (!me.seated) {
        fail("a seat that was left is not to be had");
      }
      break;
  }
}

void GateWorld::offer(std::uint32_t who, const Act& act) {
  Person& me = person(who);
  Request request;
  request.importance = act.importance;
  request.cost = act.units;
  me.importance = act.importance;
  ++book().offered;
  Offer answer =
      inside(who, [&](Participant self) { return gate_.offer(self, request, at(act.at_ms)); });
  if (answer.kind == Offer::Kind::admit) {
    start_work(who, answer.permit);
  } else if (answer.kind == Offer::Kind::wait) {
    me.ticket = answer.ticket;
  }
  deliver(answer.signals);
}

void GateWorld::await(std::uint32_t who) {
  while (person(who).ticket.valid()) {
    wait_for_signal(who);
    collect(who);
  }
}

void GateWorld::collect(std::uint32_t who) {
  std::array<Settled, 2> some;
  Signals signals;
  const std::size_t n =
      inside(who, [&](Participant self) { return gate_.collect(self, some, kBegin, signals); });
  for (std::size_t i = 0; i < n; ++i) {
    absorb(who, some[i]);
  }
  deliver(signals);
}

void GateWorld::absorb(std::uint32_t who, Settled& settled) {
  Person& me = person(who);
  if (!me.ticket.valid() || settled.ticket != me.ticket) {
    fail("somebody is told about a ticket that it does not wait with");
    return;
  }
  me.ticket = {};
  if (settled.kind == Settled::Kind::admit) {
    start_work(who, settled.permit);
  }
}

void GateWorld::cancel(std::uint32_t who, Instant now) {
  Person& me = person(who);
  if (!me.ticket.valid()) {
    return;
  }
  const Ticket ticket = me.ticket;
  const Signals signals =
      inside(who, [&](Participant self) { return gate_.cancel(self, ticket, now); });
  me.ticket = {};
  deliver(signals);
}

void GateWorld::settle(std::uint32_t who, Instant now) {
  Person& me = person(who);
  if (!me.ticket.valid()) {
    return;
  }
  Signals signals;
  Settled settled =
      inside(who, [&](Participant self) { return gate_.settle(self, me.ticket, now, signals); });
  if (settled.kind == Settled::Kind::unknown) {
    fail("a ticket that waits is unknown");
  } else if (settled.kind != Settled::Kind::waiting) {
    absorb(who, settled);
  }
  deliver(signals);
}

void GateWorld::set_limit(std::uint32_t who, const Act& act) {
  book().allowed = std::max(book().allowed, act.units);
  book().highest = std::max(book().highest, act.units);
  Signals signals;
  const bool set =
      inside(who, [&](Participant) { return gate_.set_limit(act.units, at(act.at_ms), signals); });
  book().allowed = act.units;
  if (!set) {
    fail("the limit could not be set");
  }
  deliver(signals);
}

void GateWorld::start_work(std::uint32_t who, Permit& permit) {
  book().running += permit.cost();
  person(who).permit = std::move(permit);
  if (book().running > book().highest) {
    fail("more is running than the limit");
  }
}

// A step apart, so that others can see it running.
void GateWorld::work(std::uint32_t who) {
  if (person(who).permit.held()) {
    engine().before(Step::work, nullptr);
    release(who);
  }
}

void GateWorld::release(std::uint32_t who) {
  Person& me = person(who);
  if (!me.permit.held()) {
    return;
  }
  Permit permit = std::move(me.permit);
  me.permit = Permit();
  book().running -= permit.cost();
  deliver(inside(who, [&](Participant self) {
    return gate_.release(self, permit, Outcome::ignored, kBegin);
  }));
}

// One with the operation that ended, unless its caller may die before the signals are sent.
void GateWorld::deliver(Signals signals) {
  if (!signals.any()) {
    return;
  }
  engine().learn(signals.participants);
  engine().before(Step::signal, nullptr);
  engine().forget();
  for (std::uint32_t i = 0; i < threads(); ++i) {
    person(i).signalled = person(i).signalled || (signals.participants >> i & 1) != 0;
  }
}

void GateWorld::wait_for_signal(std::uint32_t who) {
  engine().before(Step::wait, nullptr);
  person(who).signalled = false;
}

// ---- Steps ------------------------------------------------------------------------------------

void GateWorld::map_cells() {
  cells_.assign(sizeof memory_->block / 4, Cell::unknown);
  const auto mark = [&](const void* from, std::size_t bytes, Cell cell) {
    const auto begin =
        static_cast<std::size_t>(static_cast<const std::byte*>(from) - memory_->block);
    std::fill_n(cells_.begin() + static_cast<std::ptrdiff_t>(begin / 4), bytes / 4, cell);
  };
  mark(&head().word, sizeof head().word, Cell::word);
  mark(&head().next_tick, sizeof head().next_tick, Cell::next_tick);
  mark(&head().published, sizeof head().published, Cell::published);
  mark(&head().guarded, sizeof head().guarded, Cell::counter);
  mark(&head().guarded.class_waiting, sizeof head().guarded.class_waiting, Cell::class_waiting);
  mark(&head().guarded.mutex, sizeof head().guarded.mutex, Cell::mutex);
  for (std::uint32_t i = 0; i < threads(); ++i) {
    mark(&slot(i), sizeof slot(i), Cell::counter);
    mark(&slot(i).bracket, sizeof slot(i).bracket, Cell::bracket);
    mark(&slot(i).ready, sizeof slot(i).ready, Cell::ready);
    mark(&slot(i).attached, sizeof slot(i).attached, Cell::attached);
    mark(&slot(i).alive, sizeof slot(i).alive, Cell::alive);
  }
  mark(tickets(), kTickets * sizeof(TicketAt), Cell::ticket);
}

Cell GateWorld::cell_of(const void* address) const {
  const auto offset =
      static_cast<std::size_t>(static_cast<const std::byte*>(address) - memory_->block);
  return offset / 4 < cells_.size() ? cells_[offset / 4] : Cell::unknown;
}

std::uint32_t GateWorld::slot_of(const void* address) const {
  const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(address) -
                                               reinterpret_cast<const std::byte*>(&slot(0)));
  return static_cast<std::uint32_t>(offset / sizeof(Slot));
}

// Steps are left out only where that is sound, and each reason is checked as the search goes.
void GateWorld::check_reduction(bool sound, const char* what) const {
  if (!sound) {
    fail(what);
  }
}

Weight GateWorld::weigh(std::uint32_t who, Pending next) {
  Weight weight = next.step == Step::signal ? Weight::part : Weight::step;
  if (next.address != nullptr) {
    weight = weigh_cell(cell_of(next.address), who, next);
  }
  if (scenario_.every_step) {
    return Weight::step;
  }
  // Who may die may die before each of its operations.
  return who == scenario_.victim && weight != Weight::step ? Weight::mortal : weight;
}

Weight GateWorld::weigh_cell(Cell cell, std::uint32_t who, Pending next) {
  const bool writes = next.step != Step::read;
  const bool locked = head().guarded.mutex.held_by(who);
  switch (cell) {
    case Cell::word:
    case Cell::next_tick:
    case Cell::ready:
      return Weight::step;
    case Cell::mutex:
    case Cell::alive:
      // To unlock is one with what came before: nobody could tell the difference (Lipton: it moves
      // to the left).
      return next.step == Step::unlock ? Weight::part : Weight::step;
    case Cell::published:
      check_reduction(rules_move_ || !writes, "explorer: the rules move unannounced");
      check_reduction(head().published.service_mean_ns.peek() == 0, "explorer: a mean is known");
      return rules_move_ ? Weight::step : Weight::part;
    case Cell::bracket:
      check_reduction(audits_ || slot_of(next.address) == who, "explorer: another's bracket");
      // While its owner lives, nobody else writes it.
      return audits_ && (writes || slot_of(next.address) != who) ? Weight::step : Weight::part;
    case Cell::ticket:
      check_reduction(cancels_ || locked, "explorer: a ticket without the mutex");
      return cancels_ ? Weight::step : Weight::part;
    case Cell::attached:
      check_reduction(locked, "explorer: a seat without the mutex");
      return Weight::part;
    case Cell::class_waiting:
      // Read without the mutex only to predict a wait, which without a known mean is none.
      check_reduction(!writes || locked, "explorer: class_waiting without the mutex");
      return Weight::blind;
    case Cell::counter:
      check_reduction(locked || slot_of(next.address) == who, "explorer: another's counter");
      return Weight::blind;
    case Cell::unknown:
      break;
  }
  fail("explorer: an operation outside of the gate");
  return Weight::step;
}

bool GateWorld::can_run(std::uint32_t who, Pending next) const {
  if (!person(who).alive) {
    return false;
  }
  switch (next.step) {
    case Step::lock:
      return static_cast<const SteppedSync::Mutex*>(next.address)->free();
    case Step::wait:
      return person(who).signalled;
    default:
      return true;
  }
}

bool GateWorld::can_time_out(std::uint32_t who, Pending next) const {
  return next.step == Step::lock && book().timeouts != 0 && person(who).alive;
}

bool GateWorld::can_die(std::uint32_t who) const {
  return who == scenario_.victim && person(who).alive;
}

void GateWorld::timed_out(std::uint32_t) {
  --book().timeouts;
  book().tick_needed = true;
}

void GateWorld::died(std::uint32_t who) {
  head().guarded.mutex.holder_died(who);
  for (std::uint32_t i = 0; i < threads(); ++i) {
    slot(i).alive.holder_died(who);
  }
  Person& dead = person(who);
  book().running -= dead.permit.held() ? dead.permit.cost() : 0;
  dead = Person{};
  dead.alive = false;
  ++book().deaths;
  book().tick_needed = true;
}

// All rest, so this needs no steps: a tick, and everyone looks what there is to collect.
void GateWorld::recover() {
  book().tick_needed = false;
  ++book().recoveries;
  gate_.tick(at(kLastTick + 20 * book().recoveries));
  for (std::uint32_t i = 0; i < threads(); ++i) {
    person(i).signalled = person(i).alive && person(i).seated;
  }
}

// ---- What must hold ---------------------------------------------------------------------------

std::uint32_t GateWorld::share_of(std::uint32_t limit, std::uint32_t importance) const {
  const std::uint32_t share = importance == 0 ? 1000 : scenario_.low_share;
  return (limit * share + 999) / 1000;
}

bool GateWorld::gone(const TicketAt& ticket) const {
  return ticket.abandoned.peek() == ticket.generation.peek();
}

bool GateWorld::waits(const TicketAt& ticket) const {
  return ticket.state.peek() == TicketState::waiting && !gone(ticket);
}

bool GateWorld::somebody_inside() const {
  return std::any_of(book().people.begin(), book().people.end(),
                     [](const Person& p) { return p.alive && p.inside; });
}

void GateWorld::wrote(const void* address, std::uint64_t before, std::uint64_t after) {
  if (address == &head().word) {
    check_admission({before}, {after});
  }
  for (std::uint32_t i = 0; i < kTickets; ++i) {
    if (address == &tickets()[i].state &&
        after == static_cast<std::uint64_t>(TicketState::granted)) {
      check_grant(tickets()[i]);
    }
  }
}

// In the very exchange that admits. An audit raises in_flight as well: it changes nothing else, and
// its own bracket is closed.
void GateWorld::check_admission(Word before, Word after) const {
  if (after.in_flight() <= before.in_flight() || engine().current() == kOutsider) {
    return;
  }
  const std::uint32_t who = engine().current();
  const bool at_once = Bracket{slot(who).bracket.peek()}.open();
  const bool granted = after.waiting() != before.waiting();
  const std::uint32_t importance = at_once && !granted ? person(who).importance : 0;
  if ((at_once || granted) && after.in_flight() > share_of(book().allowed, importance)) {
    fail("admitted above the limit");
  }
  const bool admits_all = head().published.flags.peek() != 0;
  if (granted || !at_once || admits_all) {
    return;
  }
  // While somebody holds the mutex the tickets may be a step behind the word.
  bool first = !before.waits_at_or_above(importance);
  for (std::uint32_t i = 0; i < kTickets && head().guarded.mutex.settled(); ++i) {
    first = first && !(waits(tickets()[i]) && tickets()[i].importance <= importance);
  }
  if (!first) {
    fail("admitted past one who waits");
  }
}

void GateWorld::check_grant(const TicketAt& granted) const {
  for (std::uint32_t i = 0; i < kTickets; ++i) {
    const TicketAt& other = tickets()[i];
    if (&other != &granted && waits(other) &&
        (other.importance < granted.importance ||
         (other.importance == granted.importance && other.sequence < granted.sequence))) {
      fail("granted past one who waits");
    }
  }
}

void GateWorld::check() {
  if (somebody_inside()) {
    return;
  }
  check_accounts();
  // An audit that somebody under way was in the way of is made at the next tick.
  book().tick_needed = book().tick_needed || head().guarded.audit_due;
  if (book().deaths == 0 ? !head().guarded.audit_due : !book().tick_needed) {
    check_units();
    check_waiting();
  }
  if (!book().tick_needed) {
    check_idle_slot();
  }
}

// offered = admitted + rejected + cancelled + those who have not been told yet, but for one a
// death.
void GateWorld::check_accounts() const {
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < threads(); ++i) {
    for (std::uint32_t c = 0; c < 2; ++c) {
      sum += slot(i).admitted[c].peek() + slot(i).cancelled[c].peek();
      for (const auto& rejected : slot(i).rejected[c]) {
        sum += rejected.peek();
      }
    }
  }
  for (std::uint32_t c = 0; c < 2; ++c) {
    sum += head().guarded.cancelled_by_death[c].peek();
  }
  for (std::uint32_t i = 0; i < kTickets; ++i) {
    sum += tickets()[i].state.peek() != TicketState::free && !gone(tickets()[i]);
  }
  const std::uint64_t off = sum > book().offered ? sum - book().offered : book().offered - sum;
  if (off > book().deaths) {
    fail("the accounts do not add up");
  }
}

// The word says what is really held.
void GateWorld::check_units() const {
  std::uint32_t units = 0;
  std::uint32_t granted = 0;
  for (std::uint32_t i = 0; i < threads(); ++i) {
    units += person(i).permit.held() ? person(i).permit.cost() : 0;
  }
  if (units != book().running) {
    fail("explorer: the book does not add up");
  }
  for (std::uint32_t i = 0; i < kTickets; ++i) {
    granted += tickets()[i].state.peek() == TicketState::granted ? tickets()[i].cost : 0;
  }
  if (word().in_flight() != units + granted) {
    fail("in_flight is not what is held");
  }
  if (head().guarded.granted_units != granted) {
    fail("granted_units is not what is granted");
  }
}

void GateWorld::check_waiting() const {
  std::uint32_t waiting = 0;
  std::uint32_t mask = 0;
  for (std::uint32_t i = 0; i < kTickets; ++i) {
    if (tickets()[i].state.peek() == TicketState::waiting) {
      ++waiting;
      mask |= 1U << tickets()[i].importance;
    }
  }
  if (word().waiting() != waiting || word().mask() != mask) {
    fail("the word does not say who waits");
  }
}

// Nobody is inside an operation, so nothing will move by itself: the first in line must not fit.
void GateWorld::check_idle_slot() const {
  const TicketAt* first = nullptr;
  for (std::uint32_t i = 0; i < kTickets; ++i) {
    const TicketAt& one = tickets()[i];
    if (waits(one) && (first == nullptr || one.importance < first->importance ||
                       (one.importance == first->importance && one.sequence < first->sequence))) {
      first = &one;
    }
  }
  if (first == nullptr) {
    return;
  }
  const std::uint32_t most = head().published.thresholds[first->importance].peek();
  if (word().in_flight() + std::min(first->cost, most) <= most) {
    fail("a slot is idle beside one who waits");
  }
}

void GateWorld::check_end() {
  for (std::uint32_t i = 0; i < threads(); ++i) {
    if (person(i).alive && person(i).ticket.valid()) {
      fail("one who waits is never told");
    }
    const Bracket bracket{slot(i).bracket.peek()};
    const std::uint32_t held = person(i).permit.held() ? person(i).permit.cost() : 0;
    if (bracket.open() || bracket.held() != held) {
      fail("an account is not what its owner holds");
    }
    if (slot(i).released_twice.peek() != 0) {
      fail("explorer: released twice");
    }
  }
  for (std::uint32_t i = 0; i < kTickets; ++i) {
    if (tickets()[i].state.peek() != TicketState::free) {
      fail("a ticket is left over");
    }
  }
  std::uint32_t free = 0;
  for (std::uint32_t i = head().guarded.free_head; i < kTickets && free <= kTickets;
       i = tickets()[i].next) {
    ++free;
  }
  if (free != kTickets) {
    fail("a ticket is lost");
  }
  if (head().guarded.audit_due) {
    fail("an audit is due");
  }
  if (head().guarded.corruptions.peek() != 0 ||
      (book().deaths == 0 && head().guarded.repairs.peek() != 0)) {
    fail("the block was found broken");
  }
}

// ---- Digests ----------------------------------------------------------------------------------

template <class T>
std::span<const std::byte> bytes_of(const T& of) {
  return std::as_bytes(std::span<const T, 1>(&of, 1));
}

// Of a free ticket nothing is read again but its place in the list, its generation and its mark.
std::uint64_t ticket_digest(const TicketAt& ticket, std::uint64_t hash) {
  hash = mix(hash, std::uint64_t{ticket.generation.peek()} << 32 | ticket.abandoned.peek());
  if (ticket.state.peek() == TicketState::free) {
    return mix(hash, ticket.next);
  }
  return hash_bytes(bytes_of(ticket), hash);
}

std::uint64_t GateWorld::digest() const {
  const std::span<const std::byte> all(reinterpret_cast<const std::byte*>(memory_.get()),
                                       used_bytes() - kTickets * sizeof(TicketAt));
  std::uint64_t hash = hash_bytes(all, 1);
  for (std::uint32_t i = 0; i < kTickets; ++i) {
    hash = ticket_digest(tickets()[i], hash);
  }
  return hash;
}

// Every plain cell that only the holder of the mutex reads and writes.
std::uint64_t GateWorld::guarded_digest() const {
  const auto& guarded = head().guarded;
  const auto* const from = reinterpret_cast<const std::byte*>(&guarded.now);
  const auto* const to = reinterpret_cast<const std::byte*>(&guarded.class_waiting);
  std::uint64_t hash = hash_bytes({from, to}, 2);
  for (std::uint32_t i = 0; i < threads(); ++i) {
    hash = hash_bytes(bytes_of(slot(i).ready_list), hash);
  }
  for (std::uint32_t i = 0; i < kTickets; ++i) {
    hash = ticket_digest(tickets()[i], hash);
  }
  return hash;
}

std::string GateWorld::name(const void* address) const {
  static constexpr const char* kNames[] = {"counter",       "word",     "next_tick", "published",
                                           "class_waiting", "mutex",    "alive",     "bracket",
                                           "ready",         "attached", "ticket",    "?"};
  if (address == nullptr) {
    return {};
  }
  const Cell cell = cell_of(address);
  std::string text = kNames[static_cast<std::size_t>(cell)];
  if (cell == Cell::alive || cell == Cell::bracket || cell == Cell::ready) {
    text += ' ';
    text += static_cast<char>('A' + slot_of(address));
  }
  if (cell == Cell::ticket) {
    const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(address) -
                                                 reinterpret_cast<const std::byte*>(tickets()));
    static constexpr const char* kParts[] = {" state", " generation", " mark"};
    const std::size_t part = offset % sizeof(TicketAt) / 4;
    text += ' ' + std::to_string(offset / sizeof(TicketAt)) + (part < 3 ? kParts[part] : "");
  }
  return text;
}

}  // namespace

std::unique_ptr<Subject> subject_of(const Scenario& scenario) {
  return std::make_unique<GateWorld>(scenario);
}

}  // namespace loadline::explorer
