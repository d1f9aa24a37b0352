// A gate in memory that somebody scribbles over while it is used, or that was never one. It may
// answer wrongly; it touches nothing outside of its block (AddressSanitizer), divides by nothing
// that it found there (UndefinedBehaviorSanitizer), ends every operation (-timeout), and hands out
// nothing that its callers could not use as an index.
//
// The mutexes are left alone: what is in them is the system's affair.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <random>
#include <vector>

#include "fuzz.h"
// Which says where things lie.
#include "gate/lifecycle.h"
#include "loadline/gate.h"

namespace loadline::fuzz {
namespace {

constexpr std::uint32_t kSeats = 3;
constexpr std::uint32_t kClasses = 4;
constexpr std::size_t kMostHeld = 64;
constexpr std::size_t kMostMutexes = kSeats + 2;  // the gate's, the learner's
constexpr std::uint32_t kLeast = 2;
constexpr std::uint32_t kMost = 9;

class Scribbled {
 public:
  explicit Scribbled(Bytes input) : input_(input) { make(); }
  ~Scribbled() {
    for (std::uint32_t i = 0; i < seats_.size(); ++i) {
      leave(i);
    }
    std::free(memory_);
  }
  Scribbled(const Scribbled&) = delete;
  Scribbled& operator=(const Scribbled&) = delete;

  void run() {
    for (int steps = 0; !input_.empty() && steps < 300; ++steps) {
      step();
    }
  }

 private:
  struct Seat {
    Participant who;
    std::vector<Permit> permits;
    std::vector<Ticket> tickets;
  };

  Policy any_policy() {
    Policy policy;
    policy.limit = 1 + input_.below(6);
    const std::uint32_t queue = input_.below(4);
    policy.queue = queue == 0   ? QueueSize::none()
                   : queue == 1 ? QueueSize::sized_by_budget()
                                : QueueSize::at_most(8);
    policy.wait_budget = Duration::millis(1 + input_.below(200));
    policy.discipline = static_cast<Discipline>(input_.below(3));
    policy.heavy_share = static_cast<std::uint16_t>(1 + input_.below(1000));
    fill_defaults(policy);
    policy.classes[3].guarantee = static_cast<std::uint16_t>(input_.below(2) * 100);
    policy.exempt = static_cast<std::uint16_t>(input_.below(3));
    if (with_tenants_) {
      policy.tenants = 10;
      add_group(policy, "group", 3);
    }
    if (learns_) {
      policy.law = static_cast<Law>(input_.below(kLaws));
      policy.limit_least = kLeast;
      policy.limit_most = kMost;
      policy.limit = std::max(policy.limit, kLeast);
    }
    if (with_quota_) {
      policy.quota = {.requests = 10, .burst = 3, .keys = 16};
    }
    return policy;
  }

  void make() {
    with_tenants_ = input_.flag();
    with_quota_ = input_.flag();
    learns_ = input_.flag();
    Policy policy = any_policy();
    if (validate(policy).refused()) {  // tenants, and no queue or the newest first
      policy.queue = QueueSize::at_most(8);
      policy.discipline = Discipline::fifo;
    }
    Capacity capacity = Capacity{kSeats, Capacity::kSpareTickets + 8}.for_tables(policy);
    capacity.learns = learns_ ? 1 : 0;
    bytes_ = Gate::bytes_for(capacity);
    FUZZ_EXPECT(posix_memalign(&memory_, 128, bytes_) == 0);
    FUZZ_EXPECT(Gate::create(memory_, bytes_, capacity, policy, now_, gate_) ==
                Gate::OpenError::none);
    note_mutexes();
    for (std::uint32_t i = 0; i < seats_.size(); ++i) {
      sit(i);
      FUZZ_EXPECT(seats_[i].who.valid());
    }
  }

  void note_mutexes() {
    auto& head = *static_cast<detail::BlockHead<NativeSync>*>(memory_);
    note_mutex(&head.guarded.mutex);
    auto* const slots = reinterpret_cast<detail::ParticipantSlot<NativeSync>*>(
        static_cast<std::byte*>(memory_) + detail::slots_offset<NativeSync>());
    for (std::uint32_t i = 0; i < kSeats; ++i) {
      note_mutex(&slots[i].alive);
    }
    if (learns_) {
      note_mutex(&reinterpret_cast<detail::Learner<NativeSync>*>(
                      static_cast<std::byte*>(memory_) +
                      detail::learner_offset<NativeSync>(gate_.capacity()))
                      ->mutex);
    }
  }
  void note_mutex(NativeSync::Mutex* mutex) {
    mutexes_[mutex_count_++] = reinterpret_cast<std::byte*>(mutex);
  }

