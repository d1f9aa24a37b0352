// All instances of all services of a run, and whose turn it is.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "sim/door.h"
#include "sim/event_loop.h"
#include "sim/scenario.h"
#include "sim/server.h"

namespace loadline::sim {

class GateDoor;

struct Instance {
  Instance(std::uint16_t of, const ServiceModel& model, EventLoop& loop, Server::Owner& owner,
           double pace)
      : service(of), server(model.server, loop, owner, pace) {}

  std::uint16_t service;
  Server server;
  std::unique_ptr<Door> door;
  GateDoor* gate_door = nullptr;  // `door`, if it is one
  std::uint32_t open = 0;         // attempts that it has not ended
  std::uint32_t failures = 0;     // of probes, in a row
  std::uint32_t successes = 0;
  bool in_turn = true;
};

class Fleet {
 public:
  static constexpr std::uint32_t kNone = 0xffffffff;

  class Owner : public Server::Owner {
   public:
    // Asks an instance whether it is ready; what comes of it is told by `probed`.
    virtual void probe(std::uint32_t instance) = 0;

   protected:
    ~Owner() = default;
  };

  Fleet(const Scenario& scenario, std::uint64_t seed, Site& site, Owner& owner);

  // Whose turn it is; never `but` if there is another. kNone: nobody is in turn.
  [[nodiscard]] std::uint32_t choose(std::uint16_t service, std::uint32_t but = kNone);
  // How many instances of a service there are to choose from.
  [[nodiscard]] std::size_t choices(std::uint16_t service) const noexcept {
    return turns_[service].members.size();
  }
  // What a probe of it came to.
  void probed(std::uint32_t instance, bool well);
  // It has been asked, or has answered one who asked.
  void opened(std::uint32_t instance) { count_open(instance, 1); }
  void ended(std::uint32_t instance) { count_open(instance, -1); }

  [[nodiscard]] Instance& operator[](std::uint32_t i) noexcept { return instances_[i]; }
  [[nodiscard]] const ServiceModel& model_of(std::uint32_t i) const noexcept {
    return scenario_.services[instances_[i].service];
  }
  [[nodiscard]] std::uint32_t size() const noexcept {
    return static_cast<std::uint32_t>(instances_.size());
  }
  // How many instances of each service were in turn, from when on.
  struct Turnout {
    Instant from{};
    std::uint16_t service = 0;
    std::uint32_t in_turn = 0;
  };
  [[nodiscard]] const std::vector<Turnout>& turnouts() const noexcept { return turnouts_; }

  // From now on nobody is probed and none are ordered: no more calls come.
  void close() noexcept { closed_ = true; }

 private:
  struct Turn {
    std::vector<std::uint32_t> all;
    std::vector<std::uint32_t> members;  // in turn
    std::size_t next = 0;
    // What each member has open, where that matters: the least, and of them the first, in front.
    std::set<std::pair<std::uint32_t, std::uint32_t>> by_load;
    std::uint32_t ordered = 0;  // there or on their way
    double busy_seconds = 0;    // when last looked at
  };

  void add(std::uint64_t service);
  void scale(std::uint64_t service);
  void probe(std::uint64_t instance);
  void put_in_turn(std::uint32_t instance, bool in_turn);
  void count_open(std::uint32_t instance, int change);
  [[nodiscard]] bool by_load(std::uint16_t service) const noexcept {
    return scenario_.services[service].balance == ServiceModel::Balance::least_loaded;
  }
  [[nodiscard]] std::uint32_t in_turn(Turn& turn, std::uint32_t but) const noexcept;
  [[nodiscard]] std::uint32_t at_random(std::uint16_t service, std::uint32_t but);
  [[nodiscard]] static std::uint32_t least_loaded(const Turn& turn, std::uint32_t but) noexcept;

  const Scenario& scenario_;
  std::uint64_t seed_;
  Site& site_;
  Owner& owner_;
  std::deque<Instance> instances_;
  std::vector<Turn> turns_;  // by service
  std::vector<Turnout> turnouts_;
  bool closed_ = false;
};

}  // namespace loadline::sim
