#include "serve_work.h"

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cmath>
#include <condition_variable>
#include <thread>
#include <utility>
#include <vector>

namespace loadline::tools {
namespace {

using std::chrono::duration;
using std::chrono::nanoseconds;

std::lognormal_distribution<double> lognormal_with(double mean, double cv) {
  const double variance = std::log1p(cv * cv);
  return std::lognormal_distribution<double>{std::log(mean) - variance / 2, std::sqrt(variance)};
}

// A worker is a timer: it sleeps for the service time. Precise, and hundreds of them cost nothing.
class TimedWork final : public WorkQueue {
 public:
  TimedWork(boost::asio::io_context& context, const ServiceOptions& options)
      : WorkQueue(options), active_(options.workers) {
    workers_.reserve(options.workers);
    for (unsigned i = 0; i < options.workers; ++i) {
      workers_.emplace_back(context);
      idle_.push_back(i);
    }
  }

 private:
  struct Worker {
    explicit Worker(boost::asio::io_context& context) : timer(context) {}
    boost::asio::steady_timer timer;
    Job job;
  };

  void halve() override {
    if (active_ == 1) {
      slow_down(2);
      return;
    }
    active_ -= active_ / 2;
    std::erase_if(idle_, [this](std::size_t index) { return index >= active_; });
  }

  void wake() override {
    if (idle_.empty()) {
      return;
    }
    const auto index = idle_.back();
    idle_.pop_back();
    begin(index, Clock::now());
  }

  void begin(std::size_t index, Clock::time_point free_since) {
    if (index >= active_) {
      return;  // it has gone
    }
    auto job = take(free_since);
    if (!job) {
      idle_.push_back(index);
      return;
    }
    auto& worker = workers_[index];
    worker.job = std::move(*job);
    worker.timer.expires_at(worker.job.begun + worker.job.time);
    worker.timer.async_wait([this, index](const boost::system::error_code& error) {
      if (!error) {
        end(index);
      }
    });
  }

  void end(std::size_t index) {
    const auto ended = workers_[index].timer.expiry();
    const auto job = std::exchange(workers_[index].job, Job{});
    finish(job, ended);
    begin(index, ended);
  }

  std::vector<Worker> workers_;
  std::size_t active_;  // those of a lower index work
  std::vector<std::size_t> idle_;
};

// Where it may not, it does without.
void stay_on_the_last_cpu() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
    return;
  }
  for (int cpu = CPU_SETSIZE - 1; cpu >= 0; --cpu) {
    if (CPU_ISSET(cpu, &allowed)) {
      CPU_ZERO(&allowed);
      CPU_SET(cpu, &allowed);
      sched_setaffinity(0, sizeof allowed, &allowed);
      return;
    }
  }
}

// A worker is a thread that burns CPU; with fewer cores than workers they get in each other's way,
// as real ones do.
class CpuWork final : public WorkQueue {
 public:
  CpuWork(boost::asio::io_context& context, const ServiceOptions& options)
      : WorkQueue(options), context_(context) {
    for (unsigned i = 0; i < options.workers; ++i) {
      threads_.emplace_back([this, pinned = options.pinned] {
        if (pinned) {
          stay_on_the_last_cpu();
        }
        work();
      });
    }
  }

  ~CpuWork() override {
    {
      const std::lock_guard lock{mutex_};
      stopping_ = true;
    }
    jobs_.notify_all();
    for (auto& thread : threads_) {
      thread.join();
    }
  }

 private:
  void wake() override {
    {
      const std::lock_guard lock{mutex_};
      ++waiting_jobs_;
    }
    jobs_.notify_one();
  }

  bool wait_for_job() {
    std::unique_lock lock{mutex_};
    jobs_.wait(lock, [this] { return stopping_ || waiting_jobs_ > 0; });
    if (stopping_) {
      return false;
    }
    --waiting_jobs_;
    return true;
  }

  void work() {
    while (wait_for_job()) {
      auto job = take(Clock::now());
      if (!job) {
        continue;
      }
      burn(job->time);
      boost::asio::post(
          context_, [this, job = std::move(*job), ended = Clock::now()] { finish(job, ended); });
    }
  }

