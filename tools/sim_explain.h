// How the limits of a run were found, step by step, in words.
#pragma once

#include <string>

#include "limit_words.h"
#include "sim_outcome.h"

namespace loadline::tools {

// Of each policy with a law: when, and what; of the first seed.
std::string sim_explanation(const SimOutcome& outcome, Probes probes);

}  // namespace loadline::tools
