// What every variable of this module is: a name, and how its value is found.
#pragma once

#include <span>
#include <string_view>

#include "ngx.h"

namespace loadline::ngx {

using VariableValue = ngx_http_variable_value_t;

struct Variable {
  std::string_view name;  // without the $; outlives the configuration
  ngx_http_get_variable_pt get;
};

// Preconfiguration. None is cached: the values change while a request lives.
ngx_int_t add_variables(ngx_conf_t* cf, std::span<const Variable> variables) noexcept;

// What `get` returns. The text outlives the request.
ngx_int_t set_text(VariableValue& value, std::string_view text) noexcept;
ngx_int_t set_absent(VariableValue& value) noexcept;

}  // namespace loadline::ngx
