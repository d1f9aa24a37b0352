// The status page of a gate whose limit is found, read back.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "loadline/limit/sample.h"

namespace loadline::tools {

// The last steps of a gate as its page shows them, the oldest first; `at` counts from the moment of
// the page, and so is below zero. None where the page is of a version that tells none.
std::vector<LimitEvent> limit_events_of(const nlohmann::json& gate);

}  // namespace loadline::tools