  // By this thread's own CPU time, so that a worker that does not get the CPU is not done sooner.
  void burn(nanoseconds time) const {
    const auto used = [] {
      timespec now{};
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
      return std::chrono::seconds{now.tv_sec} + nanoseconds{now.tv_nsec};
    };
    for (const auto end = used() + time; used() < end && !stopping_;) {
    }
  }

  boost::asio::io_context& context_;
  std::mutex mutex_;
  std::condition_variable jobs_;
  std::uint64_t waiting_jobs_ = 0;
  std::atomic<bool> stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace

ServiceTime::ServiceTime(const ServiceOptions& options)
    : distribution_(options.distribution),
      mean_ns_(static_cast<double>(options.service_time.count())),
      random_(options.seed),
      lognormal_(lognormal_with(mean_ns_, options.cv)) {}

nanoseconds ServiceTime::draw() {
  double ns = mean_ns_;
  switch (distribution_) {
    case Distribution::fixed:
      break;
    case Distribution::exponential:
      ns = std::exponential_distribution<>{1 / mean_ns_}(random_);
      break;
    case Distribution::lognormal:
      ns = lognormal_(random_);
      break;
  }
  return nanoseconds{std::llround(ns * factor_)};
}

WorkQueue::WorkQueue(const ServiceOptions& options) : service_time_(options) {}

void WorkQueue::submit(std::optional<nanoseconds> time, std::shared_ptr<Caller> caller) {
  {
    const std::lock_guard lock{mutex_};
    queue_.push_back({time ? *time : service_time_.draw(), Clock::now(), {}, std::move(caller)});
    ++stats_.received;
    stats_.max_outstanding =
        std::max<std::uint64_t>(stats_.max_outstanding, stats_.in_service + queue_.size());
  }
  wake();
}

void WorkQueue::slow_down(double factor) {
  const std::lock_guard lock{mutex_};
  service_time_.scale(factor);
}

std::optional<WorkQueue::Job> WorkQueue::take(Clock::time_point free_since) {
  const std::lock_guard lock{mutex_};
  if (queue_.empty()) {
    return std::nullopt;
  }
  Job job = std::move(queue_.front());
  queue_.pop_front();
  job.begun = std::max(job.arrived, free_since);
  ++stats_.started;
  ++stats_.in_service;
  stats_.max_in_service = std::max(stats_.max_in_service, stats_.in_service);
  begun_sum_ += since_origin(job.begun);
  return job;
}

void WorkQueue::finish(const Job& job, Clock::time_point end) {
  {
    const std::lock_guard lock{mutex_};
    --stats_.in_service;
    ++stats_.completed;
    stats_.abandoned += job.caller->has_left() ? 1 : 0;
    begun_sum_ -= since_origin(job.begun);
    finished_busy_ += duration<double>(end - job.begun).count();
  }
  job.caller->on_work_done();
}

ServiceStats WorkQueue::stats() const {
  const std::lock_guard lock{mutex_};
  auto result = stats_;
  result.queued = queue_.size();
  result.busy_seconds = std::max(0.0, busy_seconds(Clock::now()) - busy_at_reset_);
  return result;
}

void WorkQueue::reset() {
  const std::lock_guard lock{mutex_};
  const auto in_service = stats_.in_service;
  stats_ = ServiceStats{.received = in_service + queue_.size(),
                        .started = in_service,
                        .in_service = in_service,
                        .max_in_service = in_service,
                        .max_outstanding = in_service + queue_.size()};
  busy_at_reset_ = busy_seconds(Clock::now());
}

double WorkQueue::busy_seconds(Clock::time_point now) const {
  return finished_busy_ + static_cast<double>(stats_.in_service) * since_origin(now) - begun_sum_;
}

double WorkQueue::since_origin(Clock::time_point time) const {
  return duration<double>(time - origin_).count();
}

std::unique_ptr<WorkQueue> make_work_queue(boost::asio::io_context& context,
                                           const ServiceOptions& options) {
  if (options.cpu) {
    return std::make_unique<CpuWork>(context, options);
  }
  return std::make_unique<TimedWork>(context, options);
}

}  // namespace loadline::tools
