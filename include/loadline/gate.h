// The gate: decides which requests are done now, which wait a little, and which are turned away.
//
// One gate guards one bottleneck. It holds a limit of work in flight, classes in order of
// importance, and a short queue with a wait budget. Every operation takes the time as an argument,
// is noexcept, allocates nothing, and takes a bounded time: the common offer and release are one
// compare-and-swap each; the rest happens under a mutex that is held for at most 64 tickets' work
// and waited for at most a millisecond.
//
//   Gate gate;                                          // in memory of yours
//   Gate::create(memory, bytes, capacity, policy, now, gate);
//   Participant me = gate.attach(0, now);               // once a thread or event loop
//   Offer answer = gate.offer(me, request, now);
//   if (answer.kind == Offer::Kind::admit) { ...work...; gate.release(me, answer.permit, outcome,
//   now); }
//
// A Gate object is only a view of the block and may be copied; the block must outlive it. Any
// thread may call with its own participant; two threads must not use one participant at the same
// time. Operations return the participants that now have something to collect: wake them (eventfd,
// condition variable), and let everyone also call tick() and collect() a few times a second, since
// that is what makes up for a wake-up that was lost with whoever died before sending it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>

#include "loadline/decision.h"
#include "loadline/gate/block.h"
#include "loadline/gate/shadow.h"
#include "loadline/gate/sync.h"
#include "loadline/gate/word.h"
#include "loadline/policy.h"

namespace loadline {

namespace detail {
struct QuotaEntry;
}

struct Participant {
  std::uint32_t index = kNone;

  static constexpr std::uint32_t kNone = 0xffffffff;
  [[nodiscard]] bool valid() const noexcept { return index != kNone; }
};

// `on` decides; `observe` decides and counts, but admits all; `off` admits all and only counts what
// is in flight, so that switching on again starts from the truth.
enum class Mode : std::uint8_t { on, observe, off };

// Everything a gate can be asked about itself. Counters only grow; they are read one by one, so
// sums over them are exact only while no operation is in progress.
struct Snapshot {
  struct Class {
    std::uint64_t admitted = 0;  // at once or after a wait
    std::uint64_t cancelled = 0;
    std::array<std::uint64_t, kReasons> rejected{};  // by Reason
    std::array<std::uint64_t, kReasons> observed{};  // admitted, but would have been rejected
    std::uint32_t threshold = 0;
    std::uint32_t waiting = 0;
    bool newest_first = false;  // its queue stands
    HistogramView wait;         // of those who waited and were admitted
  };

  Mode mode = Mode::on;
  bool draining = false;
  std::uint32_t limit = 0;
  std::uint32_t in_flight = 0;
  std::uint32_t waiting = 0;
  std::uint32_t queue_limit = 0;
  QueueSize::Kind queue_kind = QueueSize::Kind::automatic;
  Discipline discipline = Discipline::adaptive;
  Duration wait_budget{};
  Duration service_mean{};  // 0: not known yet
  std::uint32_t class_count = 0;
  std::array<Class, kMaxClasses> classes{};
  HistogramView service;
  std::uint32_t heavy_limit = 0;
  std::uint32_t heavy_in_flight = 0;   // of in_flight, what weights above 1 hold
  std::uint32_t exempt_in_flight = 0;  // beside in_flight
  std::uint32_t participants = 0;
  std::uint64_t reclaimed = 0;        // participants that died
  std::uint64_t reclaimed_units = 0;  // what they held
  std::uint64_t taken_back = 0;       // grants whose owner did not come for them
  std::uint64_t repairs = 0;          // deaths inside a section, made good
  std::uint64_t corruptions = 0;      // indices in the block that could not be right
  std::uint64_t released_twice = 0;

