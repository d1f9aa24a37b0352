// What the configuration file says, as structures that nginx makes, fills and merges.
#pragma once

#include "claims_parse.h"
#include "loadline/gate.h"
#include "loadline/policy.h"
#include "ngx.h"

namespace loadline::ngx {

// As a mode is written, in the file, at the control page and in the status.
constexpr std::string_view name_of(Mode mode) noexcept {
  switch (mode) {
    case Mode::on:
      return "on";
    case Mode::observe:
      return "observe";
    case Mode::off:
      return "off";
  }
  return "";
}

inline bool find_mode(std::string_view name, Mode& mode) noexcept {
  for (const Mode candidate : {Mode::on, Mode::observe, Mode::off}) {
    if (name == name_of(candidate)) {
      mode = candidate;
      return true;
    }
  }
  return false;
}

struct ZoneHead;
struct RequestState;

// One `loadline_gate`. It belongs to one configuration (nginx's cycle); the gate itself lies in
// shared memory and outlives it.
struct HostedGate {
  // From the file. A gate may be mentioned before it is defined; `file` and `line` say where.
  ngx_str_t name{};
  Policy policy{};
  Mode mode = Mode::on;
  bool defined = false;
  ngx_str_t file{};
  ngx_uint_t line = 0;

  // The shared memory. `shared` is null only before the zone is made; `gate` is not valid when the
  // zone is of no use, and then every request passes.
  ngx_shm_zone_t* zone = nullptr;
  ZoneHead* shared = nullptr;
  Gate gate;
  bool reused = false;  // an earlier generation of workers uses it too

  // This worker's. `held[ticket.index]` is the request that waits with that ticket: a process-local
  // table, so that no pointer ever lies in shared memory.
  Participant seat;
  RequestState** held = nullptr;
  Instant next_seat_attempt{};
};

struct MainConf {
  ngx_array_t gates{};                         // of HostedGate*
  ngx_uint_t log_level = NGX_CONF_UNSET_UINT;  // 0: no summary line
  ngx_msec_t log_interval = NGX_CONF_UNSET_MSEC;
};

// A request header to look for, prepared for comparing.
struct HeaderName {
  ngx_str_t lowcase{};  // empty: off
  ngx_uint_t hash = 0;
  bool set = false;
};

// What a location's requests are asked. `gate` and its two values are inherited together.
struct LocationConf {
  bool gate_set = false;
  HostedGate* gate = nullptr;  // null: off
  ngx_http_complex_value_t* class_value = nullptr;
  ngx_http_complex_value_t* deadline_value = nullptr;
  int fixed_class = -1;       // where class_value is a constant
  Duration fixed_deadline{};  // where deadline_value is a constant; 0: none
  ngx_str_t file{};           // of the `loadline` directive, for errors found at merge
  ngx_uint_t line = 0;

  ngx_flag_t observe = NGX_CONF_UNSET;
  HeaderName class_header;
  HeaderName deadline_header;
  ngx_array_t* trusted = nullptr;  // of ngx_cidr_t; null: nobody
  bool trusted_set = false;

  ngx_uint_t reject_status = NGX_CONF_UNSET_UINT;
  ngx_str_t body{};
  ngx_str_t body_type{};
  bool body_set = false;
  ngx_flag_t error_page = NGX_CONF_UNSET;

  ngx_http_handler_pt page = nullptr;  // of ours, named in this very location
  bool asks = true;                    // false: such a page, and it names no gate itself
};

void* create_main_conf(ngx_conf_t* cf) noexcept;
char* init_main_conf(ngx_conf_t* cf, void* conf) noexcept;
void* create_location_conf(ngx_conf_t* cf) noexcept;
char* merge_location_conf(ngx_conf_t* cf, void* parent, void* child) noexcept;
extern ngx_command_t commands[];

inline LocationConf& location_conf(ngx_http_request_t* r) noexcept {
  return *static_cast<LocationConf*>(ngx_http_get_module_loc_conf(r, ngx_http_loadline_module));
}

inline MainConf& main_conf(ngx_http_request_t* r) noexcept {
  return *static_cast<MainConf*>(ngx_http_get_module_main_conf(r, ngx_http_loadline_module));
}

// Null where there is no http block, or the cycle is of a time when this module was not loaded.
MainConf* main_conf(const ngx_cycle_t* cycle) noexcept;

struct Gates {
  HostedGate** first;
  HostedGate** last;

  [[nodiscard]] HostedGate** begin() const noexcept { return first; }
  [[nodiscard]] HostedGate** end() const noexcept { return last; }
  [[nodiscard]] std::size_t size() const noexcept { return static_cast<std::size_t>(last - first); }
};

inline Gates gates_of(const MainConf& conf) noexcept {
  auto** first = static_cast<HostedGate**>(conf.gates.elts);
  return {first, first + conf.gates.nelts};
}

// Also takes the null that main_conf(cycle) may return: no gates.
inline Gates gates_of(const MainConf* conf) noexcept {
  return conf == nullptr ? Gates{nullptr, nullptr} : gates_of(*conf);
}

}  // namespace loadline::ngx
