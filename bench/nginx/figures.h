// What is said about the samples: each figure compares variants, and some have a goal.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "nginx/measurement.h"

namespace loadline::bench {

struct Verdict {
  nlohmann::ordered_json line{};  // one JSON object, `name` first
  bool missed = false;            // the figure has a goal and does not meet it
};

struct Figure {
  std::string name;
  std::vector<std::string> variants;  // of which it needs samples
  std::function<Verdict(const Samples&)> judge;
};

// What a measurement of the module consists of: three figures with a goal, and others.
std::vector<Figure> module_figures();

// What tells whether the method can be believed; needs no module. Identical servers must come out
// equal, servers that are known to differ must not, and the two ways to read CPU time must agree.
std::vector<Figure> self_test_figures();

}  // namespace loadline::bench
