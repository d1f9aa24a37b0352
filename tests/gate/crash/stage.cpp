#include "stage.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <vector>

// Which says where things lie.
#include "gate/lifecycle.h"
#include "gate/tenants.h"

namespace loadline::crash {
namespace {

using detail::Bracket;
using detail::TicketState;

constexpr Instant kBegin{1'000'000'000'000};
constexpr std::size_t kBlockAt = 64 * 1024;

// A set-up that does not come about says nothing about deaths.
void require(bool as_planned, const char* what) {
  if (!as_planned) {
    std::fprintf(stderr, "set-up: %s\n", what);
    std::_Exit(3);
  }
}

std::vector<std::uint64_t> counters_of(const Snapshot& all) {
  std::vector<std::uint64_t> counters{all.reclaimed,     all.reclaimed_units, all.repairs,
                                      all.taken_back,    all.corruptions,     all.released_twice,
                                      all.service.sum_ns};
  const auto add = [&counters](const auto& several) {
    counters.insert(counters.end(), std::begin(several), std::end(several));
  };
  add(all.service.counts);
  for (const Snapshot::Class& here : all.classes) {
    counters.insert(counters.end(), {here.admitted, here.cancelled, here.wait.sum_ns});
    add(here.rejected);
    add(here.observed);
    add(here.wait.counts);
  }
  return counters;
}

}  // namespace

Policy usual_policy() {
  Policy policy;
  policy.limit = kLimit;
  policy.queue = QueueSize::at_most(kQueue);
  policy.wait_budget = kWaitBudget;
  policy.heavy_share = 1000;
  fill_defaults(policy);
  return policy;
}

Policy policy_with_tenants() {
  Policy policy = usual_policy();
  policy.tenants = 100;
  policy.quota = {.requests = 1000, .burst = 1000, .keys = 16};
  return policy;
}

Policy policy_that_learns() {
  Policy policy = usual_policy();
  policy.law = Law::automatic;
  policy.limit_most = kQueue + kLimit;
  return policy;
}

Request of(std::uint8_t importance, std::uint32_t cost) {
  Request request;
  request.importance = importance;
  request.cost = cost;
  return request;
}

Request of_tenant(std::uint64_t tenant) {
  Request request = of(kCritical);
  request.tenant = tenant;
  request.quota = tenant;
  return request;
}

std::uint32_t Person::units() const {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < permit_count; ++i) {
    sum += permits[i].cost();
  }
  return sum;
}

std::uint32_t Person::heavy_units() const {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < permit_count; ++i) {
    sum += permits[i].cost() > 1 ? permits[i].cost() : 0;
  }
  return sum;
}

bool Person::forget(Ticket ticket) {
  for (std::size_t i = 0; i < ticket_count; ++i) {
    if (tickets[i] == ticket) {
      tickets[i] = tickets[--ticket_count];
      return true;
    }
  }
  return false;
}

namespace {

std::size_t bytes_of(const Policy& policy) {
  return CrashingGate::bytes_for(Capacity{kSeats, kTickets}.for_tables(policy));
}

}  // namespace

Stage::Stage()
    : bytes_(kBlockAt + std::max(bytes_of(policy_with_tenants()), bytes_of(policy_that_learns()))) {
  static_assert(sizeof(Shared) <= kBlockAt);
  pages_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  require(pages_ != MAP_FAILED, "mmap");
}

Stage::~Stage() {
  munmap(pages_, bytes_);
}

std::span<std::byte> Stage::block() const {
  return {static_cast<std::byte*>(pages_) + kBlockAt, bytes_ - kBlockAt};
}

Stage::Slot& Stage::slot(std::uint32_t i) const {
  return reinterpret_cast<Slot*>(block().data() + detail::slots_offset<CrashingSync>())[i];
}

Stage::TicketAt& Stage::ticket(std::uint32_t i) const {
  return reinterpret_cast<TicketAt*>(block().data() +
                                     detail::tickets_offset<CrashingSync>(kSeats))[i];
}

void Stage::begin(const Policy& policy) {
  ::new (pages_) Shared{};
  shared().now = kBegin;
  capacity_ = Capacity{kSeats, kTickets}.for_tables(policy);
  const auto made =
      CrashingGate::create(block().data(), block().size(), capacity_, policy, now(), gate);
  require(made == CrashingGate::OpenError::none, "create");
  attach(survivor());
  shared().rules_before = rules();
}

void Stage::end() {
  if (shared().steps != 0) {
    rules_after_ = shared().rules_after;
  }
  gate.detach(survivor().seat, now());
}

pid_t Stage::child(const std::function<void()>& body) {
  const pid_t pid = fork();
  if (pid == 0) {
    body();
    std::_Exit(0);
  }
  require(pid > 0, "fork");
  return pid;
}

