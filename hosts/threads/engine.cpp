#include "engine.h"

#include <algorithm>
#include <array>
#include <bit>
#include <new>

#include "loadline/quick_clock.h"

namespace loadline::threads {
namespace {

constexpr std::uint32_t kFewestLanes = 8;
constexpr std::uint64_t kFewestLeases = 128;
constexpr std::uint64_t kMostLeases = 1U << 17;

// Looks at all lanes before a request is refused as busy. They are all taken only if as many
// threads have lost their processor inside; yielding lets those go on.
constexpr int kSweeps = 64;

// What one caller does for others on its way out; the rest is for the background thread.
constexpr int kMostVisits = 256;

// How long past its time a request is still asked about, if the gate's mutex is not to be had.
constexpr Duration kOvertime = Duration::millis(10);

class SteadyClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const noexcept override {
    thread_local QuickClock clock;
    return clock.now();
  }
};

std::uint32_t lanes_for_this_machine() noexcept {
  return std::clamp(2 * std::thread::hardware_concurrency(), kFewestLanes, kMaxParticipants);
}

// Where the queue sizes itself: each slot may turn over a hundred times within the wait budget
// before this binds.
Capacity capacity_for(const Policy& policy, std::uint32_t lanes) noexcept {
  constexpr std::uint64_t kPlacesPerSlot = 100;
  constexpr std::uint64_t kFewestPlaces = 1000;
  const std::uint64_t wanted = policy.queue.kind == QueueSize::Kind::fixed
                                   ? policy.queue.entries
                                   : policy.limit * kPlacesPerSlot;
  const std::uint64_t places = std::clamp<std::uint64_t>(wanted, kFewestPlaces, kMaxQueue);
  const Capacity without_tables{
      .participants = lanes,
      .tickets = Capacity::kSpareTickets + static_cast<std::uint32_t>(places)};
  return without_tables.for_tables(policy);
}

std::uint32_t leases_for(const Policy& policy, const Options& options) noexcept {
  const std::uint64_t twice = std::uint64_t{policy.limit} * 2;
  return options.lease <= Duration{}
             ? 0
             : static_cast<std::uint32_t>(std::clamp(twice, kFewestLeases, kMostLeases));
}

// Threads that look first in different places do not meet.
std::uint32_t home() noexcept {
  static std::atomic<std::uint32_t> next{0};
  thread_local const std::uint32_t mine = next.fetch_add(1, std::memory_order_relaxed);
  return mine;
}

// Marsaglia's xorshift64 (Journal of Statistical Software 8(14), 2003).
std::uint64_t random_here() noexcept {
  thread_local std::uint64_t x = (std::uint64_t{home()} + 1) * 0x9e3779b97f4a7c15;
  x ^= x << 13;
  x ^= x >> 7;
  x ^= x << 17;
  return x;
}

constexpr std::uint64_t bit(std::uint32_t lane) noexcept {
  return std::uint64_t{1} << lane;
}

}  // namespace

// ---- Coming and going
// ----------------------------------------------------------------------------

Engine::Engine(const Policy& policy, Options options)
    : own_clock_(options.clock == nullptr ? std::make_unique<SteadyClock>() : nullptr),
      clock_(options.clock == nullptr ? *own_clock_ : *options.clock),
      options_(std::move(options)),
      names_(policy),
      default_class_(policy.default_class),
      retry_after_(policy.retry_after_min),
      lane_count_(lanes_for_this_machine()),
      lanes_(std::make_unique<Lane[]>(lane_count_)),
      lease_count_(leases_for(policy, options_)),
      lease_entries_(std::make_unique<Leases::Entry[]>(lease_count_)),
      leases_({lease_entries_.get(), lease_count_}) {
  if (policy.law != Law::fixed && has_cpu_signal(policy)) {
    const Instant now = clock_.now();
    cpu_fault_ = cpu_.open(policy, options_.root, now);
    next_cpu_reading_ = now + kCpuReadingInterval;
  }
  if (cpu_fault_.any() || !create_gate(policy, capacity_for(policy, lane_count_))) {
    return;
  }
  std::promise<bool> seated;
  std::future<bool> answer = seated.get_future();
  keeper_ = std::thread(&Engine::keep, this, std::move(seated));
  started_ = answer.get();
}

bool Engine::create_gate(const Policy& policy, Capacity capacity) {
  constexpr std::size_t kAlignment = 128;
  const std::size_t bytes = Gate::bytes_for(capacity);
  block_.reset(std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment));
  if (block_ == nullptr) {
    throw std::bad_alloc();
  }
  for (std::uint32_t i = 0; i < lane_count_; ++i) {
    lanes_[i].waiters.reset(static_cast<Waiter**>(std::calloc(capacity.tickets, sizeof(Waiter*))));
    if (lanes_[i].waiters == nullptr) {
      throw std::bad_alloc();
    }
  }
  return Gate::create(block_.get(), bytes, capacity, policy, clock_.now(), gate_) ==
         Gate::OpenError::none;
}

