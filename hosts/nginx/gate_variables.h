// $loadline_status and its kin.
#pragma once

#include "ngx.h"

namespace loadline::ngx {

// Preconfiguration.
ngx_int_t add_gate_variables(ngx_conf_t* cf) noexcept;

}  // namespace loadline::ngx
