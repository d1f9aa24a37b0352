// The processors that a benchmark may pin to.
#pragma once

#include <vector>

namespace loadline::bench {

// In ascending order, as this thread may use them now: ask before anything is pinned.
std::vector<int> allowed_cpus();

}  // namespace loadline::bench
