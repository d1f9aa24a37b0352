// A service to overload: c workers behind one unbounded queue, with nothing to protect it.
//
// It is for demonstrations and tests, and so it fails as real services do: it accepts whatever
// comes, works in order of arrival, and goes on working for callers who have left. Past its
// capacity it is busy with nothing but work that nobody waits for.
//
//   DemoService service{{.workers = 4, .service_time = 20ms}};   // runs in a thread of its own
//   run_load({.url = service.url(), ...});
//
// Requests:
//   any other path     queue, a worker for the drawn time, 200 "done"
//   /sleep?ms=N        the same for N ms
//   /healthz           200 at once, without a worker
//   /stats             the counters as JSON, at once
//   POST /reset        clears the counters
//   /echo              what was received, as JSON, at once: to see what a proxy changed
//   /stream?chunks=N&interval=100ms   N pieces, one each interval
//   GET /ws            WebSocket echo
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "text.h"

namespace loadline::tools {

enum class Distribution { fixed, exponential, lognormal };

struct ServiceOptions {
  ListenAddress listen = {};
  unsigned workers = 4;
  std::chrono::nanoseconds service_time = std::chrono::milliseconds{20};  // mean
  Distribution distribution = Distribution::fixed;
  double cv = 1;  // standard deviation / mean; lognormal only
  std::uint64_t seed = 1;
  bool cpu = false;     // burn CPU in threads; otherwise a worker is a timer, which is precise
  bool pinned = false;  // with cpu: on the last of the CPUs that may be used, and on no other
};

// Requests that need a worker; the ones answered at once are not counted. At any time
// received = completed + in_service + queued.
struct ServiceStats {
  std::uint64_t received = 0;   // read in full, body too
  std::uint64_t started = 0;    // given to a worker
  std::uint64_t completed = 0;  // worker done
  std::uint64_t abandoned = 0;  // of these, for a caller who had left
  std::uint64_t in_service = 0;
  std::uint64_t queued = 0;
  std::uint64_t max_in_service = 0;
  std::uint64_t max_outstanding = 0;  // most that were in service or queued at one time
  double busy_seconds = 0;            // summed over workers
  std::uint64_t connections = 0;      // open now
};

class DemoService {
 public:
  // Listens and starts its thread; connections are accepted from here on. Throws
  // std::runtime_error when it cannot listen.
  explicit DemoService(const ServiceOptions& options);
  // Stops at once; open connections are closed and work under way is dropped.
  ~DemoService();
  DemoService(const DemoService&) = delete;
  DemoService& operator=(const DemoService&) = delete;

  std::uint16_t port() const;
  // http://ADDRESS:PORT/
  Url url() const;

  // Any thread may call these.
  ServiceStats stats() const;
  // Counters start over. What is queued or in service counts as received since, and the largest
  // numbers start from what there is now.
  void reset();
  // From now on it does half of what it could: half of its workers go, once they are done, or a
  // single one takes twice as long.
  void halve();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace loadline::tools
