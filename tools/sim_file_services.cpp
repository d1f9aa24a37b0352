#include <algorithm>

#include "config_values.h"
#include "sim_file_spec.h"
#include "sim_file_values.h"

namespace loadline::tools {
namespace {

using Contention = sim::Contention;
using Workers = sim::Steps<std::uint32_t>;

constexpr std::uint32_t kMostWorkers = 1'000'000;
constexpr std::uint32_t kMostInstances = 10'000;
constexpr double kHighestSpeed = 1000;
constexpr Duration kShortest = Duration::micros(1);

std::optional<std::uint32_t> workers_of(const YamlValue& value) {
  if (value.text() == "unlimited") {
    return sim::ServerModel::kUnlimited;
  }
  if (const auto number = parse_count(value.text(), 1, kMostWorkers)) {
    return number;
  }
  value.refuse(fmt::format("unlimited or a whole number from 1 to {}", kMostWorkers));
  return std::nullopt;
}

void read_workers(const YamlValue& value, ServiceSpec& service) {
  auto workers = steps_of<std::uint32_t>(value, "number", 1, workers_of);
  if (!workers) {
    return;
  }
  const auto& changes = workers->changes();
  if (changes.size() > 1 && changes[1].from != Instant{}) {
    value.items().front().fault("the first must be from 0s: how many are there before?");
    return;
  }
  service.model.server.workers = std::move(*workers);
}

void read_stalls(const YamlValue& value, ServiceSpec& service) {
  service.stalls.clear();
  if (value.is_off()) {
    return;
  }
  for (const YamlValue& item : value.items()) {
    YamlMap map(item, "a map of from, until and gate");
    const YamlValue* const from = map.need("from", "from: 30s");
    const YamlValue* const until = map.need("until", "until: 40s");
    ServiceSpec::Stall stall;
    take(map, "gate", stall.gate, switch_of);
    map.refuse_others();
    const auto begin = from != nullptr ? moment_of(*from) : std::nullopt;
    const auto end = until != nullptr ? moment_of(*until) : std::nullopt;
    const auto last =
        service.stalls.empty() ? std::nullopt : std::optional(service.stalls.back().until);
    if (begin && end && comes_after(*from, *begin, last, true) &&
        comes_after(*until, *end, begin)) {
      stall.from = *begin;
      stall.until = *end;
      service.stalls.push_back(stall);
    }
  }
}

void read_contention(const YamlValue& value, ServiceSpec& service) {
  Contention& contention = service.model.server.contention;
  contention = {};
  if (value.is_off()) {
    return;
  }
  YamlMap map(value, "off, {sharing: CORES} or {overhead: PERCENT%, above: NUMBER}");
  const bool shares = map.find("sharing") != nullptr;
  const bool has_overhead = map.find("overhead") != nullptr;
  if (value.is_map() && (shares == has_overhead || (shares && map.find("above") != nullptr))) {
    value.fault("allowed is either sharing, or overhead and above");
  }
  std::uint32_t cores = 1;
  std::uint32_t above = 1;
  take(map, "sharing", cores, count_of, 1U, kMostWorkers);
  take(map, "overhead", contention.each, share_of, 0.0, 1.0);
  if (has_overhead && !shares) {
    map.need("above", "above: 32");
  }
  take(map, "above", above, count_of, 0U, kMostWorkers);
  map.refuse_others();
  contention.kind = shares ? Contention::Kind::sharing : Contention::Kind::overhead;
  contention.among = shares ? cores : above;
}

void read_cold(const YamlValue& value, ServiceSpec& service) {
  sim::ServerModel& server = service.model.server;
  server.cold_for = {};
  server.cold_speed = 1;
  if (value.is_off()) {
    return;
  }
  YamlMap map(value, "off or a map of for and speed");
  map.need("for", "for: 5s");
  map.need("speed", "speed: 0.33");
  take(map, "for", server.cold_for, time_of, Duration{}, kLongestSimTime);
  take(map, "speed", server.cold_speed, number_of, 0.0, kHighestSpeed);
  map.refuse_others();
}

void read_failing(const YamlValue& value, ServiceSpec& service) {
  sim::ServerModel& server = service.model.server;
  server.failing = 0.0;
  server.failure_work = {};
  if (value.is_off()) {
    return;
  }
  YamlMap map(value, "off or a map of share and after");
  if (const YamlValue* const share = map.need("share", "share: 30%")) {
    if (auto steps = steps_of<double>(*share, "share", 0.0, share_of, 0.0, 1.0)) {
      server.failing = std::move(*steps);
    }
  }
  take(map, "after", server.failure_work, time_of, Duration{}, kLongestSimTime);
  map.refuse_others();
}

void read_paces(const YamlValue& value, ServiceSpec& service) {
  service.model.paces.clear();
  service.paces = value;
  if (value.is_off()) {
    return;
  }
  for (const YamlValue& item : value.items()) {
    if (const auto pace = number_of(item, 0.0, kHighestSpeed)) {
      service.model.paces.push_back(*pace);
    }
  }
}

// Of a link: the client half, in place of its attempts and its pause.
void read_retries(YamlMap& map, sim::Link& link) {
  const YamlValue* const retries = map.find("retries");
  if (retries == nullptr) {
    return;
  }
  link.client = read_client_half(*retries, false);
  if (!link.client) {
    retries->refuse("loadline, or a map of loadline");
    return;
  }
  for (const std::string_view key : {"attempts", "pause"}) {
    if (map.find(key) != nullptr) {
      map.fault(key, "does not go with 'retries: loadline', which says it");
    }
  }
  link.attempts = link.client->policy.retry.attempts;
  check_patience_of_client_half(*retries, link.patience);
}

void read_links(const YamlValue& value, ServiceSpec& service) {
  service.links.clear();
  if (value.is_off()) {
    return;
  }
  for (const YamlValue& item : value.items()) {
    YamlMap map(item, "a map of to, attempts, pause, patience and retries");
    const YamlValue* const to = map.need("to", "to: store");
    sim::Link link;
    take(map, "attempts", link.attempts, count_of, 1U, 100U);
    take(map, "pause", link.pause, time_of, Duration{}, kLongestSimTime);
    take(map, "patience", link.patience, time_of, kShortest, kLongestSimTime);
    read_retries(map, link);
    map.refuse_others();
    if (to != nullptr) {
      service.links.push_back({link, *to});
    }
  }
}

void read_readiness(const YamlValue& value, ServiceSpec& service) {
  service.model.readiness.reset();
  if (value.is_off()) {
    return;
  }
  YamlMap map(value, "off or a map of tied_to_load, every, patience, failures, successes, work");
  sim::Readiness readiness;
  take(map, "tied_to_load", readiness.tied_to_load, switch_of);
  take(map, "every", readiness.interval, time_of, Duration::millis(1), kLongestSimTime);
  take(map, "patience", readiness.patience, time_of, kShortest, kLongestSimTime);
  take(map, "failures", readiness.failures, count_of, 1U, 1000U);
  take(map, "successes", readiness.successes, count_of, 1U, 1000U);
  take(map, "work", readiness.work, time_of, Duration{}, kLongestSimTime);
  map.refuse_others();
  service.model.readiness = readiness;
}

void read_autoscale(const YamlValue& value, ServiceSpec& service) {
  service.model.scaling.reset();
  service.autoscale.reset();
  if (value.is_off()) {
    return;
  }
  YamlMap map(value, "off or a map of target, every, after, up_to");
  sim::Scaling scaling;
  take(map, "target", scaling.target, share_of, 0.01, 1.0);
  take(map, "every", scaling.interval, time_of, Duration::millis(1), kLongestSimTime);
  take(map, "after", scaling.delay, time_of, Duration{}, kLongestSimTime);
  service.autoscale = map.need("up_to", "up_to: 4") != nullptr ? *map.find("up_to") : value;
  take(map, "up_to", scaling.most, count_of, 1U, kMostInstances);
  map.refuse_others();
  service.model.scaling = scaling;
}

void read_server_keys(YamlMap& map, sim::ServerModel& server) {
  if (const YamlValue* const speed = map.find("speed")) {
    if (auto steps = steps_of<double>(*speed, "speed", 1.0, number_of, 0.0, kHighestSpeed)) {
      server.speed = std::move(*steps);
    }
  }
  if (const YamlValue* const line = map.find("line")) {
    server.newest_first = word_of(*line, {"oldest", "newest"}) == 1U;
  }
  take(map, "rejection_work", server.rejection_work, time_of, Duration{}, kLongestSimTime);
  if (const YamlValue* const works_on = map.find("works_on")) {
    if (works_on->is_off()) {
      server.works_on = Duration::max();
    } else if (const auto time = time_of(*works_on, Duration{})) {
      server.works_on = *time;
    }
  }
}

}  // namespace

void read_service_keys(YamlMap& map, ServiceSpec& service) {
  static constexpr struct {
    std::string_view name;
    void (*read)(const YamlValue&, ServiceSpec&);
  } kParts[] = {
      {"workers", read_workers}, {"stalls", read_stalls},       {"contention", read_contention},
      {"cold", read_cold},       {"failing", read_failing},     {"paces", read_paces},
      {"links", read_links},     {"readiness", read_readiness}, {"autoscale", read_autoscale}};
  for (const auto& part : kParts) {
    if (const YamlValue* const value = map.find(part.name)) {
      part.read(*value, service);
    }
  }
  read_server_keys(map, service.model.server);
  read_work(map, service.work);
  take(map, "instances", service.model.instances, count_of, 1U, kMostInstances);
  if (const YamlValue* const balance = map.find("balance")) {
    const auto word = word_of(*balance, {"in_turn", "least_loaded", "random"});
    service.model.balance = static_cast<sim::ServiceModel::Balance>(word.value_or(0));
  }
  take(map, "keeps_worker", service.model.keeps_worker, switch_of);
}

void read_service(const YamlValue& value, SimFileSpec& file) {
  YamlMap map(value, "a map of workers, work and more");
  ServiceSpec service;
  read_service_keys(map, service);
  map.refuse_others();
  file.service_names.push_back(service.model.name);
  file.services.push_back(std::move(service));
}

void read_services(const YamlValue& value, SimFileSpec& file) {
  for (const YamlMap::Entry& entry : named_entries(value, "services")) {
    read_service(entry.value, file);
    file.services.back().model.name = entry.name;
    file.service_names.back() = entry.name;
  }
}

}  // namespace loadline::tools
