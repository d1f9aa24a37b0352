// The constants of `auto`, each by its name, and what half and twice of each is.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "loadline/limit/auto_limit.h"

namespace loadline::bench {

struct Constant {
  // Of a number: half and twice of it. Of a ratio: of its logarithm, since it is applied again and
  // again.
  enum class Scale : std::uint8_t { number, ratio };

  std::string_view name;
  double AutoTuning::*member;
  double least;  // legal, inclusive
  double most;
  Scale scale = Scale::number;
};

// All there are.
const std::vector<Constant>& constants() noexcept;

// One constant changed, or none.
struct Setting {
  std::string constant;  // empty: as it is
  double value = 0;
  AutoTuning tuning{};
};

// As it is, and each constant halved and doubled: where that is illegal, the nearest that is not.
std::vector<Setting> settings();

}  // namespace loadline::bench
