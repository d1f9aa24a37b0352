// A server: workers that take work from a first-come-first-served line of its own, without bound.
// It knows nothing of deadlines, and goes on working for callers who have left.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>

#include "loadline/time.h"
#include "sim/attempt.h"
#include "sim/event_loop.h"
#include "sim/steps.h"

namespace loadline::sim {

struct ServerModel {
  static constexpr std::uint32_t kUnlimited = std::numeric_limits<std::uint32_t>::max();

  Steps<std::uint32_t> workers = kUnlimited;
  // Seconds of work done in a second by each worker: 0.25 is four times slower, 0 stands still. It
  // holds for the work in hand as well.
  Steps<double> speed = 1.0;
};

class Server {
 public:
  class Owner {
   public:
    virtual void finished(AttemptId id) = 0;

   protected:
    ~Owner() = default;
  };

  Server(const ServerModel& model, EventLoop& loop, Owner& owner);

  void take(AttemptId id, Duration work);

 private:
  struct Job {
    AttemptId id;
    Duration work;
  };
  void begin(const Job& job);
  void begin_waiting(std::uint64_t);
  void finish(std::uint64_t id);

  const ServerModel& model_;
  EventLoop& loop_;
  Owner& owner_;
  std::deque<Job> line_;
  std::uint32_t busy_ = 0;
};

}  // namespace loadline::sim
