#include "sim/server.h"

#include <algorithm>

#include "sim/seconds.h"

namespace loadline::sim {
namespace {

// The speed of one that begins at `now`: cold at first, and at a pace of its own.
Steps<double> speed_of(const ServerModel& model, Instant now, double pace) {
  const Instant warm = now + model.cold_for;
  std::vector<Instant> moments;
  for (const auto& change : model.speed.changes()) {
    moments.push_back(change.from);
  }
  moments.push_back(warm);
  std::sort(moments.begin(), moments.end());
  const auto at = [&](Instant t) {
    return model.speed.at(t) * pace * (t < warm ? model.cold_speed : 1.0);
  };
  std::vector<Steps<double>::Change> changes;
  for (const Instant moment : moments) {
    if (moment > Instant{}) {
      changes.push_back({moment, at(moment)});
    }
  }
  return {at(Instant{}), changes};
}

}  // namespace

double Contention::slowdown(std::size_t busy, std::size_t present) const noexcept {
  switch (kind) {
    case Kind::none:
      return 1;
    case Kind::sharing:
      return std::max(1.0, static_cast<double>(busy) / among);
    case Kind::overhead:
      return 1 + each * std::max(0.0, static_cast<double>(present) - among);
  }
  return 1;
}

Server::Server(const ServerModel& model, EventLoop& loop, Owner& owner, double pace)
    : model_(model), loop_(loop), owner_(owner), speed_(speed_of(model, loop.now(), pace)) {
  counted_ = clocked_ = loop.now();
  for (const auto& change : model.workers.changes()) {
    if (change.from > loop.now()) {
      loop_.at<&Server::begin_waiting>(change.from, *this);
    }
  }
}

void Server::take(AttemptId id, Duration work) {
  line_.push_back({id, work});
  begin_waiting(0);
}

void Server::take_beside(AttemptId id, Duration work) {
  owner_.begun(id);
  loop_.at<&Server::finish_beside>(reached(speed_, loop_.now(), seconds(work)), *this, id.bits);
}

void Server::take_chore(Duration work) {
  line_.push_front({kChore, work});
  begin_waiting(0);
}

void Server::let_go() {
  count_busy(-1);
  begin_waiting(0);
}

void Server::give_up(bool begun) {
  if (!begun) {
    ++given_up_;
    begin_waiting(0);
    return;
  }
  advance();
  if (shares()) {
    --sharing_;
  }
  let_go();
}

void Server::begin(const Job& job) {
  count_busy(1);
  if (job.id.bits != kChore.bits) {
    owner_.begun(job.id);
  }
  if (shares()) {
    share(job);
  } else {
    loop_.at<&Server::finish>(reached(speed_, loop_.now(), seconds(job.work)), *this, job.id.bits);
  }
}

void Server::begin_waiting(std::uint64_t) {
  advance();
  fill();
  expect_next();
}

// Those who have been given up are only taken out when their turn comes.
void Server::fill() {
  while (!line_.empty() && busy_ < model_.workers.at(loop_.now())) {
    const Job job = next();
    if (concerns(job.id)) {
      begin(job);
    } else {
      --given_up_;
    }
  }
}

Server::Job Server::next() {
  const bool from_back = model_.newest_first && line_.front().id.bits != kChore.bits;
  const Job job = from_back ? line_.back() : line_.front();
  from_back ? line_.pop_back() : line_.pop_front();
  return job;
}

// The next in its own line goes before whatever its owner sends because of this.
void Server::finish(std::uint64_t bits) {
  const AttemptId id{bits};
  if (bits == kChore.bits) {
    let_go();
    return;
  }
  if (!owner_.still_lives(id)) {
    return;  // it has been abandoned
  }
  if (!owner_.worked(id)) {
    let_go();
  }
  owner_.finished(id);
}

void Server::finish_beside(std::uint64_t bits) {
  const AttemptId id{bits};
  if (owner_.still_lives(id)) {
    owner_.worked(id);
    owner_.finished(id);
  }
}

void Server::count_busy(int change) {
  busy_seconds_ = busy_seconds();
  counted_ = loop_.now();
  busy_ = static_cast<std::size_t>(static_cast<std::ptrdiff_t>(busy_) + change);
}

double Server::busy_seconds() const noexcept {
  return busy_seconds_ + static_cast<double>(busy_) * seconds(loop_.now() - counted_);
}

void Server::share(const Job& job) {
  ++sharing_;
  shared_.push_back({clock_ + seconds(job.work), order_++, job.id});
  std::push_heap(shared_.begin(), shared_.end(), Shared::later);
}

double Server::clock() const noexcept {
  return clock_ + gathered(speed_, clocked_, loop_.now()) / slowdown_;
}

double Server::done_since(Instant begun, double begun_clock) const noexcept {
  return shares() ? clock() - begun_clock : done_beside_since(begun);
}

void Server::advance() {
  if (!shares()) {
    return;
  }
  clock_ = clock();
  clocked_ = loop_.now();
}

// With another number at work, or in line, everyone is done at another time. Those who have been
// given up are only taken out when they would have been the next.
void Server::expect_next() {
  if (!shares()) {
    return;
  }
  while (!shared_.empty() && !concerns(shared_.front().id)) {
    std::pop_heap(shared_.begin(), shared_.end(), Shared::later);
    shared_.pop_back();
  }
  slowdown_ = model_.contention.slowdown(sharing_, present());
  ++generation_;
  if (!shared_.empty()) {
    const double left = std::max(0.0, shared_.front().until - clock_);
    loop_.at<&Server::finish_next>(reached(speed_, loop_.now(), left * slowdown_), *this,
                                   generation_);
  }
}

void Server::finish_next(std::uint64_t generation) {
  if (generation != generation_) {
    return;
  }
  advance();
  clock_ = std::max(clock_, shared_.front().until);  // what rounding to nanoseconds has left
  std::pop_heap(shared_.begin(), shared_.end(), Shared::later);
  const AttemptId id = shared_.back().id;
  shared_.pop_back();
  --sharing_;
  finish(id.bits);
  expect_next();
}

}  // namespace loadline::sim
