// How the limit is found: samples go to the law, and what it says is told to all.
#pragma once

#include <array>
#include <span>
#include <utility>

#include "loadline/gate.h"
#include "rules.h"
#include "section.h"

namespace loadline {

// Callers read their clocks before they come here, so times arrive out of order. More than this
// back, and the clock was set.
inline constexpr Duration kClockSetBack = Duration::seconds(1);

// What a law is to know of one that has ended: it is read between ticks as well, where they would
// overtake who reads, and at once while the limit is still looked for and somebody waits for it.
template <class Sync>
Signals BasicGate<Sync>::note_sample(Participant who, Ending ending, Instant now) noexcept {
  auto& ring = rings_[who.index];
  const bool within_limit = (ending.kind & ~Permit::heavy) == 0;
  if (ending.ended == Outcome::ignored || !within_limit || admits_all()) {
    detail::add_alone(ring.unsampled, ending.cost == 0 ? 0U : 1U);
    return {};
  }
  ring.add({now - ending.took, now, ending.ended, ending.bound});
  const bool hurry = published().searching.load(std::memory_order_relaxed) != 0 &&
                     guarded().occupied.load(std::memory_order_relaxed) != 0;
  return hurry || ring.is_due() ? learn(now, false) : Signals{};
}

// Not while requests are let in beside the limit: what they meet says nothing about it. Nor while
// somebody who has died still keeps slots that bring nothing. The law finds a gap, or is told of
// the death, when it goes on.
template <class Sync>
Signals BasicGate<Sync>::learn(Instant now, bool at_tick) noexcept {
  if (learner_ == nullptr || admits_all() ||
      guarded().in_grace.load(std::memory_order_relaxed) != 0) {
    return {};
  }
  const LockResult locked = learner_->mutex.try_lock();
  if (locked != LockResult::locked && locked != LockResult::owner_died) {
    return {};
  }
  if (locked == LockResult::owner_died) {
    learner_->mutex.make_consistent();
  }
  detail::Knowledge& known = learner_->knowledge;
  Signals signals;
  if (follow_rules(now)) {
    const bool searches = known.rules.law != Law::fixed;
    if (searches) {
      look_at_samples(now, at_tick);
    }
    log_events();  // first: who sees another limit finds why
    if (searches) {
      signals = tell_limit(known.view.now);
    }
  }
  // The sum is over some ten thousand bytes: not where a request waits for it.
  learner_->seal = at_tick ? known.sum() : detail::Knowledge::kOpen;
  learner_->mutex.unlock();
  return signals;
}

template <class Sync>
void BasicGate<Sync>::look_at_samples(Instant now, bool at_tick) noexcept {
  detail::Knowledge& known = learner_->knowledge;
  LimitView& view = known.view;
  const bool set_back = now < view.now && view.now - now >= kClockSetBack;
  view.now = set_back ? now : std::max(now, view.now);
  note_deaths();
  take_samples();
  hear_signals();
  if (at_tick) {
    view.refused = refused_by_all();
  }
  const Word word = load_word();
  view.in_flight = word.in_flight();
  view.waiting = word.waiting();
  known.limiter.look(view);
  ++known.looks;
}

// What the dead held has never ended.
template <class Sync>
void BasicGate<Sync>::note_deaths() noexcept {
  detail::Knowledge& known = learner_->knowledge;
  const std::uint64_t reclaimed = guarded().reclaimed.load(std::memory_order_relaxed);
  if (reclaimed != known.reclaimed) {
    known.reclaimed = reclaimed;
    known.limiter.disturb(known.view.now);
  }
}

template <class Sync>
std::uint64_t BasicGate<Sync>::refused_by_all() const noexcept {
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < capacity_.participants; ++i) {
    for (const auto& of_class : slots_[i].rejected) {
      for (std::uint32_t r = 0; r < kReasons; ++r) {
        const bool counts = for_want_of_capacity(static_cast<Reason>(r));
        sum += counts ? of_class[r].load(std::memory_order_relaxed) : 0;
      }
    }
  }
  return sum;
}

