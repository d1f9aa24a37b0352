// The module of the caller's side, as nginx sees it. Where it stands: modules.c.
#include "caller_log.h"
#include "caller_variables.h"
#include "callers.h"

namespace loadline::ngx {
namespace {

ngx_int_t begin_calling(ngx_conf_t* cf) noexcept {
  const auto& conf = *static_cast<const CallerMainConf*>(
      ngx_http_conf_get_module_main_conf(cf, ngx_http_loadline_caller_module));
  if (conf.callers.nelts == 0) {
    return NGX_OK;
  }
  add_caller_filters();
  return wrap_upstreams(cf);
}

ngx_http_module_t caller_context = {
    add_caller_variables,         // preconfiguration
    begin_calling,                // postconfiguration
    create_caller_main_conf,      // create main configuration
    init_caller_main_conf,        // init main configuration
    nullptr,                      // create server configuration
    nullptr,                      // merge server configuration
    create_caller_location_conf,  // create location configuration
    merge_caller_location_conf,   // merge location configuration
};

}  // namespace
}  // namespace loadline::ngx

extern "C" {

ngx_module_t ngx_http_loadline_caller_module = {
    NGX_MODULE_V1,
    &loadline::ngx::caller_context,
    loadline::ngx::caller_commands,
    NGX_HTTP_MODULE,
    nullptr,                              // init master
    nullptr,                              // init module
    loadline::ngx::start_telling_events,  // init process
    nullptr,                              // init thread
    nullptr,                              // exit thread
    nullptr,                              // exit process
    nullptr,                              // exit master
    NGX_MODULE_V1_PADDING,
};
}
