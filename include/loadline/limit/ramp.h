// Requests that were let in while a limit became full.
#pragma once

#include <cstdint>

#include "loadline/limit/auto_tuning.h"
#include "loadline/limit/cohort.h"
#include "loadline/limit/level.h"
#include "loadline/limit/sample.h"

namespace loadline {

// On the way from half of the limit or less to all of it: those have met fewer in flight than who
// came after them, and nobody had to be turned away for that.
class Ramp {
 public:
  explicit Ramp(double patience = AutoTuning{}.patience) noexcept : cohort_(0, patience) {}

  // `fills_up`: the limit has just become full.
  void look(const LimitView& view, std::uint32_t limit, bool fills_up) noexcept {
    if (fills_up && cohort_.begun() && !cohort_.grown()) {
      cohort_.close(view);
      cohort_.set_limit((cohort_.in_flight_at_first() + limit) / 2);
    }
    if (view.in_flight <= limit / 2) {
      forget();
      cohort_.open(view);
    }
  }
  void take(const LimitSample& sample) noexcept {
    cohort_.see(sample);
    cohort_.take(sample);
  }
  void forget() noexcept { cohort_ = Cohort(0, cohort_.patience()); }

  // Of the middle between where it began and where it ended. False while it is not finished.
  [[nodiscard]] bool level(const LimitView& view, Level& level) noexcept {
    return cohort_.level(view, level);
  }

 private:
  Cohort cohort_;
};

}  // namespace loadline
