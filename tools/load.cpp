#include "load.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "load_callers.h"
#include "load_engine.h"
#include "net_socket.h"

namespace loadline::tools {
namespace {

using std::chrono::nanoseconds;
using namespace std::chrono_literals;

// The engines, each in its thread; knows when all are done.
class Engines {
 public:
  Engines(const LoadOptions& options, const Tcp::endpoint& target, LoadCallers* callers) {
    for (unsigned part = 0; part < options.threads; ++part) {
      engines_.push_back(
          std::make_unique<LoadEngine>(options, target, callers, part, options.threads));
    }
  }

  void start(Clock::time_point when) {
    running_ = engines_.size();
    for (auto& engine : engines_) {
      threads_.emplace_back([this, &engine, when] { run(*engine, when); });
    }
  }

  // True once all are done; false when `until` comes first, or a stop is asked for.
  bool wait(Clock::time_point until, const std::stop_token& stop) {
    std::unique_lock lock{mutex_};
    return done_.wait_until(lock, stop, until, [this] { return running_ == 0; });
  }

  void stop() {
    for (auto& engine : engines_) {
      engine->stop();
    }
  }

  void join() {
    threads_.clear();
    if (failure_) {
      std::rethrow_exception(failure_);
    }
  }

  const std::vector<std::unique_ptr<LoadEngine>>& all() const { return engines_; }

