#include "demo_auto.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "demo_stage.h"
#include "limit_status.h"
#include "limit_words.h"

namespace loadline::tools {
namespace {

using namespace std::chrono_literals;

constexpr double kQuiet = 0.7;
constexpr double kOverload = 1.5;
constexpr auto kPatience = 1s;
constexpr std::size_t kToAdapt = 2;  // seconds
constexpr auto kTolerableLateness = 100ms;
constexpr double kTolerableSlowness = 1.2;

struct Service {
  std::string name;
  ServiceOptions options;
  unsigned callers;  // that keep all of it busy
};

std::vector<Service> services() {
  return {{.name = "one worker that computes for 10 ms",
           .options = {.workers = 1, .service_time = 10ms, .cpu = true, .pinned = true},
           .callers = 4},
          {.name = "32 workers that wait for 20 ms",
           .options = {.workers = 32, .service_time = 20ms},
           .callers = 96}};
}

class Run {
 public:
  Run(const Service& service, const AutoDemoOptions& options, const std::stop_token& stop)
      : service_(service),
        options_(options),
        stop_(stop),
        stage_({.service = service.options, .limit = "auto"}) {}

  AutoRow row() {
    row_.service = service_.name;
    measure_capacity();
    be_quiet();
    overload();
    tell_steps();
    return row_;
  }

 private:
  void say(const std::string& what) const { fmt::print(stderr, "{}: {}\n", service_.name, what); }

  unsigned limit() const { return stage_.gate()["limit"].get<unsigned>(); }

  LoadOptions at(double multiple, std::chrono::seconds duration) const {
    return {.url = stage_.url(),
            .rate = {{0s, multiple * row_.whole.capacity}},
            .duration = duration,
            .timeout = kPatience,
            .tolerable_lateness = kTolerableLateness};
  }

  LoadReport load(const LoadOptions& options, const ProgressCallback& progress = {}) {
    LoadReport report = run_load(options, progress, stop_);
    if (report.starved) {
      row_.fault = "the generator could not keep up: " + report.why;
    }
    return report;
  }

  void measure_capacity() {
    say("capacity, with the gate off");
    stage_.prepare(false);
    const LoadReport report = run_load({.url = stage_.url(),
                                        .closed = service_.callers,
                                        .duration = 4s,
                                        .warmup = 1s,
                                        .timeout = 10s},
                                       {}, stop_);
    row_.whole.capacity = report.goodput_per_second();
    row_.halved.capacity = row_.whole.capacity / 2;
    stage_.prepare(true);
  }

  void be_quiet() {
    say(fmt::format("{}x of {:.0f}/s for {}", kQuiet, row_.whole.capacity, options_.quiet));
    const LoadReport report = load(at(kQuiet, options_.quiet));
    row_.quiet_offered = report.total.offered;
    row_.quiet_bad = report.total.offered - report.total.good();
    row_.quiet_limit = limit();
    look_for_neighbours();
  }

  // Work that takes longer than it should was kept from the processor by others.
  void look_for_neighbours() {
    const ServiceStats stats = stage_.service_stats();
    const double wanted = std::chrono::duration<double>(service_.options.service_time).count();
    const double took =
        stats.busy_seconds / static_cast<double>(std::max<std::uint64_t>(stats.completed, 1));
    if (took > kTolerableSlowness * wanted) {
      row_.fault = fmt::format("others took its processor: {:.0f} ms of work took {:.0f} ms",
                               wanted * 1e3, took * 1e3);
    }
  }

  void overload() {
    const auto half = options_.overload / 2;
    say(fmt::format("{}x for {}, and after {} half of the service goes", kOverload,
                    options_.overload, half));
    bool halved = false;
    std::size_t halved_at = 0;
    const LoadReport report = load(at(kOverload, options_.overload), [&](const LoadProgress& now) {
      if (!halved && now.elapsed >= half) {
        halved = true;
        halved_at = static_cast<std::size_t>(now.elapsed / 1s);
        row_.whole.limit = limit();
        stage_.halve_service();
      }
    });
    row_.halved.limit = limit();
    const auto seconds = static_cast<std::size_t>(options_.overload / 1s);
    row_.whole.goodput = goodput(report, kToAdapt, halved_at);
    row_.halved.goodput = goodput(report, halved_at + kToAdapt, seconds);
  }

