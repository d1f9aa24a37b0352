// $loadline_call...: how a request's call went.
#pragma once

#include "ngx.h"

namespace loadline::ngx {

// Preconfiguration.
ngx_int_t add_caller_variables(ngx_conf_t* cf) noexcept;

}  // namespace loadline::ngx
