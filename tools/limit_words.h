// What the law that finds a limit did, in words that a person can read.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "loadline/limit/sample.h"

namespace loadline::tools {

// One sentence with the numbers that the step was taken on.
std::string explain(const LimitEvent& event);

// A line of a history: one event, or a run of those that only look around.
struct LimitLine {
  Instant at{};
  std::string text;
};

enum class Probes : bool { folded, told };

// Steps that only probe (looked_up, looked_down, moved) say little by themselves: of three and more
// in a row there is one line, unless all are to be told.
std::vector<LimitLine> explain(std::span<const LimitEvent> events, Probes probes);

}  // namespace loadline::tools