void Engine::abandon() noexcept {
  if (keeper_.joinable()) {
    close();
    ending_.store(true, std::memory_order_release);
    alarm();
    keeper_.join();
  }
  if (owners_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    delete this;
  }
}

// ---- Lanes
// ---------------------------------------------------------------------------------------

Lane* Engine::enter_any() noexcept {
  const std::uint32_t first = home() % lane_count_;
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    for (std::uint32_t i = 0; i < lane_count_; ++i) {
      Lane& lane = lanes_[(first + i) % lane_count_];
      if (lane.door.try_enter()) {
        return &lane;
      }
    }
    std::this_thread::yield();
  }
  return nullptr;
}

// Goes through the lanes in `ready`, one at a time, until nobody in them is ready any more or
// somebody else sees to it. In `inside` already, or in none; in none afterwards.
void Engine::look_after(Lane* inside, std::uint64_t ready) noexcept {
  for (int visits = 0; inside != nullptr || ready != 0;) {
    if (inside == nullptr) {
      const auto next = static_cast<std::uint32_t>(std::countr_zero(ready));
      if (lanes_[next].door.post()) {
        inside = &lanes_[next];
      } else {
        ready &= ~bit(next);
      }
      continue;
    }
    const std::uint64_t here = bit(index_of(*inside));
    if (visits == kMostVisits) {
      inside->door.leave_mail();
      alarm();
      return;
    }
    if ((ready & here) != 0) {
      ++visits;
      ready &= ~here;
      collect(*inside, ready);
    } else if (inside->door.leave()) {
      inside = nullptr;
    } else {
      ready |= here;
    }
  }
}

void Engine::collect(Lane& lane, std::uint64_t& ready) noexcept {
  std::array<Settled, 16> some;
  const Instant now = clock_.now();
  Signals signals;
  std::size_t count = 0;
  do {
    count = gate_.collect(lane.seat, some, now, signals);
    for (std::size_t i = 0; i < count; ++i) {
      decide(lane, std::move(some[i]));
    }
  } while (count == some.size());
  ready |= signals.participants;
}

void Engine::decide(Lane& lane, Settled settled) noexcept {
  Waiter* const waiter = std::exchange(lane.waiters[settled.ticket.index], nullptr);
  if (settled.kind == Settled::Kind::admit) {
    ++lane.permits;
  }
  waiter->decide(std::move(settled));
}

// ---- Asking
// --------------------------------------------------------------------------------------

Offer Engine::refusal(Reason reason) const noexcept {
  Offer refusal;
  refusal.reason = reason;
  refusal.retry_after = retry_after_.load(std::memory_order_relaxed);
  return refusal;
}

// With Kind::wait, `waiter` is registered and may have been decided already.
Offer Engine::offer(const Request& request, Waiter& waiter) noexcept {
  Request asked = request;
  asked.importance = std::min<std::uint8_t>(asked.importance, names_.class_count - 1);
  Lane* const lane = enter_any();
  if (lane == nullptr) {
    busy_.fetch_add(1, std::memory_order_relaxed);
    return refusal(Reason::busy);
  }
  if (lane->closed) {
    leave(*lane, {});
    after_close_.fetch_add(1, std::memory_order_relaxed);
    return refusal(Reason::draining);
  }
  Offer answer = gate_.offer(lane->seat, asked, clock_.now());
  waiter.lane = lane;
  if (answer.kind == Offer::Kind::admit) {
    ++lane->permits;
  } else if (answer.kind == Offer::Kind::wait) {
    waiter.ticket = answer.ticket;
    lane->waiters[answer.ticket.index] = &waiter;
    waiter.registered();
  }
  leave(*lane, answer.signals);
  return answer;
}

Answer Engine::ask(const Request& request, bool may_block, std::stop_token caller,
                   std::string_view name) noexcept {
  if (caller.stop_requested()) {
    return {.kind = Answer::Kind::cancelled};
  }
  Request asked = request;
  asked.may_wait = asked.may_wait && may_block;
  BlockedWaiter waiter;
  Offer answer = offer(asked, waiter);
  const Asker asker{request.deadline, caller, LeaseName(name)};
  switch (answer.kind) {
    case Offer::Kind::admit:
      return admitted(*waiter.lane, std::move(answer.permit), asker);
    case Offer::Kind::wait:
      return await(waiter, answer.start_by, asker);
    case Offer::Kind::reject:
      break;
  }
  return {.rejection = {answer.reason, answer.retry_after}};
}

void Engine::ask(const Request& request, const std::shared_ptr<AsyncWaiter>& waiter) noexcept {
  if (waiter->caller.stop_requested()) {
    waiter->answer({.kind = Answer::Kind::cancelled});
    return;
  }
  waiter->watch_caller();
  Offer answer = offer(request, *waiter);
  switch (answer.kind) {
    case Offer::Kind::admit:
      waiter->answer(admitted(*waiter->lane, std::move(answer.permit),
                              {waiter->deadline, waiter->caller, waiter->name}));
      break;
    case Offer::Kind::reject:
      waiter->answer({.rejection = {answer.reason, answer.retry_after}});
      break;
    case Offer::Kind::wait:
      if (waiter->left_early()) {
        waiter->cancel();
      }
      break;
  }
}