  Law law = Law::fixed;
  bool searching = false;          // the limit is a guess, by which nothing is foretold
  std::uint64_t limit_events = 0;  // what Gate::limit_events numbers
  std::uint64_t left_out = 0;      // samples that the law could not use
};

// What was reported of a signal from outside last.
struct SignalReport {
  double value = 0;
  Instant at = Instant::never();  // never: nothing was, or there is no such signal
};

template <class Sync>
class BasicGate {
 public:
  enum class OpenError : std::uint8_t {
    none,
    too_small,     // the memory does not hold a gate of this capacity
    misaligned,    // the memory is not aligned to 128 bytes
    bad_capacity,  // participants or tickets out of range
    bad_policy,    // not sound, or its queue does not fit
    no_mutex,      // the system gave none
    not_a_gate,    // open: nothing of ours lies there, or it is not finished
    other_layout,  // open: made by a build that lays a gate out differently
  };

  BasicGate() noexcept = default;

  // Bytes for a gate of this capacity. The memory must be aligned to 128.
  static std::size_t bytes_for(Capacity capacity) noexcept;
  // The most tickets that fit beside all else of this capacity in `bytes`; 0 if not even
  // kSpareTickets + 1.
  static std::uint32_t tickets_that_fit(std::size_t bytes, Capacity beside) noexcept;

  // Makes a gate in `memory` (all of it is overwritten) and opens it as `gate`. `policy` must be
  // sound (see validate) and fit: its queue is at most capacity.tickets - kSpareTickets, and there
  // are tables for tenants and a quota exactly if it has them (Capacity::for_tables).
  static OpenError create(void* memory, std::size_t bytes, Capacity capacity, const Policy& policy,
                          Instant now, BasicGate& gate) noexcept;

  // Opens a gate that another process or generation made. Refuses a block of another layout.
  static OpenError open(void* memory, std::size_t bytes, BasicGate& gate) noexcept;

  [[nodiscard]] bool valid() const noexcept { return head_ != nullptr; }
  [[nodiscard]] Capacity capacity() const noexcept { return capacity_; }

  // Takes a seat, `preferred` if it is free. The calling thread must outlive the participant: its
  // death is how others learn that the participant is gone. Not valid when all seats are taken.
  Participant attach(std::uint32_t preferred, Instant now) noexcept;
  // Gives back the seat and all that it still holds. By the thread that attached, and before the
  // block's memory goes: the system keeps a list of the robust mutexes that a thread holds.
  Signals detach(Participant who, Instant now) noexcept;

  // Asks for leave to do a request. See Offer.
  [[gnu::always_inline]] Offer offer(Participant who, const Request& request, Instant now) noexcept;

  // What an offer would be turned away for at this moment; none if it would be let in or might
  // wait. Has no effect and promises nothing: for a host that has more to do before it can make the
  // offer, and should not begin in vain.
  [[nodiscard]] Reason preview(const Request& request, Instant now) const noexcept;

  // Gives a permit back; `who` is the participant that got it. `ended` says whether its duration
  // counts as a service time.
  [[gnu::always_inline]] Signals release(Participant who, Permit& permit, Outcome ended,
                                         Instant now) noexcept;

  // The caller of a waiting request has gone: its place is free at once, and it never starts.
  Signals cancel(Participant who, Ticket ticket, Instant now) noexcept;

  // What has become of one ticket. Refuses it if it has waited past its time. Unless the answer is
  // `waiting`, the ticket is used up. `waiting` past its start_by means that the gate could not be
  // asked just now: try again in a moment.
  Settled settle(Participant who, Ticket ticket, Instant now, Signals& signals) noexcept;

  // The tickets of this participant that have been decided, up to out.size() of them; each is used
  // up by this. Returns how many; call again while it fills `out`. Cheap when there is nothing.
  // A cancelled ticket that is met on the way gives its slot to the next in line, hence `signals`.
  std::size_t collect(Participant who, std::span<Settled> out, Instant now,
                      Signals& signals) noexcept;

  // Refuses those who have waited past their time, takes back what the dead held, moves the
  // estimates. Everyone may call it often; one of the callers does the work every 10 ms.
  Signals tick(Instant now) noexcept;

  // Changes the rules under load. After it returns nobody is admitted above the new limit; what
  // runs already is not revoked. False if the policy is not sound, has another number of classes,
  // a queue that does not fit or tables that are not there, or the mutex could not be had.
  bool reconfigure(const Policy& policy, Instant now, Signals& signals) noexcept;
  bool set_limit(std::uint32_t limit, Instant now, Signals& signals) noexcept;
  Signals set_mode(Mode mode, Instant now) noexcept;
  Signals set_draining(bool draining, Instant now) noexcept;

