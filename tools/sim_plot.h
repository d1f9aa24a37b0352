// What `loadline sim` draws: what each policy made of the same load, side by side, over time.
#pragma once

#include <string>

#include "sim_outcome.h"

namespace loadline::tools {

// A picture for documents: light, without scripts, nothing to be loaded from elsewhere.
std::string sim_svg(const SimOutcome& outcome);

// A page with the picture, the figures and what was expected; light or dark, as its reader's.
std::string sim_html(const SimOutcome& outcome);

}  // namespace loadline::tools
