#include "limit/constants.h"

#include <algorithm>
#include <cmath>

namespace loadline::bench {
namespace {

constexpr double kAny = 1e9;
constexpr AutoTuning kNow{};
constexpr auto kRatio = Constant::Scale::ratio;

const std::vector<Constant> kConstants = {
    {"first", &AutoTuning::first, 1, kAny},
    {"fewest", &AutoTuning::fewest, 2, kAny},
    {"most_of_fewest", &AutoTuning::most_of_fewest, 1, kAny},
    {"widest", &AutoTuning::widest, kNow.narrowest, kAny, kRatio},
    {"narrowest", &AutoTuning::narrowest, 1.01, kNow.widest, kRatio},
    {"margin", &AutoTuning::margin, 0, 1},
    {"gain", &AutoTuning::gain, 0, 1},
    {"more", &AutoTuning::more, 0, kNow.less},
    {"less", &AutoTuning::less, kNow.more, 1},
    {"leans_up", &AutoTuning::leans_up, 0, kAny},
    {"leans_down", &AutoTuning::leans_down, 0, kAny},
    {"well", &AutoTuning::well, kNow.more, 1},
    {"accuracy", &AutoTuning::accuracy, 0.01, kAny},
    {"cycle_s", &AutoTuning::cycle_s, 0, kAny},
    {"bias_share", &AutoTuning::bias_share, 0, 1},
    {"spread_share", &AutoTuning::spread_share, 0, 1},
    {"of_use", &AutoTuning::of_use, 0, 1},
    {"judged", &AutoTuning::judged, 1, kAny},
    {"few_refused", &AutoTuning::few_refused, 0, kNow.many_refused},
    {"many_refused", &AutoTuning::many_refused, kNow.few_refused, 1},
    {"standing_s", &AutoTuning::standing_s, 0, kAny},
    {"apart_s", &AutoTuning::apart_s, 0, kAny},
    {"forget_s", &AutoTuning::forget_s, 0, kAny},
    {"patience", &AutoTuning::patience, 1, kAny},
    {"of_a_moment", &AutoTuning::of_a_moment, 1, kAny},
};

// A constant that is not in the table would never be studied.
constexpr std::size_t kCount = 25;
static_assert(sizeof(AutoTuning) == kCount * sizeof(double));

double scaled(const Constant& constant, double by) {
  const double now = kNow.*constant.member;
  const double wanted = constant.scale == kRatio ? std::pow(now, by) : now * by;
  return std::clamp(wanted, constant.least, constant.most);
}

}  // namespace

const std::vector<Constant>& constants() noexcept {
  return kConstants;
}

std::vector<Setting> settings() {
  std::vector<Setting> all(1);
  for (const Constant& constant : kConstants) {
    for (const double by : {0.5, 2.0}) {
      Setting setting{.constant = std::string(constant.name), .value = scaled(constant, by)};
      setting.tuning.*constant.member = setting.value;
      all.push_back(setting);
    }
  }
  return all;
}

}  // namespace loadline::bench