// Whoever decides tells it, so its own clock matters only when its time has passed. If its caller
// leaves in the moment in which it may start, it has left: the permit goes back.
Answer Engine::await(BlockedWaiter& waiter, Instant start_by, const Asker& asker) noexcept {
  const std::stop_callback on_stop(asker.caller, [&waiter]() noexcept { waiter.stop(); });
  while (waiter.waits() && !waiter.stopped()) {
    const Instant now = clock_.now();
    if (now < start_by) {
      waiter.sleep(start_by - now);
      continue;
    }
    settle(waiter);
    if (waiter.waits()) {
      if (now - start_by > kOvertime && withdraw(waiter)) {
        const Offer busy = refusal(Reason::busy);
        return {.rejection = {busy.reason, busy.retry_after}};
      }
      waiter.sleep(Duration::millis(1));
    }
  }
  if (waiter.stopped()) {
    withdraw(waiter);
  }
  Answer answer = answer_of(*waiter.lane, waiter.take(), asker);
  if (answer && waiter.stopped()) {
    return {.kind = Answer::Kind::cancelled};
  }
  return answer;
}

// Its time has passed: the gate says what is to become of it, without waiting for the next tick.
void Engine::settle(BlockedWaiter& waiter) noexcept {
  Lane& lane = *waiter.lane;
  lane.door.enter();
  Signals signals;
  if (waiter.waits()) {
    Settled settled = gate_.settle(lane.seat, waiter.ticket, clock_.now(), signals);
    if (settled.kind == Settled::Kind::unknown) {
      settled.kind = Settled::Kind::reject;
      settled.reason = Reason::busy;
    }
    if (settled.kind != Settled::Kind::waiting) {
      decide(lane, std::move(settled));
    }
  }
  leave(lane, signals);
}

// The caller has gone. False if it had been decided before.
bool Engine::withdraw(Waiter& waiter) noexcept {
  Lane& lane = *waiter.lane;
  lane.door.enter();
  Signals signals;
  const bool waited = waiter.waits();
  if (waited) {
    signals = gate_.cancel(lane.seat, waiter.ticket, clock_.now());
    Settled withdrawn;
    withdrawn.ticket = waiter.ticket;
    decide(lane, std::move(withdrawn));
  }
  leave(lane, signals);
  return waited;
}

Answer Engine::answer_of(const Lane& lane, Settled settled, const Asker& asker) noexcept {
  switch (settled.kind) {
    case Settled::Kind::admit:
      return admitted(lane, std::move(settled.permit), asker);
    case Settled::Kind::reject:
      return {.rejection = {settled.reason, settled.retry_after}};
    case Settled::Kind::waiting:
    case Settled::Kind::unknown:
      break;
  }
  return {.kind = Answer::Kind::cancelled};
}

Answer Engine::admitted(const Lane& lane, loadline::Permit permit, const Asker& asker) noexcept {
  Answer answer;
  answer.kind = Answer::Kind::admitted;
  Permit& out = answer.permit;
  out.engine_ = this;
  out.lane_ = index_of(lane);
  out.exceptions_ = std::uncaught_exceptions();
  out.deadline_ = asker.deadline;
  out.caller_ = std::move(asker.caller);
  if (lease_count_ == 0) {
    out.gate_permit_ = std::move(permit);
    return answer;
  }
  const Instant since = permit.started();
  Lent lent{std::move(permit), out.lane_};
  out.lease_ = leases_.lend(lent, asker.name, since, since + options_.lease, random_here());
  if (!out.lease_.valid()) {
    out.gate_permit_ = std::move(lent.permit);
    unleased_.fetch_add(1, std::memory_order_relaxed);
  }
  return answer;
}

// ---- Giving back
// ---------------------------------------------------------------------------------

// Whether the lease has run out is decided before the lane is entered: so nobody who waits for it
// there is called late.
void Engine::release(Permit& permit, Outcome ended) noexcept {
  const Instant now = clock_.now();
  // Well done, and of no use.
  if (ended == Outcome::success && (now > permit.deadline_ || permit.caller_.stop_requested())) {
    ended = Outcome::late;
  }
  bool late = false;
  if (permit.lease_.valid()) {
    if (std::optional<Lent> lent = leases_.take_back(permit.lease_)) {
      permit.gate_permit_ = std::move(lent->permit);
    } else {
      late = true;
      returned_late_.fetch_add(1, std::memory_order_relaxed);
    }
  }
  Lane& lane = lanes_[permit.lane_];
  lane.door.enter();
  --lane.permits;
  if (lane.orphaned) {
    lane.door.leave_mail();
    if (owners_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      delete this;
    }
    return;
  }
  leave(lane, late ? Signals{} : gate_.release(lane.seat, permit.gate_permit_, ended, now));
}

}  // namespace loadline::threads
