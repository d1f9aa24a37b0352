#include "sim/summary.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "sim/seconds.h"

namespace loadline::sim {
namespace {

double ratio(double part, double whole) {
  return whole > 0 ? part / whole : Summary::kNothing;
}

Summary::Times times_of(std::vector<double>& all) {
  Summary::Times times;
  if (all.empty()) {
    return times;
  }
  double sum = 0;
  for (const double t : all) {
    sum += t;
  }
  const auto n = static_cast<double>(all.size());
  // The smallest value that a share of q does not exceed; to be asked for rising ones.
  auto from = all.begin();
  const auto at = [&](double q) {
    const auto rank = static_cast<std::ptrdiff_t>(std::max(1.0, std::ceil(q * n - 1e-9)));
    const auto nth = all.begin() + rank - 1;
    std::nth_element(from, nth, all.end());
    from = nth;
    return *nth;
  };
  times.mean = sum / n;
  times.p50 = at(0.5);
  times.p95 = at(0.95);
  times.p99 = at(0.99);
  times.p999 = at(0.999);
  times.most = at(1);
  return times;
}

// The most that were there at any time of a span. One who goes in the instant in which another
// comes has gone first.
class Peak {
 public:
  void add(Instant from, Instant to, std::uint32_t units) {
    steps_.emplace_back(from, units);
    steps_.emplace_back(to, -std::int64_t{units});
  }
  [[nodiscard]] double result() {
    std::sort(steps_.begin(), steps_.end());
    std::int64_t there = 0;
    std::int64_t most = 0;
    for (const auto& [when, by] : steps_) {
      there += by;
      most = std::max(most, there);
    }
    return static_cast<double>(most);
  }

 private:
  std::vector<std::pair<Instant, std::int64_t>> steps_;
};

// See Summary::unison. Refusals come in order of time.
class Unison {
 public:
  explicit Unison(Span span) : span_(span) {}

  void count(Instant when, std::uint32_t instance) {
    const auto second = (when - span_.from).ns / Duration::seconds(1).ns;
    while (second_ < second) {
      end_second();
    }
    of_second_.resize(std::max<std::size_t>(of_second_.size(), instance + 1));
    ++of_second_[instance];
  }
  [[nodiscard]] double result() {
    const auto seconds = (span_.to - span_.from).ns / Duration::seconds(1).ns;
    while (second_ < seconds) {
      end_second();
    }
    if (seconds_.size() < 2 || seconds < 2) {
      return Summary::kNothing;
    }
    double apart = 0;
    for (const Moments& one : seconds_) {
      apart += one.variance(seconds);
    }
    return ratio(together_.variance(seconds), apart);
  }

 private:
  // Whole numbers, so that the order of adding does not matter.
  struct Moments {
    double sum = 0;
    double squares = 0;

    void add(double x) {
      sum += x;
      squares += x * x;
    }
    [[nodiscard]] double variance(std::int64_t n) const {
      return squares - sum * sum / static_cast<double>(n);
    }
  };

  void end_second() {
    seconds_.resize(std::max(seconds_.size(), of_second_.size()));
    double sum = 0;
    for (std::size_t i = 0; i < of_second_.size(); ++i) {
      seconds_[i].add(of_second_[i]);
      sum += of_second_[i];
      of_second_[i] = 0;
    }
    together_.add(sum);
    ++second_;
  }

  Span span_;
  std::int64_t second_ = 0;
  std::vector<std::uint32_t> of_second_;  // by instance
  std::vector<Moments> seconds_;
  Moments together_;
};

// It has been what it first is since the beginning: a gate has its limit before anybody looks at
// it.
void limit_in(Span span, const std::vector<LimitChange>& limits, Summary& done) {
  if (limits.empty()) {
    return;
  }
  double sum = 0;
  double peak = 0;
  for (std::size_t i = 0; i < limits.size(); ++i) {
    const Instant from = std::max(i == 0 ? Instant{} : limits[i].from, span.from);
    const Instant to = std::min(i + 1 < limits.size() ? limits[i + 1].from : span.to, span.to);
    if (from < to) {
      sum += static_cast<double>((to - from).ns) * limits[i].limit;
      peak = std::max<double>(peak, limits[i].limit);
    }
  }
  done.limit_mean = sum / static_cast<double>((span.to - span.from).ns);
  done.limit_peak = peak;
}

class Counter {
 public:
  Counter(const Selection& selection, const std::vector<LimitChange>& limits)
      : selection_(selection), unison_(selection.span) {
    limit_in(selection.span, limits, done_);
  }

  void take(const Ending& e) {
    const bool started = e.admitted() && selection_.span.holds(e.started);
    starts_ += started && selection_.surrounds(e) ? 1 : 0;
    if (!selection_.picks(e)) {
      return;
    }
    own_starts_ += started ? 1 : 0;
    measure_presence(e);
    // By when the call was made: the second attempt of an earlier one serves nobody counted here.
    served_ += e.good() && selection_.span.holds(e.called) ? 1 : 0;
    if (selection_.span.holds(e.offered)) {
      count(e);
    }
    if (e.fate != Fate::open && selection_.span.holds(e.ended)) {
      measure_work(e);
    }
  }

