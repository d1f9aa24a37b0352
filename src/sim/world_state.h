// A run as it goes on: who has called, what is under way, and what becomes of it. Its parts are
// defined by what they are about: calls and their ends in world.cpp, what a request needs of other
// services in links.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "sim/callers.h"
#include "sim/fleet.h"
#include "sim/random.h"
#include "sim/world.h"

namespace loadline::sim {

class World final : public Site, public Fleet::Owner {
 public:
  World(const Scenario& scenario, std::uint64_t seed, const Progress& progress)
      : scenario_(scenario),
        seed_(seed),
        progress_(progress),
        end_(Instant{} + scenario.length),
        fleet_(scenario, seed, *this, *this),
        callers_(scenario, seed) {
    calls_.resize(scenario.populations.size());
    for (std::size_t p = 0; p < scenario.populations.size(); ++p) {
      if (scenario.populations[p].arrivals.is_closed()) {
        expect_users(p);
      } else {
        expect_call(p, Instant{});
      }
    }
    journal_.reserve(expected_calls());
    loop_.at<&World::close>(end_, *this);
  }

  Result run();

  // One that has been stopped is nobody's any more, though its door may still have to hear of it.
  [[nodiscard]] bool still_lives(AttemptId id) const noexcept override { return lives(id); }
  void touch(Door& door) override {
    if (touched_.empty() || touched_.back() != &door) {
      touched_.push_back(&door);
    }
  }

  void start(AttemptId id) override;
  void answer(AttemptId id) override;
  void refuse(AttemptId id, Reason reason, std::uint16_t retry_after) override;
  void forget(AttemptId id) override { end(id, Fate::left); }

  void begun(AttemptId id) override {
    Attempt& attempt = attempts_[id];
    attempt.begun = loop_.now();
    attempt.begun_clock = instance(attempt).server.shared_clock();
  }
  bool worked(AttemptId id) override;
  void finished(AttemptId id) override;
  void probe(std::uint32_t instance) override;

 private:
  [[nodiscard]] const Population& population(const Attempt& a) const noexcept {
    return scenario_.populations[a.population];
  }
  [[nodiscard]] const ServiceModel& service(const Attempt& a) const noexcept {
    return scenario_.services[a.service];
  }
  [[nodiscard]] Instance& instance(const Attempt& a) noexcept { return fleet_[a.instance]; }
  // Of a caller who neither tries again nor calls again.
  [[nodiscard]] bool nobody_hears(const Attempt& a) const noexcept {
    return a.origin == Origin::caller && population(a).retry.attempts == 1 && !a.is_led() &&
           !population(a).arrivals.is_closed();
  }
  // What belongs to a call, at this place among the services that it needs.
  [[nodiscard]] Draws draws_of_call(std::uint64_t stream, const Attempt& a) const noexcept {
    return {seed_, Draws(stream + a.population, a.path, 0).bits(), a.number};
  }
  // What belongs to one attempt of that, and to these attempts of those that need it.
  [[nodiscard]] Draws draws_of_attempt(std::uint64_t stream, const Attempt& a) const noexcept {
    return {seed_, Draws(stream + a.population, a.path, Draws(a.tries, 0, a.attempt).bits()).bits(),
            a.number};
  }

  // Calls.
  [[nodiscard]] std::size_t expected_calls() const noexcept {
    constexpr double kMost = 1e7;
    double calls = 0;
    for (const Population& here : scenario_.populations) {
      calls += here.arrivals.expected(scenario_.length);
    }
    return static_cast<std::size_t>(std::min(calls, kMost));
  }
  void expect_call(std::uint64_t p, Instant previous);
  void call(std::uint64_t p);
  void expect_users(std::uint64_t p);
  void expect_user(std::uint64_t p, Instant when, std::uint64_t number);
  void user_calls(std::uint64_t who);
  void make_call(std::uint64_t p, std::uint64_t number);
  void offer(std::uint64_t bits);
  void offer_elsewhere(std::uint64_t bits);
  void lose_patience(std::uint64_t bits);
  void depart(std::uint64_t bits);
  void hold_back(AttemptId id);
  void hear(const Attempt& last, const Heard& heard);
  void hear_by_client_half(const Attempt& last, const Heard& heard);
  void try_again(const Attempt& last, Duration pause);
  void make_again(const Attempt& last, Instant when, bool elsewhere);
  void conclude(const Attempt& last);

  // What a request needs of other services.
  void call_links(AttemptId id);
  void hear_of_link(const Attempt& last, const Heard& heard);
  [[nodiscard]] bool call_link_again(const Attempt& last, const Heard& heard);
  void link_ended(const Attempt& last, bool well);
  void links_done(AttemptId id);

  // Callers who have gone, and work for them.
  void stop(std::uint64_t bits);
  void leave_links(AttemptId parent);

  void close(std::uint64_t) { fleet_.close(); }

  void place(AttemptId id);
  void end(AttemptId id, Fate fate, Reason reason = Reason::none, std::uint16_t retry_after = 0);
  void write(const Attempt& attempt, Fate fate, Instant ended, Reason reason = Reason::none,
             std::uint16_t retry_after = 0);

  const Scenario& scenario_;
  std::uint64_t seed_;
  const Progress& progress_;
  Instant end_;
  Fleet fleet_;
  Callers callers_;
  std::vector<Door*> touched_;
  std::uint64_t events_ = 0;
  std::vector<std::uint64_t> calls_;  // so far, by population
  std::uint64_t probes_ = 0;
  std::unordered_map<std::uint64_t, std::vector<AttemptId>> links_;  // by parent
  Journal journal_;
};

}  // namespace loadline::sim
