#include "sim/fleet.h"

#include <algorithm>
#include <cmath>

#include "sim/gate_door.h"
#include "sim/seconds.h"

namespace loadline::sim {

Fleet::Fleet(const Scenario& scenario, std::uint64_t seed, Site& site, Server::Owner& owner)
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
  const auto of_service = static_cast<std::size_t>(
      std::count_if(instances_.begin(), instances_.end(),
                    [service](const Instance& i) { return i.service == service; }));
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
  put_in_turn(number, true);
}

void Fleet::put_in_turn(std::uint32_t number, bool in_turn) {
  Instance& instance = instances_[number];
  Turn& turn = turns_[instance.service];
  instance.in_turn = in_turn;
  if (in_turn) {
    turn.members.insert(std::upper_bound(turn.members.begin(), turn.members.end(), number), number);
  } else {
    std::erase(turn.members, number);
  }
  turnouts_.push_back(
      {site_.loop().now(), instance.service, static_cast<std::uint32_t>(turn.members.size())});
}

std::uint32_t Fleet::choose(std::uint16_t service, std::uint32_t but) {
  Turn& turn = turns_[service];
  if (turn.members.empty()) {
    return kNone;
  }
  if (turn.members.size() == 1) {
    return turn.members.front();
  }
  return scenario_.services[service].balance == ServiceModel::Balance::in_turn
             ? in_turn(turn, but)
             : least_loaded(turn, but);
}

std::uint32_t Fleet::in_turn(Turn& turn, std::uint32_t but) const noexcept {
  const auto take = [&turn] { return turn.members[turn.next++ % turn.members.size()]; };
  const std::uint32_t first = take();
  return first == but ? take() : first;
}

// The first of those with the fewest.
std::uint32_t Fleet::least_loaded(const Turn& turn, std::uint32_t but) const noexcept {
  const auto load = [this, but](std::uint32_t i) {
    return std::pair(i == but, instances_[i].open);
  };
  return *std::min_element(turn.members.begin(), turn.members.end(),
                           [&](std::uint32_t a, std::uint32_t b) { return load(a) < load(b); });
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
  double there = 0;
  for (Instance& instance : instances_) {
    if (instance.service == service) {
      busy += instance.server.busy_seconds();
      ++there;
    }
  }
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
