// A scenario file part by part, as it was read and before names are looked up: a policy may change
// what its services and callers say, so only a policy's whole is a scenario.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config.h"
#include "sim/scenario.h"
#include "sim_file.h"
#include "sim_yaml.h"

namespace loadline::tools {

inline constexpr std::size_t kMostSimParts = 64;  // policies, kinds of callers, services

// Names that mean something only where all of the file is known keep their place with them.
using LaterName = std::optional<YamlValue>;

struct CallersSpec {
  explicit CallersSpec(const YamlValue& where) : whole(where) {}

  YamlValue whole;
  sim::Population population;  // but for what the names mean
  std::optional<sim::Distribution> work;
  bool bring_work = false;  // each of them, by a trace
  LaterName importance;
  LaterName group;
  LaterName service;
  // What makes sense only for callers whose patience ends.
  LaterName leaves;
  LaterName after_timeout;
  LaterName client;  // retries, where they are the client half's
};

struct ServiceSpec {
  struct Stall {
    Instant from{};
    Instant until{};
    bool gate = false;
  };
  struct LinkSpec {
    sim::Link link;
    YamlValue to;
  };

  sim::ServiceModel model;  // but for its gate and its links
  std::optional<sim::Distribution> work;
  std::vector<Stall> stalls;
  std::vector<LinkSpec> links;
  LaterName paces;
  LaterName autoscale;
};

// The gate in front of each instance of a service.
struct GateSpec {
  explicit GateSpec(YamlMap& where) : map(where) {}

  YamlMap map;  // that its keys stand in
  Config config;
  sim::GateModel model;  // but for its policy
  struct Group {
    std::string name;
    std::uint32_t tenants = 1;
  };
  std::vector<Group> groups;
};

struct PolicySpec {
  std::string name;
  YamlValue whole;
  std::vector<ServiceSpec> services;
  std::vector<std::optional<GateSpec>> gates;  // by service
  std::vector<CallersSpec> callers;
};

// What all of the file's parts are read with.
struct SimFileSpec {
  std::string folder;
  Duration duration{};
  bool drains = false;
  std::vector<std::string> service_names;
  std::vector<ServiceSpec> services;
  std::vector<CallersSpec> callers;
  std::vector<PolicySpec> policies;
};

// Of a map of names that people choose. Says what is wrong with a name, and where there are none or
// too many.
std::vector<YamlMap::Entry> named_entries(const YamlValue& value, std::string_view what);

struct ReadArrivals {
  sim::Arrivals arrivals = sim::Arrivals::listed({});
  bool bring_work = false;
};
ReadArrivals read_arrivals(const YamlValue& value, const SimFileSpec& file);

// The client half, where `retries` say so. Of services those of a population alone are nonsense.
std::optional<sim::ClientHalf> read_client_half(const YamlValue& retries, bool of_population);
// A fault, at `retries`, where the client half cannot have it for the bound of an attempt.
void check_patience_of_client_half(const YamlValue& retries, Duration patience);

// Every kind of callers; later, what a policy's do differently.
void read_callers(const YamlValue& value, SimFileSpec& file);
void change_callers(const YamlValue& value, PolicySpec& policy);

// Changes a service by what the map says of it.
void read_service_keys(YamlMap& map, ServiceSpec& service);
void read_service(const YamlValue& value, SimFileSpec& file);
void read_services(const YamlValue& value, SimFileSpec& file);

// Reads the gate's keys of a map; nothing where it has none, or `gate: off`. `required`: it must
// say which.
std::optional<GateSpec> read_gate(YamlMap& map, bool required);
// The policy that the gate is given, if it is sound.
Policy gate_policy(const GateSpec& gate);

void read_policies(const YamlValue& value, SimFileSpec& file);

// Looks up the names and puts each policy's scenario together.
void build_policies(const SimFileSpec& spec, SimFile& file);

// The index of a name among others; a fault, and nothing, where it is none of them.
std::optional<std::size_t> index_of(const YamlValue& name, const std::vector<std::string>& names);
// The gate finds classes in any case, as their callers write them.
std::optional<std::size_t> index_of_class(const YamlValue& name,
                                          const std::vector<std::string>& names);

void read_expectations(const YamlValue& value, SimFile& file);

}  // namespace loadline::tools
