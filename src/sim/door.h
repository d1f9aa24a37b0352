// What stands between the callers and the server. The simulator has no admission logic of its own:
// its doors are an open one and one with the real gate in it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "loadline/decision.h"
#include "sim/attempt.h"
#include "sim/event_loop.h"

namespace loadline::sim {

class Door;

// The world as a door sees it.
class Site {
 public:
  [[nodiscard]] EventLoop& loop() noexcept { return loop_; }
  [[nodiscard]] Attempt& attempt(AttemptId id) noexcept { return attempts_[id]; }
  // Neither ended nor given up.
  [[nodiscard]] bool lives(AttemptId id) const noexcept {
    return attempts_.lives(id) && !attempts_[id].stopped;
  }
  // A door that is to be asked to look() behind this event.
  virtual void touch(Door& door) = 0;
  // Hands an attempt to the server.
  virtual void start(AttemptId id) = 0;
  // Sends the caller the server's answer; the attempt is over.
  virtual void answer(AttemptId id) = 0;
  // Tells its caller no; the attempt is over. `retry_after` in seconds, 0: nothing said.
  virtual void refuse(AttemptId id, Reason reason, std::uint16_t retry_after) = 0;
  // A caller who had left has been forgotten without having been started; the attempt is over.
  virtual void forget(AttemptId id) = 0;

 protected:
  ~Site() = default;

  EventLoop loop_;
  Attempts attempts_;
};

// The limit of one gate, or of all together, from when on.
struct LimitChange {
  Instant from{};
  std::uint32_t limit = 0;
};

// What is seen of a door while a run goes on.
struct Watch {
  std::uint64_t idle_beside_waiter =
      0;                        // events after which a slot was idle beside a waiter for it
  std::uint64_t passed = 0;     // starts while a more important one waited that fitted
  std::uint64_t miscounts = 0;  // events after which the door's own count disagreed
  std::uint32_t peak_in_flight = 0;
  std::uint32_t peak_waiting = 0;
  std::vector<LimitChange> limits;  // as they were seen

  // What is seen of another door beside this one.
  void add(const Watch& other) noexcept {
    idle_beside_waiter += other.idle_beside_waiter;
    passed += other.passed;
    miscounts += other.miscounts;
    peak_in_flight = std::max(peak_in_flight, other.peak_in_flight);
    peak_waiting = std::max(peak_waiting, other.peak_waiting);
  }
};

class Door {
 public:
  virtual ~Door() = default;
  Door() = default;
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;

  virtual void arrive(AttemptId id) = 0;
  // The caller of one who has not been started has gone.
  virtual void leave(AttemptId id) = 0;
  // The server has finished one that was started: the answer is ready.
  virtual void finished(AttemptId id) = 0;
  // Called behind each event in which it has touched itself.
  virtual void look() {}

  [[nodiscard]] const Watch& watch() const noexcept { return watch_; }

 protected:
  Watch watch_;
};

// Lets everybody through.
class OpenDoor final : public Door {
 public:
  explicit OpenDoor(Site& site) : site_(site) {}
  void arrive(AttemptId id) override { site_.start(id); }
  void leave(AttemptId) override {}
  void finished(AttemptId id) override { site_.answer(id); }

 private:
  Site& site_;
};

}  // namespace loadline::sim
