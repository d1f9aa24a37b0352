// What half and twice of each constant of a law does.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

#include "limit/constants.h"
#include "limit/random_study.h"
#include "limit/rows.h"

namespace loadline::bench {

// Of one setting and one row, with each seed.
struct Cell {
  std::vector<double> figures;
  // They all lie on one side of those of the default, and farther away than either spread.
  bool differs = false;
};

struct Sensitivity {
  std::uint64_t seed = 0;
  std::uint64_t seeds = 0;
  std::vector<Row> rows;
  std::vector<Setting> settings;         // the first is the default
  std::vector<std::vector<Cell>> cells;  // by setting, then by row
  double seconds = 0;                    // that it took
};

// With the seeds from `seed` on. Nothing else may make a gate meanwhile.
Sensitivity study_sensitivity(std::uint64_t seed, std::uint64_t seeds, const Done& done);

// One object a setting.
std::vector<nlohmann::ordered_json> to_json(const Sensitivity& study);

}  // namespace loadline::bench