 private:
  void run(LoadEngine& engine, Clock::time_point when) {
    std::exception_ptr failure;
    try {
      engine.run(when);
    } catch (...) {
      failure = std::current_exception();
    }
    const std::lock_guard lock{mutex_};
    failure_ = failure_ ? failure_ : failure;
    --running_;
    done_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable_any done_;
  std::size_t running_ = 0;
  std::exception_ptr failure_;
  std::vector<std::unique_ptr<LoadEngine>> engines_;
  std::vector<std::jthread> threads_;  // joined before what they use goes
};

LoadProgress progress_of(const Engines& engines, Clock::time_point start) {
  LoadProgress progress{.elapsed = Clock::now() - start, .so_far = {}};
  for (const auto& engine : engines.all()) {
    const auto& live = engine->live();
    progress.so_far.offered += live.offered.load(std::memory_order_relaxed);
    progress.so_far.good += live.good.load(std::memory_order_relaxed);
    progress.so_far.rejected += live.rejected.load(std::memory_order_relaxed);
    progress.so_far.timeouts += live.timeouts.load(std::memory_order_relaxed);
    progress.so_far.errors += live.errors.load(std::memory_order_relaxed);
  }
  return progress;
}

// Returns how long load was really issued: less than the duration when it was stopped.
nanoseconds drive(Engines& engines, const LoadOptions& options, const ProgressCallback& progress,
                  const std::stop_token& stop) {
  // A moment for all threads to be there.
  const auto start = Clock::now() + 10ms;
  engines.start(start);
  auto issued = options.duration;
  bool stopped = false;
  auto next_report = start + 1s;
  while (!engines.wait(next_report, stopped ? std::stop_token{} : stop)) {
    if (stop.stop_requested() && !stopped) {
      stopped = true;
      issued = std::min(issued, std::max(nanoseconds{0}, Clock::now() - start));
      engines.stop();
    }
    if (Clock::now() >= next_report) {
      next_report += 1s;
      if (progress) {
        progress(progress_of(engines, start));
      }
    }
  }
  engines.join();
  return issued;
}

void add(SecondTally& sum, const SecondTally& part) {
  sum.offered += part.offered;
  sum.good += part.good;
  sum.rejected += part.rejected;
  sum.timeouts += part.timeouts;
  sum.errors += part.errors;
}

void merge_engine(LoadReport& report, std::vector<Tally>& by_class, const EngineTallies& part) {
  for (std::size_t i = 0; i < part.by_class.size(); ++i) {
    by_class[i].merge(part.by_class[i]);
    report.window.merge(part.by_class[i]);
  }
  report.total.merge(part.total);
  report.lateness.merge(part.lateness);
  report.stale_retries += part.stale_retries;
  if (report.corrected_latency) {
    report.corrected_latency->merge(part.corrected_latency);
  }
  if (report.per_second.size() < part.per_second.size()) {
    report.per_second.resize(part.per_second.size());
  }
  for (std::size_t i = 0; i < part.per_second.size(); ++i) {
    add(report.per_second[i], part.per_second[i]);
  }
}

std::uint64_t errors_of(const Tally& tally, Ending kind) {
  const auto found = tally.errors.find(name_of(kind));
  return found == tally.errors.end() ? 0 : found->second;
}

std::string join(const std::vector<std::string>& reasons) {
  std::string result;
  for (const auto& reason : reasons) {
    result += (result.empty() ? "" : "; ") + reason;
  }
  return result;
}

void judge_generator(LoadReport& report, std::chrono::nanoseconds tolerable_lateness,
                     std::uint64_t file_limit) {
  std::vector<std::string> reasons;
  const auto late = report.lateness.percentile(99);
  if (late > tolerable_lateness) {
    reasons.push_back(fmt::format(
        "requests went out late (p99 {:.1f} ms, at most {} ms is fine): too little CPU for the "
        "generator",
        std::chrono::duration<double, std::milli>(late).count(), tolerable_lateness / 1ms));
  }
  if (const auto count = errors_of(report.total, Ending::no_files)) {
    reasons.push_back(
        fmt::format("{} requests got no file descriptor or memory for a connection (limit of open "
                    "files: {})",
                    count, file_limit));
  }
  if (const auto count = errors_of(report.total, Ending::no_ports)) {
    reasons.push_back(fmt::format("{} requests got no local port to connect from", count));
  }
  report.starved = !reasons.empty();
  report.why = join(reasons);
}

std::string problem_with_load(const LoadOptions& options) {
  if (options.closed > 0 && (!options.rate.empty() || options.burst_size > 0)) {
    return "--closed: not together with --rate or --burst; callers ask when they have their answer";
  }
  if (options.closed == 0 && options.rate.empty() && options.burst_size == 0) {
    return "--rate: how much load? Give --rate, --burst or --closed";
  }
  if (options.closed == 0 && options.expected_interval.count() > 0) {
    return "--expected-interval: only with --closed; otherwise times need no correction";
  }
  if (options.burst_size > 0 && options.burst_every.count() <= 0) {
    return "--burst: the time between bursts must be longer than 0";
  }
  for (std::size_t i = 0; i < options.rate.size(); ++i) {
    const auto& step = options.rate[i];
    if (!(step.per_second >= 0 && step.per_second <= 1e6)) {
      return fmt::format("--rate: {} is not from 0 to 1000000", step.per_second);
    }
    if (step.from.count() < 0 || (i > 0 && step.from <= options.rate[i - 1].from)) {
      return "--rate: steps must begin one after the other";
    }
  }
  return {};
}

std::string problem_with_client(const LoadOptions& options) {
  if (options.retries != Retries::loadline) {
    return {};
  }
  if (options.timeout < 1ms) {
    return "--timeout: with --retries loadline at least 1ms";
  }
  if (options.programs < 1 || options.programs > 10'000) {
    return "--retries: loadline's processes must be from 1 to 10000";
  }
  const PolicyError error = validate(options.client);
  return error.refused() ? fmt::format("--retries: loadline's {}", error.text.data())
                         : std::string{};
}

std::string problem_with_request(const LoadOptions& options) {
  if (!is_method(options.method) || options.method == "CONNECT") {
    return fmt::format("--method: '{}' is not a method such as GET or POST", options.method);
  }
  if (options.body_bytes > (std::uint64_t{1} << 30)) {
    return "--body: at most 1g";
  }
  for (const auto& share : options.classes) {
    if (!(share.weight > 0 && share.weight <= kMostWeight) || !parse_header("x:" + share.name) ||
        share.name.empty()) {
      return fmt::format("--class: '{}={}' is not a name and a weight above 0, at most 1000000",
                         share.name, share.weight);
    }
  }
  if (!parse_header(options.deadline_header + ":1")) {
    return fmt::format("--deadline-header: '{}' is not a header name", options.deadline_header);
  }
  if (!parse_header(options.class_header + ":1")) {
    return fmt::format("--class-header: '{}' is not a header name", options.class_header);
  }
  return {};
}

}  // namespace

std::uint64_t Tally::answers() const {
  return std::accumulate(answered.begin(), answered.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const auto& entry) { return sum + entry.second; });
}

std::uint64_t Tally::failures() const {
  return std::accumulate(errors.begin(), errors.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const auto& entry) { return sum + entry.second; });
}

