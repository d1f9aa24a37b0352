/*
 * What nginx looks up by name in a dynamic module. nginx's own build would write this file; ours
 * does not run it (see CMakeLists.txt), and the order below is a decision.
 *
 * Handlers of a phase run in the reverse order of this list, so a module that stands before
 * limit_conn, limit_req and realip acts after all three: the peer's address is what realip made of
 * it, and a request that limit_req refuses or delays does not hold one of our slots meanwhile.
 *
 * Filters registered from that place would be overwritten by nginx's own, which come later. Hence
 * the second module: it stands last, which is the top of the filter chain.
 *
 * The third is the bottom of that chain: between nginx's filter that writes heads and all others,
 * where everybody has had his say. Of the names in the order, a module stands before the first in
 * nginx's own list that follows its own here; no handler comes after the chunked filter, so the
 * third's place does not move the first's.
 *
 * The fourth, the caller's side, stands last of all: what upstreams answer it sees as the first.
 */

#include <ngx_config.h>
#include <ngx_core.h>

extern ngx_module_t ngx_http_loadline_module;
extern ngx_module_t ngx_http_loadline_filter_module;
extern ngx_module_t ngx_http_loadline_answer_module;
extern ngx_module_t ngx_http_loadline_caller_module;

ngx_module_t* ngx_modules[] = {
    &ngx_http_loadline_module,
    &ngx_http_loadline_filter_module,
    &ngx_http_loadline_answer_module,
    &ngx_http_loadline_caller_module,
    NULL,
};

char* ngx_module_names[] = {
    "ngx_http_loadline_module",
    "ngx_http_loadline_filter_module",
    "ngx_http_loadline_answer_module",
    "ngx_http_loadline_caller_module",
    NULL,
};

char* ngx_module_order[] = {
    "ngx_http_loadline_module",
    "ngx_http_limit_conn_module",
    "ngx_http_limit_req_module",
    "ngx_http_realip_module",
    "ngx_http_loadline_answer_module",
    "ngx_http_chunked_filter_module",
    NULL,
};
