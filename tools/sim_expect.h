// Whether what a scenario expects has come true.
#pragma once

#include <vector>

#include "sim_file.h"
#include "sim_outcome.h"

namespace loadline::tools {

// The figure that an expectation speaks of.
double figure_of(const SimExpectation& expectation, const sim::Summary& summary);

// `seen`: the figure by seed. `oracle`: what the best fixed limit came to, by seed; empty if it was
// not looked for. It holds if it does for every seed, but for SimBound::Kind::errors, which is of
// their mean.
SimVerdict judge(const SimExpectation& expectation, const std::vector<double>& seen,
                 const std::vector<double>& oracle);

}  // namespace loadline::tools
