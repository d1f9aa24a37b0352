// Short runs that each ask one thing of a law.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "sim/scenario.h"
#include "sim/world.h"

namespace loadline::bench {

struct Row {
  enum class Good : std::uint8_t { high, low, neither };

  std::string_view name;  // short: it heads a column
  std::string_view text;
  Good good;
  sim::Scenario scenario;
  std::function<double(const sim::Result&)> figure;  // a share, but for `neither`
};

std::vector<Row> rows();

// The worst of some seeds' figures; where neither is good, the one in the middle.
double worst(Row::Good good, std::vector<double> figures);

}  // namespace loadline::bench
