// The door with the real gate in it: what a host does, in virtual time. One event loop, hence one
// participant: it collects as soon as it is signalled, settles a ticket when its time has come, and
// ticks every 10 ms, unless nothing has happened since the last tick and nobody waits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <vector>

#include "loadline/gate.h"
#include "sim/door.h"
#include "sim/steps.h"

namespace loadline::sim {

struct GateModel {
  Policy policy;
  std::uint32_t queue_room = 1024;  // places in the block; the policy's queue must fit
  // The limit from these moments on, where it is not the policy's: an oracle turns it by hand.
  std::vector<Steps<std::uint32_t>::Change> limits;
  // While this is true the host does nothing at all, as a stopped process does; what it should have
  // done is done at once when it goes on.
  Steps<bool> stopped = false;
  Mode mode = Mode::on;
  // Whether the gate learns how long the work took. Without it the gate predicts nothing.
  bool tells_service_times = true;
};

class GateDoor final : public Door {
 public:
  // `number` tells the gates of a run apart.
  GateDoor(const GateModel& model, std::uint64_t seed, std::uint64_t number, Site& site);
  ~GateDoor() override;
  GateDoor(const GateDoor&) = delete;
  GateDoor& operator=(const GateDoor&) = delete;

  void arrive(AttemptId id) override { serve<&GateDoor::offer>(id.bits); }
  void leave(AttemptId id) override { serve<&GateDoor::cancel>(id.bits); }
  void finished(AttemptId id) override { serve<&GateDoor::release>(id.bits); }
  void look() override;

  [[nodiscard]] Snapshot snapshot() const noexcept { return gate_.snapshot(); }
  // All that its law has done.
  [[nodiscard]] const std::vector<LimitEvent>& limit_events() const noexcept { return events_; }

 private:
  // What the door holds of one who waits or is worked on.
  struct Held {
    bool waiting = false;
    Permit permit;
    Ticket ticket;
  };

  template <auto Method>
  void serve(std::uint64_t argument);

  void offer(std::uint64_t id);
  void cancel(std::uint64_t id);
  void release(std::uint64_t id);
  void watch_for(Instant when, AttemptId id);
  void ring(std::uint64_t);
  void settle_due(std::uint64_t);
  void forget_started();
  void settle(std::uint64_t id);
  void tick(std::uint64_t);
  void stir();
  void set_limit(std::uint64_t limit);

  void begin(AttemptId id, Permit& permit);
  void wait(AttemptId id, const Offer& offer);
  void stop_waiting(AttemptId id);
  void conclude(AttemptId id, Settled& settled);
  void heed(Signals signals);
  void note_limit_events();
  [[nodiscard]] bool light_waits_above(std::uint32_t importance) const noexcept;
  [[nodiscard]] std::uint32_t room_of(std::uint32_t importance) const noexcept;
  [[nodiscard]] Held& hold(AttemptId id);
  [[nodiscard]] bool waits(AttemptId id) const;
  Held let_go(AttemptId id);

  const GateModel& model_;
  Site& site_;
  std::size_t bytes_;
  std::unique_ptr<void, decltype(&std::free)> memory_;
  Gate gate_;
  Participant me_;
  std::vector<Held> held_;           // by Attempt::held
  std::vector<std::uint32_t> free_;  // places in it
  std::vector<AttemptId> tickets_;   // who waits on a ticket, by the ticket's index

  // Whose time to start runs out when, the first in front of the heap; one timer is set, for it.
  // Who does not wait any more is taken out when its time has come.
  struct Due {
    Instant when;
    AttemptId id;
  };
  struct Later {
    bool operator()(const Due& a, const Due& b) const noexcept { return a.when > b.when; }
  };
  std::vector<Due> due_;
  Instant timer_ = Instant::never();

  std::vector<LimitEvent> events_;
  std::uint64_t next_event_ = 0;

  bool ticks_ = false;    // a tick is on its way
  bool stirred_ = false;  // something has happened since the last one

  // The door's own account, for look(): never asked before a decision.
  std::uint32_t units_ = 0;
  std::uint32_t waiting_ = 0;
  std::array<std::uint32_t, kMaxClasses> light_waiting_{};  // of cost 1
  std::array<std::uint32_t, kMaxClasses> heavy_waiting_{};
};

}  // namespace loadline::sim
