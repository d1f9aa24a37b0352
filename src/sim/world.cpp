#include "sim/world.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "sim/seconds.h"
#include "sim/world_state.h"

namespace loadline::sim {
namespace {

// Streams of random numbers: two for each population, then these.
constexpr std::uint64_t kFailureStream = 0x6661696c00000000;  // and the population
constexpr std::uint64_t kThinkStream = 0x7468696e00000000;    // and the population
constexpr std::uint64_t kJitterStream = 0x6a69747400000000;   // and the population
constexpr std::uint64_t kProbePath = 0x70726f6265000000;      // in place of links
constexpr std::uint64_t kEventsOfAStep = 1 << 14;             // between two reports of progress
constexpr std::size_t kMostAttempts = 100'000'000;
constexpr int kNumberBits = 48;  // of a call's number, where its population travels with it

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

}  // namespace

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
      done.limit_steps.push_back({fleet_[i].service, i, fleet_[i].gate_door->limit_events()});
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
  attempt.needs_worker = here.needs_worker;
  attempt.population = static_cast<std::uint16_t>(p);
  attempt.service = static_cast<std::uint16_t>(here.service);
  attempt.importance = here.importance;
  attempt.group = here.tenants.group;
  if (here.tenants.count != 0) {
    const bool in_turn = here.tenants.choice == Tenants::Choice::in_turn;
    attempt.tenant = here.tenants.first + (in_turn ? number : draws.bits()) % here.tenants.count;
  }
  attempt.call = callers_.open(attempt, loop_.now());
  offer(id.bits);
}

void World::offer(std::uint64_t bits) {
  const AttemptId id{bits};
  Attempt& attempt = attempts_[id];
  const Population& here = population(attempt);
  attempt.offered = loop_.now();
  attempt.deadline = attempt.told = attempt.offered + here.patience;
  if (attempt.is_led() && !callers_.send(attempt, loop_.now())) {
    hold_back(id);
    return;
  }
  if (!here.tells_deadline) {
    attempt.told = Instant::never();
  }
  if (here.departs || here.retry.after_timeout || here.arrivals.is_closed() || attempt.is_led()) {
    loop_.at<&World::lose_patience>(attempt.deadline, *this, bits);
  }
  place(id);
}

// A call that is not let go is a call all the same; a retry that is not is none.
void World::hold_back(AttemptId id) {
  Attempt held = attempts_[id];
  held.instance = Fleet::kNone;
  attempts_.remove(id);
  if (held.attempt == 1) {
    write(held, Fate::held_back, loop_.now());
  }
  if (held.origin == Origin::caller) {
    conclude(held);
  } else {
    link_ended(held, false);
  }
}

void World::place(AttemptId id) {
  Attempt& attempt = attempts_[id];
  const std::uint32_t chosen =
      fleet_.choose(attempt.service, attempt.elsewhere ? attempt.instance : Fleet::kNone);
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
  Server& server = instance(attempt).server;
  if (attempt.needs_worker) {
    server.take(id, attempt.work);
  } else {
    server.take_beside(id, attempt.work);
  }
}

bool World::worked(AttemptId id) {
  Attempt& attempt = attempts_[id];
  attempt.worked = true;
  return attempt.needs_worker && attempt.needs_links(service(attempt).links.size()) &&
         service(attempt).keeps_worker;
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
      if (attempt.is_led()) {
        hear_by_client_half(attempt, {.fate = Fate::left});
      } else if (population(attempt).retry.after_timeout) {
        try_again(attempt, Duration{});
      } else {
        conclude(attempt);
      }
      break;
    case Origin::service:
      hear_of_link(attempt, {.fate = Fate::left});
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
  const bool needs_worker = attempt.needs_worker;
  const bool keeps = attempt.worked && attempt.needs_worker && service(attempt).keeps_worker;
  if (works && begun) {
    const Server& server = instance(attempt).server;
    const double done = needs_worker ? server.done_since(attempt.begun, attempt.begun_clock)
                                     : server.done_beside_since(attempt.begun);
    attempt.work = std::min(attempt.work, duration(done));
  } else if (works) {
    attempt.work = Duration{};
  }
  Instance& here = instance(attempt);
  leave_links(id);
  here.door->finished(id);
  if (works && needs_worker) {
    here.server.give_up(begun);
  } else if (keeps) {
    here.server.let_go();
  }
}

void World::hear(const Attempt& last, const Heard& heard) {
  if (last.gone) {
    return;
  }
  if (last.is_led()) {
    hear_by_client_half(last, heard);
    return;
  }
  const Retry& retry = population(last).retry;
  const bool again =
      heard.fate == Fate::refused || (heard.fate == Fate::failed && retry.after_failure);
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
  const Duration told = Duration::seconds(heard.retry_after);
  try_again(last, retry.obeys && told > Duration{} ? told : duration(pause));
}

void World::hear_by_client_half(const Attempt& last, const Heard& heard) {
  const client::Next next =
      callers_.ended(last, heard, fleet_.choices(last.service) > 1, loop_.now());
  if (next.retry()) {
    make_again(last, next.at, next.elsewhere);
  } else {
    conclude(last);
  }
}

void World::try_again(const Attempt& last, Duration pause) {
  if (last.attempt >= population(last).retry.attempts) {
    conclude(last);
    return;
  }
  make_again(last, loop_.now() + pause, population(last).retry.elsewhere);
}

void World::make_again(const Attempt& last, Instant when, bool elsewhere) {
  const AttemptId id = attempts_.add(last.again());
  attempts_[id].elsewhere = elsewhere;
  if (last.origin == Origin::caller) {
    loop_.at<&World::offer>(when, *this, id.bits);
  } else {
    loop_.at<&World::offer_elsewhere>(when, *this, id.bits);
  }
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
      hear(ended, {fate, reason, retry_after});
      break;
    case Origin::service:
      if (!ended.gone) {
        hear_of_link(ended, {fate, reason, retry_after});
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

Result run(const Scenario& scenario, std::uint64_t seed, const Progress& progress) {
  return World(scenario, seed, progress).run();
}

}  // namespace loadline::sim