int Stage::in_child(const std::function<void()>& body) {
  const pid_t pid = child(body);
  int status = 0;
  require(waitpid(pid, &status, 0) == pid, "waitpid");
  return status;
}

void Stage::perform(const std::function<void()>& operation, std::uint32_t chosen, Fate fate) {
  shared().before = gate.snapshot();
  shared().rules_before = rules();
  shared().steps = 0;
  arm(chosen, fate, block());
  operation();
  shared().steps = disarm();
  shared().rules_after = rules();
}

void Stage::attach(Person& who) {
  who.seat = gate.attach(static_cast<std::uint32_t>(&who - shared().people.data()), now());
  require(who.seat.valid(), "no seat");
}

Offer Stage::offer(Person& who, const Request& request) {
  ++shared().offered;
  Offer answer = gate.offer(who.seat, request, now());
  if (answer.kind == Offer::Kind::wait) {
    who.keep(answer.ticket);
  } else if (answer.kind == Offer::Kind::admit) {
    who.keep(std::move(answer.permit));
  }
  return answer;
}

void Stage::start(Person& who, const Request& request) {
  require(offer(who, request).kind == Offer::Kind::admit, "not admitted");
}

void Stage::wait(Person& who, const Request& request) {
  require(offer(who, request).kind == Offer::Kind::wait, "does not wait");
}

void Stage::release(Person& who, Outcome ended) {
  require(who.permit_count != 0, "nothing to release");
  gate.release(who.seat, who.permits[--who.permit_count], ended, now());
}

void Stage::cancel(Person& who, Ticket ticket) {
  require(who.forget(ticket), "nothing to cancel");
  ++shared().buried_tickets;
  gate.cancel(who.seat, ticket, now());
}

void Stage::take(Person& who, Settled& settled) {
  require(who.forget(settled.ticket), "told of a ticket that nobody waits for");
  if (settled.kind == Settled::Kind::admit) {
    ++shared().started_after_waiting;
    who.keep(std::move(settled.permit));
  }
}

void Stage::collect(Person& who) {
  std::array<Settled, 2> some;
  Signals signals;
  while (const std::size_t n = gate.collect(who.seat, some, now(), signals)) {
    for (std::size_t i = 0; i < n; ++i) {
      take(who, some[i]);
    }
  }
}

void Stage::tick() {
  pass(Duration::millis(11));
  gate.tick(now());
}

void Stage::bury(Person& who) {
  shared().buried_tickets += who.ticket_count;
  who = {};
}

std::uint32_t Stage::units_held() const {
  std::uint32_t units = 0;
  for (const Person& person : shared().people) {
    units += person.units();
  }
  return units;
}

bool Stage::in_queue(std::uint32_t i, std::uint32_t queue) const {
  const TicketAt& one = ticket(i);
  return one.state.peek() == TicketState::waiting &&
         one.importance + (one.heavy ? kMaxClasses : 0) == queue;
}

bool Stage::decided(std::uint32_t i) const {
  const TicketState state = ticket(i).state.peek();
  return state == TicketState::granted || state == TicketState::refused ||
         state == TicketState::taken;
}

// From the head by `next`, each with its way back, to the tail: all that belong, and nothing else.
void Stage::check_list(const detail::TicketList& list, const char* name,
                       const std::function<bool(std::uint32_t)>& belongs, Wrongs& wrongs) const {
  std::uint32_t count = 0;
  for (std::uint32_t i = 0; i < kTickets; ++i) {
    count += belongs(i) ? 1 : 0;
  }
  std::uint32_t before = detail::kNoTicket;
  std::uint32_t at = list.head;
  for (std::uint32_t n = 0; n < count; ++n) {
    if (at >= kTickets || !belongs(at) || ticket(at).previous != before) {
      wrongs.push_back(fmt::format("{}: broken at its place {}", name, n));
      return;
    }
    before = at;
    at = ticket(at).next;
  }
  if (at != detail::kNoTicket || list.tail != before || list.count != count) {
    wrongs.push_back(
        fmt::format("{}: {} in the list, {} by their states", name, list.count, count));
  }
}

