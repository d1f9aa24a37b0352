// Whether what a scenario expects has come true.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/door.h"
#include "sim_file.h"
#include "sim_outcome.h"

namespace loadline::tools {

// The figure that an expectation speaks of.
double figure_of(const SimExpectation& expectation, const sim::Summary& summary);

// Of several pieces of the time, that of the one which is the worst for the expectation. Those with
// nothing to measure do not count, unless none had anything.
double worst_of(const SimExpectation& expectation, const std::vector<sim::Summary>& pieces);

// `seen`: the figure by seed. `another`: what SimBound::of came to, by seed; empty if it was not
// looked for. It holds if it does for every seed, but for SimBound::Kind::errors, which is of
// their mean.
SimVerdict judge(const SimExpectation& expectation, const std::vector<double>& seen,
                 const std::vector<double>& another);

// What must hold at any instant of any run of the gate, whatever a file expects: a verdict for each
// rule that was broken. `by_seed`: what was seen of all doors together.
std::vector<SimVerdict> broken_rules(const sim::Scenario& scenario,
                                     const std::vector<sim::Watch>& by_seed,
                                     std::uint64_t first_seed);

}  // namespace loadline::tools
