// All instances of all services of a run, and whose turn it is.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
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

  Fleet(const Scenario& scenario, std::uint64_t seed, Site& site, Server::Owner& owner);

  // Whose turn it is; never `but` if there is another. kNone: nobody is in turn.
  [[nodiscard]] std::uint32_t choose(std::uint16_t service, std::uint32_t but = kNone);
  // What a probe of it came to.
  void probed(std::uint32_t instance, bool well);

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

  // No more are ordered: the run is about to end.
  void close() noexcept { closed_ = true; }

 private:
  struct Turn {
    std::vector<std::uint32_t> members;  // in turn
    std::size_t next = 0;
    std::uint32_t ordered = 0;  // there or on their way
    double busy_seconds = 0;    // when last looked at
  };

  void add(std::uint64_t service);
  void scale(std::uint64_t service);
  void put_in_turn(std::uint32_t instance, bool in_turn);
  [[nodiscard]] std::uint32_t in_turn(Turn& turn, std::uint32_t but) const noexcept;
  [[nodiscard]] std::uint32_t least_loaded(const Turn& turn, std::uint32_t but) const noexcept;

  const Scenario& scenario_;
  std::uint64_t seed_;
  Site& site_;
  Server::Owner& owner_;
  std::deque<Instance> instances_;
  std::vector<Turn> turns_;  // by service
  std::vector<Turnout> turnouts_;
  bool closed_ = false;
};

}  // namespace loadline::sim
