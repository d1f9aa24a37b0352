// How far the simulator goes: what a request costs, and how much memory a run needs, by how many
// servers there are and for how long.
#pragma once

#include "report.h"

namespace loadline::bench {

// Of this process, user and system.
double processor_seconds();

// A line for each size, the largest last. Each is run in a process of its own, so that the memory
// of one is not taken for another's.
void measure_scale(Report& report);

}  // namespace loadline::bench
