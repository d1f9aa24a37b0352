// nginx's C headers, as C++ can take them, and the few helpers that every file here needs.
//
// The standard headers come first: nginx defines macros that they would not survive.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <string_view>

extern "C" {
#include <ngx_config.h>

#include <ngx_core.h>
#include <ngx_event.h>
#include <ngx_http.h>

// Visible by name to modules.c, where nginx looks for them.
extern ngx_module_t ngx_http_loadline_module;
extern ngx_module_t ngx_http_loadline_filter_module;
extern ngx_module_t ngx_http_loadline_answer_module;
extern ngx_module_t ngx_http_loadline_caller_module;
}

#include "loadline/quick_clock.h"
#include "loadline/time.h"

namespace loadline::ngx {

inline std::string_view view(const ngx_str_t& text) noexcept {
  return {reinterpret_cast<const char*>(text.data), text.len};
}

// For a text that lives as long as the process; nginx takes it as writable and never writes.
inline ngx_str_t constant(std::string_view text) noexcept {
  return {text.size(), reinterpret_cast<u_char*>(const_cast<char*>(text.data()))};
}

template <class T>
T* allocate(ngx_pool_t* pool) noexcept {
  void* memory = ngx_palloc(pool, sizeof(T));
  return memory == nullptr ? nullptr : new (memory) T{};
}

// Every header of a request or an answer, also those that nginx keeps no pointer of its own to.
template <class Visit>
void each_header(const ngx_list_t& headers, Visit visit) noexcept {
  for (const ngx_list_part_t* part = &headers.part; part != nullptr; part = part->next) {
    auto* first = static_cast<ngx_table_elt_t*>(part->elts);
    for (ngx_uint_t i = 0; i < part->nelts; ++i) {
      visit(first[i]);
    }
  }
}

inline const ngx_http_core_loc_conf_t& core_conf(const ngx_http_request_t* r) noexcept {
  return *static_cast<const ngx_http_core_loc_conf_t*>(
      ngx_http_get_module_loc_conf(r, ngx_http_core_module));
}

// The clock of every decision. nginx's own is cached for a turn of the event loop, and a turn under
// overload lasts longer than the waits that are measured here. A worker is one thread.
inline QuickClock worker_clock;

inline Instant monotonic_now() noexcept {
  return worker_clock.now();
}

}  // namespace loadline::ngx
