#include "loadline/limiter.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace loadline {
namespace {

// Longer without a look, and what was being measured is no longer what it was.
constexpr Duration kLongestGap = Duration::seconds(1);

// Rules may come from who has not validated them.
LimitBounds sound(LimitBounds bounds) noexcept {
  const std::uint32_t least = std::clamp(bounds.least, 1U, kMaxLimit);
  return {least, std::clamp(bounds.most, least, kMaxLimit)};
}

void construct(FixedLimit& law, const LimitRules& rules) noexcept {
  std::construct_at(&law, FixedLimit{std::clamp(rules.from, 1U, kMaxLimit)});
}

template <class Chosen>
void construct(Chosen& law, const LimitRules& rules) noexcept {
  std::construct_at(&law, rules.from, sound(rules.bounds), rules.seed);
}

}  // namespace

template <class Visit>
auto Limiter::with_law(Visit visit) noexcept {
  switch (rules_.law) {
    case Law::automatic:
      return visit(state_.automatic);
    case Law::aimd:
      return visit(state_.aimd);
    case Law::vegas:
      return visit(state_.vegas);
    case Law::gradient2:
      return visit(state_.gradient2);
    case Law::envoy:
      return visit(state_.envoy);
    case Law::brpc:
      return visit(state_.brpc);
    case Law::trpc:
      return visit(state_.trpc);
    case Law::fixed:
      break;
  }
  return visit(state_.fixed);
}

template <class Visit>
auto Limiter::with_law(Visit visit) const noexcept {
  return const_cast<Limiter*>(this)->with_law([&](auto& law) { return visit(std::as_const(law)); });
}

Limiter::Limiter(const LimitRules& rules, Instant now) noexcept {
  begin(rules, now, LimitCause::began);
}

void Limiter::begin(const LimitRules& rules, Instant now, LimitCause cause) noexcept {
  rules_ = rules;
  looked_at_ = busy_from_ = believed_from_ = held_from_ = held_until_ = now;
  with_law([&](auto& law) { construct(law, rules); });
  pressure_ = {};
  limit_ = found();
  events_.add({.at = now, .from = limit_, .to = limit_, .reason = {.cause = cause}});
}

void Limiter::repair(const LimitRules& rules, std::uint32_t limit, Instant now) noexcept {
  LimitRules again = rules;
  again.from = limit;
  begin(again, now, LimitCause::repaired);
  rules_.from = rules.from;
}

// What is left of what the law has found.
void Limiter::note(Instant at, std::uint32_t found, const LimitReason& reason) noexcept {
  const std::uint32_t left = pressure_.left_of(found);
  if (left != limit_) {
    events_.add({.at = at, .from = limit_, .to = left, .reason = reason});
    limit_ = left;
  }
}

std::uint32_t Limiter::found() const noexcept {
  return with_law([](const auto& law) { return law.limit(); });
}

bool Limiter::searching() const noexcept {
  return with_law([](const auto& law) { return law.searching(); });
}

// What has been in flight without a look, of what nobody has seen yet.
void Limiter::note_busy(const LimitSample& sample) noexcept {
  if (sample.ended > sample.started) {
    busy_from_ = std::min(busy_from_, std::max(sample.started, looked_at_));
  }
}

bool Limiter::is_believed(const LimitSample& sample) const noexcept {
  return sample.ended > sample.started && sample.started >= believed_from_ &&
         sample.ended - std::max(sample.started, looked_at_) <= kLongestGap;
}

// Who takes the last place of fewer than the law would let in has not met as many as it thinks.
void Limiter::take(std::span<const LimitSample> samples) noexcept {
  with_law([&](auto& law) {
    LimitReason why;  // large, and seldom said: one for all
    for (const LimitSample& sample : samples) {
      note_busy(sample);
      if (!is_believed(sample)) {
        ++left_out_;
        continue;
      }
      const bool held = sample.started >= held_from_ && sample.started < held_until_;
      law.take({.started = sample.started,
                .ended = sample.ended,
                .outcome = sample.outcome,
                .bound = sample.bound && !held},
               why);
      if (why.cause != LimitCause::none) {
        note(sample.ended, law.limit(), why);
        why = {};
      }
    }
  });
}

void Limiter::disturb(Instant now) noexcept {
  believed_from_ = now;
  held_from_ = now;
  held_until_ = is_held() ? Instant::never() : now;
  with_law([&](auto& law) { law.disturb(now); });
  pressure_.disturb(now);
  const std::uint32_t before = std::exchange(limit_, pressure_.left_of(found()));
  events_.add(
      {.at = now, .from = before, .to = limit_, .reason = {.cause = LimitCause::disturbed}});
}

void Limiter::look(const LimitView& view) noexcept {
  if (view.now < looked_at_ || view.now - busy_from_ > kLongestGap) {
    disturb(view.now);
  }
  looked_at_ = view.now;
  busy_from_ = view.in_flight != 0 || view.waiting != 0 ? view.now : Instant::never();
  LimitView told = view;
  told.held_down = is_held();
  LimitReason why;
  with_law([&](auto& law) { law.look(told, why); });
  note(view.now, found(), why);
  LimitReason pressing;
  pressure_.look(view, found(), sound(rules_.bounds).least, pressing);
  note(view.now, found(), pressing);
  const bool was_held = held_until_ == Instant::never();
  if (is_held() && !was_held) {
    held_from_ = view.now;
    held_until_ = Instant::never();
  } else if (!is_held() && was_held) {
    held_until_ = view.now;
  }
}

}  // namespace loadline
