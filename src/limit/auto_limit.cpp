#include "loadline/limit/auto_limit.h"

#include <algorithm>
#include <utility>

#include "loadline/limit/whole.h"

namespace loadline {
namespace {

constexpr double kSecondNs = 1e9;
constexpr double kFarEnough = 1.2;  // two limits, to tell from who came before one was full
// Of which one limit is told: a dozen, each ten seconds. Services change meanwhile.
constexpr Duration kLongestBursts = Duration::seconds(120);

constexpr Duration seconds(double s) noexcept {
  return nanoseconds(s * kSecondNs);
}

std::uint64_t split_mix(std::uint64_t x) noexcept {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

LimitInputs inputs_of(const Level& level) noexcept {
  return {.high = level.limit,
          .time_high = nanoseconds(level.time_ns),
          .samples = level.samples,
          .rate = level.rate,
          .share = level.in_time};
}

LimitInputs inputs_of(const Comparison& found) noexcept {
  return {.low = found.low.limit,
          .high = found.high.limit,
          .time_low = nanoseconds(found.low.time_ns),
          .time_high = nanoseconds(found.high.time_ns),
          .samples = found.low.samples + found.high.samples,
          .rate = found.high.rate,
          .slope = found.slope,
          .share = found.high.in_time};
}

}  // namespace

AutoTuning& AutoLimit::tuning() noexcept {
  static constinit AutoTuning tuning;
  return tuning;
}

AutoLimit::AutoLimit(std::uint32_t from, LimitBounds bounds, std::uint64_t seed) noexcept
    : tuning_(tuning()),
      bounds_(bounds),
      draws_(seed),
      ratio_(tuning_.widest),
      ramp_(tuning_.patience) {
  limit_ = within(from == 0 ? tuning_.first : from);
  high_ = limit_;
  begin_cohort(limit_);
  target_ = fewest_at(limit_);
}

// ---- What comes in ------------------------------------------------------------------------------

void AutoLimit::take(const LimitSample& sample, LimitReason& why) noexcept {
  if (of_use_.too_few(sample, limit_, tuning_)) {
    halve(sample.ended, why);
  }
  cohort_.see(sample);
  bursts_.see(sample);
  if (sample.bound) {
    cohort_.take(sample);
    bursts_.take(sample);
  }
  ramp_.take(sample);
  if (!knee_known_) {
    calm_.take(sample);
  }
}

// The knee counts as known, so that nothing higher is tried before something was compared.
void AutoLimit::halve(Instant now, LimitReason& why) noexcept {
  why = {LimitCause::late, {.high = limit_, .samples = of_use_.judged(), .share = of_use_.share()}};
  limit_ = within(limit_ / 2.0);
  high_ = limit_;
  ratio_ = tuning_.widest;
  looks_down_ = unproven_ = holds_ = false;
  knee_known_ = true;
  leans_up_ = leans_down_ = 0;
  went_ = Way::nowhere;
  compared_at_ = now;
  disturb(now);
  target_ = fewest_at(limit_);
}

// Looking down, what the lower limit is to be compared with is given up as well.
void AutoLimit::disturb(Instant now) noexcept {
  limit_ = looks_down_ ? within(high_) : limit_;
  looks_down_ = false;
  begin_cohort(limit_);
  partner_ = {};
  pool_.clear();
  ramp_.forget();
  calm_ = {};
  of_use_.begin(now);
}

void AutoLimit::look(const LimitView& view, LimitReason& why) noexcept {
  watch(view, why);
  Level level;
  if (cohort_.level(view, level) || level_of_bursts(view, level)) {
    if (is_asked_for(level)) {
      learn(level, view, why);
    } else if (level.in_bursts) {
      begin_bursts();
    } else {
      give_up_looking_down(why);
    }
  } else if (cohort_.is_void(view)) {
    begin_cohort(limit_);
  }
}

// ---- When the limit is full ---------------------------------------------------------------------

// Who waits fills the place of who has just ended: one less is full as well.
void AutoLimit::watch(const LimitView& view, LimitReason& why) noexcept {
  const bool full = view.in_flight >= limit_ || (view.waiting > 0 && view.in_flight + 1 >= limit_);
  ramp_.look(view, limit_, full && full_since_ == Instant::never());
  calm_.look(view, full || view.held_down, moment_of(calm_.level()), tuning_.fewest);
  watch_bursts(view, full);
  full_since_ = full ? std::min(full_since_, view.now) : Instant::never();
  if (cohort_.grown()) {
    return;
  }
  if (!full) {
    if (cohort_.is_open()) {
      cohort_.pause(view);
    } else if (waits_in_vain(view.now)) {
      give_up_looking_down(why);
    }
    return;
  }
  // After the limit was lowered there are more in flight for a while.
  if (!cohort_.is_open() && view.in_flight <= limit_) {
    if (cohort_.begun() && view.now - cohort_.paused_at() > apart()) {
      seen_full_ += static_cast<double>(cohort_.started(view));
      cohort_ = Cohort(limit_, tuning_.patience);
    }
    cohort_.open(view);
  }
  if (cohort_.is_open() &&
      is_large_enough(cohort_.lasted(view.now), static_cast<double>(cohort_.started(view)),
                      fewest_at(limit_))) {
    cohort_.close(view);
  }
}

// Each who takes the last place is of a moment at which the limit is full. Where they are more than
// twice as many as start while it is seen to be, it is full for moments only. While it is, the
// moment may become longer.
void AutoLimit::watch_bursts(const LimitView& view, bool full) noexcept {
  if (bursts_.grown() || cohort_.grown()) {
    return;
  }
  if (!bursts_.is_open()) {
    bursts_.open(view);
  }
  const Duration lasted = bursts_.lasted(view.now);
  const double told = bursts_.told();
  const double seen = seen_full_ + static_cast<double>(cohort_.started(view));
  if (!full && told > 2 * seen && is_large_enough(lasted, told, tuning_.fewest)) {
    bursts_.close(view);
  } else if (lasted > kLongestBursts) {
    begin_bursts();
  }
}

// A lower limit is no longer full: what is waited for is no longer there. Or it never was, since
// all left between two looks: then until what it was to be compared with is too old for that. Who
// comes back each time is waited for longer each time, or what was measured would never be
// compared.
bool AutoLimit::waits_in_vain(Instant now) const noexcept {
  if (!looks_down_) {
    return false;
  }
  constexpr std::uint32_t kMostDoublings = 10;
  const bool was_full = cohort_.begun() && !partner_.in_bursts;
  const Duration gone = now - (was_full ? cohort_.paused_at() : partner_.at);
  const Duration first =
      was_full ? nanoseconds(tuning_.patience * partner_.time_ns) : life_of(partner_);
  const Duration again{first.ns << std::min(in_vain_, kMostDoublings)};
  return gone > std::min(again, std::max(first, seconds(tuning_.forget_s)));
}

void AutoLimit::give_up_looking_down(LimitReason& why) noexcept {
  why = {.cause = LimitCause::emptied};
  ++in_vain_;
  looks_down_ = false;
  partner_ = {};
  limit_ = within(high_);
  begin_cohort(limit_);
}

// Where few come, who has ended leaves a place that is empty for a while, however many are turned
// away in a minute.
Duration AutoLimit::apart() const noexcept {
  return std::max(seconds(tuning_.apart_s),
                  nanoseconds(tuning_.of_a_moment * cohort_.typical_ns()));
}

// A short burst is no reason to look around. And where a slope cannot be told as well as wanted in
// the time in which it is to be told, it is asked for all the same: several add up.
bool AutoLimit::is_large_enough(Duration lasted, double requests, double fewest) const noexcept {
  const bool on_its_own = measured_ && !looks_down_ && !partner_.measured();
  const double wanted = lasted < seconds(tuning_.cycle_s) ? target_ : std::min(target_, fewest);
  return (lasted >= seconds(tuning_.standing_s) || !on_its_own) && requests >= wanted;
}

// ---- What was measured --------------------------------------------------------------------------

// While it is full there are as many in flight as it lets in, so their rate is known without
// counting (Little's law); that of all time is mostly that of no burst.
bool AutoLimit::level_of_bursts(const LimitView& view, Level& level) noexcept {
  if (!bursts_.level(view, level)) {
    return false;
  }
  level.in_bursts = true;
  level.rate = level.limit / bursts_.mean_ns() * kSecondNs;
  return true;
}

// Of those who come while the limit is full for long, each meets others to its end; in a burst,
// fewer and fewer. Like is compared with like, unless that was waited for in vain.
bool AutoLimit::is_asked_for(const Level& level) const noexcept {
  return !looks_down_ || level.in_bursts == partner_.in_bursts || in_vain_ > 0;
}

Cohort& AutoLimit::cohort_of(const Level& level) noexcept {
  return level.in_bursts ? bursts_ : cohort_;
}

void AutoLimit::learn(const Level& level, const LimitView& view, LimitReason& why) noexcept {
  const bool fresh = partner_.measured() && level.at - partner_.at < life_of(partner_) &&
                     partner_.in_bursts == level.in_bursts;
  if (!looks_down_ && !(fresh && partner_.limit < level.limit)) {
    look_around(level, view, why);
    return;
  }
  const Comparison found =
      looks_down_ ? slopes_.compare(level, partner_) : slopes_.compare(partner_, level);
  if (!ask_for_more(found, level, view.now, why)) {
    looks_down_ = false;
    conclude(found, why);
  }
}

// Of two limits far apart, more for as long as it might be that the higher brings more.
bool AutoLimit::ask_for_more(const Comparison& found, const Level& level, Instant now,
                             LimitReason& why) noexcept {
  const bool doubtful =
      found.far() && found.slope >= tuning_.more && found.slope < tuning_.more + 2 * found.doubt;
  if (!doubtful) {
    return false;
  }
  if (knows_too_little_of(level)) {
    target_ += fewest_at(level.limit);  // as many again, on top
    cohort_of(level).grow_on(now);
    return true;
  }
  // Else it may be the other that is known too little of. For a lower one nobody has to wait: what
  // is doubtful leads up, and is compared again with all that was measured on the way.
  if (!looks_down_ || !knows_too_little_of(partner_)) {
    return false;
  }
  looks_down_ = false;
  go_up(level);
  why = {LimitCause::looked_up, inputs_of(level)};
  target_ = tuning_.most_of_fewest * fewest_at(limit_);
  return true;
}

bool AutoLimit::knows_too_little_of(const Level& level) const noexcept {
  return level.samples < tuning_.most_of_fewest * fewest_at(level.limit);
}

// There is nothing yet to compare with: what next?
void AutoLimit::look_around(const Level& level, const LimitView& view, LimitReason& why) noexcept {
  const double refused = measured_ ? share_refused(level, view) : 1;
  if (refused < tuning_.many_refused && level.in_bursts) {
    begin_cohort(limit_);  // most are served
    return;
  }
  if (refused < tuning_.many_refused && !unproven_) {
    look_up(level, why);  // costs nobody anything
    return;
  }
  if (!level.in_bursts && compare_with_calm(level, why)) {
    return;
  }
  if (refused < tuning_.few_refused) {
    begin_cohort(limit_);  // who comes is served
    return;
  }
  if (!level.in_bursts && compare_with_ramp(level, view, why)) {
    return;
  }
  if (may_raise(level)) {
    measured_ = true;
    ratio_ = tuning_.widest;
    look_up(level, why);
    return;
  }
  go_down(level);
  why = {LimitCause::looked_down, inputs_of(level)};
  why.inputs.low = limit_;
}

// Who is turned away may be counted a tick late, and the first of a burst before anybody has seen
// it: while the limit is full, or since it is in force.
double AutoLimit::share_refused(const Level& level, const LimitView& view) const noexcept {
  const double of_all = bursts_.share_refused(view);
  return level.in_bursts ? of_all : std::max(cohort_.share_refused(view), of_all);
}

void AutoLimit::look_up(const Level& level, LimitReason& why) noexcept {
  went_ = Way::up;
  start_pool(level);
  go_up(level);
  why = {LimitCause::looked_up, inputs_of(level)};
}

// When a limit becomes full, those who came on the way there have met fewer in flight: where they
// took no less time, the service has become slow for all, and is not crowded.
bool AutoLimit::compare_with_ramp(const Level& level, const LimitView& view,
                                  LimitReason& why) noexcept {
  Level below;
  if (!ramp_.level(view, below) || below.limit * kFarEnough > level.limit ||
      below.samples < tuning_.fewest || level.at - below.at > life_of(level)) {
    return false;
  }
  below.rate = level.rate;  // its own was on its way
  Comparison found = slopes_.compare(below, level);
  found.rates_known = false;
  const bool brings_more = found.slope + found.doubt < tuning_.more;
  if (!brings_more && found.slope - 2 * found.doubt < tuning_.more) {
    ramp_.forget();
    return false;
  }
  begin_with(found, brings_more ? tuning_.widest : __builtin_sqrt(tuning_.widest), why);
  return true;
}

// As long as the limit is only known not to be too high, those who came before it was full tell
// whether more bring more: nobody has to be turned away for that. That they took less time says
// nothing, since the service may have become slow meanwhile.
bool AutoLimit::compare_with_calm(const Level& level, LimitReason& why) noexcept {
  Level below = calm_.level();
  if (knee_known_ || !below.measured() || below.limit * kFarEnough > level.limit ||
      level.at - below.at > life_of(below)) {
    return false;
  }
  // Those among very few took no longer than those among half as many as now would have. Against
  // the few themselves times could be several times as long, and the slope still be small.
  below.limit = std::max(below.limit, whole(level.limit / tuning_.widest));
  Comparison found = slopes_.compare(below, level);
  found.rates_known = false;
  if (found.slope + found.doubt >= tuning_.more) {
    return false;
  }
  begin_with(found, tuning_.widest, why);
  return true;
}

void AutoLimit::begin_with(const Comparison& found, double ratio, LimitReason& why) noexcept {
  ratio_ = ratio;
  went_ = Way::nowhere;
  conclude(found, why);
}

// Without having compared: where nothing is known, or there is nothing below to compare with.
bool AutoLimit::may_raise(const Level& level) const noexcept {
  const Duration gone = std::min(full_since_, level.at) - compared_at_;  // it may be full no more
  const bool forgotten = !knee_known_ && gone >= seconds(tuning_.forget_s) + life_of(level);
  return (forgotten || level.limit == bounds_.least) && !unproven_ && level.limit < bounds_.most;
}

// ---- Comparing ----------------------------------------------------------------------------------

void AutoLimit::remember(const Comparison& found) noexcept {
  slopes_.remember(found, tuning_);
  const double slope = std::clamp(found.slope, -0.5, 1.5);  // one alone does not decide
  leans_up_ = std::max(leans_up_ + tuning_.more - slope, 0.0);
  leans_down_ = std::max(leans_down_ + slope - tuning_.well, 0.0);
  compared_at_ = std::max(found.low.at, found.high.at);
  unproven_ = false;
  in_vain_ = 0;
}

void AutoLimit::conclude(const Comparison& found, LimitReason& why) noexcept {
  remember(found);
  measured_ = true;
  ramp_.forget();  // it tells nothing that this has not told better
  const bool holds = holds_ || found.gap() <= 1;
  why = {LimitCause::moved, inputs_of(found)};
  if (leads_up(found, holds)) {
    const bool climbs = went_ == Way::up;
    ratio_ = holds || climbs ? std::min(ratio_ * ratio_, tuning_.widest) : ratio_;
    holds_ = knee_known_ = false;
    leans_up_ = leans_down_ = 0;
    went_ = Way::up;
    proven_ = found.high.limit - std::max(found.slope, 0.0) * found.gap();
    proven_at_ = compared_at_;
    why.cause = LimitCause::doubled;
    if (climbs) {
      cohort_of(found.high).add_to(pool_);
    } else {
      start_pool(found.high);
    }
    go_up(pooled(found.high));
  } else if (leads_down(found, holds)) {
    ratio_ = holds ? ratio_ * ratio_ : ratio_;
    holds_ = false;
    leans_up_ = leans_down_ = 0;
    went_ = Way::down;
    go_down(found.low);
  } else {
    settle(knee_of(found), found.high, why);
  }
}

// Who turns round has passed the knee: then it is between. What remains doubtful of two limits far
// apart, by one standard deviation, leads up: to stop too early costs far more than to go on.
bool AutoLimit::leads_up(const Comparison& found, bool holds) const noexcept {
  const double doubt = found.far() ? found.doubt : 0;
  const bool more = holds ? leans_up_ > tuning_.leans_up : found.slope < tuning_.more + doubt;
  return more && went_ != Way::down && found.high.limit < bounds_.most;
}

bool AutoLimit::leads_down(const Comparison& found, bool holds) const noexcept {
  const bool less = holds ? leans_down_ > tuning_.leans_down : found.slope > tuning_.less;
  const bool proven =
      compared_at_ - proven_at_ < life_of(found.high) && proven_ * ratio_ > found.low.limit;
  return less && went_ != Way::up && !proven && found.low.limit > bounds_.least;
}

// On the way up, what those took who did not wait says as well how much of the last is waiting.
// Where servers share it says too little, and never that the knee were lower than it is.
double AutoLimit::knee_of(const Comparison& found) const noexcept {
  if (went_ != Way::up || pool_.count() == 0) {
    return found.knee();
  }
  const double waiting = (found.high.time_ns - pooled(found.high).time_ns) / kSecondNs;
  // Less by what a rate of so many errs: a knee that is set too low costs what is not done until it
  // is looked for again, and one too high is seen by the next comparison.
  const double rate = found.high.rate * (1 - 1 / __builtin_sqrt(found.high.samples));
  return std::clamp(found.high.limit - rate * waiting, found.low.limit / ratio_, found.knee());
}

void AutoLimit::settle(double knee, const Level& known, LimitReason& why) noexcept {
  if (!holds_) {
    why.cause = LimitCause::settled;
  }
  const double before = ratio_;
  ratio_ = narrower(known);
  // The lower is to be at the knee, and where one more is much, not below it.
  constexpr double kNearlyOne = 0.9;
  const double wanted = std::max(knee * tuning_.margin * ratio_, knee + kNearlyOne);
  high_ += (holds_ ? tuning_.gain : 1.0) * (wanted - high_);
  high_ = std::clamp(high_, double(bounds_.least), double(bounds_.most));
  limit_ = within(high_);
  holds_ = ratio_ >= before;
  knee_known_ = true;
  went_ = Way::nowhere;
  partner_ = {};
  pool_.clear();
  // Holding, three of four are under the higher; and not in step with whatever else has a rhythm.
  target_ = slopes_.enough(low_of(high_), high_, known, tuning_) * (holds_ ? 3 : 1) *
            (0.75 + 0.5 * draw());
  begin_cohort(limit_);
}

// ---- Steps --------------------------------------------------------------------------------------

void AutoLimit::start_pool(const Level& level) noexcept {
  pool_.clear();
  cohort_of(level).add_to(pool_);
}

// A level with the times of all that were measured on the way to it.
Level AutoLimit::pooled(const Level& level) const noexcept {
  const std::uint32_t wanted = std::max(pool_.count() / 4 * 3 + pool_.count() % 4 * 3 / 4, 1U);
  const Times::Lower lowest = pool_.lowest(wanted);
  Level all = level;
  all.time_ns = lowest.mean_ns;
  all.spread = lowest.spread;
  all.samples = pool_.count();
  return all;
}

void AutoLimit::go_up(const Level& from) noexcept {
  partner_ = from;
  unproven_ = true;
  high_ = std::max(double(within(from.limit * ratio_)), from.limit + 1.0);
  limit_ = within(high_);
  target_ = slopes_.enough(from.limit, limit_, from, tuning_);
  begin_cohort(limit_);
}

void AutoLimit::go_down(const Level& from) noexcept {
  partner_ = from;
  looks_down_ = true;
  high_ = from.limit;
  limit_ = low_of(from.limit);
  target_ = slopes_.enough(limit_, from.limit, from, tuning_);
  begin_cohort(limit_);
}

void AutoLimit::begin_cohort(std::uint32_t limit) noexcept {
  cohort_ = Cohort(limit, tuning_.patience);
  begin_bursts();
}

void AutoLimit::begin_bursts() noexcept {
  bursts_ = Cohort(cohort_.limit(), tuning_.patience);
  seen_full_ = 0;
}

// So long a level can be compared with another: services change.
Duration AutoLimit::life_of(const Level& level) const noexcept {
  return moment_of(level) + level.span + level.span + level.span;
}

Duration AutoLimit::moment_of(const Level& level) const noexcept {
  return seconds(1) + nanoseconds(tuning_.of_a_moment * level.time_ns);
}

// The next narrower ratio, if the two can be told apart soon enough.
double AutoLimit::narrower(const Level& known) const noexcept {
  const double next = std::max(tuning_.narrowest, __builtin_sqrt(ratio_));
  const double low = std::max(known.limit / next, 1.0);
  const double cycle =
      4 * slopes_.enough(low, known.limit, known, tuning_) / std::max(known.rate, 1.0);
  return std::min(cycle > tuning_.cycle_s ? ratio_ : next, __builtin_sqrt(tuning_.widest));
}

double AutoLimit::fewest_at(std::uint32_t limit) const noexcept {
  return std::max(tuning_.fewest, double(limit));
}

std::uint32_t AutoLimit::within(double limit) const noexcept {
  return whole_within(limit + 0.5, bounds_);
}

// Rounded up: where one less is much, it is better to be above the knee.
std::uint32_t AutoLimit::low_of(double high) const noexcept {
  const std::uint32_t low = within(high / ratio_ + 0.499);
  const std::uint32_t above = within(high);
  return low < above ? low : std::max(above, bounds_.least + 1) - 1;
}

double AutoLimit::draw() noexcept {
  ++draws_;
  return static_cast<double>(split_mix(draws_) >> 11) * 0x1p-53;
}

}  // namespace loadline
