// A server: workers that take work from a line of its own, without bound. It knows nothing of
// deadlines.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <vector>

#include "loadline/time.h"
#include "sim/attempt.h"
#include "sim/event_loop.h"
#include "sim/steps.h"

namespace loadline::sim {

// How those that a server works on slow each other down: each gets 1 / slowdown of its speed.
struct Contention {
  enum class Kind : std::uint8_t {
    none,
    sharing,   // of `among` cores: more than these share them (processor sharing)
    overhead,  // `each` is lost for everyone in the server above `among`, at work or in line
  };
  Kind kind = Kind::none;
  double among = 1;
  double each = 0;

  // `busy` are worked on, `present` are those and the ones in line.
  [[nodiscard]] double slowdown(std::size_t busy, std::size_t present) const noexcept;
};

struct ServerModel {
  static constexpr std::uint32_t kUnlimited = std::numeric_limits<std::uint32_t>::max();

  Steps<std::uint32_t> workers = kUnlimited;
  // Seconds of work done in a second by each worker: 0.25 is four times slower, 0 stands still. It
  // holds for the work in hand as well.
  Steps<double> speed = 1.0;
  bool newest_first = false;  // who of its line is next
  Contention contention;

  // So long after it has begun an instance has `cold_speed` of its speed.
  Duration cold_for{};
  double cold_speed = 1.0;

  // This share of the requests fails, after `failure_work` in place of its own.
  Steps<double> failing = 0.0;
  Duration failure_work{};

  // What a worker spends on each request that the gate has refused.
  Duration rejection_work{};

  // How long it goes on working for a caller who has left and said so; never beyond the end.
  Duration works_on = Duration::max();
};

class Server {
 public:
  class Owner {
   public:
    virtual void begun(AttemptId id) = 0;
    // Its work is done. Unless this returns true its worker is free; else when it is let go.
    virtual bool worked(AttemptId id) = 0;
    // Told after `worked`, when its worker, if free, has begun with the next.
    virtual void finished(AttemptId id) = 0;
    [[nodiscard]] virtual bool still_lives(AttemptId id) const noexcept = 0;

   protected:
    ~Owner() = default;
  };

  // One that begins now. `pace` multiplies its speed.
  Server(const ServerModel& model, EventLoop& loop, Owner& owner, double pace = 1.0);

  void take(AttemptId id, Duration work);
  // Work that needs no worker, nor waits in line for one; it takes its time all the same.
  void take_beside(AttemptId id, Duration work);
  // Work that nobody waits for; before all that is in line.
  void take_chore(Duration work);
  // Gives up one that has not been finished, whether it has `begun` or not. Its owner is told
  // nothing, and says from now on that it does not live.
  void give_up(bool begun);
  // The worker that was kept for one is free.
  void let_go();

  [[nodiscard]] std::size_t present() const noexcept { return busy_ + line_.size() - given_up_; }
  [[nodiscard]] std::size_t busy() const noexcept { return busy_; }
  // What one has got, in seconds of work, who was begun then, when shared_clock() said so much.
  [[nodiscard]] double done_since(Instant begun, double begun_clock) const noexcept;
  // The same of one whose work is done beside the workers.
  [[nodiscard]] double done_beside_since(Instant begun) const noexcept {
    return gathered(speed_, begun, loop_.now());
  }
  [[nodiscard]] double shared_clock() const noexcept { return shares() ? clock() : 0; }
  // Seconds in which workers have been busy, all together.
  [[nodiscard]] double busy_seconds() const noexcept;

 private:
  struct Job {
    AttemptId id;
    Duration work;
  };
  // Of one that is worked on where all slow each other down: done when the pace clock says so, and
  // of two that are done at once first the one that began first.
  struct Shared {
    double until;
    std::uint64_t order;
    AttemptId id;

    static bool later(const Shared& a, const Shared& b) noexcept {
      return a.until != b.until ? a.until > b.until : a.order > b.order;
    }
  };
  static constexpr AttemptId kChore{std::numeric_limits<std::uint64_t>::max()};

  void begin(const Job& job);
  void begin_waiting(std::uint64_t);
  void fill();
  Job next();
  void finish(std::uint64_t id);
  void finish_beside(std::uint64_t id);
  [[nodiscard]] bool concerns(AttemptId id) const noexcept {
    return id == kChore || owner_.still_lives(id);
  }
  void count_busy(int change);

  void share(const Job& job);
  // What one who has been worked on since the beginning has got by now.
  [[nodiscard]] double clock() const noexcept;
  void advance();
  void expect_next();
  void finish_next(std::uint64_t generation);
  [[nodiscard]] bool shares() const noexcept {
    return model_.contention.kind != Contention::Kind::none;
  }

  const ServerModel& model_;
  EventLoop& loop_;
  Owner& owner_;
  Steps<double> speed_;
  std::deque<Job> line_;
  std::size_t given_up_ = 0;  // of the line
  std::size_t busy_ = 0;

  Instant counted_{};
  double busy_seconds_ = 0;

  // The pace clock at `clocked_`.
  std::vector<Shared> shared_;  // a heap, the first to be done in front; and who was given up
  std::size_t sharing_ = 0;     // of them, without those
  std::uint64_t order_ = 0;
  double clock_ = 0;
  Instant clocked_{};
  double slowdown_ = 1;  // since `clocked_`
  std::uint64_t generation_ = 0;
};

}  // namespace loadline::sim
