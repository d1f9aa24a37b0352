// The gate's rules, as a configuration gives them: to have them judged by the gate itself, and to
// know how much memory they take.
#pragma once

#include <cstddef>

#include "config.h"
#include "loadline/policy.h"

namespace loadline::tools {

// What nginx makes of it. Without a limit it has one of 1; a guarantee for a class that is not
// there is left out.
Policy policy_of(const Config& config);

// The size of the zone, in MiB. It holds the longest queue there may be, so that no reload needs a
// larger one: that would be a second gate, while the old workers still use the first.
std::size_t zone_mebibytes(const Config& config);

}  // namespace loadline::tools
