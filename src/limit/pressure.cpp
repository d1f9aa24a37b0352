#include "loadline/limit/pressure.h"

#include <algorithm>

#include "loadline/limit/whole.h"

namespace loadline {

// NaN is not above anything, so it says nothing. Who reports and who looks read their clocks one by
// one: what is from a moment ahead is from now.
Pressure::Heard Pressure::listen(const LimitView& view) noexcept {
  Heard heard{.at = view.now};
  for (const LimitSignal& signal : view.signals) {
    const Instant at = std::min(signal.at, view.now);
    const bool fresh = signal.at - at <= kAhead && view.now - at <= kStale;
    const double share = signal.reading.value / signal.reading.at_most;
    const bool says = fresh && signal.reading.at_most > 0 && share >= 0;
    if (says && (heard.signal == nullptr || share > heard.share)) {
      heard = {&signal, share, at};
    }
  }
  return heard;
}

void Pressure::look(const LimitView& view, std::uint32_t found, std::uint32_t least,
                    LimitReason& why) noexcept {
  if (!in_effect_ && view.in_flight <= left_of(found)) {
    in_effect_ = true;
    since_ = view.now;
  }
  const Heard heard = listen(view);
  const bool above = heard.share > 1;
  if (!above && ceiling_ >= found) {
    ceiling_ = kNone;
    return;
  }
  if (heard.at - since_ < kToBeSeen || (above && !in_effect_)) {
    return;
  }
  why.cause = above ? LimitCause::pressed : LimitCause::relieved;
  if (heard.signal != nullptr) {
    why.inputs.signal = heard.signal->reading;
  }
  if (above) {
    const double excess = std::min(heard.share - 1, 1.0);
    step_to(std::max(std::min(ceiling_, double(found)) * (1 - excess / 2), double(least)),
            view.now);
  } else {
    const double raised = ceiling_ * (1 + std::max((1 - heard.share) / 2, kSlowest));
    step_to(raised < found ? raised : kNone, view.now);
  }
}

void Pressure::step_to(double ceiling, Instant now) noexcept {
  ceiling_ = ceiling;
  since_ = now;
  in_effect_ = false;
}

void Pressure::disturb(Instant now) noexcept {
  since_ = now;
}

std::uint32_t Pressure::left_of(std::uint32_t found) const noexcept {
  return ceiling_ < found ? whole(ceiling_ + 0.5) : found;
}

}  // namespace loadline