  // A signal from outside has this value at this moment: see SignalPolicy. By anybody, as often as
  // they like; the last one counts. False, and without effect, where the policy in force has no
  // signal of that name or no law, and for what cannot be a value: below 0, infinite, not a number.
  bool report(std::string_view signal, double value, Instant now) noexcept;
  [[nodiscard]] SignalReport reported(std::string_view signal) const noexcept;

  [[nodiscard]] Snapshot snapshot() const noexcept;
  [[nodiscard]] std::uint32_t limit() const noexcept;
  // What the laws of this gate have done, from the event numbered `next` on, the oldest first;
  // those that are no longer kept (see LimitEvents) are passed over. Returns how many were written;
  // `next` is what to go on from. Takes no mutex. Nothing where the limit is fixed by the block.
  std::size_t limit_events(std::uint64_t& next, std::span<LimitEvent> out) const noexcept;
  [[nodiscard]] std::uint32_t in_flight() const noexcept;
  // Does somebody have this seat, or had it and died and is not yet cleared away? False for numbers
  // that are none.
  [[nodiscard]] bool is_taken(std::uint32_t seat) const noexcept;

 private:
  using Head = detail::BlockHead<Sync>;
  using Slot = detail::ParticipantSlot<Sync>;
  using TicketAt = detail::TicketSlot<Sync>;
  using Guarded = detail::Guarded<Sync>;
  using Published = detail::Published<Sync>;

  enum class Verdict : std::uint8_t { admit, wait, reject };
  struct Judgement {
    Verdict verdict = Verdict::admit;
    Reason reason = Reason::none;       // with reject
    Reason late_reason = Reason::none;  // with wait
    bool for_queue = false;             // with reject: who waits already is in the way
    Instant start_by{};                 // with wait
  };
  // What a judgement has to look at. Where a caller knows, the compiler leaves out the rest.
  struct Scope {
    bool tenants;
    bool observing = false;
  };
  class Section;  // the mutex, held

  // The fast path (gate/fast_path.h).
  [[nodiscard]] Slot& slot(Participant who) const noexcept { return slots_[who.index]; }
  [[nodiscard]] Guarded& guarded() const noexcept { return head_->guarded; }
  [[nodiscard]] Published& published() const noexcept { return head_->published; }
  [[nodiscard]] std::uint32_t threshold(std::uint32_t importance) const noexcept;
  [[nodiscard]] bool is_whole_limit(std::uint32_t part) const noexcept;
  [[nodiscard]] Word load_word() const noexcept;
  [[nodiscard]] bool may_try_at_once(const Request& request) const noexcept;
  struct Tried {
    bool admitted;
    bool bound = false;  // it took the last slot
  };
  Tried try_admit(Slot& mine, std::uint32_t importance, std::uint32_t cost) noexcept;
  bool replace_word(Slot& mine, Word seen, Word next, std::uint32_t held_change) noexcept;
  Word give_back(Slot& mine, std::uint32_t cost) noexcept;
  void record_service(Slot& mine, Duration service) noexcept;
  Offer admitted(Slot& mine, std::uint32_t importance, std::uint32_t cost, Instant now) noexcept;

