#include "load_schedule.h"

#include <cmath>

namespace loadline::tools {

ArrivalSchedule::ArrivalSchedule(const LoadOptions& options, unsigned part, unsigned parts)
    : steps_(options.rate),
      arrivals_(options.arrivals),
      burst_share_(options.burst_size / parts + (part < options.burst_size % parts ? 1 : 0)),
      burst_every_(options.burst_every),
      duration_(options.duration),
      parts_(parts),
      random_(options.seed + 0x9e3779b97f4a7c15u * (part + 1)),
      // Evenly spaced arrivals are dealt out in turn: this one gets part, part + parts, ...
      place_(arrivals_ == Arrivals::fixed ? static_cast<double>(part) - parts : 0) {
  stream_ = next_of_stream();
  burst_ = next_of_burst();
}

std::optional<std::chrono::nanoseconds> ArrivalSchedule::next() {
  const bool burst_first = burst_ && (!stream_ || *burst_ <= *stream_);
  auto& source = burst_first ? burst_ : stream_;
  const auto result = source;
  if (result) {
    source = burst_first ? next_of_burst() : next_of_stream();
  }
  return result;
}

std::optional<std::chrono::nanoseconds> ArrivalSchedule::next_of_stream() {
  if (steps_.empty()) {
    return std::nullopt;
  }
  const double gap = arrivals_ == Arrivals::fixed ? 1 : std::exponential_distribution<>{}(random_);
  place_ += gap * parts_;
  return time_at(place_);
}

std::optional<std::chrono::nanoseconds> ArrivalSchedule::time_at(double arrivals) {
  using Seconds = std::chrono::duration<double>;
  while (step_ + 1 < steps_.size()) {
    const Seconds length = steps_[step_ + 1].from - steps_[step_].from;
    const double next_step_place = step_place_ + steps_[step_].per_second * length.count();
    if (arrivals < next_step_place) {
      break;
    }
    step_place_ = next_step_place;
    ++step_;
  }
  const auto& step = steps_[step_];
  if (step.per_second <= 0) {
    return std::nullopt;
  }
  const Seconds into{(arrivals - step_place_) / step.per_second};
  const Seconds time = Seconds{step.from} + into;
  if (time >= Seconds{duration_}) {
    return std::nullopt;
  }
  return Time{std::llround(time.count() * 1e9)};
}

std::optional<std::chrono::nanoseconds> ArrivalSchedule::next_of_burst() {
  if (burst_share_ == 0) {
    return std::nullopt;
  }
  if (burst_left_ == 0) {
    burst_left_ = burst_share_;
    burst_at_ += burst_every_;
  }
  --burst_left_;
  return burst_at_ < duration_ ? std::optional{burst_at_} : std::nullopt;
}

}  // namespace loadline::tools
