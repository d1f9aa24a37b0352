// What the configuration file says, as structures that nginx makes, fills and merges.
#pragma once

#include <span>

#include "claims_parse.h"
#include "loadline/gate.h"
#include "loadline/policy.h"
#include "ngx.h"
#include "value.h"

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

constexpr std::string_view name_of(Discipline discipline) noexcept {
  switch (discipline) {
    case Discipline::adaptive:
      return "adaptive";
    case Discipline::fifo:
      return "fifo";
    case Discipline::lifo:
      return "lifo";
  }
  return "";
}

inline bool find_discipline(std::string_view name, Discipline& discipline) noexcept {
  for (const Discipline candidate : {Discipline::adaptive, Discipline::fifo, Discipline::lifo}) {
    if (name == name_of(candidate)) {
      discipline = candidate;
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
  ngx_uint_t number = 0;  // in the order in which the file first names them
  Policy policy{};
  Mode mode = Mode::on;
  std::uint32_t streams = 10'000;  // that may be open at once, beside the limit
  bool defined = false;
  ngx_str_t file{};
  ngx_uint_t line = 0;

  // Whether an answer may report a signal (reports.h).
  [[nodiscard]] bool hears() const noexcept { return policy.signal_count != 0; }

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

// How many gates one request may be asked at.
inline constexpr ngx_uint_t kMaxAsks = 4;

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

// One `loadline GATE ...`: a gate, and as what a request is to be judged there. The values may hold
// variables; those that do not are worked out once, when all gates are known.
struct Ask {
  HostedGate* gate = nullptr;
  Value* class_value = nullptr;
  Value* deadline_value = nullptr;
  Value* weight_value = nullptr;
  Value* tenant_value = nullptr;
  Value* group_value = nullptr;
  Value* quota_value = nullptr;
  int fixed_class = -1;       // -1: none
  Duration fixed_deadline{};  // 0: none
  std::uint32_t fixed_weight = 1;
  std::uint8_t fixed_group = Request::kNoGroup;
  ngx_str_t file{};  // of the directive, for errors found at merge
  ngx_uint_t line = 0;
};

// In nginx's PREACCESS phase, or after access checks and whatever else runs before the content.
enum class Phase : ngx_uint_t { preaccess, precontent };

// When a slot is free again: when the answer begins, when the upstream has sent all of it, or when
// the client has read all of it.
enum class ReleaseAt : ngx_uint_t { header, last, end };

// What a location's requests are asked. The gates are inherited together.
struct LocationConf {
  bool gates_set = false;
  ngx_array_t* asks = nullptr;  // of Ask, in the order of their gates' numbers; null: off

  ngx_flag_t observe = NGX_CONF_UNSET;
  ngx_uint_t phase = NGX_CONF_UNSET_UINT;
  ngx_uint_t release_at = NGX_CONF_UNSET_UINT;
  // Of Value. Where one of the first holds, a request is neither asked nor counted; where one of
  // the second, it is asked for a place of the exempt.
  ngx_array_t* bypass = static_cast<ngx_array_t*>(NGX_CONF_UNSET_PTR);
  ngx_array_t* exempt = nullptr;
  bool exempt_set = false;  // else preflights are exempt

  HeaderName class_header;
  HeaderName deadline_header;
  HeaderName tenant_header;
  ngx_array_t* trusted = nullptr;  // of ngx_cidr_t; null: nobody
  bool trusted_set = false;
  ngx_flag_t lower_retries = NGX_CONF_UNSET;
  ngx_flag_t rewrite = NGX_CONF_UNSET;

  off_t read_body = NGX_CONF_UNSET;  // of at most so many bytes, before the permit is taken
  ngx_msec_t stream_after = NGX_CONF_UNSET_MSEC;  // 0: never
  ngx_msec_t lease = NGX_CONF_UNSET_MSEC;         // 0: for ever

  ngx_uint_t reject_status = NGX_CONF_UNSET_UINT;
  ngx_str_t body{};
  ngx_str_t body_type{};
  bool body_set = false;
  ngx_flag_t error_page = NGX_CONF_UNSET;

  ngx_http_handler_pt page = nullptr;  // of ours, named in this very location
  bool may_ask = true;                 // false: such a page, and it names no gate itself

  [[nodiscard]] std::span<const Ask> gates() const noexcept {
    return asks == nullptr || !may_ask
               ? std::span<const Ask>{}
               : std::span<const Ask>{static_cast<const Ask*>(asks->elts), asks->nelts};
  }
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
