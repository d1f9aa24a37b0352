#include "sim/callers.h"

#include <algorithm>
#include <string>

#include "sim/fleet.h"
#include "sim/random.h"

namespace loadline::sim {
namespace {

constexpr std::uint64_t kProcessStream = 0x70726f6300000000;  // and the population
constexpr std::uint64_t kCallerStream = 0x63616c6c00000000;   // and whose it is
constexpr std::uint64_t kOfAnInstance = std::uint64_t{1} << 63;
constexpr int kProcessBits = 32;
constexpr int kLinkBits = 16;

client::Answer answer_with(client::Ended ended) {
  client::Answer answer;
  answer.ended = ended;
  return answer;
}

// As a gate of Loadline's says it over HTTP.
client::Answer answer_of_refusal(const Heard& heard) {
  constexpr std::uint32_t kTooOften = 429;
  constexpr std::uint32_t kUnavailable = 503;
  constexpr std::uint32_t kTooLate = 504;
  client::Signs signs;
  signs.see_refused();
  if (heard.retry_after != 0) {
    signs.see_retry_after(std::to_string(heard.retry_after), {});
  }
  const std::uint32_t status = is_deadline(heard.reason)       ? kTooLate
                               : heard.reason == Reason::quota ? kTooOften
                                                               : kUnavailable;
  return client::answer_of_http(status, signs);
}

// An error is one that may pass, such as 503: what is certain to come again is no storm's matter.
client::Answer answer_of(const Attempt& attempt, const Heard& heard) {
  using client::Ended;
  switch (heard.fate) {
    case Fate::answered:
      return answer_with(Ended::success);
    case Fate::refused:
      return answer_of_refusal(heard);
    case Fate::failed:
      break;
    case Fate::left:
    case Fate::open:
    case Fate::held_back:
      return answer_with(Ended::timed_out);
  }
  client::Answer answer =
      answer_with(attempt.instance == Fleet::kNone ? Ended::unreached : Ended::unavailable);
  answer.further_down = attempt.further_down;
  return answer;
}

Duration bound_of(Duration patience) {
  return patience == Duration::max() ? Duration{} : patience;
}

}  // namespace

// A user of a closed population belongs to one process for good.
std::uint32_t Callers::open(const Attempt& first, Instant now) {
  const Population& population = scenario_.populations[first.population];
  const auto& half = population.retry.client;
  if (!half) {
    return Attempt::kNothing;
  }
  const std::uint64_t who =
      population.arrivals.is_closed() ? first.number % population.arrivals.users() : first.number;
  const std::uint64_t process =
      Draws(seed_, kProcessStream + first.population, who).bits() % half->processes;
  Instant deadline = Instant::never();
  if (half->deadline != Duration{}) {
    deadline = now + half->deadline;
  } else if (population.patience != Duration::max()) {
    deadline = now + population.patience * half->policy.retry.attempts;
  }
  return open(*half, population.patience, std::uint64_t{first.population} << kProcessBits | process,
              deadline, now);
}

std::uint32_t Callers::open(const Attempt& parent, std::size_t link, Instant now) {
  const Link& here = scenario_.services[parent.service].links[link];
  if (!here.client) {
    return Attempt::kNothing;
  }
  return open(*here.client, here.patience,
              kOfAnInstance | std::uint64_t{parent.instance} << kLinkBits | link, parent.told, now);
}

std::uint32_t Callers::open(const ClientHalf& half, Duration patience, std::uint64_t whose,
                            Instant deadline, Instant now) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(places_.size()));
    places_.emplace_back();
  }
  const std::uint32_t index = free_.back();
  free_.pop_back();
  places_[index].caller = &caller(half, patience, whose, now);
  places_[index].call =
      client::Call(deadline, half.idempotent ? client::Call::idempotent : client::Call::once);
  return index;
}

client::Caller& Callers::caller(const ClientHalf& half, Duration patience, std::uint64_t whose,
                                Instant now) {
  std::unique_ptr<client::Caller>& caller = callers_[whose];
  if (!caller) {
    client::Policy policy = half.policy;
    policy.deadline.attempt = bound_of(patience);
    policy.seed = Draws(seed_, kCallerStream, whose).bits();
    caller = std::make_unique<client::Caller>(policy, now);
  }
  return *caller;
}

std::optional<Instant> Callers::send(Attempt& attempt, Instant now) {
  Place& place = places_[attempt.call];
  const client::Start start = place.call.waiting() ? place.caller->retry(place.call, now)
                                                   : place.caller->begin(place.call, now);
  if (!start.send()) {
    free_.push_back(attempt.call);
    return std::nullopt;
  }
  place.attempt = start.attempt;
  attempt.deadline = std::min(attempt.deadline, start.attempt.cut_off());
  attempt.told =
      start.attempt.hand_on() == Duration::max() ? Instant::never() : now + start.attempt.hand_on();
  return start.attempt.cut_off();
}

client::Next Callers::ended(const Attempt& attempt, const Heard& heard, bool another, Instant now) {
  Place& place = places_[attempt.call];
  client::Answer answer = answer_of(attempt, heard);
  answer.another_instance = another;
  const client::Next next = place.caller->ended(place.call, place.attempt, answer, now);
  if (!next.retry()) {
    free_.push_back(attempt.call);
  }
  return next;
}

void Callers::leave(const Attempt& attempt, Instant now) {
  Place& place = places_[attempt.call];
  place.caller->abandon(place.call, now);
  if (place.attempt.running()) {
    place.caller->ended(place.call, place.attempt, answer_with(client::Ended::cancelled), now);
  }
  free_.push_back(attempt.call);
}

}  // namespace loadline::sim
