// What follows the name of a `loadline_gate`: the rules of that gate.
#pragma once

#include "conf.h"

namespace loadline::ngx {

// Reads all parameters of the directive at hand. After NGX_CONF_OK the policy is complete and
// sound; else an error has been logged.
char* read_gate_parameters(ngx_conf_t* cf, HostedGate& hosted) noexcept;

}  // namespace loadline::ngx