  // Judging (src/gate/judge.h): no effects.
  [[nodiscard, gnu::always_inline]] std::uint32_t charge(const Request& request) const noexcept;
  [[nodiscard]] std::uint32_t heavy_in_flight() const noexcept;
  [[nodiscard]] bool heavies_are_full(std::uint32_t cost, bool in_shadow = false) const noexcept;
  [[nodiscard, gnu::always_inline]] bool fits(Word word, std::uint32_t importance,
                                              std::uint32_t cost, bool in_shadow) const noexcept;
  [[nodiscard, gnu::always_inline]] bool newest_first(std::uint32_t importance,
                                                      bool in_shadow = false) const noexcept;
  [[nodiscard]] bool is_off() const noexcept;
  [[nodiscard]] bool observes() const noexcept;
  [[nodiscard, gnu::always_inline]] bool draining() const noexcept;
  [[nodiscard, gnu::always_inline]] Judgement judge(const Request& request, std::uint32_t cost,
                                                    Word word, Instant now,
                                                    Scope scope) const noexcept;
  [[nodiscard, gnu::always_inline]] Judgement judge_wait(const Request& request,
                                                         std::uint32_t waiting, Instant now,
                                                         Scope scope) const noexcept;
  [[nodiscard, gnu::always_inline]] Reason doom(const Request& request, Instant now,
                                                bool tenants) const noexcept;
  [[nodiscard, gnu::always_inline]] Duration known_service_mean(Instant now) const noexcept;
  [[nodiscard, gnu::always_inline]] Duration expected_service(const Request& request, Instant now,
                                                              bool tenants) const noexcept;
  [[nodiscard, gnu::always_inline]] std::uint32_t occupied_queues(
      bool in_shadow = false) const noexcept;
  [[nodiscard]] bool heavies_wait_at_or_above(std::uint32_t importance,
                                              bool in_shadow = false) const noexcept;
  [[nodiscard, gnu::always_inline]] bool someone_below(std::uint32_t importance,
                                                       bool in_shadow) const noexcept;
  [[nodiscard, gnu::always_inline]] std::uint32_t ahead_of(std::uint32_t importance,
                                                           bool in_shadow) const noexcept;
  [[nodiscard, gnu::always_inline]] bool admits_all() const noexcept;

  // Offers that do not fit the fast path (src/gate/offer.h).
  // What can be told of an offer in a register, and so costs least.
  struct Told {
    Verdict verdict = Verdict::admit;
    Reason reason = Reason::none;  // with reject, like the next
    std::uint16_t retry_after = 0;
  };
  static Offer rejection(Told told) noexcept;
  static void refuse_offer(Offer& answer, Told told) noexcept;
  [[nodiscard, gnu::always_inline]] bool passes_unjudged(const Request& request) const noexcept;
  Told look(Participant who, const Request& request, Instant now) noexcept;
  Told look_closely(Participant who, const Request& request, Instant now) noexcept;
  [[gnu::always_inline]] Told look_at(Slot& mine, const Request& request, std::uint32_t cost,
                                      Word word, Instant now, Scope scope) noexcept;
  Offer offer_slowly(Participant who, const Request& request, Verdict verdict,
                     Instant now) noexcept;
  Offer offer_exempt(Slot& mine, const Request& request, Instant now) noexcept;
  Offer offer_locked(Participant who, const Request& request, std::uint32_t cost,
                     Instant now) noexcept;
  [[gnu::always_inline]] bool offer_in_section(Participant who, const Request& request,
                                               std::uint32_t cost, Instant now,
                                               Offer& answer) noexcept;
  Reason no_place_for(const Request& request, bool heavy, bool full, Instant now,
                      Signals& signals) noexcept;
  [[nodiscard]] bool fills(Word word, std::uint32_t importance, std::uint32_t cost) const noexcept;
  void start(Offer& answer, Slot& mine, const Request& request, std::uint32_t cost,
             Instant now) noexcept;
  Offer started(Slot& mine, const Request& request, std::uint32_t cost, Instant now) noexcept;
  [[gnu::always_inline]] Told turned_away(Slot& mine, const Request& request,
                                          const Judgement& judgement, Instant now) noexcept;
  [[gnu::always_inline]] Told rejected(Slot& mine, std::uint32_t importance, Reason reason,
                                       Instant now) noexcept;
  // Of a permit that was given back; so small that it is passed in registers, and the permit itself
  // need not lie in memory.
  struct Ending {
    Duration took;
    std::uint32_t cost;
    std::uint8_t importance;
    std::uint8_t kind;  // of Permit::Kind
    Outcome ended;
    bool bound;  // it took the last slot
  };
  void give_back_special(Slot& mine, Ending ending, Instant now) noexcept;