// Whether what is known is sound and the rules are those in force; once it is not, the law begins
// anew, and from the limit in force: that is as good a beginning as any. Only where the gate itself
// begins is there none.
template <class Sync>
bool BasicGate<Sync>::follow_rules(Instant now) noexcept {
  detail::Knowledge& known = learner_->knowledge;
  const std::uint64_t seal = std::exchange(learner_->seal, detail::Knowledge::kInWork);
  const bool sound = seal == detail::Knowledge::kOpen || seal == known.sum();
  const std::uint32_t version = guarded().rules_version.load(std::memory_order_acquire);
  if (sound && version == known.rules_version) {
    return true;
  }
  Section section(*this, now);
  if (!section.held()) {
    return false;
  }
  const LimitRules rules = rules_in_force();
  LimitRules begin = rules;
  begin.from = guarded().limit;
  if (!sound) {
    known = {};
    known.limiter.repair(begin, begin.from, now);
    known.logged = known.limiter.events().count - 1;
    skip_samples();
  } else if (known.rules_version == 0) {
    known.limiter = Limiter(rules, now);
    known.logged = 0;
  } else if (rules.law != known.rules.law || rules.bounds != known.rules.bounds) {
    known.limiter = Limiter(begin, now);
    known.logged = 0;
  }
  follow_signals();
  known.rules = rules;
  known.rules_version = guarded().rules_version.load(std::memory_order_relaxed);
  return true;
}

// The block may hold anything.
template <class Sync>
LimitRules BasicGate<Sync>::rules_in_force() const noexcept {
  const Policy& in_force = policy();
  const bool known = static_cast<std::uint32_t>(in_force.law) < kLaws;
  const std::uint32_t most = std::clamp(in_force.limit_most, 1U, kMaxLimit);
  return {.law = known ? in_force.law : Law::fixed,
          .from = std::min(in_force.limit, kMaxLimit),
          .bounds = {std::clamp(in_force.limit_least, 1U, most), most},
          .seed = in_force.seed};
}

// The block may hold anything. What was reported under a name is of no use under another; and where
// no law is to hear it, there is none.
template <class Sync>
void BasicGate<Sync>::follow_signals() noexcept {
  const Policy& in_force = policy();
  const std::uint32_t heard = rules_in_force().law == Law::fixed ? 0 : in_force.signal_count;
  for (std::uint32_t i = 0; i < kMaxSignals; ++i) {
    SignalReading reading{};
    if (i < heard) {
      reading.name = in_force.signals[i].name;
      reading.name.back() = '\0';
      reading.at_most = in_force.signals[i].at_most;
    }
    learner_->knowledge.view.signals[i].reading = reading;
    auto& cell = learner_->signals[i];
    const std::uint64_t key = reading.at_most > 0 ? hash_key(reading.name_view()) : 0;
    if (key != cell.key.load(std::memory_order_relaxed)) {
      cell.key.store(key, std::memory_order_relaxed);
      cell.report.store(0, std::memory_order_relaxed);
    }
  }
}

template <class Sync>
void BasicGate<Sync>::hear_signals() noexcept {
  for (std::uint32_t i = 0; i < kMaxSignals; ++i) {
    using Cell = detail::SignalCell<Sync>;
    const std::uint64_t report = learner_->signals[i].report.load(std::memory_order_relaxed);
    LimitSignal& signal = learner_->knowledge.view.signals[i];
    signal.reading.value = Cell::value_of(report);
    signal.at = Cell::time_of(report);
  }
}

template <class Sync>
bool BasicGate<Sync>::report(std::string_view signal, double value, Instant now) noexcept {
  if (!(value >= 0) || !__builtin_isfinite(value)) {
    return false;
  }
  auto* const cell = signal_cell(signal);
  if (cell != nullptr) {
    cell->report.store(detail::SignalCell<Sync>::packed(value, now), std::memory_order_relaxed);
  }
  return cell != nullptr;
}

template <class Sync>
SignalReport BasicGate<Sync>::reported(std::string_view signal) const noexcept {
  using Cell = detail::SignalCell<Sync>;
  const Cell* const cell = signal_cell(signal);
  if (cell == nullptr) {
    return {};
  }
  const std::uint64_t last = cell->report.load(std::memory_order_relaxed);
  return {Cell::value_of(last), Cell::time_of(last)};
}

