// An HTTP load generator that does not flatter the server.
//
// It is open: a request is due when the schedule says so, whether or not earlier ones were
// answered, and its latency counts from that moment and not from when the generator got round to
// it. It measures how late it was itself, and says when it could not keep up: then the figures are
// about the generator.
//
//   LoadReport report = run_load({.url = service.url(), .rate = {{0s, 300}}, .duration = 10s});
//
// Words: a *call* is what a caller wants; it makes one *attempt* or, with retries, several. An
// attempt is *offered* when it is due. It ends in exactly one way, so that always
//   offered = answered (any status) + timeouts + errors.
// Attempts and calls belong to the counted window (duration without warm-up) by when they were due.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "histogram.h"
#include "loadline/client/policy.h"
#include "net_http.h"
#include "text.h"

namespace loadline::tools {

// From `from` after the start, this many a second, until the next step.
struct RateStep {
  std::chrono::nanoseconds from{};
  double per_second = 0;
};

struct ClassShare {
  std::string name;
  double weight = 1;
};

// Sums of weights stay finite, and the smallest of them is still drawn.
inline constexpr double kMostWeight = 1e6;

enum class Arrivals { poisson, fixed };

// What a caller does when an attempt times out, fails, or is answered 429 or 5xx. `backoff` waits a
// random time up to 100 ms, doubled with each attempt to at most 10 s, and no less than
// Retry-After. `loadline`: the client half decides, and may hold a call back.
enum class Retries { off, now, backoff, loadline };

struct LoadOptions {
  Url url = {};

  std::vector<RateStep> rate = {};  // ascending; empty: no steady stream, only bursts
  Arrivals arrivals = Arrivals::poisson;
  std::uint64_t burst_size = 0;  // 0: no bursts
  std::chrono::nanoseconds burst_every{};
  // Not 0: so many callers instead, each asking again as soon as it has its answer. Measures a
  // capacity, not what callers would see: while the server stalls, nobody asks.
  unsigned closed = 0;
  // For `closed`: how often a caller would have asked, to correct its latencies by.
  std::chrono::nanoseconds expected_interval{};

  std::chrono::nanoseconds duration = std::chrono::seconds{10};  // including warm-up
  std::chrono::nanoseconds warmup{};
  // Patience of each attempt, from when it was due. Then the connection is closed with RST.
  std::chrono::nanoseconds timeout = std::chrono::seconds{1};

  std::optional<std::chrono::nanoseconds> deadline = {};  // sent as whole milliseconds, at least 1
  std::string deadline_header = "X-Request-Timeout-Ms";
  std::vector<ClassShare> classes = {};  // empty: no class is sent
  std::string class_header = "X-Request-Criticality";

  Retries retries = Retries::off;
  unsigned attempts = 3;  // of a call, the first included
  // With Retries::loadline: its settings, but for the attempts and the bound of one, which is the
  // timeout; and how many programs the callers are, each with a budget and a breaker of its own.
  // `deadline` is then of a call; without one it has as many timeouts as there may be attempts.
  client::Policy client = {};
  unsigned programs = 1;

  std::string method = "GET";
  std::uint64_t body_bytes = 0;
  std::vector<HeaderField> headers = {};

  // How late the 99th percentile of the requests may go out before the report calls the generator
  // starved. Lateness counts as latency, so it never flatters; it only makes the figures its own.
  std::chrono::nanoseconds tolerable_lateness = std::chrono::milliseconds{10};

  std::uint64_t seed = 1;
  unsigned threads = 1;
  bool allow_remote = false;
};

struct Tally {
  std::uint64_t calls = 0;                // held back ones too
  std::uint64_t offered = 0;              // attempts due
  std::uint64_t sent = 0;                 // written to a connection that took them; at most offered
  std::map<int, std::uint64_t> answered;  // by status, within the timeout
  std::uint64_t timeouts = 0;
  std::map<std::string, std::uint64_t> errors;  // by kind
  Histogram accepted_latency;                   // of 2xx, from when the call was due
  Histogram rejection_latency;  // of 429, 503 and 504, from when the attempt was due

  std::uint64_t good() const;      // 2xx
  std::uint64_t rejected() const;  // 429, 503, 504
  std::uint64_t answers() const;
  std::uint64_t failures() const;  // errors of all kinds
  void merge(const Tally& other);
};

// What became of the attempts that were due in one second of the run.
struct SecondTally {
  std::uint64_t offered = 0;
  std::uint64_t good = 0;
  std::uint64_t rejected = 0;
  std::uint64_t timeouts = 0;
  std::uint64_t errors = 0;
};

// What the client half did over the whole run, in all programs.
struct ClientHalfReport {
  std::uint64_t calls = 0;
  std::uint64_t attempts = 0;
  std::map<std::string, std::uint64_t> held_back;  // calls that it did not let go, by reason
  std::map<std::string, std::uint64_t> gave_up;    // not tried again, by reason
  std::uint64_t breaker_opened = 0;
  std::chrono::nanoseconds breaker_open{};

  double attempts_per_call() const;
};

struct LoadReport {
  double window_seconds = 0;
  Tally window;
  std::vector<std::pair<std::string, Tally>> by_class;  // of the window, as in LoadOptions::classes
  Tally total;                                          // warm-up too
  std::vector<SecondTally> per_second;                  // warm-up too
  // Sent again since the server had closed the idle connection just then and its kernel took
  // nothing of the request: no fault of the server's, and no second request to it.
  std::uint64_t stale_retries = 0;
  // Of closed callers, with an expected interval.
  std::optional<Histogram> corrected_latency;
  std::optional<ClientHalfReport> client;  // with Retries::loadline

  Histogram lateness;    // of the generator itself, in the window
  bool starved = false;  // the generator could not keep up: do not believe the rest
  std::string why;

  double goodput_per_second() const;
};

struct LoadProgress {
  std::chrono::nanoseconds elapsed{};
  SecondTally so_far;  // of the whole run; what is missing to `offered` is outstanding
};
using ProgressCallback = std::function<void(const LoadProgress&)>;

// What is wrong with `options`, as one line that names the option; empty when nothing is.
std::string problem_with(const LoadOptions& options);

// Runs to the end, in threads of its own, and waits for what is outstanding (no longer than the
// timeout). `progress` is called about once a second, on the calling thread. When `stop` is asked
// for, the run ends early and reports on the time it had.
// Throws std::invalid_argument for bad options, and std::runtime_error when the host does not
// resolve or is not loopback without allow_remote.
LoadReport run_load(const LoadOptions& options, const ProgressCallback& progress = {},
                    const std::stop_token& stop = {});

}  // namespace loadline::tools
