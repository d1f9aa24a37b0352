// A text of the configuration that may hold variables.
//
// Mostly it is one variable and nothing else. Such a text is read where the variable has it;
// nginx's own way looks each variable up twice, to measure and to copy, and needs memory for the
// copy.
#pragma once

#include "ngx.h"

namespace loadline::ngx {

struct Value {
  ngx_http_complex_value_t text{};
  ngx_int_t variable = NGX_ERROR;  // the one that is all of the text; NGX_ERROR: it is not so

  [[nodiscard]] bool is_constant() const noexcept { return text.lengths == nullptr; }
};

// Fills `value`. False if the text is wrong, which has been logged, or without memory.
bool compile(ngx_conf_t* cf, ngx_str_t text, Value& value) noexcept;

// Null where compile() is false.
Value* make_value(ngx_conf_t* cf, const ngx_str_t& text) noexcept;

// The text for this request, to be read at once: what it lies in may be the variable's own. Empty
// where there is no value, and where it cannot be had.
ngx_str_t evaluate(ngx_http_request_t* r, Value* value) noexcept;

// Adds the arguments of a directive to `values`, an array of Value or still NGX_CONF_UNSET_PTR.
char* add_values(ngx_conf_t* cf, ngx_array_t*& values) noexcept;

// Is there one that is neither empty nor "0"? As proxy_cache_bypass has it. Null: there is none.
bool any_holds(ngx_http_request_t* r, const ngx_array_t* values) noexcept;

}  // namespace loadline::ngx
