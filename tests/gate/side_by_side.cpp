#include "side_by_side.h"

#include <algorithm>

namespace loadline::test {

namespace {

Capacity capacity_of(const Policy& policy) {
  return Capacity{kParticipants, kTickets}.for_tables(policy);
}

template <class Map>
auto pick(Map& map, std::uint32_t which) {
  return std::next(map.begin(), static_cast<std::ptrdiff_t>(which % map.size()));
}

}  // namespace

SideBySide::SideBySide(const Draft& draft)
    : box_(draft.policy(), kParticipants, kTickets),
      model_(draft.policy(), kParticipants, capacity_of(draft.policy()), box_.now),
      at_index_(kTickets) {
  for (std::uint32_t i = 0; i < kParticipants; ++i) {
    who_.push_back(box_.attach(i));
  }
}

void SideBySide::differ(const std::string& what) {
  std::ostringstream text;
  text << "after step " << taken_ - 1 << " (" << last_step_ << "): " << what;
  RC_FAIL(text.str());
  std::abort();
}

void SideBySide::take(const Step& step) {
  using enum Step::What;
  last_step_ = step;
  ++taken_;
  Signals signals;
  switch (step.what) {
    case offer:
      this->offer(step);
      break;
    case release:
      this->release(step);
      break;
    case release_again:
      this->release_again();
      break;
    case cancel:
      this->cancel(step);
      break;
    case settle:
      this->settle(step);
      break;
    case settle_stale:
      this->settle_stale(step);
      break;
    case collect:
      this->collect(step.who);
      break;
    case pass:
      box_.pass(Duration::micros(step.micros));
      break;
    case tick:
      this->tick();
      break;
    case set_limit:
      same("set_limit", box_.gate.set_limit(step.value, box_.now, signals),
           model_.set_limit(step.value, box_.now));
      signalled(signals);
      break;
    case reconfigure:
      this->reconfigure(step.draft);
      break;
    case set_mode:
      signals = box_.gate.set_mode(static_cast<Mode>(step.value), box_.now);
      model_.set_mode(static_cast<Mode>(step.value), box_.now);
      signalled(signals);
      break;
    case set_draining:
      signals = box_.gate.set_draining(step.value != 0, box_.now);
      model_.set_draining(step.value != 0, box_.now);
      signalled(signals);
      break;
  }
  compare_states();
}

void SideBySide::finish() {
  take({.what = Step::What::set_mode, .value = 0});
  take({.what = Step::What::set_draining, .value = 0});
  while (!held_.empty() || !tickets_.empty()) {
    take({.what = Step::What::pass, .micros = 500'000});
    take({.what = Step::What::tick});
    for (std::uint32_t who = 0; who < kParticipants; ++who) {
      take({.what = Step::What::collect, .who = who});
    }
    while (!held_.empty()) {
      take({.what = Step::What::release});
    }
  }
  same("in flight at the end", box_.gate.in_flight(), 0U);
  same("waiting at the end", box_.gate.snapshot().waiting, 0U);
}

// ---- Operations
// ----------------------------------------------------------------------------------

namespace {

// What observing may say of a request that depends on who would have been there.
Reason foretold(const Offer& answer) {
  const bool open = answer.reason == Reason::limit || answer.reason == Reason::queue_full ||
                    answer.reason == Reason::wait_budget ||
                    answer.reason == Reason::deadline_unmeetable;
  return open ? answer.reason : Reason::none;
}

// And what it may say later, of those who would have waited.
bool is_foretold_late(std::uint32_t reason) {
  return reason == static_cast<std::uint32_t>(Reason::queue_timeout) ||
         reason == static_cast<std::uint32_t>(Reason::displaced) ||
         reason == static_cast<std::uint32_t>(Reason::deadline_unmeetable);
}

}  // namespace

void SideBySide::offer(const Step& step) {
  const Request request = step.request(box_.now);
  const RequestId id = next_id_++;
  Offer answer = box_.gate.offer(who_[step.who], request, box_.now);
  const Model::Answer expected = model_.offer(id, step.who, request, box_.now, foretold(answer));
  compare_offers(answer, expected);
  signalled(answer.signals);
  Counts& counts = counts_[request.importance];
  ++counts.offered;
  switch (answer.kind) {
    case Offer::Kind::admit:
      ++counts.admitted;
      counts.observed[static_cast<std::size_t>(answer.reason)] += answer.reason != Reason::none;
      held_.emplace(id, HeldPermit{step.who, std::move(answer.permit)});
      break;
    case Offer::Kind::wait:
      ++counts.undecided;
      at_index_.at(answer.ticket.index) = id;
      tickets_.emplace(id, KnownTicket{step.who, answer.ticket, request.importance});
      break;
    case Offer::Kind::reject:
      ++counts.rejected[static_cast<std::size_t>(answer.reason)];
      break;
  }
}

void SideBySide::compare_offers(const Offer& gate, const Model::Answer& model) {
  constexpr const char* kKinds[] = {"admit", "wait", "reject"};
  if (gate.kind != model.kind || gate.reason != model.reason) {
    std::ostringstream text;
    text << "answer: gate " << kKinds[static_cast<int>(gate.kind)] << " (" << name(gate.reason)
         << "), model " << kKinds[static_cast<int>(model.kind)] << " (" << name(model.reason)
         << ")";
    differ(text.str());
  }
  switch (gate.kind) {
    case Offer::Kind::admit:
      same("cost", gate.permit.cost(), model.cost);
      break;
    case Offer::Kind::wait:
      same("start_by", gate.start_by.ns, model.start_by.ns);
      break;
    case Offer::Kind::reject:
      if (is_deadline(gate.reason)) {
        same("retry_after", gate.retry_after, 0);
      } else if (gate.reason == Reason::quota) {
        same("retry_after", gate.retry_after, model.retry_after);
      } else if (gate.retry_after < model_.policy().retry_after_min ||
                 gate.retry_after > model_.policy().retry_after_max) {
        differ("retry_after out of its range");
      }
      break;
  }
}

void SideBySide::release(const Step& step) {
  if (held_.empty()) {
    return;
  }
  const auto it = pick(held_, step.which);
  last_released_by_ = it->second.who;
  last_released_ = std::move(it->second.permit);
  const Signals signals =
      box_.gate.release(who_[last_released_by_], last_released_, step.ended, box_.now);
  model_.release(it->first, step.ended, box_.now);
  held_.erase(it);
  signalled(signals);
}

void SideBySide::release_again() {
  box_.gate.release(who_[last_released_by_], last_released_, Outcome::success, box_.now);
  ++released_twice_;
}

void SideBySide::cancel(const Step& step) {
  if (tickets_.empty()) {
    return;
  }
  const auto it = pick(tickets_, step.which);
  const Signals signals = box_.gate.cancel(who_[it->second.who], it->second.ticket, box_.now);
  model_.cancel(it->first, box_.now);
  ++counts_[it->second.importance].cancelled;
  --counts_[it->second.importance].undecided;
  stale_ = it->second;
  tickets_.erase(it);
  signalled(signals);
}

void SideBySide::settle(const Step& step) {
  if (tickets_.empty()) {
    return;
  }
  const auto it = pick(tickets_, step.which);
  Signals signals;
  Settled settled = box_.gate.settle(who_[it->second.who], it->second.ticket, box_.now, signals);
  const Model::Entry expected = model_.settle(it->first, box_.now);
  signalled(signals);
  same("settled", static_cast<int>(settled.kind), static_cast<int>(expected.kind));
  if (settled.kind != Settled::Kind::waiting) {
    compare_decision(settled, expected);
  }
}

// Neither a ticket that is used up nor somebody else's can be settled or cancelled.
void SideBySide::settle_stale(const Step& step) {
  KnownTicket stale = stale_;
  if (!tickets_.empty()) {
    const auto it = pick(tickets_, step.which);
    if (it->second.who != step.who) {
      stale = it->second;
    }
  }
  Signals signals;
  const Participant other = who_[step.who == stale.who ? (step.who + 1) % kParticipants : step.who];
  const Settled settled = box_.gate.settle(other, stale.ticket, box_.now, signals);
  same("settled", static_cast<int>(settled.kind), static_cast<int>(Settled::Kind::unknown));
  box_.gate.cancel(other, stale_.ticket, box_.now);
  box_.gate.cancel(who_[stale_.who], stale_.ticket, box_.now);
}

void SideBySide::collect(std::uint32_t who) {
  std::vector<Settled> gate = box_.collect(who_[who]);
  std::vector<Model::Entry> model = model_.collect(who, box_.now);
  same("collected", gate.size(), model.size());
  compare_batch(gate, model);
  for (std::size_t i = 0; i < gate.size(); ++i) {
    compare_decision(gate[i], model[i]);
  }
}

// What was decided in no particular order is put into the same.
void SideBySide::compare_batch(std::vector<Settled>& gate, std::vector<Model::Entry>& model) {
  for (std::size_t begin = 0; begin < model.size();) {
    std::size_t end = begin + 1;
    while (end < model.size() && model[end].batch == model[begin].batch) {
      ++end;
    }
    const auto from = static_cast<std::ptrdiff_t>(begin);
    const auto to = static_cast<std::ptrdiff_t>(end);
    std::sort(gate.begin() + from, gate.begin() + to, [&](const Settled& a, const Settled& b) {
      return at_index_.at(a.ticket.index) < at_index_.at(b.ticket.index);
    });
    std::sort(model.begin() + from, model.begin() + to,
              [](const Model::Entry& a, const Model::Entry& b) { return a.id < b.id; });
    begin = end;
  }
}

RequestId SideBySide::id_of(const Settled& settled) {
  const RequestId id = at_index_.at(settled.ticket.index);
  const auto it = tickets_.find(id);
  if (it == tickets_.end() || it->second.ticket != settled.ticket) {
    differ("a ticket came back that nobody was waiting with");
  }
  return id;
}

void SideBySide::compare_decision(Settled& gate, const Model::Entry& model) {
  const RequestId id = id_of(gate);
  same("which was decided", id, model.id);
  same("decision", static_cast<int>(gate.kind), static_cast<int>(model.kind));
  same("reason", static_cast<int>(gate.reason), static_cast<int>(model.reason));
  same("waited", gate.waited.ns, (model.decided - model.arrival).ns);
  const auto it = tickets_.find(id);
  same("owner", it->second.who, model.who);
  Counts& counts = counts_[it->second.importance];
  --counts.undecided;
  if (gate.kind == Settled::Kind::admit) {
    same("cost", gate.permit.cost(), model.cost);
    ++counts.admitted;
    held_.emplace(id, HeldPermit{it->second.who, std::move(gate.permit)});
  } else {
    ++counts.rejected[static_cast<std::size_t>(gate.reason)];
  }
  stale_ = it->second;
  tickets_.erase(it);
}

void SideBySide::tick() {
  const Signals signals = box_.gate.tick(box_.now);
  model_.tick(box_.now, box_.gate.snapshot().service_mean);
  signalled(signals);
}

void SideBySide::reconfigure(const Draft& draft) {
  Signals signals;
  const Policy policy = draft.policy();
  same("reconfigured", box_.gate.reconfigure(policy, box_.now, signals),
       model_.reconfigure(policy, box_.now));
  signalled(signals);
}

// Whoever has been given something is to be told; telling others costs them a look.
void SideBySide::signalled(Signals signals) {
  if ((model_.to_signal() & ~signals.participants) != 0) {
    differ("somebody has something to collect and was not signalled");
  }
}

// ---- States
// --------------------------------------------------------------------------------------

void SideBySide::compare_states() {
  const Snapshot all = box_.gate.snapshot();
  same("in flight", all.in_flight, model_.in_flight());
  same("heavy in flight", all.heavy_in_flight, model_.heavy_in_flight());
  same("exempt in flight", all.exempt_in_flight, model_.exempt_in_flight());
  same("waiting", all.waiting, model_.waiting());
  same("limit", all.limit, model_.policy().limit);
  same("queue limit", all.queue_limit, model_.queue_limit());
  same("heavy limit", all.heavy_limit, model_.heavy_limit());
  same("draining", all.draining, model_.draining());
  same("service mean", all.service_mean.ns, model_.last_mean().ns);
  same("taken back", all.taken_back, model_.taken_back());
  same("released twice", all.released_twice, released_twice_);
  same("corruptions", all.corruptions, 0U);
  same("repairs", all.repairs, 0U);
  for (std::uint32_t c = 0; c < kClasses; ++c) {
    same("waiting of a class", all.classes[c].waiting, model_.waiting(c));
    same("threshold", all.classes[c].threshold, model_.threshold(c));
    same("newest first", all.classes[c].newest_first, model_.newest_first(c));
  }
  compare_counts(all);
}

// The identity, class by class, with all of it counted from outside:
// offered = admitted + rejected (by one reason each) + cancelled + not told yet.
void SideBySide::compare_counts(const Snapshot& all) {
  std::uint64_t offered = 0;
  std::uint64_t untold = 0;
  for (std::uint32_t c = 0; c < kClasses; ++c) {
    const Counts& counts = counts_[c];
    const Snapshot::Class& here = all.classes[c];
    std::uint64_t observed = 0;
    same("admitted", here.admitted, counts.admitted);
    same("cancelled", here.cancelled, counts.cancelled);
    for (std::uint32_t r = 0; r < kReasons; ++r) {
      same("rejected", here.rejected[r], counts.rejected[r]);
      if (!is_foretold_late(r) || here.observed[r] < counts.observed[r]) {
        same("observed", here.observed[r], counts.observed[r]);
      }
      observed += here.observed[r];
    }
    if (observed > here.admitted) {
      differ("more observed than admitted");
    }
    offered += counts.offered;
    untold += counts.undecided - here.waiting;
  }
  same("offered", sums_of(all).offered() + untold, offered);
}

}  // namespace loadline::test
