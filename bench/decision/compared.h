// Operations that are compared with a bare pair, and how the ratios are reported: one JSON object a
// line. `holds` says whether a goal is met; nothing is judged by it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "decision/timing.h"
#include "report.h"

namespace loadline::bench {

struct Compared {
  std::string name;
  Pair (*sample)(bool base_first);
  std::optional<double> goal{};
};

// So often each, in random order; the ratio is the median of those of the pairs.
void measure_and_report(const std::vector<Compared>& compared, int repetitions, Report& report);

}  // namespace loadline::bench
