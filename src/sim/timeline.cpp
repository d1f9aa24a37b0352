#include "sim/timeline.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/seconds.h"

namespace loadline::sim {
namespace {

// The shortest 1, 2 or 5 times a power of ten nanoseconds of which `slices` cover `length`.
Duration round_slice(Duration length, std::int64_t slices) {
  std::int64_t power = 1;
  while (true) {
    for (const std::int64_t digit : {1, 2, 5}) {
      const Duration slice = Duration{digit} * power;
      if ((slice * slices).ns >= length.ns) {
        return slice;
      }
    }
    power *= 10;
  }
}

// The slices of [0, end). The last one ends with the run: it is half as long as the others at
// least, and less than one and a half times as long, since what a sliver of time saw is no rate.
class Ruler {
 public:
  Ruler(Instant end, std::size_t slices) : end_(std::max(end, Instant{})) {
    const auto most = static_cast<std::int64_t>(std::clamp<std::size_t>(slices, 1, 1U << 20));
    slice_ = round_slice(end_ - Instant{}, most);
    const std::int64_t nearest = (end_.ns / slice_.ns) + (end_.ns % slice_.ns * 2 >= slice_.ns);
    count_ = end_ == Instant{} ? 0 : static_cast<std::size_t>(std::max<std::int64_t>(nearest, 1));
  }

  [[nodiscard]] Duration slice() const noexcept { return slice_; }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  [[nodiscard]] Instant end() const noexcept { return end_; }
  // A run ends with what ends it, so the end is of the last slice.
  [[nodiscard]] bool holds(Instant t) const noexcept {
    return count_ != 0 && Instant{} <= t && t <= end_;
  }
  [[nodiscard]] std::size_t index(Instant t) const noexcept {
    return std::min(static_cast<std::size_t>(t.ns / slice_.ns), count_ - 1);
  }
  [[nodiscard]] Instant start(std::size_t i) const noexcept {
    return Instant{static_cast<std::int64_t>(i) * slice_.ns};
  }
  [[nodiscard]] Duration width(std::size_t i) const noexcept {
    return i + 1 == count_ ? end_ - start(i) : slice_;
  }

 private:
  Instant end_;
  Duration slice_{};
  std::size_t count_ = 0;
};

// How many there were in each slice, a second.
class Rate {
 public:
  explicit Rate(const Ruler& ruler) : ruler_(ruler) {}

  void count(Instant t) {
    if (ruler_.holds(t)) {
      counts_.resize(ruler_.count());
      ++counts_[ruler_.index(t)];
    }
  }
  [[nodiscard]] bool none() const noexcept { return counts_.empty(); }
  [[nodiscard]] std::vector<double> result() const {
    std::vector<double> rates(ruler_.count());
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      rates[i] = static_cast<double>(counts_[i]) / seconds(ruler_.width(i));
    }
    return rates;
  }

 private:
  const Ruler& ruler_;
  std::vector<std::uint64_t> counts_;  // empty: none so far
};

// The mean of a sum of things, each of which is there for a while. A thing costs the same however
// many slices it is there for: in those that it fills, only its coming and going are noted.
class Presence {
 public:
  explicit Presence(const Ruler& ruler)
      : ruler_(ruler), parts_(ruler.count()), steps_(ruler.count() + 1) {}

  void add(Instant from, Instant to, double amount = 1) {
    from = std::max(from, Instant{});
    to = std::min(to, ruler_.end());
    if (from >= to) {
      return;
    }
    const std::size_t first = ruler_.index(from);
    const std::size_t last = ruler_.index(to);
    // From the beginning of the first slice, but for what lay before; likewise at the other end.
    steps_[first] += amount;
    steps_[last] -= amount;
    parts_[first] -= amount * static_cast<double>((from - ruler_.start(first)).ns);
    parts_[last] += amount * static_cast<double>((to - ruler_.start(last)).ns);
  }
  [[nodiscard]] std::vector<double> result() const {
    std::vector<double> means(ruler_.count());
    double there = 0;
    for (std::size_t i = 0; i < means.size(); ++i) {
      there += steps_[i];
      // Never below nothing, which rounding might make of it.
      means[i] = std::max(0.0, there + parts_[i] / static_cast<double>(ruler_.width(i).ns));
    }
    return means;
  }

 private:
  const Ruler& ruler_;
  std::vector<double> parts_;  // nanoseconds: whole numbers, so that sums are exact
  std::vector<double> steps_;
};

// The smallest value that a share of q does not exceed.
double quantile(std::vector<double>& values, double q) {
  if (values.empty()) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const double rank = std::ceil(q * static_cast<double>(values.size()) - 1e-9);
  const auto nth = values.begin() + static_cast<std::ptrdiff_t>(std::max(rank, 1.0)) - 1;
  std::nth_element(values.begin(), nth, values.end());
  return *nth;
}

// How long things took, by the slice in which they began.
class Times {
 public:
  explicit Times(const Ruler& ruler) : ruler_(ruler), by_slice_(ruler.count()) {}

  void take(Instant from, Instant to) {
    if (ruler_.holds(from)) {
      by_slice_[ruler_.index(from)].push_back(seconds(to - from));
    }
  }
  [[nodiscard]] std::vector<double> at(double q) {
    std::vector<double> values;
    values.reserve(by_slice_.size());
    for (std::vector<double>& slice : by_slice_) {
      values.push_back(quantile(slice, q));
    }
    return values;
  }

