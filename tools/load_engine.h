// One thread of the load generator: issues what its share of the schedule asks for, keeps the idle
// connections, and counts.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "load.h"
#include "load_callers.h"
#include "load_connection.h"
#include "load_schedule.h"

namespace loadline::tools {

// What a run has so far, for those who watch: written by the engine, read by anyone.
struct LiveCounters {
  std::atomic<std::uint64_t> offered = 0;
  std::atomic<std::uint64_t> good = 0;
  std::atomic<std::uint64_t> rejected = 0;
  std::atomic<std::uint64_t> timeouts = 0;
  std::atomic<std::uint64_t> errors = 0;
};

// What one engine counted, to be merged.
struct EngineTallies {
  std::vector<Tally> by_class;  // of the window; one entry when no classes are sent
  Tally total;
  std::vector<SecondTally> per_second;
  Histogram lateness;
  Histogram corrected_latency;
  std::uint64_t stale_retries = 0;
};

class LoadEngine final : public LoadConnection::Owner {
 public:
  // `callers`: where the client half decides; else null.
  LoadEngine(const LoadOptions& options, const Tcp::endpoint& target, LoadCallers* callers,
             unsigned part, unsigned parts);

  // Runs until all is answered or given up; blocks.
  void run(Clock::time_point start);
  // Any thread: nothing more is issued, what is outstanding is waited for.
  void stop();

  const LiveCounters& live() const { return live_; }
  // Once run() has returned.
  const EngineTallies& tallies() const { return tallies_; }

 private:
  void arm();
  void issue_due();
  void begin_callers();
  void beat();

  void begin_call(Clock::time_point due);
  void begin_attempt(const Attempt& attempt);
  void lead(Attempt attempt);
  void place(const Attempt& attempt);
  void on_outcome(const std::shared_ptr<LoadConnection>& connection, const Attempt& attempt,
                  const Outcome& outcome) override;
  void count(const Attempt& attempt, const Outcome& outcome);
  void count_answer(Tally& tally, const Attempt& attempt, int status);
  void go_on(const Attempt& attempt, const Outcome& outcome);
  bool should_retry(const Attempt& attempt, const Outcome& outcome) const;
  void retry(const Attempt& attempt, Clock::time_point when);
  std::chrono::nanoseconds backoff(const Attempt& attempt, const Outcome& outcome);
  void end_call(const Outcome& outcome);
  void finish_if_done();

  bool in_window(Clock::time_point due) const { return due >= window_start_; }
  SecondTally& second_of(Clock::time_point due);
  std::size_t draw_class();

  const LoadOptions& options_;
  LoadCallers* led_by_;
  boost::asio::io_context context_{1};
  LoadConnection::Shared shared_;
  ArrivalSchedule schedule_;
  boost::asio::steady_timer arrival_timer_;
  boost::asio::steady_timer beat_timer_;
  std::vector<std::shared_ptr<LoadConnection>> idle_;  // last used first; may hold closed ones
  std::vector<std::string> heads_;                     // by class
  std::discrete_distribution<std::size_t> class_draw_;
  std::mt19937_64 random_;

  Clock::time_point start_;
  Clock::time_point window_start_;
  Clock::time_point end_;
  std::optional<Clock::time_point> next_due_;
  unsigned callers_;
  bool issuing_ = true;
  std::uint64_t outstanding_ = 0;  // attempts
  LiveCounters live_;
  EngineTallies tallies_;
};

}  // namespace loadline::tools
