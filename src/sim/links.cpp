// What a request needs of other services.
#include <optional>
#include <utility>

#include "sim/world_state.h"

namespace loadline::sim {
namespace {

constexpr std::uint64_t kLinkStream = 0x6c696e6b00000000;  // and the population

}  // namespace

void World::call_links(AttemptId id) {
  const std::vector<Link>& links = service(attempts_[id]).links;
  attempts_[id].open_links = static_cast<std::uint32_t>(links.size());
  links_[id.bits];
  for (std::size_t l = 0; l < links.size(); ++l) {
    const Attempt& parent = attempts_[id];
    Attempt attempt = parent.again();
    attempt.attempt = 1;
    attempt.origin = Origin::service;
    attempt.needs_worker = true;
    attempt.parent = id;
    attempt.link = static_cast<std::uint16_t>(l);
    attempt.service = static_cast<std::uint16_t>(links[l].service);
    attempt.called = loop_.now();
    attempt.path = Draws(parent.path, 0, l).bits();
    attempt.tries = Draws(parent.tries, 0, parent.attempt).bits();
    Draws draws = draws_of_call(kLinkStream, attempt);
    attempt.work = attempt.brought = scenario_.services[attempt.service].work.draw(draws);
    attempt.call = callers_.open(parent, l, loop_.now());
    offer_elsewhere(attempts_.add(attempt).bits);
  }
}

// To a service that another one needs. Where nothing is left of the time it knows of, nobody is
// asked.
void World::offer_elsewhere(std::uint64_t bits) {
  const AttemptId id{bits};
  Attempt& attempt = attempts_[id];
  if (!lives(attempt.parent)) {  // nobody needs it any more
    if (attempt.is_led()) {
      callers_.leave(attempt, loop_.now());
    }
    attempts_.remove(id);
    return;
  }
  const Attempt& parent = attempts_[attempt.parent];
  const Duration patience = service(parent).links[attempt.link].patience;
  attempt.offered = loop_.now();
  attempt.deadline = std::min(parent.deadline, attempt.offered + patience);
  attempt.told = std::min(parent.told, attempt.offered + patience);
  Instant until = attempt.told;
  if (attempt.is_led()) {
    const std::optional<Instant> cut_off = callers_.send(attempt, loop_.now());
    if (!cut_off) {
      hold_back(id);
      return;
    }
    until = *cut_off;
  } else if (attempt.told <= loop_.now()) {
    const Attempt late = attempt;
    attempts_.remove(id);
    hear_of_link(late, {.fate = Fate::left});
    return;
  }
  links_[attempt.parent.bits].push_back(id);
  loop_.at<&World::lose_patience>(until, *this, bits);
  place(id);
}

// A service that does not know that its own caller has gone tries again for him.
void World::hear_of_link(const Attempt& last, const Heard& heard) {
  if (lives(last.parent)) {
    if (!call_link_again(last, heard)) {
      link_ended(last, heard.fate == Fate::answered);
    }
  } else if (last.is_led()) {
    callers_.leave(last, loop_.now());
  }
}

bool World::call_link_again(const Attempt& last, const Heard& heard) {
  if (last.is_led()) {
    const client::Next next =
        callers_.ended(last, heard, fleet_.choices(last.service) > 1, loop_.now());
    if (next.retry()) {
      make_again(last, next.at, next.elsewhere);
    }
    return next.retry();
  }
  const Attempt& parent = attempts_[last.parent];
  const Link& link = service(parent).links[last.link];
  const Instant next = loop_.now() + link.pause;
  const bool again =
      heard.fate != Fate::answered && last.attempt < link.attempts && next < parent.told;
  if (again) {
    make_again(last, next, false);
  }
  return again;
}

void World::link_ended(const Attempt& last, bool well) {
  Attempt& parent = attempts_[last.parent];
  parent.fails = parent.fails || !well;
  parent.further_down = parent.further_down || (!well && last.is_led());
  if (--parent.open_links == 0) {
    links_done(last.parent);
  }
}

void World::links_done(AttemptId id) {
  links_.erase(id.bits);
  Instance& here = instance(attempts_[id]);
  if (attempts_[id].needs_worker && service(attempts_[id]).keeps_worker) {
    here.server.let_go();
  }
  here.door->finished(id);
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

}  // namespace loadline::sim