 private:
  const Ruler& ruler_;
  std::vector<std::vector<double>> by_slice_;
};

// Indices of `n` sorted values that show the tail on a logarithmic axis, the beginning, and all
// that lies between.
std::vector<std::size_t> ranks_to_draw(std::size_t n) {
  constexpr int kTail = 150;
  constexpr int kBegin = 40;
  constexpr int kBetween = 100;
  const auto last = static_cast<double>(n - 1);
  // From 0 to the last, a constant factor apart from each other where that is more than one.
  const auto spread = [&](int point, int points) {
    return static_cast<std::size_t>(std::expm1(std::log1p(last) * point / points) + 1e-6);
  };
  std::vector<std::size_t> ranks;
  for (int i = 0; i <= kTail; ++i) {
    ranks.push_back(n - 1 - std::min(spread(i, kTail), n - 1));
  }
  for (int i = 0; i <= kBegin; ++i) {
    ranks.push_back(std::min(spread(i, kBegin), n - 1));
  }
  for (int i = 1; i < kBetween; ++i) {
    ranks.push_back(static_cast<std::size_t>(last * i / kBetween));
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

std::vector<Timeline::Beyond> beyond_of(std::vector<double>& times) {
  std::vector<Timeline::Beyond> points;
  if (times.empty()) {
    return points;
  }
  std::sort(times.begin(), times.end());
  for (const std::size_t rank : ranks_to_draw(times.size())) {
    const double t = times[rank];
    if (!points.empty() && points.back().seconds == t) {
      continue;
    }
    const auto longer = times.end() - std::upper_bound(times.begin(), times.end(), t);
    points.push_back({t, static_cast<double>(longer) / static_cast<double>(times.size())});
  }
  return points;
}

// A step function's mean over each slice. It has been what it first is since the beginning: a gate
// has its limit before anybody looks at it.
class StepMeans {
 public:
  explicit StepMeans(const Ruler& ruler) : sum_(ruler) {}

  void step(Instant from, double value) {
    if (any_) {
      sum_.add(since_, from, value_);
      since_ = from;
    }
    any_ = true;
    value_ = value;
  }
  [[nodiscard]] std::vector<double> result() {
    if (!any_) {
      return {};
    }
    sum_.add(since_, Instant::never(), value_);
    return sum_.result();
  }

 private:
  Presence sum_;
  Instant since_{};
  double value_ = 0;
  bool any_ = false;
};

class Drawer {
 public:
  explicit Drawer(const Ruler& ruler) : ruler_(ruler), refused_(kReasons, Rate(ruler)) {}

  void take(const Ending& e) {
    if (e.fate == Fate::held_back) {
      return;  // nobody was asked
    }
    const Instant ended = e.fate == Fate::open ? ruler_.end() : e.ended;
    offered_.count(e.offered);
    waiting_.add(e.offered, std::min(e.started, ended));
    if (e.admitted()) {
      in_flight_.add(e.started, ended);
      waits_.take(e.offered, e.started);
    }
    switch (e.fate) {
      case Fate::answered:
        take_answer(e);
        break;
      case Fate::failed:
        late_.count(e.ended);
        break;
      case Fate::refused:
        refused_[static_cast<std::size_t>(e.reason)].count(e.ended);
        break;
      case Fate::left:
      case Fate::open:
      case Fate::held_back:
        break;
    }
  }

  Timeline result() {
    Timeline done;
    done.slice = ruler_.slice();
    done.offered = offered_.result();
    done.goodput = goodput_.result();
    done.late = late_.result();
    done.in_flight = in_flight_.result();
    done.waiting = waiting_.result();
    done.wait_p50 = waits_.at(0.5);
    done.wait_p99 = waits_.at(0.99);
    done.latency_p50 = latency_.at(0.5);
    done.latency_p99 = latency_.at(0.99);
    for (std::size_t i = 0; i < refused_.size(); ++i) {
      if (!refused_[i].none()) {
        done.rejected[i] = refused_[i].result();
      }
    }
    done.beyond = beyond_of(answered_);
    return done;
  }

 private:
  void take_answer(const Ending& e) {
    (e.good() ? goodput_ : late_).count(e.ended);
    if (e.good()) {
      latency_.take(e.offered, e.ended);
    }
    if (ruler_.holds(e.offered)) {
      answered_.push_back(seconds(e.ended - e.offered));
    }
  }

  const Ruler& ruler_;
  Rate offered_{ruler_};
  Rate goodput_{ruler_};
  Rate late_{ruler_};
  Presence in_flight_{ruler_};
  Presence waiting_{ruler_};
  Times waits_{ruler_};
  Times latency_{ruler_};
  std::vector<Rate> refused_;  // by reason
  std::vector<double> answered_;
};

}  // namespace

Timeline timeline_of(const Journal& journal, Instant end, const std::vector<LimitChange>& limits,
                     const std::vector<Fleet::Turnout>& turnouts, std::size_t slices) {
  const Ruler ruler(end, slices);
  Drawer drawer(ruler);
  for (const Ending& e : journal) {
    if (e.origin == Origin::caller) {
      drawer.take(e);
    }
  }
  Timeline done = drawer.result();
  StepMeans limit(ruler);
  for (const LimitChange& change : limits) {
    limit.step(change.from, change.limit);
  }
  done.limit = limit.result();
  StepMeans in_turn(ruler);
  for (const Fleet::Turnout& turnout : turnouts) {
    if (turnout.service == 0) {
      in_turn.step(turnout.from, turnout.in_turn);
    }
  }
  done.in_turn = in_turn.result();
  return done;
}

}  // namespace loadline::sim
