// loadline_gate: a gate's name, its zone, and its policy.
#include <algorithm>

#include "reading.h"
#include "zone.h"

namespace loadline::ngx {
namespace {

constexpr std::size_t kMaxGateName = 63;

// What the arguments of one loadline_gate have said so far.
struct GateArguments {
  HostedGate* hosted = nullptr;
  ngx_str_t default_name{};
  bool limit_set = false;
  bool queue_set = false;
  bool wait_set = false;
  bool mode_set = false;
};

char* read_limit(ngx_conf_t* cf, ngx_str_t value, GateArguments& gate) noexcept {
  const ngx_int_t limit = ngx_atoi(value.data, value.len);
  if (limit < 1 || limit > ngx_int_t{kMaxLimit}) {
    return refuse(cf,
                  "invalid limit \"%V\" in \"loadline_gate\": must be a whole number from 1 to %uD",
                  &value, kMaxLimit);
  }
  gate.hosted->policy.limit = static_cast<std::uint32_t>(limit);
  gate.limit_set = true;
  return NGX_CONF_OK;
}

char* read_queue(ngx_conf_t* cf, ngx_str_t value, GateArguments& gate) noexcept {
  gate.queue_set = true;
  if (view(value) == "auto") {
    gate.hosted->policy.queue = QueueSize::sized_by_budget();
    return NGX_CONF_OK;
  }
  if (view(value) == "off") {
    gate.hosted->policy.queue = QueueSize::none();
    return NGX_CONF_OK;
  }
  const ngx_int_t entries = ngx_atoi(value.data, value.len);
  if (entries < 1 || entries > ngx_int_t{kMaxQueue}) {
    return refuse(cf,
                  "invalid queue \"%V\" in \"loadline_gate\": must be \"auto\", \"off\" or a whole "
                  "number from 1 to %uD",
                  &value, kMaxQueue);
  }
  gate.hosted->policy.queue = QueueSize::at_most(static_cast<std::uint32_t>(entries));
  return NGX_CONF_OK;
}

char* read_wait(ngx_conf_t* cf, ngx_str_t value, GateArguments& gate) noexcept {
  constexpr ngx_int_t kLongest = 3'600'000;
  const ngx_int_t milliseconds = ngx_parse_time(&value, 0);
  if (milliseconds == NGX_ERROR || milliseconds < 1 || milliseconds > kLongest) {
    return refuse(cf, "invalid wait \"%V\" in \"loadline_gate\": must be a time from 1ms to 1h",
                  &value);
  }
  gate.hosted->policy.wait_budget = Duration::millis(milliseconds);
  gate.wait_set = true;
  return NGX_CONF_OK;
}

char* read_mode(ngx_conf_t* cf, ngx_str_t value, GateArguments& gate) noexcept {
  gate.mode_set = true;
  if (find_mode(view(value), gate.hosted->mode)) {
    return NGX_CONF_OK;
  }
  return refuse(cf,
                "invalid mode \"%V\" in \"loadline_gate\": must be \"on\", \"observe\" or \"off\"",
                &value);
}

// NAME or NAME:PERCENT%. The share is per mille for the policy; 0: none given.
char* read_class(ngx_conf_t* cf, ngx_str_t item, Policy& policy) noexcept {
  u_char* const end = item.data + item.len;
  u_char* const colon = std::find(item.data, end, ':');
  ngx_str_t name{static_cast<std::size_t>(colon - item.data), item.data};
  std::uint16_t share = 0;
  if (colon != end) {
    u_char* const digits = colon + 1;
    const bool has_sign = end > digits && end[-1] == '%';
    const ngx_int_t percent =
        has_sign ? ngx_atoi(digits, static_cast<std::size_t>(end - 1 - digits)) : NGX_ERROR;
    if (percent < 1 || percent > 100) {
      return refuse(cf,
                    "invalid share in class \"%V\" in \"loadline_gate\": must be from 1%% to 100%%",
                    &item);
    }
    share = static_cast<std::uint16_t>(percent * 10);
  }
  if (!is_name(name) || name.len > kMaxClassName) {
    return refuse(
        cf,
        "invalid class name \"%V\" in \"loadline_gate\": must be 1 to %uD letters, digits, "
        "\"_\", \"-\" or \".\"",
        &name, kMaxClassName);
  }
  if (find_class_in_any_case(policy, view(name)) >= 0) {
    return refuse(cf, "duplicate class \"%V\" in \"loadline_gate\"", &name);
  }
  if (!add_class(policy, view(name), share)) {
    return refuse(cf, "too many classes in \"loadline_gate\": at most %uD are allowed",
                  kMaxClasses);
  }
  return NGX_CONF_OK;
}

// A class may not fill more than a more important one. Without a share of its own it fills as much.
char* check_shares(ngx_conf_t* cf, const Policy& policy) noexcept {
  constexpr std::uint32_t kAll = 1000;
  constexpr std::uint32_t kPercent = 10;
  std::uint32_t above = kAll;
  for (std::uint32_t i = 0; i < policy.class_count; ++i) {
    const ClassPolicy& here = policy.classes[i];
    const std::uint32_t share = here.share == 0 ? above : here.share;
    if (share > above) {
      return refuse(cf,
                    "class \"%s\" in \"loadline_gate\" may fill %uD%% of the limit, and a more "
                    "important class only %uD%%: shares must not grow towards the less important",
                    here.name.data(), share / kPercent, above / kPercent);
    }
    above = share;
  }
  return NGX_CONF_OK;
}

char* read_classes(ngx_conf_t* cf, ngx_str_t list, GateArguments& gate) noexcept {
  Policy& policy = gate.hosted->policy;
  if (policy.class_count != 0) {
    return refuse(cf, "duplicate parameter \"classes\" in \"loadline_gate\"");
  }
  u_char* const end = list.data + list.len;
  for (u_char* at = list.data;; ++at) {
    u_char* const comma = std::find(at, end, ',');
    if (read_class(cf, {static_cast<std::size_t>(comma - at), at}, policy) != NGX_CONF_OK) {
      return kError;
    }
    at = comma;
    if (comma == end) {
      return check_shares(cf, policy);
    }
  }
}

char* read_gate_parameter(ngx_conf_t* cf, const ngx_str_t& argument, GateArguments& gate) noexcept {
  struct Parameter {
    std::string_view prefix;
    char* (*read)(ngx_conf_t*, ngx_str_t, GateArguments&) noexcept;
    bool seen;
  };
  const Parameter parameters[] = {
      {"limit=", read_limit, gate.limit_set}, {"queue=", read_queue, gate.queue_set},
      {"wait=", read_wait, gate.wait_set},    {"mode=", read_mode, gate.mode_set},
      {"classes=", read_classes, false},
  };
  for (const Parameter& parameter : parameters) {
    const ngx_str_t value = after(argument, parameter.prefix);
    if (value.data == nullptr) {
      continue;
    }
    return parameter.seen ? refuse(cf, "duplicate parameter \"%V\" in \"loadline_gate\"", &argument)
                          : parameter.read(cf, value, gate);
  }
  const ngx_str_t default_name = after(argument, "default=");
  if (default_name.data == nullptr) {
    return refuse(
        cf,
        "invalid parameter \"%V\" in \"loadline_gate\": limit=, queue=, wait=, mode=, classes= "
        "and default= are known",
        &argument);
  }
  if (gate.default_name.data != nullptr) {
    return refuse(cf, "duplicate parameter \"%V\" in \"loadline_gate\"", &argument);
  }
  gate.default_name = default_name;
  return NGX_CONF_OK;
}

char* set_default_class(ngx_conf_t* cf, Policy& policy, ngx_str_t name) noexcept {
  const bool named = name.data != nullptr;
  const int index =
      find_class_in_any_case(policy, named ? view(name) : std::string_view("critical"));
  if (named && index < 0) {
    return refuse(cf, "unknown class \"%V\" in \"default=\" of \"loadline_gate\"", &name);
  }
  policy.default_class = static_cast<std::uint8_t>(std::max(index, 0));
  return NGX_CONF_OK;
}

char* finish_policy(ngx_conf_t* cf, GateArguments& gate) noexcept {
  Policy& policy = gate.hosted->policy;
  if (!gate.limit_set) {
    return refuse(cf, "no \"limit\" in \"loadline_gate %V\": it must be given, from 1 to %uD",
                  &gate.hosted->name, kMaxLimit);
  }
  fill_defaults(policy);
  if (set_default_class(cf, policy, gate.default_name) != NGX_CONF_OK) {
    return kError;
  }
  const PolicyError error = validate(policy);
  if (error.refused()) {
    return refuse(cf, "invalid \"loadline_gate %V\": %s: %s", &gate.hosted->name, error.field,
                  error.text.data());
  }
  return NGX_CONF_OK;
}

char* make_zone(ngx_conf_t* cf, HostedGate& hosted, std::size_t bytes) noexcept {
  const std::uint32_t queue =
      hosted.policy.queue.kind == QueueSize::Kind::fixed ? hosted.policy.queue.entries : 1;
  const std::size_t needed = zone_bytes_for(queue);
  if (bytes < needed || tickets_in_zone(bytes) < queue + Capacity::kSpareTickets) {
    return refuse(cf, "zone of \"loadline_gate %V\" is too small: %uz bytes, and %uzk are needed",
                  &hosted.name, bytes, (needed + 1023) / 1024);
  }
  return declare_zone(cf, hosted, bytes) == NGX_OK ? NGX_CONF_OK : kError;
}

// NAME:SIZE
char* read_name_and_size(ngx_conf_t* cf, ngx_str_t& argument, ngx_str_t& name,
                         std::size_t& bytes) noexcept {
  u_char* const end = argument.data + argument.len;
  u_char* const colon = std::find(argument.data, end, ':');
  name = {static_cast<std::size_t>(colon - argument.data), argument.data};
  if (!is_name(name) || name.len > kMaxGateName || view(name) == "off") {
    return refuse(
        cf,
        "invalid gate name \"%V\" in \"loadline_gate\": must be 1 to %uz letters, digits, "
        "\"_\", \"-\" or \".\", and not \"off\"",
        &name, kMaxGateName);
  }
  ngx_str_t size{};
  if (colon != end) {
    size = {static_cast<std::size_t>(end - colon - 1), colon + 1};
  }
  const ssize_t parsed = ngx_parse_size(&size);
  if (parsed == NGX_ERROR || size.len == 0) {
    return refuse(
        cf, "invalid zone size in \"loadline_gate %V\": must be NAME:SIZE, as in \"api:256k\"",
        &argument);
  }
  bytes = static_cast<std::size_t>(parsed);
  return NGX_CONF_OK;
}

}  // namespace

HostedGate* mention_gate(ngx_conf_t* cf, MainConf& conf, const ngx_str_t& name) noexcept {
  for (HostedGate* hosted : gates_of(conf)) {
    if (view(hosted->name) == view(name)) {
      return hosted;
    }
  }
  auto* hosted = allocate<HostedGate>(cf->pool);
  auto** place = static_cast<HostedGate**>(ngx_array_push(&conf.gates));
  if (hosted == nullptr || place == nullptr) {
    return nullptr;
  }
  hosted->name = name;
  hosted->number = conf.gates.nelts;
  hosted->file = cf->conf_file->file.name;
  hosted->line = cf->conf_file->line;
  *place = hosted;
  return hosted;
}

char* set_gate(ngx_conf_t* cf, ngx_command_t*, void* conf) noexcept {
  auto& main = *static_cast<MainConf*>(conf);
  ngx_str_t* values = arguments(cf);
  ngx_str_t name{};
  std::size_t bytes = 0;
  if (read_name_and_size(cf, values[1], name, bytes) != NGX_CONF_OK) {
    return kError;
  }
  GateArguments gate;
  gate.hosted = mention_gate(cf, main, name);
  if (gate.hosted == nullptr) {
    return kError;
  }
  if (gate.hosted->defined) {
    return refuse(cf, "duplicate gate \"%V\" in \"loadline_gate\"", &name);
  }
  for (ngx_uint_t i = 2; i < cf->args->nelts; ++i) {
    if (read_gate_parameter(cf, values[i], gate) != NGX_CONF_OK) {
      return kError;
    }
  }
  if (finish_policy(cf, gate) != NGX_CONF_OK) {
    return kError;
  }
  gate.hosted->defined = true;
  return make_zone(cf, *gate.hosted, bytes);
}

}  // namespace loadline::ngx
