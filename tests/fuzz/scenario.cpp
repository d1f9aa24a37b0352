// A scenario file, as `loadline sim` reads it: whatever it holds, the answer is faults, each on one
// line and at a place of the file, or scenarios that the simulator can begin with.
#include <string>

#include "faults.h"
#include "fuzz.h"
#include "loadline/policy.h"
#include "sim_figure.h"
#include "sim_file.h"
#include "sim_trace.h"

namespace loadline::tools {

// In place of the one that opens files: the paths are what the fuzzer makes up.
Trace read_trace(const std::string& /*path*/, const TraceOptions& options) {
  Trace trace;
  trace.format = options.format;
  trace.callers = {{Instant{}, Duration::millis(1)}, {Instant{5}, sim::Listed::kUnknown}};
  trace.without_time = 1;
  return trace;
}

namespace {

void check_service(const SimFile& file, const sim::ServiceModel& service) {
  FUZZ_EXPECT(service.instances >= 1);
  if (service.gate) {
    FUZZ_EXPECT(!validate(service.gate->policy).refused());
    FUZZ_EXPECT(service.gate->policy.class_count == file.classes.size());
    FUZZ_EXPECT(service.gate->policy.queue.entries <= service.gate->queue_room);
  }
  for (const sim::Link& link : service.links) {
    FUZZ_EXPECT(link.service < file.services.size());
  }
}

void check_population(const SimFile& file, const sim::Population& population) {
  FUZZ_EXPECT(population.service < file.services.size());
  FUZZ_EXPECT(population.importance < file.classes.size());
  FUZZ_EXPECT(population.cost >= 1);
  Instant last{};
  for (std::uint64_t i = 0; i < 10 && last != Instant::never(); ++i) {
    const Instant next = population.arrivals.next(last, i, sim::Draws(1, 0, i));
    FUZZ_EXPECT(next >= last || population.arrivals.is_closed());
    last = next;
  }
}

void check_scenario(const SimFile& file, const sim::Scenario& scenario) {
  FUZZ_EXPECT(scenario.length > Duration{});
  FUZZ_EXPECT(scenario.services.size() == file.services.size());
  FUZZ_EXPECT(scenario.populations.size() == file.callers.size());
  for (const sim::ServiceModel& service : scenario.services) {
    check_service(file, service);
  }
  for (const sim::Population& population : scenario.populations) {
    check_population(file, population);
  }
}

void check(const std::string& text, SimLength length) {
  const SimFile file = read_sim_text(text, "/nowhere", length);
  check_faults(text, file.faults);
  if (!file.faults.empty()) {
    return;
  }
  FUZZ_EXPECT(!file.policies.empty() && !file.callers.empty() && !file.services.empty());
  FUZZ_EXPECT(file.measured.from < file.measured.to && file.seeds >= 1);
  for (const SimPolicy& policy : file.policies) {
    check_scenario(file, policy.scenario);
  }
  for (const SimExpectation& expectation : file.expectations) {
    FUZZ_EXPECT(find_sim_figure(expectation.figure) != nullptr);
    FUZZ_EXPECT(expectation.from.span.from < expectation.from.span.to);
    FUZZ_EXPECT(expectation.bound.of != kOracle || file.oracle);
    FUZZ_EXPECT(expectation.text.starts_with(expectation.what));
    const Duration span = expectation.from.span.to - expectation.from.span.from;
    FUZZ_EXPECT(expectation.each == Duration{} ||
                (expectation.each <= expectation.every && expectation.each <= span));
    const auto& other = expectation.bound.of_span;
    FUZZ_EXPECT(!other || (!expectation.bound.of.empty() && other->from < other->to));
  }
}

}  // namespace
}  // namespace loadline::tools

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  using loadline::tools::SimLength;
  for (const SimLength length : {SimLength::usual, SimLength::shortened, SimLength::full}) {
    loadline::tools::check(text, length);
  }
  return 0;
}
