// loadline_caller and loadline_call.
#include <array>
#include <iterator>
#include <optional>
#include <string_view>

#include "callers.h"
#include "reading.h"
#include "rules_parse.h"

namespace loadline::ngx {
namespace {

using client::Policy;

constexpr std::size_t kMaxCallerName = 63;

// nginx goes on to another peer at once or not at all, and never to one that it has tried. So what
// is drawn as the wait before a retry is as good as nothing, but for what a peer has told.
void set_host_rules(Policy& policy) noexcept {
  policy.backoff.base = Duration::millis(1);
  policy.backoff.cap = Duration::millis(1);
  policy.backoff.floor = Duration{};
}

// One parameter's value. `name` is for the message.
struct Reading {
  ngx_conf_t* cf;
  const char* name;
  ngx_str_t value;
};

char* refuse_value(Reading reading, const char* allowed) noexcept {
  return refuse(reading.cf, "invalid %s \"%V\" in \"loadline_caller\": must be %s", reading.name,
                &reading.value, allowed);
}

template <class Number>
char* read_whole(Reading reading, std::uint32_t low, std::uint32_t high, Number& number) noexcept {
  const auto given = parse_whole(view(reading.value), low, high);
  if (!given) {
    return refuse(
        reading.cf,
        "invalid %s \"%V\" in \"loadline_caller\": must be a whole number from %uD to %uD",
        reading.name, &reading.value, low, high);
  }
  number = static_cast<Number>(*given);
  return NGX_CONF_OK;
}

char* read_time(Reading reading, ngx_int_t shortest, const char* allowed, Duration& time) noexcept {
  constexpr ngx_int_t kLongest = 3'600'000;
  const ngx_int_t milliseconds = ngx_parse_time(&reading.value, 0);
  if (milliseconds == NGX_ERROR || milliseconds < shortest || milliseconds > kLongest) {
    return refuse_value(reading, allowed);
  }
  time = Duration::millis(milliseconds);
  return NGX_CONF_OK;
}

std::optional<std::uint16_t> parse_share(std::string_view text) noexcept {
  return parse_percent(text, 100);
}

// "off" is 0.
template <class Number>
char* read_or_off(Reading reading, Number& number,
                  std::optional<Number> (*parse)(std::string_view) noexcept,
                  const char* allowed) noexcept {
  const bool off = view(reading.value) == "off";
  const auto given = off ? Number{} : parse(view(reading.value));
  if (!given) {
    return refuse_value(reading, allowed);
  }
  number = *given;
  return NGX_CONF_OK;
}

char* read_attempts(Reading reading, Policy& policy) noexcept {
  constexpr std::uint32_t kMost = 100;
  return read_whole(reading, 1, kMost, policy.retry.attempts);
}

char* read_budget(Reading reading, Policy& policy) noexcept {
  return read_or_off(reading, policy.budget.share, parse_share,
                     "\"off\" or a share of the calls that succeed, from 1% to 100%");
}

char* read_budget_saved(Reading reading, Policy& policy) noexcept {
  constexpr std::uint32_t kMost = 10'000;
  return read_whole(reading, 1, kMost, policy.budget.cap);
}

char* read_budget_floor(Reading reading, Policy& policy) noexcept {
  return read_or_off(reading, policy.budget.floor, parse_floor,
                     "\"off\" or a rate of 4r/h to 10r/s, as in \"6r/m\"");
}

char* read_breaker(Reading reading, Policy& policy) noexcept {
  if (view(reading.value) == "off") {
    policy.breaker.on = false;
    return NGX_CONF_OK;
  }
  const auto failures = parse_share(view(reading.value));
  if (!failures) {
    return refuse_value(reading, "\"off\" or a share of failures, from 1% to 100%");
  }
  policy.breaker.failures = *failures;
  return NGX_CONF_OK;
}

char* read_breaker_minimum(Reading reading, Policy& policy) noexcept {
  constexpr std::uint32_t kMost = 10'000;
  return read_whole(reading, 1, kMost, policy.breaker.minimum);
}

char* read_breaker_row(Reading reading, Policy& policy) noexcept {
  constexpr std::uint32_t kMost = 10'000;
  if (view(reading.value) == "off") {
    policy.breaker.consecutive = 0;
    return NGX_CONF_OK;
  }
  return read_whole(reading, 1, kMost, policy.breaker.consecutive);
}

char* read_breaker_window(Reading reading, Policy& policy) noexcept {
  constexpr ngx_int_t kShortest = 100;
  return read_time(reading, kShortest, "a time from 100ms to 1h", policy.breaker.window);
}

char* read_breaker_open(Reading reading, Policy& policy) noexcept {
  return read_time(reading, 1, "a time from 1ms to 1h", policy.breaker.open);
}

char* read_breaker_probes(Reading reading, Policy& policy) noexcept {
  return read_whole(reading, 1, client::kMaxProbes, policy.breaker.probes);
}

char* read_breaker_slow(Reading reading, Policy& policy) noexcept {
  if (view(reading.value) == "off") {
    policy.breaker.slow = Duration{};
    return NGX_CONF_OK;
  }
  return read_time(reading, 1, "\"off\" or a time from 1ms to 1h", policy.breaker.slow);
}

struct Parameter {
  std::string_view prefix;
  const char* name;
  char* (*read)(Reading, Policy&) noexcept;
};

constexpr Parameter kParameters[] = {
    {"attempts=", "attempts", read_attempts},
    {"budget=", "budget", read_budget},
    {"budget_saved=", "budget_saved", read_budget_saved},
    {"budget_floor=", "budget_floor", read_budget_floor},
    {"breaker=", "breaker", read_breaker},
    {"breaker_minimum=", "breaker_minimum", read_breaker_minimum},
    {"breaker_row=", "breaker_row", read_breaker_row},
    {"breaker_window=", "breaker_window", read_breaker_window},
    {"breaker_open=", "breaker_open", read_breaker_open},
    {"breaker_probes=", "breaker_probes", read_breaker_probes},
    {"breaker_slow=", "breaker_slow", read_breaker_slow},
};

constexpr const char* kKnown =
    "attempts=, budget=, budget_saved=, budget_floor=, breaker=, breaker_minimum=, breaker_row=, "
    "breaker_window=, breaker_open=, breaker_probes=, breaker_slow=";

char* read_parameter(ngx_conf_t* cf, const ngx_str_t& argument, HostedCaller& hosted,
                     std::array<bool, std::size(kParameters)>& given) noexcept {
  for (std::size_t i = 0; i < given.size(); ++i) {
    const ngx_str_t value = after(argument, kParameters[i].prefix);
    if (value.data == nullptr) {
      continue;
    }
    if (given[i]) {
      return refuse(cf, "duplicate parameter \"%V\" in \"loadline_caller\"", &argument);
    }
    given[i] = true;
    return kParameters[i].read({cf, kParameters[i].name, value}, hosted.policy);
  }
  return refuse(cf, "invalid parameter \"%V\" in \"loadline_caller\": known are %s", &argument,
                kKnown);
}

// By name; made if it is not known yet, since it may be defined further down. Null without memory.
HostedCaller* mention_caller(ngx_conf_t* cf, CallerMainConf& conf, const ngx_str_t& name) noexcept {
  for (HostedCaller* hosted : callers_of(conf)) {
    if (view(hosted->name) == view(name)) {
      return hosted;
    }
  }
  auto* hosted = allocate<HostedCaller>(cf->pool);
  auto** place = static_cast<HostedCaller**>(ngx_array_push(&conf.callers));
  if (hosted == nullptr || place == nullptr) {
    return nullptr;
  }
  hosted->name = name;
  hosted->file = cf->conf_file->file.name;
  hosted->line = cf->conf_file->line;
  *place = hosted;
  return hosted;
}

char* set_caller(ngx_conf_t* cf, ngx_command_t*, void* data) noexcept {
  ngx_str_t* values = arguments(cf);
  const ngx_str_t& name = values[1];
  if (!is_name(name) || name.len > kMaxCallerName || view(name) == "off") {
    return refuse(cf,
                  "invalid name \"%V\" in \"loadline_caller\": must be 1 to %uz letters, digits, "
                  "\"_\", \"-\" or \".\", and not \"off\"",
                  &name, kMaxCallerName);
  }
  HostedCaller* hosted = mention_caller(cf, *static_cast<CallerMainConf*>(data), name);
  if (hosted == nullptr) {
    return kError;
  }
  if (hosted->defined) {
    return refuse(cf, "duplicate caller \"%V\" in \"loadline_caller\"", &name);
  }
  std::array<bool, std::size(kParameters)> given{};
  for (ngx_uint_t i = 2; i < cf->args->nelts; ++i) {
    if (read_parameter(cf, values[i], *hosted, given) != NGX_CONF_OK) {
      return kError;
    }
  }
  set_host_rules(hosted->policy);
  if (const PolicyError error = validate(hosted->policy); error.refused()) {
    return refuse(cf, "invalid \"loadline_caller %V\": %s", &name, error.text.data());
  }
  hosted->defined = true;
  return declare_caller_zone(cf, *hosted) == NGX_OK ? NGX_CONF_OK : kError;
}

char* read_deadline(ngx_conf_t* cf, const ngx_str_t& text, CallerLocationConf& conf) noexcept {
  Value* value = make_value(cf, text);
  if (value == nullptr) {
    return kError;
  }
  ngx_str_t constant_text = value->text.value;
  if (value->is_constant() &&
      (constant_text.len == 0 || ngx_parse_time(&constant_text, 0) == NGX_ERROR)) {
    return refuse(cf, "invalid deadline \"%V\" in \"loadline_call\": must be a time, as in 500ms",
                  &constant_text);
  }
  conf.deadline = value;
  return NGX_CONF_OK;
}

char* set_call(ngx_conf_t* cf, ngx_command_t*, void* data) noexcept {
  auto& conf = *static_cast<CallerLocationConf*>(data);
  const ngx_str_t* values = arguments(cf);
  if (conf.set) {
    return duplicate;
  }
  conf.set = true;
  if (view(values[1]) == "off") {
    return cf->args->nelts == 2
               ? NGX_CONF_OK
               : refuse(cf, "\"loadline_call off\" takes no parameter, not \"%V\"", &values[2]);
  }
  auto& main = *static_cast<CallerMainConf*>(
      ngx_http_conf_get_module_main_conf(cf, ngx_http_loadline_caller_module));
  conf.caller = mention_caller(cf, main, values[1]);
  if (conf.caller == nullptr) {
    return kError;
  }
  if (cf->args->nelts == 2) {
    return NGX_CONF_OK;
  }
  const ngx_str_t deadline = after(values[2], "deadline=");
  if (deadline.data == nullptr) {
    return refuse(cf, "invalid parameter \"%V\" in \"loadline_call\": deadline= is known",
                  &values[2]);
  }
  return read_deadline(cf, deadline, conf);
}

constexpr ngx_uint_t kEverywhere = NGX_HTTP_MAIN_CONF | NGX_HTTP_SRV_CONF | NGX_HTTP_LOC_CONF;

}  // namespace

void* create_caller_main_conf(ngx_conf_t* cf) noexcept {
  auto* conf = allocate<CallerMainConf>(cf->pool);
  if (conf == nullptr ||
      ngx_array_init(&conf->callers, cf->pool, 4, sizeof(HostedCaller*)) != NGX_OK) {
    return nullptr;
  }
  return conf;
}

char* init_caller_main_conf(ngx_conf_t* cf, void* data) noexcept {
  for (HostedCaller* hosted : callers_of(*static_cast<CallerMainConf*>(data))) {
    if (!hosted->defined) {
      return refuse(
          cf, "unknown caller \"%V\" in \"loadline_call\" in %V:%ui: no \"loadline_caller %V ...\"",
          &hosted->name, &hosted->file, hosted->line, &hosted->name);
    }
  }
  return NGX_CONF_OK;
}

void* create_caller_location_conf(ngx_conf_t* cf) noexcept {
  return allocate<CallerLocationConf>(cf->pool);
}

char* merge_caller_location_conf(ngx_conf_t*, void* parent, void* child) noexcept {
  auto& conf = *static_cast<CallerLocationConf*>(child);
  if (!conf.set) {
    conf = *static_cast<const CallerLocationConf*>(parent);
  }
  return NGX_CONF_OK;
}

ngx_command_t caller_commands[] = {
    {ngx_string("loadline_caller"), NGX_HTTP_MAIN_CONF | NGX_CONF_1MORE, set_caller,
     NGX_HTTP_MAIN_CONF_OFFSET, 0, nullptr},
    {ngx_string("loadline_call"), kEverywhere | NGX_CONF_TAKE12, set_call, NGX_HTTP_LOC_CONF_OFFSET,
     0, nullptr},
    ngx_null_command};

}  // namespace loadline::ngx