  // Observing (src/gate/observe.h): what begins with a seat's own, takes the mutex; the rest, with
  // the mutex held, is about the shadow.
  struct Foretold {
    Reason reason = Reason::none;
    std::uint8_t kind = Permit::plain;
  };
  Offer offer_unjudged(Participant who, const Request& request, Instant now) noexcept;
  [[nodiscard]] bool is_observed_alone(const Request& request) const noexcept;
  bool let_in(Offer& answer, Slot& mine, const Request& request, std::uint32_t cost,
              Instant now) noexcept;
  bool let_in_observed(Offer& answer, Slot& mine, const Request& request, std::uint32_t cost,
                       Instant now) noexcept;
  void let_past(Offer& answer, Slot& mine, const Request& request, Instant now) noexcept;
  void untie(Slot& mine, std::uint8_t kind, std::uint32_t cost) noexcept;
  Foretold foretell(Slot& mine, const Request& request, std::uint32_t cost, Instant now) noexcept;
  Foretold foretell_in_shadow(Slot& mine, const Request& request, std::uint32_t cost,
                              Instant now) noexcept;
  void end_observed(Slot& mine, const Ending& ending, Instant now) noexcept;
  void note_end(const Ending& ending) noexcept;
  void note_observed(std::uint32_t importance, Reason reason) noexcept;
  [[nodiscard]] bool shadow_in_use() const noexcept;
  void look_around(Instant now) noexcept;
  [[nodiscard]] Word word_of_shadow() const noexcept;
  [[nodiscard]] std::uint32_t shadow_mask() const noexcept;
  Judgement judge_in_shadow(const Request& request, std::uint32_t cost, Instant now) noexcept;
  Judgement wait_in_shadow(const Request& request, std::uint32_t cost, const Judgement& judgement,
                           Instant now) noexcept;
  bool turns_in_shadow(std::uint32_t importance, Instant now) noexcept;
  bool displace_in_shadow(std::uint32_t importance) noexcept;
  bool refuse_in_shadow(std::uint32_t index, Reason reason) noexcept;
  void start_in_shadow(std::uint32_t importance, std::uint32_t cost) noexcept;
  [[nodiscard]] detail::TicketList& shadow_queue_of(std::uint32_t index) const noexcept;
  [[nodiscard]] std::uint32_t free_waiter() noexcept;
  void join_shadow(std::uint32_t index, Instant now) noexcept;
  void leave_shadow(std::uint32_t index) noexcept;
  [[nodiscard]] std::uint32_t end_of_shadow(std::uint32_t importance, bool heavies,
                                            bool first) const noexcept;
  [[nodiscard]] std::uint32_t first_late() const noexcept;
  void catch_up(Instant now) noexcept;
  void start_waiters() noexcept;
  [[nodiscard]] ShadowTimes::Drawn draw_time(std::uint32_t importance) noexcept;
  void note_services(ShadowServices come) noexcept;
  void forget_shadow() noexcept;

  // Return times (src/gate/returns.h).
  [[gnu::always_inline]] std::uint16_t book_return(Slot& mine, Instant now) noexcept;
  [[gnu::always_inline]] std::uint16_t rotate_return(Slot& mine, std::uint32_t range) noexcept;
  void share_spare(Instant now) noexcept;
  [[nodiscard]] std::uint32_t promised_rate(Instant now) const noexcept;
  [[nodiscard]] std::uint64_t count_rejected(const Slot& slot) const noexcept;
  [[nodiscard]] std::uint64_t count_accepted(const Slot& slot) const noexcept;
  [[nodiscard]] std::uint64_t count_services(const Slot& slot) const noexcept;
  struct Services {
    std::uint64_t count = 0;
    std::uint64_t ns = 0;  // their sum
  };
  [[nodiscard]] Services services_of_all() const noexcept;

  // Quotas (src/gate/quota.h): without the mutex.
  using QuotaCell = typename Sync::template Atomic<std::uint64_t>;
  QuotaCell* quota_cell(std::uint64_t key, std::uint64_t now_us,
                        detail::QuotaEntry& seen) const noexcept;
  Duration take_from_quota(std::uint64_t key, Instant now) noexcept;
  void return_to_quota(std::uint64_t key) noexcept;
  Duration charge_quota(const Request& request, Instant now) noexcept;
  void refund_quota(const Request& request, Reason reason) noexcept;
  void sweep_quota(Instant now) noexcept;
  std::uint64_t quota_time(Instant now) noexcept;
  Told over_quota(Slot& mine, const Request& request, Duration wait) noexcept;

