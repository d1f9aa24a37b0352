// `auto`: a limit that finds the knee of a service which it knows nothing of.
//
// It compares what two limits bring. Behind a limit that is full everyone meets equally many
// others; where more of them are worked on at once, nobody's time changes, and where they only wait
// for each other, each time is longer by the wait. So the times of requests that were let in under
// a lower limit and under a higher one, one soon after the other, tell whether the knee lies above
// both, below both or between (Comparison). No time is ever called good or bad by itself: a service
// that is slow today is as good as it is, and what it was yesterday is no measure.
//
//   climb   From a small limit, twice as high as long as that costs no time.
//   narrow  Once it does, the knee lies between two limits; the next two are nearer to each other.
//   hold    As near as an answer is to be had within seconds: mostly the higher of the two, whose
//           surplus keeps the service busy, and now and then the lower, which is about the knee.
//           Slopes that lean to one side for long move both; far, if they keep leaning.
//
// What is compared are means of the shorter three quarters of times. A wait shifts all times alike,
// so leaving out the long ones loses little of it and most of the noise (trimmed means: Tukey and
// McLaughlin, Sankhya A 25, 1963); half would be blind where half of the answers need no worker.
// How sure a slope is follows from the spread of the times themselves.
//
// Only a limit that is full can say anything, and only where somebody is turned away is there a
// reason to ask: a service that does all that comes is left alone. Bursts fill a limit that nobody
// ever sees full, since they are over at the next look; but the gate tells of each request whether
// it took the last place, and such a one has met as many others as if it were full for long. Where
// most of those are of such moments, they are compared with their like. When answers come too late
// to be of any use the limit is halved whatever they compare to (a hung service answers as slowly
// with one request in flight as with many).
//
// From own studies in the simulator, of which docs/auto-study.md tells; the idea of moving a limit
// by the elasticity of throughput is known (see TCP Vegas' expected and actual rates, Brakmo and
// Peterson, IEEE JSAC 13(8), 1995).
#pragma once

#include <cstdint>

#include "loadline/limit/auto_tuning.h"
#include "loadline/limit/calm.h"
#include "loadline/limit/cohort.h"
#include "loadline/limit/flag.h"
#include "loadline/limit/level.h"
#include "loadline/limit/of_use.h"
#include "loadline/limit/ramp.h"
#include "loadline/limit/sample.h"
#include "loadline/limit/slopes.h"
#include "loadline/limit/times.h"

namespace loadline {

class AutoLimit {
 public:
  AutoLimit() noexcept = default;
  // `from`: the first limit; 0: the law's own.
  AutoLimit(std::uint32_t from, LimitBounds bounds, std::uint64_t seed) noexcept;

  void take(const LimitSample& sample, LimitReason& why) noexcept;
  void look(const LimitView& view, LimitReason& why) noexcept;
  // What is being measured is given up; samples that started before `now` do not count.
  void disturb(Instant now) noexcept;

  [[nodiscard]] std::uint32_t limit() const noexcept { return limit_; }
  [[nodiscard]] bool searching() const noexcept { return ratio_ >= tuning_.widest; }

  // What limits are made with from now on in this process, for studies of the constants. Not while
  // another thread makes a gate.
  static AutoTuning& tuning() noexcept;

 private:
  enum class Way : std::uint8_t { nowhere, up, down };

  void halve(Instant now, LimitReason& why) noexcept;
  void watch(const LimitView& view, LimitReason& why) noexcept;
  void watch_bursts(const LimitView& view, bool full) noexcept;
  [[nodiscard]] bool waits_in_vain(Instant now) const noexcept;
  void give_up_looking_down(LimitReason& why) noexcept;
  [[nodiscard]] Duration apart() const noexcept;
  [[nodiscard]] bool is_large_enough(Duration lasted, double requests,
                                     double fewest) const noexcept;

