#include "variable.h"

namespace loadline::ngx {

ngx_int_t add_variables(ngx_conf_t* cf, std::span<const Variable> variables) noexcept {
  for (const Variable& variable : variables) {
    ngx_str_t name = constant(variable.name);
    ngx_http_variable_t* added = ngx_http_add_variable(cf, &name, NGX_HTTP_VAR_NOCACHEABLE);
    if (added == nullptr) {
      return NGX_ERROR;
    }
    added->get_handler = variable.get;
  }
  return NGX_OK;
}

ngx_int_t set_text(VariableValue& value, std::string_view text) noexcept {
  const ngx_str_t words = constant(text);
  value.valid = 1;
  value.no_cacheable = 1;
  value.not_found = 0;
  value.len = static_cast<unsigned>(words.len);
  value.data = words.data;
  return NGX_OK;
}

ngx_int_t set_absent(VariableValue& value) noexcept {
  value.not_found = 1;
  return NGX_OK;
}

}  // namespace loadline::ngx
