#include "sim/summary.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "sim/seconds.h"

namespace loadline::sim {
namespace {

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

double ratio(double part, double whole) {
  return whole > 0 ? part / whole : Summary::kNothing;
}

class Counter {
 public:
  explicit Counter(const Selection& selection) : selection_(selection) {}

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
    done_.in_flight =
        present_ / static_cast<double>((selection_.span.to - selection_.span.from).ns);
    done_.latency = times_of(latency_);
    done_.answered = answered_.size() == done_.useful ? done_.latency : times_of(answered_);
    done_.wait = times_of(wait_);
    return done_;
  }

 private:
  void count(const Ending& e) {
    ++done_.attempts;
    done_.calls += e.attempt == 1 ? 1 : 0;
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
        break;
    }
  }

  void measure_presence(const Ending& e) {
    if (e.admitted()) {
      const Instant from = std::max(e.started, selection_.span.from);
      const Instant to = std::min(e.ended, selection_.span.to);
      present_ += from < to ? static_cast<double>((to - from).ns) * e.cost : 0;
    }
  }

  void measure_work(const Ending& e) {
    good_ended_ += e.good() ? 1 : 0;
    if (e.admitted()) {
      work_ += seconds(e.work);
      wasted_work_ += e.good() ? 0 : seconds(e.work);
    }
  }

  const Selection& selection_;
  Summary done_;
  std::uint64_t admitted_ = 0;
  std::uint64_t served_ = 0;
  std::uint64_t good_ended_ = 0;
  std::uint64_t starts_ = 0;
  std::uint64_t own_starts_ = 0;
  double present_ = 0;  // whole nanoseconds, so that half of a limit is half of it
  double work_ = 0;
  double wasted_work_ = 0;
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

Summary summarize(const Journal& journal, const Selection& selection) {
  Counter counter(selection);
  for (const Ending& e : journal) {
    counter.take(e);
  }
  return counter.result();
}

}  // namespace loadline::sim
