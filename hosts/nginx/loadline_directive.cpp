// loadline: which gates a location's requests are asked at, and as what.
#include <algorithm>

#include "reading.h"

namespace loadline::ngx {
namespace {

struct Parameter {
  std::string_view prefix;
  Value* Ask::*value;
};

constexpr Parameter kParameters[] = {
    {"class=", &Ask::class_value},   {"deadline=", &Ask::deadline_value},
    {"weight=", &Ask::weight_value}, {"tenant=", &Ask::tenant_value},
    {"group=", &Ask::group_value},   {"quota=", &Ask::quota_value},
};

char* read_parameter(ngx_conf_t* cf, const ngx_str_t& argument, Ask& ask) noexcept {
  for (const Parameter& parameter : kParameters) {
    const ngx_str_t text = after(argument, parameter.prefix);
    if (text.data == nullptr) {
      continue;
    }
    Value*& value = ask.*parameter.value;
    if (value != nullptr) {
      return refuse(cf, "duplicate parameter \"%V\" in \"loadline\"", &argument);
    }
    value = make_value(cf, text);
    return value == nullptr ? kError : NGX_CONF_OK;
  }
  return refuse(cf,
                "invalid parameter \"%V\" in \"loadline\": class=, deadline=, weight=, tenant=, "
                "group= and quota= are known",
                &argument);
}

bool is_asked(const ngx_array_t& asks, const HostedGate* gate) noexcept {
  const auto* first = static_cast<const Ask*>(asks.elts);
  return std::any_of(first, first + asks.nelts,
                     [gate](const Ask& ask) { return ask.gate == gate; });
}

char* add_ask(ngx_conf_t* cf, LocationConf& conf, const ngx_str_t& name, Ask*& ask) noexcept {
  auto& main =
      *static_cast<MainConf*>(ngx_http_conf_get_module_main_conf(cf, ngx_http_loadline_module));
  HostedGate* gate = mention_gate(cf, main, name);
  if (conf.asks == nullptr) {
    conf.asks = ngx_array_create(cf->pool, 1, sizeof(Ask));
  }
  if (gate == nullptr || conf.asks == nullptr) {
    return kError;
  }
  if (is_asked(*conf.asks, gate)) {
    return duplicate;
  }
  if (conf.asks->nelts == kMaxAsks) {
    return refuse(cf, "too many gates for one request in \"loadline\": at most %ui", kMaxAsks);
  }
  ask = static_cast<Ask*>(ngx_array_push(conf.asks));
  if (ask == nullptr) {
    return kError;
  }
  new (ask) Ask{};
  ask->gate = gate;
  ask->file = cf->conf_file->file.name;
  ask->line = cf->conf_file->line;
  return NGX_CONF_OK;
}

// What is wrong with a constant is known only when its gate is.
template <class Allowed>
char* refuse_value(ngx_conf_t* cf, const Ask& ask, const char* parameter, ngx_str_t& text,
                   Allowed allowed) noexcept {
  return refuse(cf, "invalid %s \"%V\" in \"loadline %V\" in %V:%ui: must be %s", parameter, &text,
                &ask.gate->name, &ask.file, ask.line, allowed);
}

bool is_constant(const Value* value) noexcept {
  return value != nullptr && value->is_constant();
}

char* fix_class(ngx_conf_t* cf, Ask& ask) noexcept {
  if (!is_constant(ask.class_value)) {
    return NGX_CONF_OK;
  }
  ask.fixed_class = find_class_in_any_case(ask.gate->policy, view(ask.class_value->text.value));
  if (ask.fixed_class < 0) {
    return refuse(cf, "unknown class \"%V\" in \"loadline %V\" in %V:%ui",
                  &ask.class_value->text.value, &ask.gate->name, &ask.file, ask.line);
  }
  ask.class_value = nullptr;
  return NGX_CONF_OK;
}

char* fix_deadline(ngx_conf_t* cf, Ask& ask) noexcept {
  if (!is_constant(ask.deadline_value)) {
    return NGX_CONF_OK;
  }
  ngx_str_t text = ask.deadline_value->text.value;
  const ngx_int_t milliseconds = text.len == 0 ? 0 : ngx_parse_time(&text, 0);
  if (milliseconds == NGX_ERROR) {
    return refuse_value(cf, ask, "deadline", text, "a time, as in 500ms");
  }
  ask.fixed_deadline = Duration::millis(milliseconds);
  ask.deadline_value = nullptr;
  return NGX_CONF_OK;
}

char* fix_weight(ngx_conf_t* cf, Ask& ask) noexcept {
  if (!is_constant(ask.weight_value)) {
    return NGX_CONF_OK;
  }
  ngx_str_t text = ask.weight_value->text.value;
  const auto weight = parse_weight(view(text));
  if (!weight) {
    return refuse_value(cf, ask, "weight", text, "a whole number from 1 to 1000000");
  }
  ask.fixed_weight = *weight;
  ask.weight_value = nullptr;
  return NGX_CONF_OK;
}

char* fix_group(ngx_conf_t* cf, Ask& ask) noexcept {
  if (!is_constant(ask.group_value)) {
    return NGX_CONF_OK;
  }
  ngx_str_t text = ask.group_value->text.value;
  const int group = find_group(ask.gate->policy, view(text));
  if (group < 0) {
    return refuse_value(cf, ask, "group", text, "one of the gate's \"groups=\"");
  }
  ask.fixed_group = static_cast<std::uint8_t>(group);
  ask.group_value = nullptr;
  return NGX_CONF_OK;
}

// In one order everywhere: who holds a permit of one and waits at the next never waits for who does
// the reverse. Gates with a quota come last, so that a key does not pay for what another gate
// refuses; else it is the order in which the file first names them.
bool is_asked_before(const Ask& a, const Ask& b) noexcept {
  const bool a_charges = a.gate->policy.quota.any();
  const bool b_charges = b.gate->policy.quota.any();
  return a_charges != b_charges ? b_charges : a.gate->number < b.gate->number;
}

// A key that nobody counts would be taken for a protection.
char* check_tables(ngx_conf_t* cf, const Ask& ask) noexcept {
  const Policy& policy = ask.gate->policy;
  if (ask.tenant_value != nullptr && policy.tenants == 0) {
    return refuse(cf, "\"tenant=\" in \"loadline %V\" in %V:%ui, but its gate has no \"tenants=\"",
                  &ask.gate->name, &ask.file, ask.line);
  }
  if (ask.quota_value != nullptr && !policy.quota.any()) {
    return refuse(cf, "\"quota=\" in \"loadline %V\" in %V:%ui, but its gate has no \"quota=\"",
                  &ask.gate->name, &ask.file, ask.line);
  }
  return NGX_CONF_OK;
}

}  // namespace

char* set_loadline(ngx_conf_t* cf, ngx_command_t*, void* data) noexcept {
  auto& conf = *static_cast<LocationConf*>(data);
  ngx_str_t* values = arguments(cf);
  const bool off_before = conf.gates_set && conf.asks == nullptr;
  conf.gates_set = true;
  if (off_before || (view(values[1]) == "off" && conf.asks != nullptr)) {
    return refuse(cf, "\"loadline off\" must stand alone on its level");
  }
  if (view(values[1]) == "off") {
    return cf->args->nelts == 2
               ? NGX_CONF_OK
               : refuse(cf, "\"loadline off\" takes no parameter, not \"%V\"", &values[2]);
  }
  Ask* ask = nullptr;
  if (char* result = add_ask(cf, conf, values[1], ask); result != NGX_CONF_OK) {
    return result;
  }
  for (ngx_uint_t i = 2; i < cf->args->nelts; ++i) {
    if (read_parameter(cf, values[i], *ask) != NGX_CONF_OK) {
      return kError;
    }
  }
  return NGX_CONF_OK;
}

char* settle_asks(ngx_conf_t* cf, LocationConf& conf) noexcept {
  if (conf.asks == nullptr) {
    return NGX_CONF_OK;
  }
  auto* first = static_cast<Ask*>(conf.asks->elts);
  std::sort(first, first + conf.asks->nelts, is_asked_before);
  for (Ask* ask = first; ask != first + conf.asks->nelts; ++ask) {
    if (check_tables(cf, *ask) != NGX_CONF_OK || fix_class(cf, *ask) != NGX_CONF_OK ||
        fix_deadline(cf, *ask) != NGX_CONF_OK || fix_weight(cf, *ask) != NGX_CONF_OK ||
        fix_group(cf, *ask) != NGX_CONF_OK) {
      return kError;
    }
  }
  return NGX_CONF_OK;
}

}  // namespace loadline::ngx