  // Order (src/gate/order.h): with the mutex held, but for turns_order.
  void begin_standing(std::uint32_t importance, Instant now) noexcept;
  void end_standing(std::uint32_t importance) noexcept;
  [[nodiscard, gnu::always_inline]] bool stands(std::uint32_t importance,
                                                Instant now) const noexcept;
  [[nodiscard, gnu::always_inline]] bool turns_order(const Judgement& judgement,
                                                     std::uint32_t importance,
                                                     Instant now) const noexcept;
  void note_standing(std::uint32_t importance, Instant now) noexcept;
  [[nodiscard]] Discipline discipline() const noexcept;
  [[nodiscard]] bool comes_before(std::uint32_t one, std::uint32_t other) const noexcept;
  [[nodiscard]] std::uint32_t choose(std::uint32_t one, std::uint32_t other, bool earlier) noexcept;
  [[nodiscard]] std::uint32_t next_of(std::uint32_t importance, bool heavy) noexcept;
  [[nodiscard]] std::uint32_t last_of(std::uint32_t importance) noexcept;
  [[nodiscard]] std::uint32_t guaranteed() const noexcept;
  void credit_guarantees(std::uint32_t importance, std::uint32_t cost) noexcept;
  [[nodiscard]] std::uint32_t class_owed_a_start() const noexcept;
  [[nodiscard]] std::uint32_t places_kept(std::uint32_t importance) const noexcept;
  bool displace_for(const Request& request, Instant now, Signals& signals) noexcept;
  bool displace(std::uint32_t index, Instant now, Signals& signals) noexcept;

  // Tenants (src/gate/tenants.h): with the mutex held, but for those that an offer may ask.
  using Account = detail::TenantAccount<Sync>;
  struct Accounts {
    Account& one;
    Account& other;
  };
  struct Turn {
    std::uint64_t tag = 0;
    std::uint32_t charged = 0;
  };
  [[nodiscard]] bool has_tenants() const noexcept { return capacity_.tenant_buckets != 0; }
  [[nodiscard]] Accounts accounts_of(std::uint64_t tenant, std::uint32_t importance) const noexcept;
  [[nodiscard]] std::uint64_t finish_of(const Accounts& accounts) const noexcept;
  [[nodiscard]] std::uint64_t cost_of(const Request& request) const noexcept;
  [[nodiscard]] std::uint32_t rounds_of(std::uint64_t service_ns) const noexcept;
  [[nodiscard]] std::uint64_t round_of(std::uint32_t importance) const noexcept;
  [[nodiscard]] std::uint64_t first_tag(const detail::TicketList& queue,
                                        std::uint32_t importance) const noexcept;
  [[nodiscard]] std::uint64_t tag_of(const Request& request) const noexcept;
  [[nodiscard]] Turn turn_of(const Request& request) const noexcept;
  [[nodiscard]] std::int64_t tenants_of_group(std::uint8_t group) const noexcept;
  void charge_accounts(std::uint32_t index, std::uint64_t from, std::int64_t rounds) noexcept;
  void take_turn(std::uint32_t index, const Request& request) noexcept;
  void refund(std::uint32_t index) noexcept;
  void advance_round(std::uint32_t index) noexcept;
  [[nodiscard]] detail::Calendar& calendar_of(std::uint32_t index) const noexcept;
  void enter_calendar(std::uint32_t index) noexcept;
  [[nodiscard]] std::uint32_t last_not_after(std::uint32_t index) const noexcept;
  void leave_calendar(std::uint32_t index) noexcept;
  void publish_farthest(std::uint32_t importance) noexcept;
  [[nodiscard]] bool may_displace_its_like(const Request& request) const noexcept;
  [[nodiscard]] bool beyond_horizon(const Request& request, bool heavy) const noexcept;
  [[nodiscard]] Reason full_for(const Request& request) const noexcept;
  struct Charge {
    std::uint64_t tenant;
    std::uint8_t importance;
    std::uint8_t group;
    std::uint32_t rounds;
  };
  void settle_account(Charge charge, Outcome ended, Duration service) noexcept;

