// The work of the demo service: a FIFO without bound in front of c workers, and what is counted.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <random>

#include "serve.h"

namespace loadline::tools {

using Clock = std::chrono::steady_clock;

// Draws service times; the same seed gives the same times.
class ServiceTime {
 public:
  explicit ServiceTime(const ServiceOptions& options);
  std::chrono::nanoseconds draw();
  void scale(double factor) { factor_ *= factor; }

 private:
  Distribution distribution_;
  double mean_ns_;
  double factor_ = 1;
  std::mt19937_64 random_;
  std::lognormal_distribution<double> lognormal_;
};

// Whom work is done for. Both are called on the io_context's thread, one after the other, once a
// worker is done; the work is counted in between, so that who has the answer finds it counted.
class Caller {
 public:
  virtual ~Caller() = default;
  virtual bool has_left() const = 0;
  virtual void on_work_done() = 0;
};

class WorkQueue {
 public:
  virtual ~WorkQueue() = default;
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  // Queues work that takes `time`, or a drawn time. On the io_context's thread.
  void submit(std::optional<std::chrono::nanoseconds> time, std::shared_ptr<Caller> caller);

  // Any thread.
  ServiceStats stats() const;
  void reset();

  // See DemoService::halve. On the io_context's thread.
  virtual void halve() { slow_down(2); }

 protected:
  struct Job {
    std::chrono::nanoseconds time{};
    Clock::time_point arrived;
    Clock::time_point begun;
    std::shared_ptr<Caller> caller;
  };

  explicit WorkQueue(const ServiceOptions& options);

  void slow_down(double factor);

  // There is a job that no idle worker has been told of.
  virtual void wake() = 0;

  // The oldest job, now in service; none if the queue is empty. A worker that was busy until
  // `free_since` begins then, if the job had already come: how late the timer fired is our fault
  // and not the service's, and would lower its capacity.
  std::optional<Job> take(Clock::time_point free_since);

  // A worker is done with the job at `end`; tells the caller. On the io_context's thread.
  void finish(const Job& job, Clock::time_point end);

 private:
  double busy_seconds(Clock::time_point now) const;
  double since_origin(Clock::time_point time) const;

  mutable std::mutex mutex_;
  ServiceTime service_time_;
  std::deque<Job> queue_;
  ServiceStats stats_;
  const Clock::time_point origin_ = Clock::now();
  double finished_busy_ = 0;
  double begun_sum_ =
      0;  // begin times of what is in service, so that its time so far is a subtraction
  double busy_at_reset_ = 0;
};

// Workers that are timers, or threads when `options.cpu` is set.
std::unique_ptr<WorkQueue> make_work_queue(boost::asio::io_context& context,
                                           const ServiceOptions& options);

}  // namespace loadline::tools
