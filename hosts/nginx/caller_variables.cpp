#include "caller_variables.h"

#include "calling.h"
#include "variable.h"

namespace loadline::ngx {
namespace {

ngx_int_t get_call(ngx_http_request_t* r, VariableValue* value, uintptr_t) noexcept {
  const Calling* calling = calling_of(r);
  if (calling == nullptr) {
    return set_absent(*value);
  }
  if (calling->refused) {
    return set_text(*value, "REFUSED");
  }
  return set_text(*value, calling->failed ? "FAILED" : "ANSWERED");
}

ngx_int_t get_call_reason(ngx_http_request_t* r, VariableValue* value, uintptr_t) noexcept {
  const Calling* calling = calling_of(r);
  if (calling == nullptr || calling->reason == client::Reason::none) {
    return set_absent(*value);
  }
  return set_text(*value, name(calling->reason));
}

constexpr Variable kVariables[] = {
    {"loadline_call", get_call},
    {"loadline_call_reason", get_call_reason},
};

}  // namespace

ngx_int_t add_caller_variables(ngx_conf_t* cf) noexcept {
  return add_variables(cf, kVariables);
}

}  // namespace loadline::ngx
