#include "gate_variables.h"

#include <algorithm>

#include "claims.h"
#include "request.h"
#include "variable.h"

namespace loadline::ngx {
namespace {

// Every variable speaks of the main request: a subrequest has no standing of its own.
RequestState* state_for(ngx_http_request_t* r) noexcept {
  return find_state(r->main);
}

HostedGate* gate_for(ngx_http_request_t* r) noexcept {
  const RequestState* state = state_for(r);
  if (state != nullptr) {
    return state->hosted;
  }
  const std::span<const Ask> gates = location_conf(r).gates();
  return gates.empty() ? nullptr : gates.front().gate;
}

template <class... Args>
ngx_int_t set_format(ngx_http_request_t* r, VariableValue& value, const char* format,
                     Args... args) noexcept {
  constexpr std::size_t kLongest = 32;
  auto* const text = static_cast<u_char*>(ngx_pnalloc(r->pool, kLongest));
  if (text == nullptr) {
    return NGX_ERROR;
  }
  const u_char* const end = ngx_snprintf(text, kLongest, format, args...);
  return set_text(value, {reinterpret_cast<char*>(text), static_cast<std::size_t>(end - text)});
}

std::string_view name_of(Standing standing) noexcept {
  switch (standing) {
    case Standing::waiting:
      return "CANCELLED";  // nobody reads it while it waits; who still waits at the end has left
    case Standing::admitted:
      return "ADMITTED";
    case Standing::admitted_after_wait:
      return "WAITED";
    case Standing::observed:
      return "OBSERVED";
    case Standing::rejected:
      return "REJECTED";
    case Standing::failed_open:
      return "FAILED_OPEN";
  }
  return "";
}

ngx_int_t get_status(ngx_http_request_t* r, VariableValue* value, uintptr_t) noexcept {
  const RequestState* state = state_for(r);
  return state == nullptr ? set_absent(*value) : set_text(*value, name_of(state->standing));
}

ngx_int_t get_reason(ngx_http_request_t* r, VariableValue* value, uintptr_t) noexcept {
  const RequestState* state = state_for(r);
  if (state == nullptr || state->reason == Reason::none) {
    return set_absent(*value);
  }
  return set_text(*value, name(state->reason));
}

ngx_int_t get_wait(ngx_http_request_t* r, VariableValue* value, uintptr_t) noexcept {
  constexpr std::int64_t kMillisecond = 1'000'000;
  const RequestState* state = state_for(r);
  if (state == nullptr) {
    return set_absent(*value);
  }
  const bool waiting = state->standing == Standing::waiting;
  const Duration waited = waiting ? monotonic_now() - state->asked_at : state->waited;
  const std::int64_t ms = std::max<std::int64_t>(waited.ns / kMillisecond, 0);
  return set_format(r, *value, "%L.%03L", ms / 1000, ms % 1000);
}

ngx_int_t get_class(ngx_http_request_t* r, VariableValue* value, uintptr_t) noexcept {
  const RequestState* state = state_for(r);
  if (state == nullptr) {
    return set_absent(*value);
  }
  return set_text(*value, state->hosted->policy.classes[state->importance].name_view());
}

ngx_int_t get_limit(ngx_http_request_t* r, VariableValue* value, uintptr_t) noexcept {
  const HostedGate* hosted = gate_for(r);
  if (hosted == nullptr || !hosted->gate.valid()) {
    return set_absent(*value);
  }
  return set_format(r, *value, "%uD", hosted->gate.limit());
}

ngx_int_t get_in_flight(ngx_http_request_t* r, VariableValue* value, uintptr_t) noexcept {
  const HostedGate* hosted = gate_for(r);
  if (hosted == nullptr || !hosted->gate.valid()) {
    return set_absent(*value);
  }
  return set_format(r, *value, "%uD", hosted->gate.in_flight());
}

ngx_int_t get_deadline_left(ngx_http_request_t* r, VariableValue* value, uintptr_t) noexcept {
  const RequestState* state = state_for(r);
  if (state == nullptr || state->deadline == Instant::never()) {
    return set_absent(*value);
  }
  return set_format(r, *value, "%L", milliseconds_to_hand_on(state->deadline - monotonic_now()));
}

ngx_int_t get_gate(ngx_http_request_t* r, VariableValue* value, uintptr_t) noexcept {
  const HostedGate* hosted = gate_for(r);
  return hosted == nullptr ? set_absent(*value) : set_text(*value, view(hosted->name));
}

ngx_int_t get_retry_after(ngx_http_request_t* r, VariableValue* value, uintptr_t) noexcept {
  const RequestState* state = state_for(r);
  if (state == nullptr || state->retry_after == 0) {
    return set_absent(*value);
  }
  return set_format(r, *value, "%ui", static_cast<ngx_uint_t>(state->retry_after));
}

ngx_int_t get_preflight(ngx_http_request_t* r, VariableValue* value, uintptr_t) noexcept {
  return set_text(*value, is_preflight(r) ? "1" : "");
}

constexpr Variable kVariables[] = {
    {"loadline_status", get_status},       {"loadline_reason", get_reason},
    {"loadline_wait", get_wait},           {"loadline_class", get_class},
    {"loadline_gate", get_gate},           {"loadline_retry_after", get_retry_after},
    {"loadline_preflight", get_preflight}, {"loadline_limit", get_limit},
    {"loadline_inflight", get_in_flight},  {"loadline_deadline_left", get_deadline_left},
};

}  // namespace

ngx_int_t add_gate_variables(ngx_conf_t* cf) noexcept {
  return add_variables(cf, kVariables);
}

}  // namespace loadline::ngx
