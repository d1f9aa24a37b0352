#include "value.h"

#include <algorithm>
#include <span>

#include "reading.h"

namespace loadline::ngx {
namespace {

bool is_of_name(u_char c) noexcept {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// "name" of "$name" and of "${name}"; empty if there is more to the text, or less. What begins with
// a digit is no variable but a part of what a regular expression has matched.
ngx_str_t only_name(ngx_str_t text) noexcept {
  std::string_view name = view(text);
  if (!name.starts_with('$')) {
    return {};
  }
  name.remove_prefix(1);
  if (name.starts_with('{') && name.ends_with('}')) {
    name.remove_prefix(1);
    name.remove_suffix(1);
  }
  const bool whole = !name.empty() && (name.front() < '0' || name.front() > '9') &&
                     std::all_of(name.begin(), name.end(), is_of_name);
  return whole ? constant(name) : ngx_str_t{};
}

}  // namespace

bool compile(ngx_conf_t* cf, ngx_str_t text, Value& value) noexcept {
  value = Value{};
  ngx_http_compile_complex_value_t compiler{};
  compiler.cf = cf;
  compiler.value = &text;
  compiler.complex_value = &value.text;
  if (ngx_http_compile_complex_value(&compiler) != NGX_OK) {
    return false;
  }
  if (ngx_str_t name = only_name(text); name.len != 0) {
    value.variable = ngx_http_get_variable_index(cf, &name);
  }
  return true;
}

Value* make_value(ngx_conf_t* cf, const ngx_str_t& text) noexcept {
  auto* value = allocate<Value>(cf->pool);
  return value != nullptr && compile(cf, text, *value) ? value : nullptr;
}

ngx_str_t evaluate(ngx_http_request_t* r, Value* value) noexcept {
  if (value == nullptr) {
    return {};
  }
  if (value->variable == NGX_ERROR) {
    ngx_str_t text{};
    return ngx_http_complex_value(r, &value->text, &text) == NGX_OK ? text : ngx_str_t{};
  }
  const ngx_http_variable_value_t* found =
      ngx_http_get_flushed_variable(r, static_cast<ngx_uint_t>(value->variable));
  return found == nullptr || found->not_found != 0 ? ngx_str_t{}
                                                   : ngx_str_t{found->len, found->data};
}

char* add_values(ngx_conf_t* cf, ngx_array_t*& values) noexcept {
  if (values == NGX_CONF_UNSET_PTR) {
    values = ngx_array_create(cf->pool, cf->args->nelts - 1, sizeof(Value));
  }
  if (values == nullptr) {
    return kError;
  }
  for (ngx_uint_t i = 1; i < cf->args->nelts; ++i) {
    auto* value = static_cast<Value*>(ngx_array_push(values));
    if (value == nullptr || !compile(cf, arguments(cf)[i], *value)) {
      return kError;
    }
  }
  return NGX_CONF_OK;
}

bool any_holds(ngx_http_request_t* r, const ngx_array_t* values) noexcept {
  if (values == nullptr) {
    return false;
  }
  const std::span<Value> all{static_cast<Value*>(values->elts), values->nelts};
  return std::any_of(all.begin(), all.end(), [r](Value& value) {
    const ngx_str_t text = evaluate(r, &value);
    return text.len != 0 && view(text) != "0";
  });
}

}  // namespace loadline::ngx
