// A gate among a few people who use it, as the search sees it.
//
//   book.h        what the explorer knows of the people
//   gate_block.h  the gate and its block of memory
//   line.h        who is in line, from the tickets alone
//   people.h      what the people do
//   invariants.h  what must hold
//   reduction.h   which operations are steps
#include "gate_block.h"
#include "invariants.h"
#include "line.h"
#include "people.h"
#include "reduction.h"

namespace loadline::explorer {
namespace {

template <class T>
std::span<const std::byte> bytes_of(const T& of) {
  return std::as_bytes(std::span<const T, 1>(&of, 1));
}

std::span<const std::byte> between(const void* from, const void* to) {
  return {static_cast<const std::byte*>(from), static_cast<const std::byte*>(to)};
}

class GateWorld final : public Subject {
 public:
  explicit GateWorld(const Scenario& scenario);

  [[nodiscard]] std::uint32_t threads() const override { return block_.participants(); }
  void live(std::uint32_t who) override { people_.live(who); }
  std::span<std::byte> memory() override {
    return {reinterpret_cast<std::byte*>(memory_.get()), block_.used_bytes()};
  }
  [[nodiscard]] std::uint64_t digest() const override;
  [[nodiscard]] std::uint64_t guarded_digest() const override;

  Weight weigh(std::uint32_t who, Pending next) override;
  [[nodiscard]] bool can_run(std::uint32_t who, Pending next) const override;
  [[nodiscard]] bool can_time_out(std::uint32_t who, Pending next) const override {
    return next.step == Step::lock && book().timeouts != 0 && book().people[who].alive;
  }
  [[nodiscard]] bool can_die(std::uint32_t who) const override {
    return who == scenario_.victim && book().people[who].alive;
  }
  [[nodiscard]] bool can_recover() const override { return book().tick_needed; }

  void wrote(const void* address, std::uint64_t before, std::uint64_t after) override {
    invariants_.wrote(address, before, after);
  }
  void timed_out(std::uint32_t) override {
    --book().timeouts;
    book().tick_needed = true;
  }
  void died(std::uint32_t who) override;
  void recover() override { people_.recover(); }
  void check() override { invariants_.check(); }
  void check_end() override { invariants_.check_end(); }

  [[nodiscard]] std::string name(const void* address) const override {
    return reduction_.name(address);
  }

 private:
  [[nodiscard]] Book& book() const { return memory_->book; }
  [[nodiscard]] bool tenants_meet() const;
  [[nodiscard]] std::uint64_t ticket_digest(std::uint32_t index, std::uint64_t hash) const;
  [[nodiscard]] std::uint64_t board_digest(std::uint64_t hash) const;