  // Changes the block, and puts the mutexes back.
  template <class Change>
  void scribble(Change change) {
    constexpr std::size_t kBytes = sizeof(NativeSync::Mutex);
    std::array<std::array<std::byte, kBytes>, kMostMutexes> kept;
    for (std::size_t i = 0; i < mutex_count_; ++i) {
      std::memcpy(kept[i].data(), mutexes_[i], kBytes);
    }
    change(static_cast<std::byte*>(memory_));
    for (std::size_t i = 0; i < mutex_count_; ++i) {
      std::memcpy(mutexes_[i], kept[i].data(), kBytes);
    }
  }

  void step() {
    Seat& seat = seats_[input_.below(kSeats)];
    Signals signals;
    switch (input_.below(16)) {
      case 0:
        return scribble_word();
      case 1:
        return scribble_over();
      case 2:
        return open_again();
      case 3:
      case 4:
      case 5:
        return offer(seat);
      case 6:
        return release(seat);
      case 7:
        return cancel(seat);
      case 8:
        return settle(seat);
      case 9:
        return collect(seat);
      case 10:
        now_ = now_ + Duration::micros(input_.take<std::uint16_t>() * 10);
        return check(gate_.tick(now_));
      case 11:
        gate_.reconfigure(any_policy(), now_, signals);
        return check(signals);
      case 12:
        gate_.set_limit(1 + input_.below(10), now_, signals);
        return check(signals);
      case 13:
        check(gate_.set_mode(static_cast<Mode>(input_.below(3)), now_));
        return check(gate_.set_draining(input_.below(4) == 0, now_));
      case 14:
        return look();
      default: {
        const std::uint32_t i = input_.below(kSeats);
        leave(i);
        return sit(i);
      }
    }
  }

  // A number that is likely to mean something wrong, in a place where a number lies.
  void scribble_word() {
    constexpr std::uint64_t kOdd[] = {
        0,   1,           2,           7,           8,           255,       256,        263,
        264, 0x7fff'ffff, 0x8000'0000, 0xffff'fffe, 0xffff'ffff, INT64_MAX, 1ULL << 63, UINT64_MAX};
    const std::size_t width = std::size_t{1} << input_.below(4);
    const std::size_t at = input_.take<std::uint32_t>() % bytes_ / width * width;
    const std::uint8_t choice = input_.take<std::uint8_t>();
    const std::uint64_t value =
        choice < 2 * std::size(kOdd) ? kOdd[choice / 2] : input_.take<std::uint64_t>();
    scribble(
        [&](std::byte* block) { std::memcpy(block + at, &value, std::min(width, bytes_ - at)); });
  }

  // A stretch, or all, with what a generator makes of a seed.
  void scribble_over() {
    const bool all = input_.below(8) == 0;
    const std::size_t at = all ? 0 : input_.take<std::uint32_t>() % bytes_;
    const std::size_t end = all ? bytes_ : std::min(bytes_, at + input_.take<std::uint16_t>());
    std::mt19937_64 random(input_.take<std::uint32_t>());
    scribble([&](std::byte* block) {
      for (std::size_t i = at; i < end; i += sizeof(std::uint64_t)) {
        const std::uint64_t value = random();
        std::memcpy(block + i, &value, std::min(sizeof value, end - i));
      }
    });
  }

  // What is refused is refused again, and is not touched; what is not has room in the memory.
  void open_again() {
    const std::size_t bytes = input_.flag() ? bytes_ : input_.take<std::uint32_t>() % (bytes_ + 1);
    Gate once;
    Gate twice;
    const auto first = Gate::open(memory_, bytes, once);
    FUZZ_EXPECT(first == Gate::open(memory_, bytes, twice));
    FUZZ_EXPECT(once.valid() == (first == Gate::OpenError::none));
    if (first == Gate::OpenError::none) {
      FUZZ_EXPECT(Gate::bytes_for(once.capacity()) <= bytes);
      // With other places for the mutexes nothing could be said about it.
      if (once.capacity().participants == kSeats) {
        (void)once.snapshot();
      }
    }
  }

