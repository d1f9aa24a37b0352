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

// The clock of every decision. nginx's own is cached for a turn of the event loop, and a turn under
// overload lasts longer than the waits that are measured here. A worker is one thread.
inline QuickClock worker_clock;

inline Instant monotonic_now() noexcept {
  return worker_clock.now();
}

}  // namespace loadline::ngx
