// What is run: who calls, whom, and for how long.
#pragma once

#include <vector>

#include "loadline/time.h"
#include "sim/population.h"
#include "sim/service.h"

namespace loadline::sim {

struct Scenario {
  std::vector<Population> populations;
  std::vector<ServiceModel> services{1};
  Duration length{};
  // Whether the run goes on, when nobody calls any more, until all who have called have ended.
  bool drains = false;
};

}  // namespace loadline::sim
