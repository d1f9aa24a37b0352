// nginx as the one who calls: what the configuration says of it, and what lies in shared memory.
//
// A caller (`loadline_caller`) is a client::Caller for all workers: one budget of retries and one
// breaker for each service that is called. A location names the one that its upstream is called by
// (`loadline_call`). It is a module of its own: nothing here needs a gate, nor a gate this.
#pragma once

#include <atomic>

#include "loadline/client/caller.h"
#include "ngx.h"
#include "value.h"

namespace loadline::ngx {

// In a zone of its own. It has no pointers, so that processes and configurations may share it.
struct SharedCaller {
  explicit SharedCaller(const client::Policy& policy, Instant now) noexcept : caller(policy, now) {}

  client::Caller caller;
  std::atomic<std::uint64_t> told{0};  // number of the last event that was written to the log
};

// One `loadline_caller` of one configuration.
struct HostedCaller {
  ngx_str_t name{};
  client::Policy policy{};
  bool defined = false;
  ngx_str_t file{};  // where it is first named, and the line
  ngx_uint_t line = 0;
  SharedCaller* shared = nullptr;  // null only before the zone is made

  [[nodiscard]] client::Caller& caller() const noexcept { return shared->caller; }
};

using UpstreamInit = ngx_int_t (*)(ngx_http_request_t*, ngx_http_upstream_srv_conf_t*);

// An upstream whose peers are chosen through us, and who chooses them.
struct WrappedUpstream {
  ngx_http_upstream_srv_conf_t* upstream = nullptr;
  UpstreamInit init = nullptr;
};

struct CallerMainConf {
  ngx_array_t callers{};  // of HostedCaller*
  ngx_array_t wrapped{};  // of WrappedUpstream, by address
};

struct CallerLocationConf {
  bool set = false;
  HostedCaller* caller = nullptr;  // null: off
  Value* deadline = nullptr;
};

struct Callers {
  HostedCaller** first;
  HostedCaller** last;

  [[nodiscard]] HostedCaller** begin() const noexcept { return first; }
  [[nodiscard]] HostedCaller** end() const noexcept { return last; }
  [[nodiscard]] std::size_t size() const noexcept { return static_cast<std::size_t>(last - first); }
};

inline Callers callers_of(const CallerMainConf& conf) noexcept {
  auto** first = static_cast<HostedCaller**>(conf.callers.elts);
  return {first, first + conf.callers.nelts};
}

// Of the configuration that this process goes by; none where the module is not used.
inline Callers callers_of_this_process() noexcept {
  const auto* conf = static_cast<const CallerMainConf*>(ngx_http_cycle_get_module_main_conf(
      const_cast<const ngx_cycle_t*>(ngx_cycle), ngx_http_loadline_caller_module));
  return conf == nullptr ? Callers{nullptr, nullptr} : callers_of(*conf);
}

inline CallerMainConf& caller_main_conf(ngx_http_request_t* r) noexcept {
  return *static_cast<CallerMainConf*>(
      ngx_http_get_module_main_conf(r, ngx_http_loadline_caller_module));
}

inline const CallerLocationConf& caller_conf(ngx_http_request_t* r) noexcept {
  return *static_cast<CallerLocationConf*>(
      ngx_http_get_module_loc_conf(r, ngx_http_loadline_caller_module));
}

// The directives (caller_directives.cpp).
void* create_caller_main_conf(ngx_conf_t* cf) noexcept;
char* init_caller_main_conf(ngx_conf_t* cf, void* conf) noexcept;
void* create_caller_location_conf(ngx_conf_t* cf) noexcept;
char* merge_caller_location_conf(ngx_conf_t* cf, void* parent, void* child) noexcept;
extern ngx_command_t caller_commands[];

// Declares the caller's zone (caller_zone.cpp). An error has been logged.
ngx_int_t declare_caller_zone(ngx_conf_t* cf, HostedCaller& hosted) noexcept;

// Postconfiguration: every upstream's choice of a peer goes through us, where there is a caller
// (calling.cpp); and what answers say on their way to the client (caller_answer.cpp).
ngx_int_t wrap_upstreams(ngx_conf_t* cf) noexcept;
void add_caller_filters() noexcept;

}  // namespace loadline::ngx
