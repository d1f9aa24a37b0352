#include "sim/fleet.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "sim/gate_door.h"
#include "sim/random.h"
#include "sim/seconds.h"

namespace loadline::sim {
namespace {

constexpr std::uint64_t kTurnStream = 0x7475726e00000000;  // and the service

}  // namespace

Fleet::Fleet(const Scenario& scenario, std::uint64_t seed, Site& site, Owner& owner)
    : scenario_(scenario), seed_(seed), site_(site), owner_(owner) {
  turns_.resize(scenario.services.size());
  for (std::size_t s = 0; s < turns_.size(); ++s) {
    const ServiceModel& model = scenario.services[s];
    for (turns_[s].ordered = 0; turns_[s].ordered < model.instances; ++turns_[s].ordered) {
      add(s);
    }
    if (model.scaling) {
      site_.loop().at<&Fleet::scale>(Instant{} + model.scaling->interval, *this, s);
    }
  }
}

void Fleet::add(std::uint64_t service) {
  const ServiceModel& model = scenario_.services[service];
  Turn& turn = turns_[service];
  const std::size_t of_service = turn.all.size();
  const double pace = of_service < model.paces.size() ? model.paces[of_service] : 1.0;
  const std::uint32_t number = size();
  Instance& instance = instances_.emplace_back(static_cast<std::uint16_t>(service), model,
                                               site_.loop(), owner_, pace);
  if (model.other_door) {
    instance.door = model.other_door(site_);
  } else if (model.gate) {
    auto door = std::make_unique<GateDoor>(*model.gate, seed_, number, site_);
    instance.gate_door = door.get();
    instance.door = std::move(door);
  } else {
    instance.door = std::make_unique<OpenDoor>(site_);
  }
  turn.all.push_back(number);
  put_in_turn(number, true);
  if (model.readiness && model.readiness->tied_to_load) {
    const std::size_t among = std::max<std::size_t>(model.instances, 1);
    const auto place = static_cast<std::int64_t>(of_service % among) + 1;
    const Duration wait{model.readiness->interval.ns * place / static_cast<std::int64_t>(among)};
    site_.loop().at<&Fleet::probe>(site_.loop().now() + wait, *this, number);
  }
}

// They take turns, so that not all are asked at once.
void Fleet::probe(std::uint64_t number) {
  if (!closed_) {
    const auto instance = static_cast<std::uint32_t>(number);
    site_.loop().at<&Fleet::probe>(site_.loop().now() + model_of(instance).readiness->interval,
                                   *this, number);
    owner_.probe(instance);
  }
}

void Fleet::put_in_turn(std::uint32_t number, bool in_turn) {
  Instance& instance = instances_[number];
  Turn& turn = turns_[instance.service];
  instance.in_turn = in_turn;
  if (in_turn) {
    turn.members.insert(std::upper_bound(turn.members.begin(), turn.members.end(), number), number);
  } else {
    turn.members.erase(std::lower_bound(turn.members.begin(), turn.members.end(), number));
  }
  if (in_turn && by_load(instance.service)) {
    turn.by_load.emplace(instance.open, number);
  } else {
    turn.by_load.erase({instance.open, number});
  }
  const Instant now = site_.loop().now();
  if (turnouts_.empty() || turnouts_.back().from != now ||
      turnouts_.back().service != instance.service) {
    turnouts_.push_back({now, instance.service, 0});
  }
  turnouts_.back().in_turn = static_cast<std::uint32_t>(turn.members.size());
}

void Fleet::count_open(std::uint32_t number, int change) {
  Instance& instance = instances_[number];
  const std::uint32_t before = instance.open;
  instance.open += static_cast<std::uint32_t>(change);
  if (instance.in_turn && by_load(instance.service)) {
    auto& by_load = turns_[instance.service].by_load;
    auto node = by_load.extract({before, number});
    node.value().first = instance.open;
    by_load.insert(std::move(node));
  }
}

std::uint32_t Fleet::choose(std::uint16_t service, std::uint32_t but) {
  Turn& turn = turns_[service];
  if (turn.members.empty()) {
    return kNone;
  }
  if (turn.members.size() == 1) {
    return turn.members.front();
  }
  switch (scenario_.services[service].balance) {
    case ServiceModel::Balance::least_loaded:
      return least_loaded(turn, but);
    case ServiceModel::Balance::random:
      return at_random(service, but);
    case ServiceModel::Balance::in_turn:
      break;
  }
  return in_turn(turn, but);
}

// Of all but `but`.
std::uint32_t Fleet::at_random(std::uint16_t service, std::uint32_t but) {
  Turn& turn = turns_[service];
  const bool has_other = std::binary_search(turn.members.begin(), turn.members.end(), but);
  const std::size_t others = turn.members.size() - (has_other ? 1 : 0);
  Draws draws(seed_, kTurnStream + service, turn.next++);
  const std::uint32_t drawn = turn.members[draws.bits() % others];
  return drawn == but ? turn.members.back() : drawn;
}

std::uint32_t Fleet::in_turn(Turn& turn, std::uint32_t but) const noexcept {
  const auto take = [&turn] { return turn.members[turn.next++ % turn.members.size()]; };
  const std::uint32_t first = take();
  return first == but ? take() : first;
}

std::uint32_t Fleet::least_loaded(const Turn& turn, std::uint32_t but) noexcept {
  const auto first = turn.by_load.begin();
  return first->second == but ? std::next(first)->second : first->second;
}

void Fleet::probed(std::uint32_t number, bool well) {
  Instance& instance = instances_[number];
  const Readiness& readiness = *scenario_.services[instance.service].readiness;
  instance.failures = well ? 0 : instance.failures + 1;
  instance.successes = well ? instance.successes + 1 : 0;
  if (instance.in_turn && instance.failures >= readiness.failures) {
    put_in_turn(number, false);
  } else if (!instance.in_turn && instance.successes >= readiness.successes) {
    put_in_turn(number, true);
  }
}

void Fleet::scale(std::uint64_t service) {
  if (closed_) {
    return;
  }
  const ServiceModel& model = scenario_.services[service];
  const Scaling& scaling = *model.scaling;
  Turn& turn = turns_[service];
  const Instant now = site_.loop().now();
  double busy = 0;
  for (const std::uint32_t i : turn.all) {
    busy += instances_[i].server.busy_seconds();
  }
  const auto there = static_cast<double>(turn.all.size());
  const double workers = there * model.server.workers.at(now);
  const double utilization = (busy - turn.busy_seconds) / (workers * seconds(scaling.interval));
  turn.busy_seconds = busy;
  // Kubernetes leaves things as they are within a tenth of the target.
  const double wanted = std::ceil(there * utilization / scaling.target - 1e-9);
  const bool near = std::abs(utilization / scaling.target - 1) <= 0.1;
  while (!near && turn.ordered < scaling.most && turn.ordered < wanted) {
    ++turn.ordered;
    site_.loop().at<&Fleet::add>(now + scaling.delay, *this, service);
  }
  site_.loop().at<&Fleet::scale>(now + scaling.interval, *this, service);
}

}  // namespace loadline::sim
