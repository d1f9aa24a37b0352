#include "caller_variables.h"

#include "calling.h"

namespace loadline::ngx {
namespace {

using Value = ngx_http_variable_value_t;

ngx_int_t set_text(Value& value, std::string_view text) noexcept {
  const ngx_str_t words = constant(text);
  value.valid = 1;
  value.no_cacheable = 1;
  value.not_found = 0;
  value.len = static_cast<unsigned>(words.len);
  value.data = words.data;
  return NGX_OK;
}

ngx_int_t get_call(ngx_http_request_t* r, Value* value, uintptr_t) noexcept {
  const Calling* calling = calling_of(r);
  if (calling == nullptr) {
    value->not_found = 1;
    return NGX_OK;
  }
  if (calling->refused) {
    return set_text(*value, "REFUSED");
  }
  return set_text(*value, calling->failed ? "FAILED" : "ANSWERED");
}

ngx_int_t get_call_reason(ngx_http_request_t* r, Value* value, uintptr_t) noexcept {
  const Calling* calling = calling_of(r);
  if (calling == nullptr || calling->reason == client::Reason::none) {
    value->not_found = 1;
    return NGX_OK;
  }
  return set_text(*value, name(calling->reason));
}

struct Variable {
  std::string_view name;
  ngx_http_get_variable_pt get;
};

constexpr Variable kVariables[] = {
    {"loadline_call", get_call},
    {"loadline_call_reason", get_call_reason},
};

}  // namespace

ngx_int_t add_caller_variables(ngx_conf_t* cf) noexcept {
  for (const Variable& variable : kVariables) {
    ngx_str_t name = constant(variable.name);
    ngx_http_variable_t* added = ngx_http_add_variable(cf, &name, NGX_HTTP_VAR_NOCACHEABLE);
    if (added == nullptr) {
      return NGX_ERROR;
    }
    added->get_handler = variable.get;
  }
  return NGX_OK;
}

}  // namespace loadline::ngx