  // Of the seconds from `begin` to `end`.
  static double goodput(const LoadReport& report, std::size_t begin, std::size_t end) {
    end = std::min(end, report.per_second.size());
    if (begin >= end) {
      return 0;
    }
    double good = 0;
    for (std::size_t i = begin; i < end; ++i) {
      good += static_cast<double>(report.per_second[i].good);
    }
    return good / static_cast<double>(end - begin);
  }

  void tell_steps() {
    for (const LimitLine& line : explain(limit_events_of(stage_.gate()), Probes::folded)) {
      row_.steps.push_back(line.text);
    }
  }

  const Service& service_;
  const AutoDemoOptions& options_;
  const std::stop_token& stop_;
  AutoRow row_;
  DemoStage stage_;
};

std::string stretch_text(const char* name, const AutoStretch& stretch) {
  return fmt::format("  {:<26} {:>6.0f}/s, {:5.1f} % of capacity; limit {}\n", name,
                     stretch.goodput, stretch.goodput / stretch.capacity * 100, stretch.limit);
}

void judge(const AutoRow& row, const char* when, const AutoStretch& stretch,
           std::vector<std::string>& faults) {
  const double share = stretch.goodput / stretch.capacity;
  if (!(share >= kAutoAtLeast)) {
    faults.push_back(fmt::format("{}, {}: goodput {:.3f} of capacity, less than {:.2f}",
                                 row.service, when, share, kAutoAtLeast));
  }
}

nlohmann::ordered_json stretch_json(const AutoStretch& stretch) {
  return {{"capacity_per_second", stretch.capacity},
          {"goodput", stretch.goodput},
          {"goodput_of_capacity", stretch.goodput / stretch.capacity},
          {"limit", stretch.limit}};
}

}  // namespace

AutoReport run_auto_demo(const AutoDemoOptions& options, const std::stop_token& stop) {
  AutoReport report;
  for (const Service& service : services()) {
    if (!stop.stop_requested()) {
      report.rows.push_back(Run(service, options, stop).row());
    }
  }
  return report;
}

std::vector<std::string> auto_faults(const AutoReport& report) {
  std::vector<std::string> faults;
  for (const AutoRow& row : report.rows) {
    if (!row.fault.empty()) {
      faults.push_back(
          fmt::format("{}: the generator could not keep up, so the figures are about it: {}",
                      row.service, row.fault));
    }
    if (row.quiet_bad != 0) {
      faults.push_back(fmt::format("{}, at {}x: {} of {} were not served in time", row.service,
                                   kQuiet, row.quiet_bad, row.quiet_offered));
    }
    judge(row, "at 1.5x", row.whole, faults);
    judge(row, "with half of it gone", row.halved, faults);
  }
  return faults;
}

std::string auto_text(const AutoReport& report) {
  std::string text;
  for (const AutoRow& row : report.rows) {
    text += fmt::format("\n{} ({:.0f}/s measured)\n", row.service, row.whole.capacity);
    text += fmt::format("  {:<26} {} of {} not served in time; limit {}\n", "0.7x", row.quiet_bad,
                        row.quiet_offered, row.quiet_limit);
    text += stretch_text("1.5x", row.whole);
    text += stretch_text("1.5x, half of it gone", row.halved);
    text += "  the law's last steps:\n";
    for (const std::string& step : row.steps) {
      text += fmt::format("    {}\n", step);
    }
  }
  return text + "\nThe same gate in both: limit auto, and its defaults.\n\n";
}

nlohmann::ordered_json auto_json(const AutoReport& report) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const AutoRow& row : report.rows) {
    rows.push_back({{"service", row.service},
                    {"quiet",
                     {{"offered", row.quiet_offered},
                      {"not_served_in_time", row.quiet_bad},
                      {"limit", row.quiet_limit}}},
                    {"overload", stretch_json(row.whole)},
                    {"halved", stretch_json(row.halved)},
                    {"steps", row.steps},
                    {"fault", row.fault}});
  }
  const std::vector<std::string> faults = auto_faults(report);
  return {{"rows", rows}, {"held", faults.empty()}, {"faults", faults}};
}

}  // namespace loadline::tools
