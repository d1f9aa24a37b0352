#include "nginx/measurement.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <sstream>
#include <stdexcept>

#include "nginx/wrk.h"

namespace loadline::bench {
namespace {

using std::chrono::nanoseconds;
using Clock = std::chrono::steady_clock;

double seconds(nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

// CPU time of the children that have ended and been waited for: between two calls, wrk's.
double ended_children_s() {
  rusage used{};
  getrusage(RUSAGE_CHILDREN, &used);
  const auto in_seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return in_seconds(used.ru_utime) + in_seconds(used.ru_stime);
}

// Time for which a processor was not idle, whoever used it (proc(5): user, nice, system, idle,
// iowait, irq, softirq, steal).
double busy_s(int cpu) {
  std::ifstream file("/proc/stat");
  const std::string label = fmt::format("cpu{} ", cpu);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(label)) {
      std::istringstream fields(line.substr(label.size()));
      double user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0;
      fields >> user >> nice >> system >> idle >> iowait >> irq >> softirq >> steal;
      return (user + nice + system + irq + softirq + steal) /
             static_cast<double>(sysconf(_SC_CLK_TCK));
    }
  }
  return 0;
}

void check(const Variant& variant, const LoadResult& load) {
  const std::uint64_t expected = variant.status >= 400 ? load.requests : 0;
  if (load.errors != 0 || load.requests == 0 || load.refused != expected) {
    throw std::runtime_error(
        fmt::format("{}: {} requests, {} of them refused (expected: {}), {} failed", variant.name,
                    load.requests, load.refused, expected, load.errors));
  }
}

}  // namespace

Measurement::Measurement(Placement placement, Server& upstream, std::chrono::seconds time,
                         std::uint64_t seed)
    : placement_(placement), upstream_(upstream), time_(time), random_(seed) {}

Sample Measurement::measure(const Variant& variant) {
  Server server(variant, placement_.server);
  const auto both_busy = [&] { return busy_s(placement_.server) + busy_s(placement_.load); };

  const auto begin = Clock::now();
  const double busy_before = both_busy();
  const double known_before = ended_children_s() + seconds(upstream_.cpu_time());
  const nanoseconds ticks_before = server.cpu_time_in_ticks();
  const nanoseconds before = server.cpu_time();
  const LoadResult load = run_wrk({.port = server.port(),
                                   .time = time_,
                                   .connections = variant.connections,
                                   .cpu = placement_.load},
                                  server.folder());
  const nanoseconds used = server.cpu_time() - before;
  const nanoseconds ticks = server.cpu_time_in_ticks() - ticks_before;
  const double known = ended_children_s() + seconds(upstream_.cpu_time()) - known_before;
  const double busy = both_busy() - busy_before;
  const double wall = seconds(Clock::now() - begin);

  check(variant, load);
  const auto requests = static_cast<double>(load.requests);
  return {.us_per_request = seconds(used) * 1e6 / requests,
          .us_per_request_in_ticks = seconds(ticks) * 1e6 / requests,
          .requests = load.requests,
          .requests_per_second = requests / static_cast<double>(time_.count()),
          .server_share = seconds(used) / wall,
          .others_share = std::max(0.0, (busy - known - seconds(used)) / (2 * wall))};
}

void Measurement::add_round(const std::vector<Variant>& variants, Samples& samples) {
  std::vector<std::reference_wrapper<const Variant>> order(variants.begin(), variants.end());
  std::ranges::shuffle(order, random_);
  for (const Variant& variant : order) {
    samples[variant.name].push_back(measure(variant));
    fmt::print(stderr, "  {:<21} {:6.2f} us a request\n", variant.name,
               samples[variant.name].back().us_per_request);
  }
}

}  // namespace loadline::bench