  [[nodiscard]] bool level_of_bursts(const LimitView& view, Level& level) noexcept;
  [[nodiscard]] bool is_asked_for(const Level& level) const noexcept;
  [[nodiscard]] Cohort& cohort_of(const Level& level) noexcept;
  void learn(const Level& level, const LimitView& view, LimitReason& why) noexcept;
  [[nodiscard]] bool ask_for_more(const Comparison& found, const Level& level, Instant now,
                                  LimitReason& why) noexcept;
  [[nodiscard]] bool knows_too_little_of(const Level& level) const noexcept;
  void look_around(const Level& level, const LimitView& view, LimitReason& why) noexcept;
  [[nodiscard]] double share_refused(const Level& level, const LimitView& view) const noexcept;
  void look_up(const Level& level, LimitReason& why) noexcept;
  [[nodiscard]] bool compare_with_ramp(const Level& level, const LimitView& view,
                                       LimitReason& why) noexcept;
  [[nodiscard]] bool compare_with_calm(const Level& level, LimitReason& why) noexcept;
  void begin_with(const Comparison& found, double ratio, LimitReason& why) noexcept;
  [[nodiscard]] bool may_raise(const Level& level) const noexcept;

  void remember(const Comparison& found) noexcept;
  void conclude(const Comparison& found, LimitReason& why) noexcept;
  [[nodiscard]] bool leads_up(const Comparison& found, bool holds) const noexcept;
  [[nodiscard]] bool leads_down(const Comparison& found, bool holds) const noexcept;
  [[nodiscard]] double knee_of(const Comparison& found) const noexcept;
  void settle(double knee, const Level& known, LimitReason& why) noexcept;

  void start_pool(const Level& level) noexcept;
  [[nodiscard]] Level pooled(const Level& level) const noexcept;
  void go_up(const Level& from) noexcept;
  void go_down(const Level& from) noexcept;
  void begin_cohort(std::uint32_t limit) noexcept;
  void begin_bursts() noexcept;

  [[nodiscard]] Duration life_of(const Level& level) const noexcept;
  [[nodiscard]] Duration moment_of(const Level& level) const noexcept;
  [[nodiscard]] double narrower(const Level& known) const noexcept;
  [[nodiscard]] double fewest_at(std::uint32_t limit) const noexcept;
  [[nodiscard]] std::uint32_t within(double limit) const noexcept;
  [[nodiscard]] std::uint32_t low_of(double high) const noexcept;
  [[nodiscard]] double draw() noexcept;

  AutoTuning tuning_{};
  LimitBounds bounds_{};
  std::uint64_t draws_ = 0;

  std::uint32_t limit_ = 1;  // in force
  double high_ = 1;          // while not looking down
  double ratio_ = 2;         // of the limits that are compared
  Flag looks_down_ = false;  // the lower of the two is in force
  Flag holds_ = false;       // the ratio is as narrow as it gets
  Flag knee_known_ = false;
  std::uint32_t in_vain_ = 0;  // looked down so often, since anything was compared
  Flag unproven_ = false;      // the limit in force was never compared
  Flag measured_ = false;      // anything was, ever
  Way went_ = Way::nowhere;    // since the last settling

  Cohort cohort_{};       // under the limit in force
  double target_ = 0;     // its size
  Cohort bursts_{};       // and in moments at which that was full, seen or not
  double seen_full_ = 0;  // started since it began, in cohorts that were given up
  Level partner_{};       // what is measured is compared with this
  Times pool_{};          // all that was measured on the way up, where nobody waited
  Ramp ramp_{};           // what those took who came while it became full
  Calm calm_{};           // until the knee is known
  double proven_ = 0;     // the knee was not below this
  Instant proven_at_ = kLongAgo;
  Instant compared_at_ = kLongAgo;
  Instant full_since_ = Instant::never();  // never: it is not full

  Slopes slopes_{};
  double leans_up_ = 0;
  double leans_down_ = 0;
  OfUse of_use_{};  // the answers since the limit was halved, or what was measured given up

  static constexpr Instant kLongAgo{-(std::int64_t{1} << 60)};
};

}  // namespace loadline
