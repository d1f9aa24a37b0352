// A quantity that is constant between the moments at which it changes: a rate of arrivals, a
// server's speed, its number of workers. All changes are known before the run.
#pragma once

#include <algorithm>
#include <vector>

#include "loadline/time.h"
#include "sim/seconds.h"

namespace loadline::sim {

template <class T>
class Steps {
 public:
  struct Change {
    Instant from{};
    T value{};
  };

  // NOLINTNEXTLINE(google-explicit-constructor): most quantities never change
  Steps(T always = T{}) : changes_{{Instant{}, always}} {}
  // `changes` in order of time.
  Steps(T before, std::vector<Change> changes) : changes_{{Instant{}, before}} {
    changes_.insert(changes_.end(), changes.begin(), changes.end());
  }

  [[nodiscard]] T at(Instant t) const noexcept { return changes_[index_at(t)].value; }

  // The first change after `t`; never if there is none.
  [[nodiscard]] Instant next_change(Instant t) const noexcept {
    const std::size_t next = index_at(t) + 1;
    return next < changes_.size() ? changes_[next].from : Instant::never();
  }

  [[nodiscard]] const std::vector<Change>& changes() const noexcept { return changes_; }

 private:
  [[nodiscard]] std::size_t index_at(Instant t) const noexcept {
    const auto after = std::upper_bound(changes_.begin() + 1, changes_.end(), t,
                                        [](Instant x, const Change& c) { return x < c.from; });
    return static_cast<std::size_t>(after - changes_.begin()) - 1;
  }

  std::vector<Change> changes_;
};

// What has been gathered from one moment to another, gathering `rate` a second.
inline double gathered(const Steps<double>& rate, Instant from, Instant to) noexcept {
  double amount = 0;
  while (from < to) {
    const Instant until = std::min(to, rate.next_change(from));
    amount += rate.at(from) * seconds(until - from);
    from = until;
  }
  return amount;
}

// When `amount` has been gathered, gathering `rate` a second from `from` on; never, if it is not.
inline Instant reached(const Steps<double>& rate, Instant from, double amount) noexcept {
  while (true) {
    const double here = rate.at(from);
    const Instant change = rate.next_change(from);
    const Instant done = here > 0 ? from + duration(amount / here) : Instant::never();
    if (done <= change || change == Instant::never()) {
      return done;
    }
    amount -= here * seconds(change - from);
    amount = std::max(amount, 0.0);
    from = change;
  }
}

}  // namespace loadline::sim
