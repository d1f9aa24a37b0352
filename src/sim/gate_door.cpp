#include "sim/gate_door.h"

#include <algorithm>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include "sim/random.h"

namespace loadline::sim {
namespace {

constexpr std::size_t kAlignment = 128;
constexpr Duration kTick = Duration::millis(10);
constexpr std::size_t kFewDue = 32;                // not worth looking who has started
constexpr std::uint64_t kGateStream = 0x67617465;  // apart from all populations

std::size_t block_bytes(Capacity capacity) {
  return (Gate::bytes_for(capacity) + kAlignment - 1) / kAlignment * kAlignment;
}

Capacity capacity_of(const GateModel& model) {
  const std::uint32_t tickets = Capacity::kSpareTickets + model.queue_room;
  return Capacity{.participants = 1, .tickets = tickets}.for_tables(model.policy);
}

}  // namespace

GateDoor::GateDoor(const GateModel& model, std::uint64_t seed, std::uint64_t number, Site& site)
    : model_(model),
      site_(site),
      bytes_(block_bytes(capacity_of(model))),
      memory_(std::aligned_alloc(kAlignment, bytes_), &std::free),
      tickets_(capacity_of(model).tickets) {
  if (!memory_) {
    throw std::bad_alloc();
  }
  Policy policy = model.policy;
  policy.seed = Draws(seed, kGateStream, number).bits();
  if (const PolicyError error = validate(policy); error.refused()) {
    throw std::invalid_argument(std::string("policy: ") + error.text.data());
  }
  const Instant now = site.loop().now();
  const auto error = Gate::create(memory_.get(), bytes_, capacity_of(model), policy, now, gate_);
  if (error != Gate::OpenError::none) {
    throw std::invalid_argument("the policy's queue does not fit into queue_room");
  }
  me_ = gate_.attach(0, now);
  gate_.set_mode(model.mode, now);
  for (const auto& change : model.limits) {
    site.loop().at<&GateDoor::set_limit>(change.from, *this, change.value);
  }
  tick(0);
}

// A seat is a robust mutex that the system keeps a list of: it must be left before its memory goes.
GateDoor::~GateDoor() {
  gate_.detach(me_, site_.loop().now());
}

template <auto Method>
void GateDoor::serve(std::uint64_t argument) {
  const Instant now = site_.loop().now();
  stir();
  if (model_.stopped.at(now)) {
    site_.loop().at<Method>(model_.stopped.next_change(now), *this, argument);
  } else {
    (this->*Method)(argument);
  }
}

// So many places as are needed at a time: with thousands of instances, one for each attempt of the
// run in each of them would be too many.
GateDoor::Held& GateDoor::hold(AttemptId id) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(held_.size()));
    held_.emplace_back();
  }
  site_.attempt(id).held = free_.back();
  free_.pop_back();
  return held_[site_.attempt(id).held];
}

GateDoor::Held GateDoor::let_go(AttemptId id) {
  std::uint32_t& place = site_.attempt(id).held;
  Held held = std::exchange(held_[place], {});
  free_.push_back(std::exchange(place, Attempt::kNothing));
  return held;
}

bool GateDoor::waits(AttemptId id) const {
  if (!site_.lives(id)) {
    return false;
  }
  const std::uint32_t place = site_.attempt(id).held;
  return place != Attempt::kNothing && held_[place].waiting;
}

void GateDoor::offer(std::uint64_t id) {
  const Attempt& attempt = site_.attempt({id});
  Request request;
  request.importance = attempt.importance;
  request.cost = attempt.cost;
  request.deadline = attempt.told;
  request.group = attempt.group;
  if (attempt.tenant != 0) {
    request.tenant = hash_key(std::to_string(attempt.tenant));
    request.quota = model_.policy.quota.any() ? request.tenant : 0;
  }
  Offer answer = gate_.offer(me_, request, site_.loop().now());
  switch (answer.kind) {
    case Offer::Kind::admit:
      begin({id}, answer.permit);
      break;
    case Offer::Kind::wait:
      wait({id}, answer);
      break;
    case Offer::Kind::reject:
      site_.refuse({id}, answer.reason, answer.retry_after);
      break;
  }
  heed(answer.signals);
}