void Stage::check_queues(Wrongs& wrongs) const {
  std::uint32_t all = 0;
  for (std::uint32_t c = 0; c < kMaxClasses; ++c) {
    const std::uint32_t waiting =
        head().guarded.queues[c].count + head().guarded.queues[c + kMaxClasses].count;
    if (head().guarded.class_waiting[c].peek() != waiting) {
      wrongs.push_back(fmt::format("class_waiting: {} of class {}, not {}",
                                   head().guarded.class_waiting[c].peek(), c, waiting));
    }
    all += waiting;
  }
  std::uint32_t occupied = 0;
  for (std::uint32_t q = 0; q < detail::kQueues; ++q) {
    occupied |= head().guarded.queues[q].count != 0 ? 1U << q : 0U;
    check_list(
        head().guarded.queues[q], "queue", [this, q](std::uint32_t i) { return in_queue(i, q); },
        wrongs);
    if (capacity_.tenant_buckets != 0 && wrongs.empty()) {
      check_calendar(q, wrongs);
    }
  }
  if (head().guarded.waiting != all || head().guarded.occupied.peek() != occupied) {
    wrongs.push_back(fmt::format("waiting {} in the queues {:x}; it is {} in {:x}",
                                 head().guarded.waiting, head().guarded.occupied.peek(), all,
                                 occupied));
  }
  const Word word{head().word.peek()};
  if (word.waiting() != all || word.mask() != mask_of_those_who_wait()) {
    wrongs.push_back(fmt::format("the word says {} wait, of classes {:x}; it is {}, of {:x}",
                                 word.waiting(), word.mask(), all, mask_of_those_who_wait()));
  }
}

// Heavy ones count only while their share of the limit has room for the next of them, and for each
// that is more important.
std::uint32_t Stage::mask_of_those_who_wait() const {
  const Snapshot all = gate.snapshot();
  std::uint32_t mask = 0;
  bool heavies_fit = true;
  for (std::uint32_t c = 0; c < kMaxClasses; ++c) {
    mask |= head().guarded.queues[c].count != 0 ? 1U << c : 0U;
    const detail::TicketList& heavy = head().guarded.queues[c + kMaxClasses];
    const std::uint32_t next = all.classes[c].newest_first ? heavy.tail : heavy.head;
    if (heavy.count == 0 || next >= kTickets) {
      continue;
    }
    const std::uint32_t cost =
        std::min({ticket(next).cost, all.heavy_limit, head().published.thresholds[c].peek()});
    heavies_fit =
        heavies_fit && (all.mode != Mode::on || all.heavy_in_flight + cost <= all.heavy_limit);
    mask |= heavies_fit ? 1U << c : 0U;
  }
  return mask;
}

// Each round that has entries names the last of them.
void Stage::check_calendar(std::uint32_t queue, Wrongs& wrongs) const {
  using detail::Calendar;
  const auto* const board = reinterpret_cast<const detail::TenantBoard<CrashingSync>*>(
      block().data() + detail::board_offset<CrashingSync>(capacity_));
  const auto* const places = reinterpret_cast<const detail::TenantPlace*>(
      block().data() + detail::places_offset<CrashingSync>(capacity_));
  const Calendar& calendar = board->calendars[queue];
  std::array<std::uint32_t, Calendar::kRounds> last{};
  last.fill(detail::kNoTicket);
  for (std::uint32_t at = head().guarded.queues[queue].head; at < kTickets; at = ticket(at).next) {
    last.at(places[at].tag / kRound % Calendar::kRounds) = at;
  }
  for (std::uint32_t round = 0; round < Calendar::kRounds; ++round) {
    const bool used = (calendar.used[round / 64] >> round % 64 & 1) != 0;
    if (used != (last.at(round) != detail::kNoTicket) ||
        (used && calendar.last[round] != last.at(round))) {
      wrongs.push_back(
          fmt::format("the calendar of queue {} is wrong in its place {}", queue, round));
    }
  }
}

void Stage::check_ready_lists(Wrongs& wrongs) const {
  for (std::uint32_t seat = 0; seat < kSeats; ++seat) {
    const detail::TicketList& list = slot(seat).ready_list;
    check_list(
        list, "ready list",
        [this, seat](std::uint32_t i) { return decided(i) && ticket(i).owner == seat; }, wrongs);
    std::uint64_t ready = list.count == 0 ? detail::Ready::kNone : detail::Ready::kSeveral;
    if (list.count == 1 && list.head < kTickets) {
      ready = detail::Ready::one({list.head, ticket(list.head).generation.peek()});
    }
    if (slot(seat).ready.peek() != ready) {
      wrongs.push_back(fmt::format("ready: {}, not {}", slot(seat).ready.peek(), ready));
    }
  }
  for (std::uint32_t i = 0; i < kTickets; ++i) {
    if (ticket(i).state.peek() != TicketState::free && slot(ticket(i).owner).attached.peek() == 0) {
      wrongs.push_back(fmt::format("ticket {} belongs to an empty seat", i));
    }
  }
}