  const Scenario scenario_;
  std::unique_ptr<Memory> memory_ = std::make_unique<Memory>();
  GateBlock block_{scenario_, *memory_};
  People people_{scenario_, block_, memory_->book};
  Invariants invariants_{scenario_, block_, memory_->book};
  Reduction reduction_{scenario_, block_};
};

// A scenario that does not begin as it says is a mistake in the scenario.
GateWorld::GateWorld(const Scenario& scenario) : scenario_(scenario) {
  block_.make_gate(people_.gate_made_at());
  book().allowed = book().highest = scenario_.limit;
  book().timeouts = scenario_.timeouts;
  bool as_said = !tenants_meet();
  for (std::uint32_t who = 0; who < threads(); ++who) {
    engine().act_as(*this, who, [&] { as_said = people_.prepare(who) && as_said; });
  }
  if (scenario_.mean_ms != 0) {
    as_said = as_said && block_.head().published.service_mean_ns.peek() ==
                             Duration::millis(scenario_.mean_ms).ns;
  }
  if (!as_said) {
    std::fprintf(stderr, "%s does not begin as it says\n", scenario_.name.c_str());
    std::abort();
  }
  if (scenario_.dead != kNobody) {
    died(scenario_.dead);
  }
}

// Two who share a bucket would be taken for one, which the book does not do.
bool GateWorld::tenants_meet() const {
  std::vector<const void*> seen;
  for (std::uint32_t c = 0; c < kClasses && block_.has_tenants(); ++c) {
    for (std::uint32_t t = 0; t < kTenants; ++t) {
      const FinishAt at = block_.finish_of(t, c);
      seen.insert(seen.end(), {at.one, at.other});
    }
  }
  std::sort(seen.begin(), seen.end());
  return std::adjacent_find(seen.begin(), seen.end()) != seen.end();
}

Weight GateWorld::weigh(std::uint32_t who, Pending next) {
  if (next.step == Step::unlock && next.address == &block_.head().guarded.mutex) {
    invariants_.section_over();
  }
  return reduction_.weigh(who, next);
}

bool GateWorld::can_run(std::uint32_t who, Pending next) const {
  if (!book().people[who].alive) {
    return false;
  }
  switch (next.step) {
    case Step::lock:
      return static_cast<const SteppedSync::Mutex*>(next.address)->free();
    case Step::wait:
      return book().people[who].signalled;
    default:
      return true;
  }
}

void GateWorld::died(std::uint32_t who) {
  block_.head().guarded.mutex.holder_died(who);
  for (std::uint32_t i = 0; i < threads(); ++i) {
    block_.slot(i).alive.holder_died(who);
  }
  people_.die(who);
}

// ---- Digests ----------------------------------------------------------------------------------

// Of a free ticket nothing is read again but its place in the list, its generation and its mark.
std::uint64_t GateWorld::ticket_digest(std::uint32_t index, std::uint64_t hash) const {
  const TicketAt& ticket = block_.tickets()[index];
  hash = mix(hash, std::uint64_t{ticket.generation.peek()} << 32 | ticket.abandoned.peek());
  if (ticket.state.peek() == TicketState::free) {
    return mix(hash, ticket.next);
  }
  hash = hash_bytes(bytes_of(ticket), hash);
  if (block_.has_tenants()) {
    const detail::TenantPlace& place = block_.places()[index];
    hash = mix(mix(mix(hash, place.tenant), place.tag), place.charged);
  }
  return hash;
}

// Of a calendar only the days that are in use are read.
std::uint64_t GateWorld::board_digest(std::uint64_t hash) const {
  if (!block_.has_tenants()) {
    return hash;
  }
  const auto& board = block_.board();
  for (const detail::Calendar& calendar : board.calendars) {
    for (std::size_t i = 0; i < std::size(calendar.used); ++i) {
      for (std::uint64_t days = calendar.used[i]; days != 0; days &= days - 1) {
        const auto day = i * 64 + static_cast<std::size_t>(std::countr_zero(days));
        hash = mix(mix(hash, day), calendar.last[day]);
      }
    }
    hash = mix(hash, 0);
  }
  return hash_bytes(bytes_of(board.last_tag), hash_bytes(bytes_of(board.round), hash));
}

// When those who were turned away shall come back, and what that is worked out from, is left out:
// nothing else depends on it.
std::uint64_t GateWorld::digest() const {
  const auto& guarded = block_.head().guarded;
  std::uint64_t hash = hash_bytes(between(memory_.get(), &guarded.spare), 1);
  hash = hash_bytes(between(&guarded.seen_services, &guarded.policies), hash);
  hash = hash_bytes(between(&guarded.policy_taken_up, &block_.slot(0)), hash);
  for (const Policy& policy : guarded.policies) {
    hash = mix(mix(hash, policy.limit), static_cast<std::uint64_t>(policy.discipline));
  }
  for (std::uint32_t i = 0; i < threads(); ++i) {
    const Slot& slot = block_.slot(i);
    hash = hash_bytes(between(&slot, &slot.booked), hash);
    hash = hash_bytes(between(&slot.attached, &slot + 1), hash);
  }
  for (std::uint32_t i = 0; i < kTickets; ++i) {
    hash = ticket_digest(i, hash);
  }
  hash = board_digest(hash);
  if (block_.has_tenants()) {
    hash = hash_bytes(std::as_bytes(std::span(block_.accounts(), 2 * kTenantBuckets)), hash);
  }
  if (block_.has_quota()) {
    hash = hash_bytes(std::as_bytes(std::span(block_.quota_cells(), kQuotaCells)), hash);
  }
  if (reduction_.observes()) {
    hash = hash_bytes(block_.shadow_bytes(), hash);
  }
  return hash;
}

// Every plain cell that only the holder of the mutex reads and writes.
std::uint64_t GateWorld::guarded_digest() const {
  const auto& guarded = block_.head().guarded;
  std::uint64_t hash = hash_bytes(between(&guarded.now, &guarded.spare), 2);
  hash = hash_bytes(between(&guarded.seen_services, &guarded.class_waiting), hash);
  for (std::uint32_t i = 0; i < threads(); ++i) {
    hash = hash_bytes(bytes_of(block_.slot(i).ready_list), hash);
  }
  for (std::uint32_t i = 0; i < kTickets; ++i) {
    hash = ticket_digest(i, hash);
  }
  return board_digest(hash);
}

}  // namespace

std::unique_ptr<Subject> subject_of(const Scenario& scenario) {
  return std::make_unique<GateWorld>(scenario);
}

}  // namespace loadline::explorer