void GateDoor::begin(AttemptId id, Permit& permit) {
  units_ += permit.cost();
  if (light_waits_above(permit.importance())) {
    ++watch_.passed;
  }
  hold(id).permit = std::move(permit);
  site_.start(id);
}

void GateDoor::wait(AttemptId id, const Offer& offer) {
  Held& here = hold(id);
  here.waiting = true;
  here.ticket = offer.ticket;
  tickets_[offer.ticket.index] = id;
  const Attempt& attempt = site_.attempt(id);
  ++(attempt.cost == 1 ? light_waiting_ : heavy_waiting_)[attempt.importance];
  ++waiting_;
  watch_.peak_waiting = std::max(watch_.peak_waiting, waiting_);
  watch_for(offer.start_by, id);
}

void GateDoor::watch_for(Instant when, AttemptId id) {
  if (due_.size() > 2 * std::size_t{waiting_} + kFewDue) {
    std::erase_if(due_, [this](const Due& due) { return !waits(due.id); });
    std::make_heap(due_.begin(), due_.end(), Later{});
  }
  due_.push_back({when, id});
  std::push_heap(due_.begin(), due_.end(), Later{});
  if (when < timer_) {
    timer_ = when;
    site_.loop().at<&GateDoor::ring>(when, *this);
  }
}

void GateDoor::ring(std::uint64_t) {
  if (site_.loop().now() == timer_) {
    timer_ = Instant::never();
    serve<&GateDoor::settle_due>(0);
  }
}

// Those in front.
void GateDoor::forget_started() {
  while (!due_.empty() && !waits(due_.front().id)) {
    std::pop_heap(due_.begin(), due_.end(), Later{});
    due_.pop_back();
  }
}

void GateDoor::settle_due(std::uint64_t) {
  for (forget_started(); !due_.empty() && due_.front().when <= site_.loop().now();
       forget_started()) {
    settle(due_.front().id.bits);
  }
  if (!due_.empty() && due_.front().when < timer_) {
    timer_ = due_.front().when;
    site_.loop().at<&GateDoor::ring>(timer_, *this);
  }
}

void GateDoor::stop_waiting(AttemptId id) {
  let_go(id);
  const Attempt& attempt = site_.attempt(id);
  --(attempt.cost == 1 ? light_waiting_ : heavy_waiting_)[attempt.importance];
  --waiting_;
}

void GateDoor::cancel(std::uint64_t id) {
  if (!waits({id})) {
    return;  // it has been decided since
  }
  const Ticket ticket = held_[site_.attempt({id}).held].ticket;
  stop_waiting({id});
  const Signals signals = gate_.cancel(me_, ticket, site_.loop().now());
  site_.forget({id});
  heed(signals);
}

void GateDoor::release(std::uint64_t id) {
  Held here = let_go({id});
  units_ -= here.permit.cost();
  const Attempt& attempt = site_.attempt({id});
  const bool late = site_.loop().now() > attempt.told;
  const bool says_nothing = (attempt.stopped && !late) || !model_.tells_service_times;
  const Outcome outcome = says_nothing    ? Outcome::ignored
                          : attempt.fails ? Outcome::failure
                          : late          ? Outcome::late
                                          : Outcome::success;
  const Signals signals = gate_.release(me_, here.permit, outcome, site_.loop().now());
  site_.answer({id});
  heed(signals);
}

void GateDoor::settle(std::uint64_t id) {
  const Ticket ticket = held_[site_.attempt({id}).held].ticket;
  Signals signals;
  Settled settled = gate_.settle(me_, ticket, site_.loop().now(), signals);
  if (settled.kind == Settled::Kind::waiting) {
    throw std::logic_error("a ticket past its start_by still waits");
  }
  stop_waiting({id});
  conclude({id}, settled);
  heed(signals);
}

