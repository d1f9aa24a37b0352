// Our own pages: the state of all gates as JSON and as Prometheus text, and changes to it.
#pragma once

#include "conf.h"
#include "text.h"

namespace loadline::ngx {

// Content handlers, of `loadline_stub_status`, `loadline_metrics` and `loadline_control`.
ngx_int_t show_status(ngx_http_request_t* r) noexcept;
ngx_int_t show_metrics(ngx_http_request_t* r) noexcept;
ngx_int_t take_control(ngx_http_request_t* r) noexcept;

// The JSON of all gates.
void write_status(Text& out, const MainConf& conf) noexcept;

// The first steps of a page that is only read: GET or HEAD, and no body. NGX_OK to go on.
ngx_int_t accept_reading(ngx_http_request_t* r) noexcept;

}  // namespace loadline::ngx
