// The callers' part of the pages.
#pragma once

#include "text.h"

namespace loadline::ngx {

// ,"callers":[...] of the status; nothing where there is none.
void write_caller_status(Text& out) noexcept;

// All metrics of callers, in the text format of Prometheus.
void write_caller_metrics(Text& out) noexcept;

}  // namespace loadline::ngx