template <class Sync>
detail::SignalCell<Sync>* BasicGate<Sync>::signal_cell(std::string_view name) const noexcept {
  const std::uint64_t key = hash_key(name);
  for (std::uint32_t i = 0; learner_ != nullptr && i < kMaxSignals; ++i) {
    if (learner_->signals[i].key.load(std::memory_order_relaxed) == key) {
      return &learner_->signals[i];
    }
  }
  return nullptr;
}

template <class Sync>
void BasicGate<Sync>::take_samples() noexcept {
  using Ring = detail::SampleRing<Sync>;
  detail::Knowledge& known = learner_->knowledge;
  // Within these bounds, whatever the block holds.
  constexpr std::uint64_t kMostEnded = std::uint64_t{1} << 32;
  constexpr std::size_t kAtOnce = 16;
  std::array<LimitSample, kAtOnce> samples;
  for (std::uint32_t i = 0; i < capacity_.participants; ++i) {
    const Ring& ring = rings_[i];
    const std::uint64_t count = ring.count.load(std::memory_order_acquire);
    const std::uint64_t unsampled = ring.unsampled.load(std::memory_order_relaxed);
    std::uint64_t& seen = known.seen[i];
    known.view.ended += std::min(count - seen, kMostEnded);
    known.view.ended += std::min(unsampled - known.unsampled[i], kMostEnded);
    known.unsampled[i] = unsampled;
    // Half a ring is left to who writes meanwhile.
    if (count - seen > Ring::kKept / 2) {
      seen = count - Ring::kKept / 2;
    }
    while (seen != count) {
      const std::size_t n = std::min<std::uint64_t>(count - seen, kAtOnce);
      for (std::size_t at = 0; at < n; ++at) {
        samples[at] = ring.read(seen + at);
      }
      known.limiter.take(std::span(samples).first(n));
      seen += n;
    }
  }
  learner_->left_out.store(known.limiter.left_out(), std::memory_order_relaxed);
}

template <class Sync>
void BasicGate<Sync>::skip_samples() noexcept {
  detail::Knowledge& known = learner_->knowledge;
  for (std::uint32_t i = 0; i < capacity_.participants; ++i) {
    known.seen[i] = rings_[i].count.load(std::memory_order_acquire);
    known.unsampled[i] = rings_[i].unsampled.load(std::memory_order_relaxed);
  }
}

// Unless the rules have changed since the law was asked.
template <class Sync>
Signals BasicGate<Sync>::tell_limit(Instant now) noexcept {
  const detail::Knowledge& known = learner_->knowledge;
  const LimitBounds& bounds = known.rules.bounds;
  const std::uint32_t found = std::clamp(known.limiter.limit(), bounds.least, bounds.most);
  const std::uint32_t searching = known.limiter.searching() ? 1 : 0;
  if (found == limit() && searching == published().searching.load(std::memory_order_relaxed)) {
    return {};
  }
  {
    Section section(*this, now);
    if (!section.held() ||
        known.rules_version != guarded().rules_version.load(std::memory_order_relaxed)) {
      return {};
    }
    guarded().limit = found;
    published().searching.store(searching, std::memory_order_relaxed);
    publish_limit();
  }
  return dispatch_all(now);
}

template <class Sync>
void BasicGate<Sync>::log_events() noexcept {
  detail::Knowledge& known = learner_->knowledge;
  const LimitEvents& all = known.limiter.events();
  if (all.count - known.logged > LimitEvents::kKept) {
    known.logged = all.count - LimitEvents::kKept;
  }
  for (; known.logged != all.count; ++known.logged) {
    learner_->log.add(all.events[known.logged % LimitEvents::kKept]);
  }
}

template <class Sync>
std::size_t BasicGate<Sync>::limit_events(std::uint64_t& next,
                                          std::span<LimitEvent> out) const noexcept {
  if (learner_ == nullptr) {
    return 0;
  }
  const auto& log = learner_->log;
  const std::uint64_t count = log.count.load(std::memory_order_acquire);
  if (next > count || count - next > LimitEvents::kKept) {
    next = count - std::min<std::uint64_t>(count, LimitEvents::kKept);
  }
  std::size_t written = 0;
  for (; next != count && written != out.size(); ++next) {
    written += log.read(next, out[written]) ? 1 : 0;
  }
  return written;
}

}  // namespace loadline
