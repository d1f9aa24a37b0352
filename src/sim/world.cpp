#include "sim/world.h"

#include <algorithm>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "sim/fleet.h"
#include "sim/seconds.h"

namespace loadline::sim {
namespace {

// Streams of random numbers: two for each population, then these.
constexpr std::uint64_t kLinkStream = 0x6c696e6b00000000;     // and the population
constexpr std::uint64_t kFailureStream = 0x6661696c00000000;  // and the population
constexpr std::uint64_t kThinkStream = 0x7468696e00000000;    // and the population
constexpr std::uint64_t kJitterStream = 0x6a69747400000000;   // and the population
constexpr std::uint64_t kProbePath = 0x70726f6265000000;      // in place of links
constexpr std::uint64_t kEventsOfAStep = 1 << 14;             // between two reports of progress
constexpr std::size_t kMostAttempts = 100'000'000;
constexpr int kNumberBits = 48;  // of a call's number, where its population travels with it

class World final : public Site, public Fleet::Owner {
 public:
  World(const Scenario& scenario, std::uint64_t seed, const Progress& progress)
      : scenario_(scenario),
        seed_(seed),
        progress_(progress),
        end_(Instant{} + scenario.length),
        fleet_(scenario, seed, *this, *this) {
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
    return a.origin == Origin::caller && population(a).retry.attempts == 1 &&
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
  void hear(const Attempt& last, Fate fate, Duration told);
  void try_again(const Attempt& last, Duration pause);
  void conclude(const Attempt& last);

  // What a request needs of other services.
  void call_links(AttemptId id);
  void hear_of_link(const Attempt& last, Fate fate);
  void links_done(AttemptId id);

  // Callers who have gone, and work for them.
  void stop(std::uint64_t bits);
  void leave_links(AttemptId parent);

  void close(std::uint64_t) { fleet_.close(); }

  void place(AttemptId id, std::uint32_t but);
  void end(AttemptId id, Fate fate, Reason reason = Reason::none, std::uint16_t retry_after = 0);
  void write(const Attempt& attempt, Fate fate, Instant ended, Reason reason = Reason::none,
             std::uint16_t retry_after = 0);

  const Scenario& scenario_;
  std::uint64_t seed_;
  const Progress& progress_;
  Instant end_;
  Fleet fleet_;
  std::vector<Door*> touched_;
  std::uint64_t events_ = 0;
  std::vector<std::uint64_t> calls_;  // so far, by population
  std::uint64_t probes_ = 0;
  std::unordered_map<std::uint64_t, std::vector<AttemptId>> links_;  // by parent
  Journal journal_;
};

// Of all gates together, from those of each.
std::vector<LimitChange> sum_of_limits(Fleet& fleet) {
  struct Step {
    Instant from;
    std::int64_t by;
  };
  std::vector<Step> steps;
  for (std::uint32_t i = 0; i < fleet.size(); ++i) {
    std::int64_t last = 0;
    for (const LimitChange& change : fleet[i].door->watch().limits) {
      steps.push_back({change.from, change.limit - last});
      last = change.limit;
    }
  }
  std::stable_sort(steps.begin(), steps.end(),
                   [](const Step& a, const Step& b) { return a.from < b.from; });
  std::vector<LimitChange> sum;
  std::int64_t limit = 0;
  for (const Step& step : steps) {
    limit += step.by;
    if (sum.empty() || sum.back().from != step.from) {
      sum.push_back({step.from, 0});
    }
    sum.back().limit = static_cast<std::uint32_t>(limit);
  }
  return sum;
}

Result World::run() {
  loop_.run_until(scenario_.drains ? Instant::never() : end_, [this] {
    for (Door* const door : touched_) {
      door->look();
    }
    touched_.clear();
    if (++events_ % kEventsOfAStep == 0 && progress_) {
      progress_(loop_.now());
    }
  });
  // What is on its way beyond the last ending concerns nobody.
  const Instant end = journal_.empty() ? end_ : std::max(end_, journal_.back().ended);
  attempts_.for_each([this](const Attempt& attempt) {
    if (attempt.offered <= loop_.now()) {
      write(attempt, Fate::open, Instant::never());
    }
  });
  Result done;
  done.journal = std::move(journal_);
  for (std::uint32_t i = 0; i < fleet_.size(); ++i) {
    done.watch.add(fleet_[i].door->watch());
    if (fleet_[i].gate_door != nullptr) {
      done.snapshots.push_back(fleet_[i].gate_door->snapshot());
    }
  }
  done.limits = sum_of_limits(fleet_);
  done.turnouts = fleet_.turnouts();
  done.ended = end;
  return done;
}

// Two streams a population: one for the gaps, one for what its callers bring.
void World::expect_call(std::uint64_t p, Instant previous) {
  const std::uint64_t number = calls_[p];
  const Instant when =
      scenario_.populations[p].arrivals.next(previous, number, Draws(seed_, 2 * p, number));
  if (when < end_ || (scenario_.populations[p].arrivals.is_listed() && scenario_.drains)) {
    loop_.at<&World::call>(when, *this, p);
  }
}

void World::call(std::uint64_t p) {
  const std::uint64_t number = calls_[p]++;
  make_call(p, number);
  expect_call(p, loop_.now());
}

// A closed population's calls are numbered by who makes them: of n users, the one who made call i
// makes call i + n. So each has work and thoughts of his own, whoever calls in between.
void World::expect_users(std::uint64_t p) {
  const Arrivals& arrivals = scenario_.populations[p].arrivals;
  for (std::uint64_t number = 0; number < arrivals.users(); ++number) {
    expect_user(p, arrivals.next(Instant{}, number, Draws(seed_, 2 * p, number)), number);
  }
}

void World::expect_user(std::uint64_t p, Instant when, std::uint64_t number) {
  if (when < end_) {
    loop_.at<&World::user_calls>(when, *this, p << kNumberBits | number);
  }
}

void World::user_calls(std::uint64_t who) {
  make_call(who >> kNumberBits, who & ((std::uint64_t{1} << kNumberBits) - 1));
}

void World::make_call(std::uint64_t p, std::uint64_t number) {
  const Population& here = scenario_.populations[p];
  Draws draws(seed_, 2 * p + 1, number);
  const AttemptId id = attempts_.add();
  Attempt& attempt = attempts_[id];
  attempt.called = loop_.now();
  const Duration known = here.arrivals.work(number);
  attempt.work = attempt.brought = known == Listed::kUnknown ? here.work.draw(draws) : known;
  attempt.number = number;
  attempt.cost = here.cost;
  attempt.population = static_cast<std::uint16_t>(p);
  attempt.service = static_cast<std::uint16_t>(here.service);
  attempt.importance = here.importance;
  attempt.group = here.tenants.group;
  if (here.tenants.count != 0) {
    const bool in_turn = here.tenants.choice == Tenants::Choice::in_turn;
    attempt.tenant = here.tenants.first + (in_turn ? number : draws.bits()) % here.tenants.count;
  }
  offer(id.bits);
}

void World::offer(std::uint64_t bits) {
  const AttemptId id{bits};
  Attempt& attempt = attempts_[id];
  const Population& here = population(attempt);
  attempt.offered = loop_.now();
  attempt.deadline = attempt.offered + here.patience;
  attempt.told = here.tells_deadline ? attempt.deadline : Instant::never();
  if (here.departs || here.retry.after_timeout || here.arrivals.is_closed()) {
    loop_.at<&World::lose_patience>(attempt.deadline, *this, bits);
  }
  place(id, here.retry.elsewhere && attempt.attempt > 1 ? attempt.instance : Fleet::kNone);
}

void World::place(AttemptId id, std::uint32_t but) {
  Attempt& attempt = attempts_[id];
  const std::uint32_t chosen = fleet_.choose(attempt.service, but);
  attempt.instance = chosen;
  if (chosen == Fleet::kNone) {
    end(id, Fate::failed);  // its balancer answers for nobody
    return;
  }
  fleet_.opened(chosen);
  fleet_[chosen].door->arrive(id);
}

void World::start(AttemptId id) {
  Attempt& attempt = attempts_[id];
  attempt.started = loop_.now();
  const ServerModel& model = service(attempt).server;
  const double failing = model.failing.at(loop_.now());
  if (failing > 0 && draws_of_attempt(kFailureStream, attempt).uniform() < failing) {
    attempt.fails = true;
    attempt.work = model.failure_work;
  }
  instance(attempt).server.take(id, attempt.work);
}

bool World::worked(AttemptId id) {
  Attempt& attempt = attempts_[id];
  attempt.worked = true;
  return attempt.needs_links(service(attempt).links.size()) && service(attempt).keeps_worker;
}

void World::finished(AttemptId id) {
  const Attempt& attempt = attempts_[id];
  if (attempt.needs_links(service(attempt).links.size())) {
    call_links(id);
  } else {
    instance(attempt).door->finished(id);
  }
}

void World::answer(AttemptId id) {
  const Attempt& attempt = attempts_[id];
  end(id, attempt.stopped ? Fate::left : attempt.fails ? Fate::failed : Fate::answered);
}

void World::refuse(AttemptId id, Reason reason, std::uint16_t retry_after) {
  const Attempt& attempt = attempts_[id];
  if (const Duration work = service(attempt).server.rejection_work; work > Duration{}) {
    instance(attempt).server.take_chore(work);
  }
  end(id, Fate::refused, reason, retry_after);
}

// An answer that comes in the very instant is in time: all that is to happen in it comes first.
void World::lose_patience(std::uint64_t bits) {
  if (attempts_.lives({bits})) {
    loop_.at<&World::depart>(loop_.now(), *this, bits);
  }
}

void World::depart(std::uint64_t bits) {
  const AttemptId id{bits};
  if (!attempts_.lives(id) || attempts_[id].gone) {
    return;
  }
  attempts_[id].gone = true;
  const Attempt attempt = attempts_[id];
  const bool says_so = attempt.origin != Origin::caller || population(attempt).departs;
  if (says_so && attempt.started == Instant::never()) {
    instance(attempt).door->leave(id);
  } else if (says_so && service(attempt).server.works_on != Duration::max()) {
    loop_.at<&World::stop>(loop_.now() + service(attempt).server.works_on, *this, bits);
  }
  switch (attempt.origin) {
    case Origin::caller:
      if (population(attempt).retry.after_timeout) {
        try_again(attempt, Duration{});
      } else {
        conclude(attempt);
      }
      break;
    case Origin::service:
      hear_of_link(attempt, Fate::left);
      break;
    case Origin::probe:
      fleet_.probed(attempt.instance, false);
      break;
  }
}

// What was begun for a caller who has left ends here, and so does all that others do for it. What
// has been finished is only on its way out.
void World::stop(std::uint64_t bits) {
  const AttemptId id{bits};
  if (!lives(id) || (attempts_[id].worked && attempts_[id].open_links == 0)) {
    return;
  }
  Attempt& attempt = attempts_[id];
  attempt.stopped = true;
  const bool begun = attempt.begun != Instant::never();
  const bool works = !attempt.worked;
  const bool keeps = attempt.worked && service(attempt).keeps_worker;
  if (works && begun) {
    const double done = instance(attempt).server.done_since(attempt.begun, attempt.begun_clock);
    attempt.work = std::min(attempt.work, duration(done));
  } else if (works) {
    attempt.work = Duration{};
  }
  Instance& here = instance(attempt);
  leave_links(id);
  here.door->finished(id);
  if (works) {
    here.server.give_up(begun);
  } else if (keeps) {
    here.server.let_go();
  }
}

void World::leave_links(AttemptId parent) {
  const auto found = links_.find(parent.bits);
  if (found == links_.end()) {
    return;
  }
  const std::vector<AttemptId> left = std::move(found->second);
  links_.erase(found);
  for (const AttemptId link : left) {
    depart(link.bits);
  }
}

void World::hear(const Attempt& last, Fate fate, Duration told) {
  if (last.gone) {
    return;
  }
  const Retry& retry = population(last).retry;
  const bool again = fate == Fate::refused || (fate == Fate::failed && retry.after_failure);
  if (!again) {
    conclude(last);
    return;
  }
  double pause = seconds(retry.pause);
  for (std::uint32_t i = 1; i < last.attempt && retry.growth != 1; ++i) {
    pause *= retry.growth;
  }
  if (retry.jitter > 0) {
    pause *= 1 - retry.jitter * draws_of_attempt(kJitterStream, last).uniform();
  }
  try_again(last, retry.obeys && told > Duration{} ? told : duration(pause));
}

void World::try_again(const Attempt& last, Duration pause) {
  if (last.attempt >= population(last).retry.attempts) {
    conclude(last);
    return;
  }
  loop_.at<&World::offer>(loop_.now() + pause, *this, attempts_.add(last.again()).bits);
}

// The caller has what he gets. One of a closed population calls again when he has thought.
void World::conclude(const Attempt& last) {
  const Arrivals& arrivals = population(last).arrivals;
  if (arrivals.is_closed()) {
    const Draws draws(seed_, kThinkStream + last.population, last.number);
    expect_user(last.population, loop_.now() + arrivals.think(draws),
                last.number + arrivals.users());
  }
}

void World::call_links(AttemptId id) {
  const std::vector<Link>& links = service(attempts_[id]).links;
  attempts_[id].open_links = static_cast<std::uint32_t>(links.size());
  links_[id.bits];
  for (std::size_t l = 0; l < links.size(); ++l) {
    const Attempt& parent = attempts_[id];
    Attempt attempt = parent.again();
    attempt.attempt = 1;
    attempt.origin = Origin::service;
    attempt.parent = id;
    attempt.link = static_cast<std::uint16_t>(l);
    attempt.service = static_cast<std::uint16_t>(links[l].service);
    attempt.called = loop_.now();
    attempt.path = Draws(parent.path, 0, l).bits();
    attempt.tries = Draws(parent.tries, 0, parent.attempt).bits();
    Draws draws = draws_of_call(kLinkStream, attempt);
    attempt.work = attempt.brought = scenario_.services[attempt.service].work.draw(draws);
    offer_elsewhere(attempts_.add(attempt).bits);
  }
}

// To a service that another one needs. Where nothing is left of the time it knows of, nobody is
// asked.
void World::offer_elsewhere(std::uint64_t bits) {
  const AttemptId id{bits};
  Attempt& attempt = attempts_[id];
  if (!lives(attempt.parent)) {
    attempts_.remove(id);  // nobody needs it any more
    return;
  }
  const Attempt& parent = attempts_[attempt.parent];
  const Duration patience = service(parent).links[attempt.link].patience;
  attempt.offered = loop_.now();
  attempt.deadline = std::min(parent.deadline, attempt.offered + patience);
  attempt.told = std::min(parent.told, attempt.offered + patience);
  if (attempt.told <= loop_.now()) {
    const Attempt late = attempt;
    attempts_.remove(id);
    hear_of_link(late, Fate::left);
    return;
  }
  links_[attempt.parent.bits].push_back(id);
  loop_.at<&World::lose_patience>(attempt.told, *this, bits);
  place(id, Fleet::kNone);
}

// A service that does not know that its own caller has gone tries again for him.
void World::hear_of_link(const Attempt& last, Fate fate) {
  if (!lives(last.parent)) {
    return;
  }
  Attempt& parent = attempts_[last.parent];
  const Link& link = service(parent).links[last.link];
  const Instant next = loop_.now() + link.pause;
  if (fate != Fate::answered && last.attempt < link.attempts && next < parent.told) {
    loop_.at<&World::offer_elsewhere>(next, *this, attempts_.add(last.again()).bits);
    return;
  }
  parent.fails = parent.fails || fate != Fate::answered;
  if (--parent.open_links == 0) {
    links_done(last.parent);
  }
}

void World::links_done(AttemptId id) {
  links_.erase(id.bits);
  Instance& here = instance(attempts_[id]);
  if (service(attempts_[id]).keeps_worker) {
    here.server.let_go();
  }
  here.door->finished(id);
}

// One who asks waits for so long, and then has his answer too.
void World::probe(std::uint32_t number) {
  const Readiness& readiness = *fleet_.model_of(number).readiness;
  Attempt attempt;
  attempt.origin = Origin::probe;
  attempt.path = kProbePath;
  attempt.number = probes_++;
  attempt.offered = attempt.called = loop_.now();
  attempt.deadline = loop_.now() + readiness.patience;
  attempt.work = readiness.work;
  attempt.service = fleet_[number].service;
  attempt.instance = number;
  const auto& gate = fleet_.model_of(number).gate;
  attempt.importance = gate ? gate->policy.default_class : 0;
  const AttemptId id = attempts_.add(attempt);
  loop_.at<&World::lose_patience>(attempt.deadline, *this, id.bits);
  fleet_.opened(number);
  fleet_[number].door->arrive(id);
}

void World::end(AttemptId id, Fate fate, Reason reason, std::uint16_t retry_after) {
  write(attempts_[id], fate, loop_.now(), reason, retry_after);
  attempts_.remove(id);
  if (attempts_[id].instance != Fleet::kNone) {
    fleet_.ended(attempts_[id].instance);
  }
  if (nobody_hears(attempts_[id])) {
    return;
  }
  const Attempt ended = attempts_[id];  // its place may be another's from here on
  switch (ended.origin) {
    case Origin::caller:
      hear(ended, fate, Duration::seconds(retry_after));
      break;
    case Origin::service:
      if (!ended.gone) {
        hear_of_link(ended, fate);
      }
      break;
    case Origin::probe:
      if (!ended.gone) {
        fleet_.probed(ended.instance, fate == Fate::answered);
      }
      break;
  }
}

void World::write(const Attempt& attempt, Fate fate, Instant ended, Reason reason,
                  std::uint16_t retry_after) {
  if (journal_.size() == kMostAttempts) {
    throw std::length_error("more than 100,000,000 attempts in one run: let it be shorter");
  }
  journal_.push_back({.called = attempt.called,
                      .offered = attempt.offered,
                      .deadline = attempt.deadline,
                      .started = attempt.started,
                      .ended = ended,
                      .work = attempt.work,
                      .tenant = attempt.tenant,
                      .attempt = attempt.attempt,
                      .cost = attempt.cost,
                      .instance = attempt.instance,
                      .retry_after = retry_after,
                      .population = attempt.population,
                      .service = attempt.service,
                      .origin = attempt.origin,
                      .fate = fate,
                      .reason = reason,
                      .importance = attempt.importance});
}

}  // namespace

Result run(const Scenario& scenario, std::uint64_t seed, const Progress& progress) {
  return World(scenario, seed, progress).run();
}

}  // namespace loadline::sim
