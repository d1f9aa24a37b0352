#include "sim_replay.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <queue>

#include "sim/seconds.h"
#include "sim_trace_records.h"
#include "text.h"

namespace loadline::tools {
namespace {

constexpr double kFastest = 1000;
constexpr double kSlowest = 0.001;

std::optional<double> median_work(const Trace& trace) {
  std::vector<std::int64_t> known;
  known.reserve(trace.callers.size() - trace.without_time);
  for (const sim::Listed& caller : trace.callers) {
    if (caller.work != sim::Listed::kUnknown) {
      known.push_back(caller.work.ns);
    }
  }
  if (known.empty()) {
    return std::nullopt;
  }
  const auto middle = known.begin() + static_cast<std::ptrdiff_t>((known.size() - 1) / 2);
  std::nth_element(known.begin(), middle, known.end());
  return sim::seconds(Duration{*middle});
}

std::uint64_t fullest_second(const Trace& trace) {
  std::uint64_t most = 0;
  std::uint64_t here = 0;
  std::int64_t second = 0;
  for (const sim::Listed& caller : trace.callers) {
    const std::int64_t its = caller.at.ns / 1'000'000'000;
    here = its == second ? here + 1 : 1;
    second = its;
    most = std::max(most, here);
  }
  return most;
}

// How many callers found so many in flight, themselves included, by that number.
std::vector<std::uint64_t> found_in_flight(const Trace& trace, Duration unknown) {
  std::priority_queue<Instant, std::vector<Instant>, std::greater<>> ends;
  std::vector<std::uint64_t> found(1);
  for (const sim::Listed& caller : trace.callers) {
    while (!ends.empty() && ends.top() <= caller.at) {
      ends.pop();
    }
    ends.push(caller.at + (caller.work == sim::Listed::kUnknown ? unknown : caller.work));
    found.resize(std::max(found.size(), ends.size() + 1));
    ++found[ends.size()];
  }
  return found;
}

// The least number that so many per mille found, or fewer.
std::uint32_t per_mille(const std::vector<std::uint64_t>& found, std::uint64_t callers,
                        std::uint64_t share) {
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    seen += found[i];
    if (seen * 1000 >= share * callers) {
      return static_cast<std::uint32_t>(i);
    }
  }
  return static_cast<std::uint32_t>(found.size() - 1);
}

std::optional<Duration> work_of_the_unknown(const TraceSummary& summary,
                                            const ReplayOptions& options) {
  if (options.unknown_work) {
    return options.unknown_work->mean();
  }
  return summary.work ? std::optional(sim::duration(*summary.work)) : std::nullopt;
}

// Why it cannot be replayed.
std::string what_is_wrong(const Trace& trace, const TraceSummary& summary,
                          const ReplayOptions& options) {
  if (!trace.refusal.empty()) {
    return trace.refusal;
  }
  if (trace.callers.empty()) {
    return "no requests in it";
  }
  if (trace.without_time > 0 && !work_of_the_unknown(summary, options)) {
    return "not one of the requests says how long it took: say how long they take";
  }
  if (!(options.faster >= kSlowest && options.faster <= kFastest)) {
    return fmt::format("{} times as fast: allowed is {} to {}", options.faster, kSlowest, kFastest);
  }
  const auto allowed = [](std::uint32_t n) { return n >= 1 && n <= kMaxLimit; };
  if (!std::all_of(options.limits.begin(), options.limits.end(), allowed) ||
      !allowed(options.workers.value_or(1))) {
    return fmt::format("limits and workers: allowed is 1 to {}", kMaxLimit);
  }
  if (options.seeds == 0) {
    return "0 seeds: allowed is 1 or more";
  }
  return {};
}

std::vector<sim::Listed> sped_up(const std::vector<sim::Listed>& callers, double faster) {
  std::vector<sim::Listed> sooner = callers;
  if (faster != 1) {
    for (sim::Listed& caller : sooner) {
      caller.at = sim::at(sim::seconds(caller.at) / faster);
    }
  }
  return sooner;
}

// Rising, none twice.
std::vector<std::uint32_t> limits_to_compare(const TraceSummary& summary,
                                             const ReplayOptions& options) {
  std::vector<std::uint32_t> limits = options.limits;
  if (limits.empty() && options.workers) {
    limits = {*options.workers, 2 * *options.workers};
  } else if (limits.empty()) {
    limits = {summary.in_flight_p50, summary.in_flight_p90, summary.in_flight_p99,
              summary.in_flight_most};
  }
  for (std::uint32_t& limit : limits) {
    limit = std::clamp(limit, 1U, kMaxLimit);
  }
  std::sort(limits.begin(), limits.end());
  limits.erase(std::unique(limits.begin(), limits.end()), limits.end());
  return limits;
}

// Nobody waits longer than the wait budget, so no more wait than come within one: twice the fullest
// second holds for any stretch of a second. (A gate looks through all its places at times; room
// that is never used costs the run time.)
std::uint32_t places_needed(const TraceSummary& summary, const ReplayOptions& options) {
  if (options.queue.kind == QueueSize::Kind::fixed) {
    return options.queue.entries;
  }
  const double come = 2 * static_cast<double>(summary.peak) * std::ceil(options.faster) *
                      std::ceil(sim::seconds(options.wait));
  return static_cast<std::uint32_t>(std::clamp(come, 64.0, double{kMaxQueue}));
}

sim::GateModel gate_of(std::uint32_t limit, const TraceSummary& summary,
                       const ReplayOptions& options) {
  sim::GateModel gate;
  gate.policy.limit = limit;
  gate.policy.queue = options.queue;
  gate.policy.wait_budget = options.wait;
  fill_defaults(gate.policy);
  gate.queue_room = places_needed(summary, options);
  return gate;
}

sim::Scenario without_gate(const Trace& trace, const TraceSummary& summary,
                           const ReplayOptions& options) {
  std::vector<sim::Listed> callers = sped_up(trace.callers, options.faster);
  sim::Scenario scenario;
  // Whole seconds, and the last caller within them.
  scenario.length = Duration::seconds(callers.back().at.ns / 1'000'000'000 + 1);
  scenario.drains = true;
  sim::Population population;
  population.name = "trace";
  population.work = options.unknown_work.value_or(
      sim::Distribution::fixed(work_of_the_unknown(summary, options).value_or(Duration{})));
  population.patience = options.patience;
  population.importance = gate_of(1, summary, options).policy.default_class;
  population.arrivals = sim::Arrivals::listed(std::move(callers));
  scenario.populations.push_back(std::move(population));
  if (options.workers) {
    scenario.services.front().server.workers = *options.workers;
  }
  return scenario;
}

std::string about(const Trace& trace, const TraceSummary& summary, const ReplayOptions& options) {
  std::string text = describe_trace(trace, summary);
  if (options.faster != 1) {
    text += fmt::format("played {} times as fast\n", options.faster);
  }
  return text;
}

// Three digits are plenty for a reader.
std::string format_seconds(double seconds) {
  const double unit = seconds <= 0 ? 1e-9 : std::pow(10, std::floor(std::log10(seconds)) - 2);
  return format_time(
      std::chrono::nanoseconds(std::llround(std::round(seconds / unit) * unit * 1e9)));
}

std::string format_share(double share) {
  return fmt::format("{:.3g} %", share * 100);
}

}  // namespace

TraceSummary summarize_trace(const Trace& trace, const ReplayOptions& options) {
  TraceSummary summary;
  summary.callers = trace.callers.size();
  if (trace.callers.empty()) {
    return summary;
  }
  const auto callers = static_cast<double>(summary.callers);
  summary.span = sim::seconds(trace.callers.back().at - trace.callers.front().at);
  summary.per_second = summary.span > 0 ? callers / summary.span : 0;
  summary.peak = fullest_second(trace);
  summary.without_time = static_cast<double>(trace.without_time) / callers;
  summary.refused = static_cast<double>(trace.refused) / callers;
  summary.work = median_work(trace);
  const auto unknown = work_of_the_unknown(summary, options);
  if (!unknown && trace.without_time > 0) {
    return summary;
  }
  const auto found = found_in_flight(trace, unknown.value_or(Duration{}));
  summary.in_flight_p50 = per_mille(found, summary.callers, 500);
  summary.in_flight_p90 = per_mille(found, summary.callers, 900);
  summary.in_flight_p99 = per_mille(found, summary.callers, 990);
  summary.in_flight_most = per_mille(found, summary.callers, 1000);
  return summary;
}

std::string describe_trace(const Trace& trace, const TraceSummary& summary) {
  std::string text = fmt::format(
      "{} requests in {} ({})\n", summary.callers,
      summary.span < 60 ? format_seconds(summary.span) : describe_span(std::llround(summary.span)),
      trace_format_name(trace.format));
  text += fmt::format("{:.4g}/s, {} in the fullest second\n", summary.per_second, summary.peak);
  if (summary.in_flight_most > 0) {
    text += fmt::format("in flight, as a request found it: p50 {}, p90 {}, p99 {}, most {}\n",
                        summary.in_flight_p50, summary.in_flight_p90, summary.in_flight_p99,
                        summary.in_flight_most);
  }
  if (summary.work) {
    text += fmt::format("time taken: median {}", format_seconds(*summary.work));
    text += summary.without_time > 0
                ? fmt::format(", not known of {} ({} refused that night)\n",
                              format_share(summary.without_time), format_share(summary.refused))
                : "\n";
  } else {
    text += "time taken: not recorded\n";
  }
  if (trace.no_calls > 0 || trace.unreadable() > 0) {
    text +=
        fmt::format("left out: {} connections without a request, {} lines that cannot be read\n",
                    trace.no_calls, trace.unreadable());
  }
  return text;
}

SimFile replay_of(const Trace& trace, const ReplayOptions& options) {
  SimFile file;
  const TraceSummary summary = summarize_trace(trace, options);
  if (auto wrong = what_is_wrong(trace, summary, options); !wrong.empty()) {
    file.faults.push_back({{}, std::move(wrong)});
    return file;
  }
  const sim::Scenario open = without_gate(trace, summary, options);
  file.about = about(trace, summary, options);
  file.policies.push_back({"no gate", open});
  for (const std::uint32_t limit : limits_to_compare(summary, options)) {
    sim::Scenario gated = open;
    gated.services.front().gate = gate_of(limit, summary, options);
    if (const auto error = validate(gated.services.front().gate->policy); error.refused()) {
      file.faults.push_back({{}, error.text.data()});
      return file;
    }
    file.policies.push_back({fmt::format("limit {}", limit), std::move(gated)});
  }
  const Policy policy = gate_of(1, summary, options).policy;
  for (std::uint32_t i = 0; i < policy.class_count; ++i) {
    file.classes.emplace_back(policy.classes[i].name_view());
  }
  file.callers = {open.populations.front().name};
  file.services = {open.services.front().name};
  file.measured = {Instant{}, Instant{} + open.length};
  file.seeds = options.seeds;
  return file;
}

}  // namespace loadline::tools