  // The queue (src/gate/queue.h): with the mutex held.
  [[nodiscard]] bool in_range(std::uint32_t index) noexcept;
  enum class Expected : std::uint8_t { waiting, decided };
  [[nodiscard]] bool sound(std::uint32_t index, Expected expected) noexcept;
  void free_ticket(std::uint32_t index) noexcept;
  void append(detail::TicketList& list, std::uint32_t index) noexcept;
  void insert_after(detail::TicketList& list, std::uint32_t before, std::uint32_t index) noexcept;
  void unlink(detail::TicketList& list, std::uint32_t index) noexcept;
  [[nodiscard]] static std::uint32_t queue_number(std::uint32_t importance, bool heavy) noexcept;
  [[nodiscard]] std::uint32_t queue_number_of(std::uint32_t index) const noexcept;
  [[nodiscard]] detail::TicketList& queue_of(std::uint32_t index) const noexcept;
  [[nodiscard]] std::uint32_t charge_now(std::uint32_t index) const noexcept;
  [[nodiscard]] std::uint32_t mask_of_heavies() const noexcept;
  [[nodiscard]] std::uint32_t mask_of_queues() const noexcept;
  [[nodiscard]] std::uint32_t mask_without(std::uint32_t index) const noexcept;
  [[nodiscard]] std::uint32_t next_heavy(std::uint32_t importance) const noexcept;
  [[nodiscard]] bool heavy_eligible(std::uint32_t importance) const noexcept;
  void publish_waiting() noexcept;
  [[gnu::always_inline]] bool enqueue(Participant who, const Request& request, std::uint32_t cost,
                                      const Judgement& judgement, Word seen, Instant now,
                                      Offer& answer) noexcept;
  void join_queue(std::uint32_t index, const Request& request) noexcept;
  void leave_queue(std::uint32_t index) noexcept;
  void publish_ready(Slot& owner) noexcept;
  bool free_taken(Slot& owner) noexcept;
  void hand_over(std::uint32_t index, detail::TicketState state, Signals& signals) noexcept;
  void refuse(std::uint32_t index, Reason reason, Instant now, Signals& signals) noexcept;
  // What a release has brought into the section: units that it still holds, and that are as good as
  // free there. None once they have been handed on.
  struct Returned {
    Slot* holder = nullptr;
    std::uint32_t cost = 0;
  };
  void note_handed_on(Returned& returned) noexcept;
  bool grant(std::uint32_t index, Instant now, Signals& signals, Returned& returned) noexcept;
  void withdraw(std::uint32_t index) noexcept;
  void drop(std::uint32_t index) noexcept;
  void take_from_word(std::uint32_t units) noexcept;
  [[nodiscard, gnu::always_inline]] bool nothing_to_dispatch(
      const Returned& returned) const noexcept;
  [[gnu::always_inline]] bool dispatch(Instant now, Signals& signals) noexcept;
  bool dispatch(Instant now, Signals& signals, Returned& returned) noexcept;
  bool dispatch_one(Instant now, Signals& signals, Returned& returned) noexcept;
  bool decide(std::uint32_t index, Instant now, Signals& signals, Returned& returned) noexcept;

  // Settling (src/gate/settle.h).
  [[nodiscard]] bool owns(Participant who, Ticket ticket) noexcept;
  [[nodiscard, gnu::always_inline]] bool abandoned(std::uint32_t index) const noexcept;
  [[gnu::always_inline]] void make_permit(Slot& mine, std::uint32_t index, Permit& permit) noexcept;
  bool take_units(Slot& mine, std::uint32_t index) noexcept;
  bool take_alone(Participant who, std::uint64_t ready, Settled& settled) noexcept;
  void take(Participant who, std::uint32_t index, Settled& settled) noexcept;
  std::size_t take_ready(Participant who, std::span<Settled> out) noexcept;
  Signals hand_on(Slot& mine, std::uint32_t cost, Instant now) noexcept;
  Signals dispatch_all(Instant now) noexcept;
  [[nodiscard]] std::uint32_t tickets_in_use() noexcept;
  Signals expire(Instant now) noexcept;
  bool expire_ticket(std::uint32_t index, Instant now, Instant& next, Signals& signals) noexcept;
  void take_back(std::uint32_t index, Signals& signals) noexcept;