void Stage::check_free_list(Wrongs& wrongs) const {
  std::uint32_t free = 0;
  for (std::uint32_t i = 0; i < kTickets; ++i) {
    free += ticket(i).state.peek() == TicketState::free ? 1 : 0;
  }
  std::uint32_t in_list = 0;
  for (std::uint32_t at = head().guarded.free_head; at < kTickets && in_list <= kTickets;
       at = ticket(at).next) {
    ++in_list;
  }
  if (in_list != free) {
    wrongs.push_back(fmt::format("{} free tickets, {} in their list", free, in_list));
  }
}

void Stage::check_units(Wrongs& wrongs) const {
  std::uint32_t granted = 0;
  for (std::uint32_t i = 0; i < kTickets; ++i) {
    granted += ticket(i).state.peek() == TicketState::granted ? ticket(i).cost : 0;
  }
  const Word word{head().word.peek()};
  if (word.in_flight() != units_held() + granted) {
    wrongs.push_back(
        fmt::format("in flight {}: held {}, granted {}", word.in_flight(), units_held(), granted));
  }
  if (head().guarded.audit_due) {
    wrongs.emplace_back("an audit is due");
  }
  for (const Person& person : shared().people) {
    if (!person.seat.valid()) {
      continue;
    }
    const Slot& seat = slot(person.seat.index);
    const Bracket bracket{seat.bracket.peek()};
    if (bracket.open() || bracket.held() != person.units() ||
        seat.heavy_held.peek() != person.heavy_units()) {
      wrongs.push_back(fmt::format(
          "the account of seat {} says {}, {} of them heavy; it holds {}, {}", person.seat.index,
          bracket.held(), seat.heavy_held.peek(), person.units(), person.heavy_units()));
    }
  }
}

std::string Stage::what_is_wrong() const {
  Wrongs wrongs;
  check_queues(wrongs);
  check_ready_lists(wrongs);
  check_free_list(wrongs);
  check_units(wrongs);
  const Snapshot all = gate.snapshot();
  if (all.corruptions != 0 || all.released_twice != 0) {
    wrongs.emplace_back("the block was found broken");
  }
  return fmt::format("{}", fmt::join(wrongs, "; "));
}

std::string Stage::what_is_wrong_with_the_sums(std::uint64_t lost) const {
  const Snapshot all = gate.snapshot();
  std::uint64_t sum = 0;
  std::uint64_t waits = 0;
  for (const Snapshot::Class& here : all.classes) {
    waits += here.wait.total();
    sum += here.admitted + here.cancelled;
    for (const std::uint64_t rejected : here.rejected) {
      sum += rejected;
    }
  }
  for (const Person& person : shared().people) {
    sum += person.ticket_count;  // not told yet
    waits -= std::min(waits, person.ticket_count);
  }
  if (waits > shared().started_after_waiting + shared().buried_tickets + all.taken_back) {
    return fmt::format("{} waits are measured, and only {} have started after one", waits,
                       shared().started_after_waiting);
  }
  if (sum <= offered() && offered() <= sum + lost) {
    return {};
  }
  return fmt::format("{} offered, {} accounted for, {} may be lost", offered(), sum, lost);
}

std::string Stage::what_went_back() const {
  const auto before = counters_of(shared().before);
  const auto after = counters_of(gate.snapshot());
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (after[i] < before[i]) {
      return fmt::format("counter {} went from {} to {}", i, before[i], after[i]);
    }
  }
  return {};
}

std::string Stage::what_is_wrong_with_the_rules() const {
  const Rules now = rules();
  return now == shared().rules_before || now == rules_after_ ? "" : "they are half-changed";
}

Rules Stage::rules() const {
  const Snapshot all = gate.snapshot();
  Rules rules{.limit = all.limit,
              .limiter_limit = head().guarded.limit,
              .queue_limit = all.queue_limit,
              .class_count = all.class_count,
              .queue_kind = all.queue_kind,
              .wait_budget = all.wait_budget,
              .retry_after = head().published.retry_after.peek(),
              .heavy_limit = all.heavy_limit,
              .exempt_limit = head().published.exempt_limit.peek(),
              .quota_interval_us = head().published.quota_interval_us.peek(),
              .quota_tolerance_us = head().published.quota_tolerance_us.peek(),
              .discipline = all.discipline,
              .mode = all.mode,
              .draining = all.draining};
  for (std::uint32_t c = 0; c < kMaxClasses; ++c) {
    rules.thresholds[c] = head().published.thresholds[c].peek();
    rules.guarantees[c] = head().guarded.guarantees[c];
  }
  for (std::uint32_t g = 0; g < kMaxGroups; ++g) {
    rules.group_tenants[g] = head().guarded.group_tenants[g].peek();
  }
  return rules;
}

}  // namespace loadline::crash
