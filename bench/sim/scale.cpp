#include "sim/scale.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

#include "sim/summary.h"
#include "sim/world.h"
#include "statistics.h"

namespace loadline::bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kMostGibibytes = 4;

struct Size {
  std::uint32_t servers;
  std::int64_t seconds;
};

// With servers, then with time.
constexpr std::array<Size, 5> kSizes{
    {{100, 60}, {1'000, 60}, {10'000, 1}, {10'000, 10}, {10'000, 60}}};

// Each server has a worker and a gate of its own, and is asked for all that it can do, at random:
// some wait, some are refused.
sim::Scenario scenario_of(const Size& size) {
  sim::Scenario scenario;
  sim::Population callers;
  callers.arrivals = sim::Arrivals::poisson(10.0 * size.servers);
  callers.work = sim::Distribution::exponential(Duration::millis(100));
  callers.patience = Duration::seconds(1);
  scenario.populations = {callers};
  sim::ServiceModel& service = scenario.services[0];
  service.server.workers = 1;
  service.instances = size.servers;
  sim::GateModel gate;
  gate.policy.limit = 1;
  fill_defaults(gate.policy);
  service.gate = gate;
  scenario.length = Duration::seconds(size.seconds);
  return scenario;
}

double peak_gibibytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / (1024 * 1024);
}

Json measured(const Size& size) {
  const double begun = processor_seconds();
  const sim::Result result = run(scenario_of(size), 1);
  const double ran = processor_seconds() - begun;
  const sim::Summary summary =
      summarize(result.journal, {.span = {Instant{}, result.ended + Duration{1}}});
  const double took = processor_seconds() - begun;
  const double gibibytes = peak_gibibytes();
  const auto requests = static_cast<double>(summary.attempts);
  return {{"name", fmt::format("sim_{}_servers_{}s", size.servers, size.seconds)},
          {"servers", size.servers},
          {"virtual_seconds", size.seconds},
          {"requests", summary.attempts},
          {"useful", summary.useful},
          {"refused", summary.rejected + summary.expired},
          {"seconds", rounded(took)},
          {"run_ns", rounded(ran * 1e9 / requests)},
          {"ns", rounded(took * 1e9 / requests)},
          {"peak_gib", rounded(gibibytes)},
          {"goal_gib", kMostGibibytes},
          {"holds", gibibytes <= kMostGibibytes}};
}

void write_all(int fd, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t n = write(fd, text.data() + done, text.size() - done);
    if (n < 0) {
      _exit(1);
    }
    done += static_cast<std::size_t>(n);
  }
}

std::string read_all(int fd) {
  std::string text;
  std::array<char, 4096> chunk{};
  for (ssize_t n = 0; (n = read(fd, chunk.data(), chunk.size())) > 0;) {
    text.append(chunk.data(), static_cast<std::size_t>(n));
  }
  return text;
}

Json measured_apart(const Size& size) {
  std::array<int, 2> ends{};
  const pid_t child = pipe(ends.data()) == 0 ? fork() : -1;
  if (child < 0) {
    throw std::runtime_error(fmt::format("no process for it: {}", std::strerror(errno)));
  }
  if (child == 0) {
    close(ends[0]);
    write_all(ends[1], measured(size).dump());
    _exit(0);
  }
  close(ends[1]);
  const std::string text = read_all(ends[0]);
  close(ends[0]);
  waitpid(child, nullptr, 0);
  Json line = Json::parse(text, nullptr, false);
  if (line.is_discarded()) {
    throw std::runtime_error(
        fmt::format("{} servers, {} s: there was no result", size.servers, size.seconds));
  }
  return line;
}

}  // namespace

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

void measure_scale(Report& report) {
  for (const Size& size : kSizes) {
    report.add(measured_apart(size));
  }
}

}  // namespace loadline::bench