  Summary result() {
    const double length = seconds(selection_.span.to - selection_.span.from);
    done_.offered_per_second = static_cast<double>(done_.attempts) / length;
    done_.goodput = static_cast<double>(good_ended_) / length;
    done_.waste = ratio(wasted_work_, work_);
    const auto decided = static_cast<double>(done_.attempts - done_.open);
    done_.admitted = ratio(static_cast<double>(admitted_), decided);
    done_.in_time = ratio(static_cast<double>(done_.useful), decided);
    done_.served = ratio(static_cast<double>(served_), static_cast<double>(done_.calls));
    done_.of_starts = ratio(static_cast<double>(own_starts_), static_cast<double>(starts_));
    done_.refused_share = ratio(static_cast<double>(done_.rejected + done_.expired), decided);
    done_.late_share =
        ratio(static_cast<double>(done_.wasted), static_cast<double>(done_.useful + done_.wasted));
    done_.useful_work = (work_ - wasted_work_) / length;
    done_.unison = unison_.result();
    done_.in_flight_peak = peak_.result();
    done_.in_flight =
        present_ / static_cast<double>((selection_.span.to - selection_.span.from).ns);
    done_.latency = times_of(latency_);
    done_.answered = answered_.size() == done_.useful ? done_.latency : times_of(answered_);
    done_.wait = times_of(wait_);
    return done_;
  }

 private:
  void count(const Ending& e) {
    done_.calls += e.attempt == 1 ? 1 : 0;
    if (e.fate == Fate::held_back) {
      ++done_.held_back;
      return;
    }
    ++done_.attempts;
    if (e.fate == Fate::open) {
      ++done_.open;
      return;
    }
    admitted_ += e.admitted() ? 1 : 0;
    if (e.admitted()) {
      wait_.push_back(seconds(e.started - e.offered));
      if (e.deadline != Instant::never()) {
        done_.least_left = std::fmin(done_.least_left, seconds(e.deadline - e.started));
      }
    }
    count_fate(e);
  }

  void count_fate(const Ending& e) {
    switch (e.fate) {
      case Fate::answered:
        ++(e.good() ? done_.useful : done_.wasted);
        answered_.push_back(seconds(e.ended - e.offered));
        if (e.good()) {
          latency_.push_back(answered_.back());
        }
        break;
      case Fate::refused:
        ++(e.ended > e.offered ? done_.expired : done_.rejected);
        ++done_.refused[static_cast<std::size_t>(e.reason)];
        done_.refusal = std::fmax(done_.refusal, seconds(e.ended - e.offered));
        break;
      case Fate::left:
        ++(e.admitted() ? done_.wasted : done_.left);
        break;
      case Fate::failed:
        ++done_.failed;
        break;
      case Fate::open:
      case Fate::held_back:
        break;
    }
  }

  void measure_presence(const Ending& e) {
    if (e.admitted()) {
      const Instant from = std::max(e.started, selection_.span.from);
      const Instant to = std::min(e.ended, selection_.span.to);
      if (from < to) {
        present_ += static_cast<double>((to - from).ns) * e.cost;
        peak_.add(from, to, e.cost);
      }
    }
  }

  void measure_work(const Ending& e) {
    good_ended_ += e.good() ? 1 : 0;
    if (e.fate == Fate::refused) {
      unison_.count(e.ended, e.instance);
    }
    if (e.admitted()) {
      work_ += seconds(e.work);
      wasted_work_ += e.good() ? 0 : seconds(e.work);
    }
  }

  Selection selection_;
  Summary done_;
  std::uint64_t admitted_ = 0;
  std::uint64_t served_ = 0;
  std::uint64_t good_ended_ = 0;
  std::uint64_t starts_ = 0;
  std::uint64_t own_starts_ = 0;
  double present_ = 0;  // whole nanoseconds, so that half of a limit is half of it
  double work_ = 0;
  double wasted_work_ = 0;
  Peak peak_;
  Unison unison_;
  std::vector<double> latency_;
  std::vector<double> answered_;
  std::vector<double> wait_;
};

}  // namespace

bool Selection::picks(const Ending& e) const noexcept {
  const auto one_of = [](const auto& chosen, auto which) {
    return chosen.empty() || std::find(chosen.begin(), chosen.end(), which) != chosen.end();
  };
  return surrounds(e) && one_of(populations, e.population) && one_of(classes, e.importance) &&
         one_of(attempts, e.attempt);
}

bool Selection::surrounds(const Ending& e) const noexcept {
  return (service ? e.service == *service : e.origin == Origin::caller) &&
         (!instance || e.instance == *instance);
}

Summary summarize(const Journal& journal, const Selection& selection,
                  const std::vector<LimitChange>& limits) {
  Counter counter(selection, limits);
  for (const Ending& e : journal) {
    counter.take(e);
  }
  return counter.result();
}

std::vector<Summary> summarize_each(const Journal& journal, const Selection& selection,
                                    Duration length, Duration step,
                                    const std::vector<LimitChange>& limits) {
  std::vector<Counter> slices;
  const Span whole = selection.span;
  for (Instant from = whole.from; length <= whole.to - from; from = from + step) {
    Selection slice = selection;
    slice.span = {from, from + length};
    slices.emplace_back(slice, limits);
  }
  const auto index = [&](Instant t) { return (t - whole.from).ns / step.ns; };
  const auto end = static_cast<std::int64_t>(slices.size());
  for (const Ending& e : journal) {
    // Nothing of it lies before its call or behind its end.
    for (auto i = std::max<std::int64_t>(index(e.called), 0); i < end && i <= index(e.ended); ++i) {
      slices[static_cast<std::size_t>(i)].take(e);
    }
  }
  std::vector<Summary> done;
  done.reserve(slices.size());
  for (Counter& slice : slices) {
    done.push_back(slice.result());
  }
  return done;
}

}  // namespace loadline::sim