void GateDoor::tick(std::uint64_t) {
  const Instant now = site_.loop().now();
  const bool goes_on = std::exchange(stirred_, false) || waiting_ != 0;
  ticks_ = false;
  if (!model_.stopped.at(now)) {
    heed(gate_.tick(now));
  }
  if (goes_on) {
    site_.touch(*this);
    ticks_ = true;
    site_.loop().at<&GateDoor::tick>(now + kTick, *this);
  }
}

// Ticks keep to whole multiples of their distance, as if they had never ceased.
void GateDoor::stir() {
  site_.touch(*this);
  stirred_ = true;
  if (!ticks_) {
    ticks_ = true;
    const std::int64_t next = site_.loop().now().ns / kTick.ns + 1;
    site_.loop().at<&GateDoor::tick>(Instant{next * kTick.ns}, *this);
  }
}

void GateDoor::set_limit(std::uint64_t limit) {
  stir();
  Signals signals;
  gate_.set_limit(static_cast<std::uint32_t>(limit), site_.loop().now(), signals);
  heed(signals);
}

void GateDoor::conclude(AttemptId id, Settled& settled) {
  if (settled.kind == Settled::Kind::admit) {
    begin(id, settled.permit);
  } else {
    site_.refuse(id, settled.reason, settled.retry_after);
  }
}

// What was decided together is taken off the account together: otherwise one who starts would seem
// to pass another who starts in the same breath.
void GateDoor::heed(Signals signals) {
  while (signals.any()) {
    std::array<Settled, 2> decided;  // mostly it is one
    signals = {};
    std::size_t count = decided.size();
    while (count == decided.size()) {
      count = gate_.collect(me_, decided, site_.loop().now(), signals);
      std::array<AttemptId, 2> ids;
      for (std::size_t i = 0; i < count; ++i) {
        ids[i] = tickets_[decided[i].ticket.index];
        stop_waiting(ids[i]);
      }
      for (std::size_t i = 0; i < count; ++i) {
        conclude(ids[i], decided[i]);
      }
    }
  }
}

bool GateDoor::light_waits_above(std::uint32_t importance) const noexcept {
  return std::any_of(light_waiting_.begin(), light_waiting_.begin() + importance,
                     [](std::uint32_t n) { return n != 0; });
}

// What a class may fill of the limit: its share of it, and no more than those above it.
std::uint32_t GateDoor::room_of(std::uint32_t importance) const noexcept {
  std::uint64_t share = 1000;
  for (std::uint32_t c = 0; c <= importance; ++c) {
    const std::uint16_t own = model_.policy.classes[c].share;
    share = own == 0 ? share : std::min<std::uint64_t>(share, own);
  }
  return static_cast<std::uint32_t>((gate_.limit() * share + 999) / 1000);
}

void GateDoor::note_limit_events() {
  std::array<LimitEvent, LimitEvents::kKept> some;
  const std::size_t count = gate_.limit_events(next_event_, some);
  events_.insert(events_.end(), some.begin(), some.begin() + count);
}

// A heavy head that does not fit is passed by nobody of its class or below, so light ones count as
// kept from an idle slot only where no heavy one of their class or above waits.
void GateDoor::look() {
  const std::uint32_t in_flight = gate_.in_flight();
  watch_.peak_in_flight = std::max(watch_.peak_in_flight, in_flight);
  if (in_flight != units_) {
    ++watch_.miscounts;
  }
  note_limit_events();
  if (watch_.limits.empty() || watch_.limits.back().limit != gate_.limit()) {
    watch_.limits.push_back({site_.loop().now(), gate_.limit()});
  }
  if (waiting_ == 0 || in_flight >= gate_.limit()) {
    return;
  }
  for (std::uint32_t c = 0; c < kMaxClasses && heavy_waiting_[c] == 0; ++c) {
    if (light_waiting_[c] != 0 && in_flight < room_of(c)) {
      ++watch_.idle_beside_waiter;
      return;
    }
  }
}

}  // namespace loadline::sim