  // After a death (src/gate/recovery.h): with the mutex held.
  void repair() noexcept;
  void rebuild_lists() noexcept;
  void rebuild_ticket(std::uint32_t index) noexcept;
  void sort_queue(detail::TicketList& list) noexcept;
  [[nodiscard]] std::uint32_t merged(std::uint32_t one, std::uint32_t other) noexcept;
  void rebuild_calendars() noexcept;
  void restore_rules() noexcept;
  [[nodiscard]] bool validate_policy_of_the_block() noexcept;
  [[nodiscard]] std::uint32_t units_to_collect(const Slot& owner) const noexcept;
  void audit() noexcept;
  bool try_audit() noexcept;
  void reclaim(std::uint32_t index) noexcept;
  void reclaim_the_dead(Instant now) noexcept;
  static bool is_past_grace(Slot& dead, Duration grace, Instant now) noexcept;
  bool take_seat(std::uint32_t index) noexcept;
  void point_into(std::byte* base, Capacity capacity) noexcept;
  void clear_tables() noexcept;

  // Rules and estimates (src/gate/rules.h): with the mutex held.
  [[nodiscard]] const Policy& policy() const noexcept;
  void take_up(const Policy& policy) noexcept;
  void apply_policy() noexcept;
  void apply(const Policy& policy) noexcept;
  [[nodiscard]] bool accepts(const Policy& policy) const noexcept;
  void apply_order(const Policy& policy) noexcept;
  void apply_quota(const QuotaPolicy& quota) noexcept;
  void apply_limit(const Policy& policy) noexcept;
  void publish_limit() noexcept;
  void move_epoch() noexcept;
  void publish_drain() noexcept;
  void publish_queue_limit() noexcept;
  void update_estimates(Instant now) noexcept;
  void skip_window() noexcept;
  void take_window(Services all, Instant now) noexcept;

  // Finding the limit (src/gate/learn.h): without the gate's mutex.
  Signals note_sample(Participant who, Ending ending, Instant now) noexcept;
  Signals learn(Instant now, bool at_tick) noexcept;
  [[nodiscard]] std::uint64_t refused_by_all() const noexcept;
  bool follow_rules(Instant now) noexcept;
  [[nodiscard]] LimitRules rules_in_force() const noexcept;
  [[nodiscard]] detail::SignalCell<Sync>* signal_cell(std::string_view name) const noexcept;
  void follow_signals() noexcept;
  void hear_signals() noexcept;
  void note_deaths() noexcept;
  void look_at_samples(Instant now, bool at_tick) noexcept;
  void take_samples() noexcept;
  void skip_samples() noexcept;
  Signals tell_limit(Instant now) noexcept;
  void log_events() noexcept;

  Head* head_ = nullptr;
  Slot* slots_ = nullptr;
  TicketAt* tickets_ = nullptr;
  detail::TenantBoard<Sync>* board_ = nullptr;  // this and the next two: with tenants
  detail::TenantPlace* places_ = nullptr;
  Account* accounts_ = nullptr;
  QuotaCell* quota_cells_ = nullptr;  // with a quota
  detail::Shadow<Sync>* shadow_ = nullptr;
  detail::ShadowWaiter* waiters_ = nullptr;
  detail::Learner<Sync>* learner_ = nullptr;  // this and the next: with a law that finds the limit
  detail::SampleRing<Sync>* rings_ = nullptr;
  Capacity capacity_{};
};

using Gate = BasicGate<NativeSync>;

}  // namespace loadline

#include "loadline/gate/fast_path.h"

namespace loadline {
extern template class BasicGate<NativeSync>;
}
