// When a slot is free again: filters that watch a response go by.
#pragma once

#include "ngx.h"

namespace loadline::ngx {

// Puts both filters at the top of nginx's chains, where the end of a response is seen as soon as
// the upstream is done. Further down it would be seen only when the client has read everything, and
// a client that reads slowly would hold a slot of a server that is idle.
ngx_int_t add_filters(ngx_conf_t* cf) noexcept;

}  // namespace loadline::ngx
