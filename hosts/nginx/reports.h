// Signals from outside that an application reports with its answers:
//
//   X-Loadline-Report: db_latency=12ms, jobs=340
//
// The header is for the gate, and is not passed on. Names and values are as in `signals=` of
// loadline_gate; what no gate of the request knows, or is no value, is passed over, and so is what
// an answer from nginx's cache reports.
#pragma once

#include "request.h"

namespace loadline::ngx {

void take_reports(const RequestState& state) noexcept;

}  // namespace loadline::ngx
