// A gate in shared memory, and two people at it: one whose process dies or stops in the middle of
// an operation, and one who lives on and must find everything in order.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "crashing_sync.h"

namespace loadline::crash {

inline constexpr std::uint32_t kLimit = 3;
inline constexpr std::uint32_t kQueue = 4;
inline constexpr std::uint32_t kSeats = 4;
inline constexpr std::uint32_t kTickets = Capacity::kSpareTickets + kQueue;
inline constexpr Duration kWaitBudget = Duration::seconds(10);

inline constexpr std::uint8_t kCriticalPlus = 0;
inline constexpr std::uint8_t kCritical = 1;
inline constexpr std::uint8_t kSheddable = 3;

Policy usual_policy();
Policy policy_with_tenants();
Policy policy_that_learns();
Request of(std::uint8_t importance, std::uint32_t cost = 1);
Request of_tenant(std::uint64_t tenant);

// What the gate has told somebody; kept in shared memory, since set-ups are played by one process
// for both.
struct Person {
  static constexpr std::size_t kMost = 16;

  Participant seat;
  std::array<Permit, kMost> permits;
  std::array<Ticket, kMost> tickets;
  std::size_t permit_count = 0;
  std::size_t ticket_count = 0;

  [[nodiscard]] std::uint32_t units() const;
  [[nodiscard]] std::uint32_t heavy_units() const;
  void keep(Permit&& permit) { permits[permit_count++] = std::move(permit); }
  void keep(Ticket ticket) { tickets[ticket_count++] = ticket; }
  // False if no such ticket is waited for.
  bool forget(Ticket ticket);
};

// The rules in force: those before an operation or those after it, never a mixture.
struct Rules {
  std::uint32_t limit = 0;
  std::uint32_t limiter_limit = 0;
  std::uint32_t queue_limit = 0;
  std::uint32_t class_count = 0;
  QueueSize::Kind queue_kind = QueueSize::Kind::off;
  Duration wait_budget{};
  std::uint32_t retry_after = 0;
  std::uint32_t heavy_limit = 0;
  std::uint32_t exempt_limit = 0;
  std::uint64_t quota_interval_us = 0;
  std::uint64_t quota_tolerance_us = 0;
  Discipline discipline = Discipline::adaptive;
  Mode mode = Mode::on;
  bool draining = false;
  std::array<std::uint32_t, kMaxClasses> thresholds{};
  std::array<std::uint16_t, kMaxClasses> guarantees{};
  std::array<std::uint16_t, kMaxGroups> group_tenants{};

  friend bool operator==(const Rules&, const Rules&) = default;
};

class Stage {
 public:
  Stage();
  ~Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  // A new gate, with the survivor at it.
  void begin(const Policy& policy = usual_policy());
  // The survivor leaves.
  void end();

  // Runs `body` in a process of its own, which ends with it, and waits for its end. Returns how it
  // ended, as waitpid has it.
  int in_child(const std::function<void()>& body);
  // The same, without the waiting.
  pid_t child(const std::function<void()>& body);

  // Runs `operation`, to die or stop at its step `chosen`, and notes what was before and after.
  void perform(const std::function<void()>& operation, std::uint32_t chosen, Fate fate = Fate::die);

  // Moves of either person, for set-ups; one that does not end as its name says ends the process.
  void attach(Person& who);
  void start(Person& who, const Request& request);              // admitted at once
  void wait(Person& who, const Request& request);               // has to wait
  void release(Person& who, Outcome ended = Outcome::success);  // the last permit
  Offer offer(Person& who, const Request& request);  // counted, and kept whatever the answer
  void cancel(Person& who, Ticket ticket);
  void collect(Person& who);                 // all there is
  void take(Person& who, Settled& settled);  // what became of one ticket
  void pass(Duration time) { shared().now = shared().now + time; }
  void tick();             // after the tick interval
  void bury(Person& who);  // who has died: nothing more is known of what it held

  [[nodiscard]] Person& victim() const { return shared().people[0]; }
  [[nodiscard]] Person& survivor() const { return shared().people[1]; }
  [[nodiscard]] Person& third() const { return shared().people[2]; }
  [[nodiscard]] Instant now() const { return shared().now; }
  [[nodiscard]] std::uint64_t offered() const { return shared().offered; }
  // Of the last operation performed; 0 steps if it has not come to its end.
  [[nodiscard]] std::uint32_t steps() const { return shared().steps; }

  // What is wrong with the block as it lies there, while nobody is inside: lists, counts, word and
  // accounts against the tickets' states and what the living hold. Empty: nothing.
  [[nodiscard]] std::string what_is_wrong() const;
  // What is wrong with the sums, of which at most `lost` may be missing.
  [[nodiscard]] std::string what_is_wrong_with_the_sums(std::uint64_t lost) const;
  // Whether every counter is at least what it was when the operation began.
  [[nodiscard]] std::string what_went_back() const;
  // Whether the rules are those from before the operation, or those that it leaves when it comes to
  // its end, as it has to have done once on this stage.
  [[nodiscard]] std::string what_is_wrong_with_the_rules() const;

  CrashingGate gate;

 private:
  using Head = detail::BlockHead<CrashingSync>;
  using Slot = detail::ParticipantSlot<CrashingSync>;
  using TicketAt = detail::TicketSlot<CrashingSync>;
  using Wrongs = std::vector<std::string>;

  struct Shared {
    Instant now{};
    std::uint64_t offered = 0;
    std::uint64_t started_after_waiting = 0;  // told to somebody
    std::uint64_t buried_tickets = 0;
    std::array<Person, 3> people;
    Snapshot before;
    Rules rules_before;
    Rules rules_after;
    std::uint32_t steps = 0;
  };

  [[nodiscard]] Shared& shared() const { return *static_cast<Shared*>(pages_); }
  [[nodiscard]] Rules rules() const;
  [[nodiscard]] std::span<std::byte> block() const;
  [[nodiscard]] Head& head() const { return *reinterpret_cast<Head*>(block().data()); }
  [[nodiscard]] Slot& slot(std::uint32_t i) const;
  [[nodiscard]] TicketAt& ticket(std::uint32_t i) const;
  [[nodiscard]] std::uint32_t units_held() const;
  [[nodiscard]] bool in_queue(std::uint32_t i, std::uint32_t queue) const;
  [[nodiscard]] bool decided(std::uint32_t i) const;
  [[nodiscard]] std::uint32_t mask_of_those_who_wait() const;
  void check_list(const detail::TicketList& list, const char* name,
                  const std::function<bool(std::uint32_t)>& belongs, Wrongs& wrongs) const;
  void check_queues(Wrongs& wrongs) const;
  void check_ready_lists(Wrongs& wrongs) const;
  void check_free_list(Wrongs& wrongs) const;
  void check_calendar(std::uint32_t queue, Wrongs& wrongs) const;
  void check_units(Wrongs& wrongs) const;

  void* pages_ = nullptr;
  std::size_t bytes_ = 0;
  Capacity capacity_;  // of the gate that was begun last
  Rules rules_after_;
};

}  // namespace loadline::crash
