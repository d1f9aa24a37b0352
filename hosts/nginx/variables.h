// $loadline_status and its kin.
#pragma once

#include "ngx.h"

namespace loadline::ngx {

ngx_int_t add_variables(ngx_conf_t* cf) noexcept;

}  // namespace loadline::ngx
