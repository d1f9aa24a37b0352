#include "sim/world.h"

#include "sim/seconds.h"

namespace loadline::sim {
namespace {

class World final : public Site, public Server::Owner {
 public:
  World(const Scenario& scenario, std::uint64_t seed)
      : scenario_(scenario), seed_(seed), server_(scenario.server, loop_, *this) {
    if (scenario.other_door) {
      door_ = scenario.other_door(*this);
    } else if (scenario.gate) {
      auto door = std::make_unique<GateDoor>(*scenario.gate, seed, *this);
      gate_door_ = door.get();
      door_ = std::move(door);
    } else {
      door_ = std::make_unique<OpenDoor>(*this);
    }
    calls_.resize(scenario.populations.size());
    for (std::size_t p = 0; p < scenario.populations.size(); ++p) {
      expect_call(p, Instant{});
    }
  }

  Result run() {
    loop_.run_until(Instant{} + scenario_.length, [this] { door_->look(); });
    attempts_.for_each([this](const Attempt& attempt) {
      if (attempt.offered <= loop_.now()) {
        write(attempt, Fate::open, Instant::never());
      }
    });
    Result done;
    done.journal = std::move(journal_);
    done.watch = door_->watch();
    if (gate_door_ != nullptr) {
      done.snapshot = gate_door_->snapshot();
    }
    return done;
  }

  EventLoop& loop() noexcept override { return loop_; }
  Attempt& attempt(AttemptId id) noexcept override { return attempts_[id]; }
  [[nodiscard]] bool lives(AttemptId id) const noexcept override { return attempts_.lives(id); }

  void start(AttemptId id) override {
    Attempt& attempt = attempts_[id];
    attempt.started = loop_.now();
    server_.take(id, attempt.work);
  }

  void finished(AttemptId id) override { door_->finished(id); }

  void answer(AttemptId id) override { end(id, Fate::answered); }

  void refuse(AttemptId id, Reason reason, std::uint16_t retry_after) override {
    const Attempt attempt = attempts_[id];
    end(id, Fate::refused, reason, retry_after);
    const Retry& retry = population(attempt).retry;
    const bool told = retry.obeys && retry_after != 0;
    if (!attempt.gone) {
      try_again(attempt, told ? Duration::seconds(retry_after) : retry.pause);
    }
  }

  void forget(AttemptId id) override { end(id, Fate::left); }

 private:
  [[nodiscard]] const Population& population(const Attempt& attempt) const noexcept {
    return scenario_.populations[attempt.population];
  }

  // Two streams a population: one for the gaps, one for what its callers bring.
  void expect_call(std::uint64_t p, Instant previous) {
    const std::uint64_t number = calls_[p];
    const Instant when =
        scenario_.populations[p].arrivals.next(previous, number, Draws(seed_, 2 * p, number));
    loop_.at<&World::call>(when, *this, p);
  }

  void call(std::uint64_t p) {
    const Population& here = scenario_.populations[p];
    const std::uint64_t number = calls_[p]++;
    Draws draws(seed_, 2 * p + 1, number);
    Attempt attempt;
    attempt.called = loop_.now();
    attempt.work = here.work.draw(draws);
    attempt.cost = here.cost;
    attempt.population = static_cast<std::uint8_t>(p);
    attempt.importance = here.importance;
    attempt.group = here.tenants.group;
    if (here.tenants.count != 0) {
      const bool in_turn = here.tenants.choice == Tenants::Choice::in_turn;
      attempt.tenant = here.tenants.first + (in_turn ? number : draws.bits()) % here.tenants.count;
    }
    offer(attempts_.add(attempt).bits);
    expect_call(p, loop_.now());
  }

  void offer(std::uint64_t bits) {
    const AttemptId id{bits};
    Attempt& attempt = attempts_[id];
    const Population& here = population(attempt);
    attempt.offered = loop_.now();
    attempt.deadline = attempt.offered + here.patience;
    attempt.told = here.tells_deadline ? attempt.deadline : Instant::never();
    if (here.departs || here.retry.after_timeout) {
      loop_.at<&World::lose_patience>(attempt.deadline, *this, bits);
    }
    door_->arrive(id);
  }

  // An answer that comes in the very instant is in time.
  void lose_patience(std::uint64_t bits) {
    const AttemptId id{bits};
    if (!attempts_.lives(id)) {
      return;
    }
    attempts_[id].gone = true;
    const Attempt attempt = attempts_[id];
    if (population(attempt).departs && attempt.started == Instant::never()) {
      door_->leave(id);
    }
    if (population(attempt).retry.after_timeout) {
      try_again(attempt, Duration{});
    }
  }

  void try_again(const Attempt& last, Duration pause) {
    if (last.attempt >= population(last).retry.attempts) {
      return;
    }
    Attempt next = last;
    ++next.attempt;
    next.gone = false;
    next.started = Instant::never();
    next.offered = Instant::never();
    loop_.at<&World::offer>(loop_.now() + pause, *this, attempts_.add(next).bits);
  }

  void end(AttemptId id, Fate fate, Reason reason = Reason::none, std::uint16_t retry_after = 0) {
    write(attempts_[id], fate, loop_.now(), reason, retry_after);
    attempts_.remove(id);
  }

  void write(const Attempt& attempt, Fate fate, Instant ended, Reason reason = Reason::none,
             std::uint16_t retry_after = 0) {
    journal_.push_back({.called = attempt.called,
                        .offered = attempt.offered,
                        .deadline = attempt.deadline,
                        .started = attempt.started,
                        .ended = ended,
                        .work = attempt.work,
                        .tenant = attempt.tenant,
                        .attempt = attempt.attempt,
                        .retry_after = retry_after,
                        .fate = fate,
                        .reason = reason,
                        .population = attempt.population,
                        .importance = attempt.importance});
  }

  const Scenario& scenario_;
  std::uint64_t seed_;
  EventLoop loop_;
  Attempts attempts_;
  Server server_;
  std::unique_ptr<Door> door_;
  GateDoor* gate_door_ = nullptr;
  std::vector<std::uint64_t> calls_;  // so far, by population
  Journal journal_;
};

}  // namespace

Result run(const Scenario& scenario, std::uint64_t seed) {
  return World(scenario, seed).run();
}

}  // namespace loadline::sim