  void offer(Seat& seat) {
    Request request;
    request.importance = static_cast<std::uint8_t>(input_.below(kClasses));
    const std::uint8_t kind = input_.take<std::uint8_t>();
    request.cost = (kind & 1) != 0 ? 1 : input_.below(10);
    request.may_wait = (kind & 2) == 0;
    request.observe = (kind & 0x1c) == 4;
    request.exempt = (kind & 0x1c) == 8;
    request.tenant = (kind >> 5) & 3;
    request.group = (kind & 0x80) != 0 ? 0 : Request::kNoGroup;
    request.quota = (kind & 0x1c) == 12 ? input_.below(40) : 0;
    if ((kind & 0x1c) == 16) {
      request.deadline = now_ + Duration::micros(input_.take<std::uint16_t>());
    }
    if (!seat.who.valid() || seat.permits.size() >= kMostHeld) {
      return;
    }
    Offer answer = gate_.offer(seat.who, request, now_);
    check(answer.signals);
    check(answer.reason);
    switch (answer.kind) {
      case Offer::Kind::admit:
        keep(seat, answer.permit);
        break;
      case Offer::Kind::wait:
        FUZZ_EXPECT(answer.ticket.index < gate_.capacity().tickets);
        seat.tickets.push_back(answer.ticket);
        break;
      case Offer::Kind::reject:
        FUZZ_EXPECT(answer.reason != Reason::none);
    }
  }

  void keep(Seat& seat, Permit& permit) {
    FUZZ_EXPECT(permit.held() && permit.importance() < kMaxClasses);
    seat.permits.push_back(std::move(permit));
  }

  void release(Seat& seat) {
    if (seat.who.valid() && !seat.permits.empty()) {
      const auto ended = static_cast<Outcome>(input_.below(4));
      check(gate_.release(seat.who, seat.permits.back(), ended, now_));
      seat.permits.pop_back();
    }
  }

  bool pick(Seat& seat, Ticket& ticket) {
    if (!seat.who.valid() || seat.tickets.empty()) {
      return false;
    }
    const std::size_t i = input_.below(static_cast<std::uint32_t>(seat.tickets.size()));
    ticket = seat.tickets[i];
    seat.tickets.erase(seat.tickets.begin() + static_cast<std::ptrdiff_t>(i));
    return true;
  }

  void cancel(Seat& seat) {
    Ticket ticket;
    if (pick(seat, ticket)) {
      check(gate_.cancel(seat.who, ticket, now_));
    }
  }

  void settle(Seat& seat) {
    Ticket ticket;
    if (pick(seat, ticket)) {
      Signals signals;
      Settled settled = gate_.settle(seat.who, ticket, now_, signals);
      check(signals);
      take(seat, settled);
    }
  }

  void collect(Seat& seat) {
    if (!seat.who.valid()) {
      return;
    }
    std::array<Settled, 5> out;
    Signals signals;
    const std::size_t n = gate_.collect(seat.who, out, now_, signals);
    FUZZ_EXPECT(n <= out.size());
    check(signals);
    for (std::size_t i = 0; i < n; ++i) {
      take(seat, out[i]);
    }
  }

  void take(Seat& seat, Settled& settled) {
    check(settled.reason);
    FUZZ_EXPECT(settled.ticket.index < gate_.capacity().tickets);
    if (settled.kind == Settled::Kind::admit && seat.permits.size() < kMostHeld) {
      keep(seat, settled.permit);
    }
  }

  void look() {
    const Snapshot all = gate_.snapshot();
    FUZZ_EXPECT(all.class_count <= kMaxClasses);
    (void)gate_.limit();
    (void)gate_.in_flight();
    std::array<LimitEvent, 5> events;
    std::uint64_t next = input_.take<std::uint8_t>();
    FUZZ_EXPECT(gate_.limit_events(next, events) <= events.size());
  }

  void sit(std::uint32_t i) {
    if (!seats_[i].who.valid()) {
      seats_[i].who = gate_.attach(i, now_);
      FUZZ_EXPECT(!seats_[i].who.valid() || seats_[i].who.index < kSeats);
    }
  }

  // Its mutex is to be let go in any case, or the system would keep a pointer into freed memory.
  void leave(std::uint32_t i) {
    Seat& seat = seats_[i];
    if (seat.who.valid()) {
      check(gate_.detach(seat.who, now_));
    }
    seat = {};
  }

  // What a host uses as an index.
  static void check(Signals signals) { FUZZ_EXPECT(signals.participants >> kSeats == 0); }
  static void check(Reason reason) { FUZZ_EXPECT(static_cast<std::uint32_t>(reason) < kReasons); }

  Bytes input_;
  bool with_tenants_ = false;
  bool with_quota_ = false;
  bool learns_ = false;
  Instant now_{1'000'000'000'000};
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
  Gate gate_;
  std::array<Seat, kSeats> seats_;
  std::array<std::byte*, kMostMutexes> mutexes_{};
  std::size_t mutex_count_ = 0;
};

}  // namespace
}  // namespace loadline::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  loadline::fuzz::Scribbled(loadline::fuzz::Bytes(data, size)).run();
  return 0;
}
