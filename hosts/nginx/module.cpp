// The three modules of the gate as nginx sees them. Why three, and where they stand: modules.c.
#include "admission.h"
#include "conf.h"
#include "gate_variables.h"
#include "release.h"
#include "short_answer.h"
#include "worker.h"
#include "zone.h"

namespace loadline::ngx {
namespace {

ngx_int_t add_handler(ngx_conf_t* cf, ngx_http_phases phase, ngx_http_handler_pt handler) noexcept {
  auto* core = static_cast<ngx_http_core_main_conf_t*>(
      ngx_http_conf_get_module_main_conf(cf, ngx_http_core_module));
  auto* place = static_cast<ngx_http_handler_pt*>(ngx_array_push(&core->phases[phase].handlers));
  if (place == nullptr) {
    return NGX_ERROR;
  }
  *place = handler;
  return NGX_OK;
}

ngx_int_t add_handlers(ngx_conf_t* cf) noexcept {
  return add_handler(cf, NGX_HTTP_PREACCESS_PHASE, admit_before_access) == NGX_OK
             ? add_handler(cf, NGX_HTTP_PRECONTENT_PHASE, admit_before_content)
             : NGX_ERROR;
}

// In the master, when a configuration has been accepted and before workers are forked.
ngx_int_t init_module(ngx_cycle_t* cycle) noexcept {
  if (gates_of(main_conf(cycle)).size() != 0) {
    create_event_fds(cycle->log);
    settle_zones(cycle);
  }
  return NGX_OK;
}

ngx_http_module_t handler_context = {
    add_gate_variables,    // preconfiguration
    add_handlers,          // postconfiguration
    create_main_conf,      // create main configuration
    init_main_conf,        // init main configuration
    nullptr,               // create server configuration
    nullptr,               // merge server configuration
    create_location_conf,  // create location configuration
    merge_location_conf,   // merge location configuration
};

ngx_http_module_t filter_context = {
    nullptr,      // preconfiguration
    add_filters,  // postconfiguration
    nullptr,     nullptr, nullptr, nullptr, nullptr, nullptr,
};

ngx_http_module_t answer_context = {
    nullptr,            // preconfiguration
    add_short_answers,  // postconfiguration
    nullptr,           nullptr, nullptr, nullptr, nullptr, nullptr,
};

}  // namespace
}  // namespace loadline::ngx

extern "C" {

ngx_module_t ngx_http_loadline_module = {
    NGX_MODULE_V1,
    &loadline::ngx::handler_context,
    loadline::ngx::commands,
    NGX_HTTP_MODULE,
    nullptr,                      // init master
    loadline::ngx::init_module,   // init module
    loadline::ngx::start_worker,  // init process
    nullptr,                      // init thread
    nullptr,                      // exit thread
    loadline::ngx::stop_worker,   // exit process
    nullptr,                      // exit master
    NGX_MODULE_V1_PADDING,
};

ngx_module_t ngx_http_loadline_filter_module = {
    NGX_MODULE_V1,
    &loadline::ngx::filter_context,
    nullptr,  // no directives
    NGX_HTTP_MODULE,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
    NGX_MODULE_V1_PADDING,
};

ngx_module_t ngx_http_loadline_answer_module = {
    NGX_MODULE_V1,
    &loadline::ngx::answer_context,
    nullptr,  // no directives
    NGX_HTTP_MODULE,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
    NGX_MODULE_V1_PADDING,
};
}