std::uint64_t Tally::good() const {
  return accepted_latency.count();
}

std::uint64_t Tally::rejected() const {
  return rejection_latency.count();
}

void Tally::merge(const Tally& other) {
  calls += other.calls;
  offered += other.offered;
  sent += other.sent;
  timeouts += other.timeouts;
  for (const auto& [status, count] : other.answered) {
    answered[status] += count;
  }
  for (const auto& [kind, count] : other.errors) {
    errors[kind] += count;
  }
  accepted_latency.merge(other.accepted_latency);
  rejection_latency.merge(other.rejection_latency);
}

double ClientHalfReport::attempts_per_call() const {
  return calls > 0 ? static_cast<double>(attempts) / static_cast<double>(calls) : 0;
}

double LoadReport::goodput_per_second() const {
  return window_seconds > 0 ? static_cast<double>(window.good()) / window_seconds : 0;
}

std::string problem_with(const LoadOptions& options) {
  if (options.duration.count() <= 0 || options.duration > 24h) {
    return "--duration: must be longer than 0 and at most 24h";
  }
  if (options.warmup.count() < 0 || options.warmup >= options.duration) {
    return fmt::format("--warmup: {} is not shorter than the duration of {}, which it is part of",
                       format_time(options.warmup), format_time(options.duration));
  }
  if (options.timeout.count() <= 0 || options.timeout > 1h) {
    return "--timeout: must be longer than 0 and at most 1h";
  }
  if (options.threads < 1 || options.threads > 64) {
    return "--threads: must be from 1 to 64";
  }
  if (options.attempts < 1 || options.attempts > 100) {
    return "--attempts: must be from 1 to 100";
  }
  if (auto problem = problem_with_client(options); !problem.empty()) {
    return problem;
  }
  const auto problem = problem_with_load(options);
  return problem.empty() ? problem_with_request(options) : problem;
}

LoadReport run_load(const LoadOptions& options, const ProgressCallback& progress,
                    const std::stop_token& stop) {
  if (const auto problem = problem_with(options); !problem.empty()) {
    throw std::invalid_argument(problem);
  }
  const auto target = resolve(options.url);
  require_loopback(target, options.url, options.allow_remote);
  const auto file_limit = raise_file_limit();

  std::optional<LoadCallers> callers;
  if (options.retries == Retries::loadline) {
    callers.emplace(options);
  }
  Engines engines{options, target, callers ? &*callers : nullptr};
  const auto issued = drive(engines, options, progress, stop);

  LoadReport report;
  report.window_seconds =
      std::max(0.0, std::chrono::duration<double>(issued - options.warmup).count());
  if (options.expected_interval.count() > 0) {
    report.corrected_latency.emplace();
  }
  std::vector<Tally> by_class(std::max<std::size_t>(1, options.classes.size()));
  for (const auto& engine : engines.all()) {
    merge_engine(report, by_class, engine->tallies());
  }
  for (std::size_t i = 0; i < options.classes.size(); ++i) {
    report.by_class.emplace_back(options.classes[i].name, std::move(by_class[i]));
  }
  if (callers) {
    report.client = callers->report();
  }
  judge_generator(report, options.tolerable_lateness, file_limit);
  return report;
}

}  // namespace loadline::tools
