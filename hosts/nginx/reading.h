// What the readers of all directives share: how arguments are taken apart, and how they are
// refused.
#pragma once

#include <algorithm>
#include <string_view>

#include "conf.h"

namespace loadline::ngx {

inline char* const kError = static_cast<char*>(NGX_CONF_ERROR);

inline char duplicate[] = "is duplicate";  // nginx wants it writable

inline ngx_str_t* arguments(ngx_conf_t* cf) noexcept {
  return static_cast<ngx_str_t*>(cf->args->elts);
}

// Every refusal: the directive, what is wrong, and in which words it would be right.
template <class... Args>
char* refuse(ngx_conf_t* cf, const char* format, Args... args) noexcept {
  ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, format, args...);
  return kError;
}

// What follows `prefix` in `text`; null data if it does not begin so.
inline ngx_str_t after(const ngx_str_t& text, std::string_view prefix) noexcept {
  const bool begins = text.len >= prefix.size() && view({prefix.size(), text.data}) == prefix;
  return begins ? ngx_str_t{text.len - prefix.size(), text.data + prefix.size()} : ngx_str_t{};
}

inline bool is_name(const ngx_str_t& text) noexcept {
  return text.len != 0 && std::all_of(text.data, text.data + text.len, [](u_char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  c == '_' || c == '-' || c == '.';
         });
}

// A gate by name; made if it is not known yet, since it may be defined further down. Null without
// memory.
HostedGate* mention_gate(ngx_conf_t* cf, MainConf& conf, const ngx_str_t& name) noexcept;

// The handler of `loadline_gate` (gate_directive.cpp).
char* set_gate(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept;

// The handler of `loadline`, and what is done with its values when all gates are known
// (loadline_directive.cpp).
char* set_loadline(ngx_conf_t* cf, ngx_command_t* command, void* conf) noexcept;
char* settle_asks(ngx_conf_t* cf, LocationConf& conf) noexcept;

}  // namespace loadline::ngx
