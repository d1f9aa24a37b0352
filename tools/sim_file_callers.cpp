#include <algorithm>
#include <utility>

#include "loadline/policy.h"
#include "sim_file_spec.h"
#include "sim_file_values.h"

namespace loadline::tools {
namespace {

constexpr std::uint32_t kMostAttempts = 100;

void read_after(const YamlValue& value, CallersSpec& callers) {
  callers.population.retry.after_timeout = false;
  callers.population.retry.after_failure = false;
  callers.after_timeout.reset();
  if (value.is_off()) {
    return;
  }
  for (const YamlValue& item : value.items()) {
    const auto word = word_of(item, {"timeout", "failure"});
    if (word == 0U) {
      callers.population.retry.after_timeout = true;
      callers.after_timeout = item;
    } else if (word == 1U) {
      callers.population.retry.after_failure = true;
    }
  }
}

// What is not said is as if there were no retries: a policy's replace the callers' as a whole.
void read_retries(const YamlValue& value, CallersSpec& callers) {
  callers.population.retry = {};
  callers.after_timeout.reset();
  callers.client.reset();
  if (value.is_off()) {
    return;
  }
  if (const auto client = read_client_half(value, true)) {
    callers.population.retry.client = client;
    callers.client = value;
    return;
  }
  YamlMap map(value,
              "off, loadline or a map of attempts, pause, growth, jitter, obeys, after, elsewhere, "
              "or of loadline");
  sim::Retry& retry = callers.population.retry;
  map.need("attempts", "attempts: 3");
  take(map, "attempts", retry.attempts, count_of, 1U, kMostAttempts);
  take(map, "pause", retry.pause, time_of, Duration{}, kLongestSimTime);
  take(map, "growth", retry.growth, number_of, 1.0, 100.0);
  take(map, "jitter", retry.jitter, share_of, 0.0, 1.0);
  take(map, "obeys", retry.obeys, switch_of);
  take(map, "elsewhere", retry.elsewhere, switch_of);
  if (const YamlValue* const after = map.find("after")) {
    read_after(*after, callers);
  }
  map.refuse_others();
}

void read_tenants(const YamlValue& value, CallersSpec& callers) {
  sim::Tenants& tenants = callers.population.tenants;
  tenants = {};
  callers.group.reset();
  if (value.is_off()) {
    return;
  }
  YamlMap map(value, "off or a map of number, first, choice, group");
  map.need("number", "number: 100");
  std::uint32_t number = 0;
  std::uint32_t first = 1;
  take(map, "number", number, count_of, 1U, 1'000'000'000U);
  take(map, "first", first, count_of, 1U, 1'000'000'000U);
  tenants.count = number;
  tenants.first = first;
  if (const YamlValue* const choice = map.find("choice")) {
    const auto word = word_of(*choice, {"random", "in_turn"});
    tenants.choice = word == 1U ? sim::Tenants::Choice::in_turn : sim::Tenants::Choice::random;
  }
  if (const YamlValue* const group = map.find("group")) {
    callers.group = *group;
  }
  map.refuse_others();
}

void read_patience(const YamlValue& value, sim::Population& population) {
  if (value.is_off()) {
    population.patience = Duration::max();
  } else if (const auto time = time_of(value, Duration::micros(1))) {
    population.patience = *time;
  }
}

// What a policy may change.
void read_behaviour(YamlMap& map, CallersSpec& callers) {
  sim::Population& population = callers.population;
  if (const YamlValue* const patience = map.find("patience")) {
    read_patience(*patience, population);
  }
  take(map, "tells_deadline", population.tells_deadline, switch_of);
  if (const YamlValue* const leaves = map.find("leaves")) {
    population.departs = switch_of(*leaves).value_or(false);
    callers.leaves = *leaves;
  }
  if (const YamlValue* const name = map.find("class")) {
    callers.importance = *name;
  }
  take(map, "weight", population.cost, count_of, 1U, kMaxLimit);
  if (const YamlValue* const tenants = map.find("tenants")) {
    read_tenants(*tenants, callers);
  }
  if (const YamlValue* const retries = map.find("retries")) {
    read_retries(*retries, callers);
  }
}

}  // namespace

std::vector<YamlMap::Entry> named_entries(const YamlValue& value, std::string_view what) {
  const YamlMap map(value, fmt::format("a map of {}, each by its name", what));
  std::vector<YamlMap::Entry> entries = map.entries();
  if (value.is_map() && entries.empty()) {
    value.fault(fmt::format("an empty map: allowed is a map of {}, at least one", what));
  }
  if (entries.size() > kMostSimParts) {
    value.fault(fmt::format("{} {}: allowed are up to {}", entries.size(), what, kMostSimParts));
    entries.clear();
  }
  std::erase_if(entries, [](const YamlMap::Entry& entry) {
    return !is_name(
        YamlValue(entry.value.node(), entry.value.path(), entry.place, entry.value.faults()),
        entry.name);
  });
  return entries;
}

void read_callers(const YamlValue& value, SimFileSpec& file) {
  for (const YamlMap::Entry& entry : named_entries(value, "kinds of callers")) {
    YamlMap map(entry.value, "a map of arrivals, work, patience and more");
    CallersSpec callers(entry.value);
    callers.population.name = entry.name;
    if (const YamlValue* const arrivals = map.need("arrivals", "arrivals: {poisson: 100/s}")) {
      ReadArrivals read = read_arrivals(*arrivals, file);
      callers.population.arrivals = std::move(read.arrivals);
      callers.bring_work = read.bring_work;
    }
    read_work(map, callers.work);
    take(map, "worker", callers.population.needs_worker, switch_of);
    if (const YamlValue* const service = map.find("calls")) {
      callers.service = *service;
    }
    read_behaviour(map, callers);
    map.refuse_others();
    file.callers.push_back(std::move(callers));
  }
}

void change_callers(const YamlValue& value, PolicySpec& policy) {
  const YamlMap map(value, "a map of kinds of callers");
  for (const YamlMap::Entry& entry : map.entries()) {
    const auto found = std::find_if(
        policy.callers.begin(), policy.callers.end(),
        [&](const CallersSpec& callers) { return callers.population.name == entry.name; });
    if (found == policy.callers.end()) {
      std::vector<std::string_view> known;
      for (const CallersSpec& callers : policy.callers) {
        known.emplace_back(callers.population.name);
      }
      map.fault(entry.name, unknown_name(entry.name, known));
      continue;
    }
    if (entry.value.is_off()) {
      found->population.arrivals = sim::Arrivals::listed({});
      continue;
    }
    YamlMap changes(entry.value,
                    "off or a map of patience, retries and what else they do differently");
    read_behaviour(changes, *found);
    changes.refuse_others();
  }
}

}  // namespace loadline::tools
