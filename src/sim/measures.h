// What a journal amounts to. Rates and work are counted by when an attempt ended, shares by when it
// was offered; a `Pick` chooses among the attempts (all of them, if none is given).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "sim/journal.h"
#include "sim/seconds.h"

namespace loadline::sim {

struct Span {
  Instant from{};
  Instant to = Instant::never();

  friend bool operator==(const Span&, const Span&) noexcept = default;

  [[nodiscard]] bool holds(Instant t) const noexcept { return from <= t && t < to; }
};

struct Everyone {
  bool operator()(const Ending&) const noexcept { return true; }
};

struct OfClass {
  std::uint8_t importance;
  bool operator()(const Ending& e) const noexcept { return e.importance == importance; }
};

struct OfPopulation {
  std::uint8_t population;
  bool operator()(const Ending& e) const noexcept { return e.population == population; }
};

template <class Pick>
std::uint64_t count(const Journal& journal, Pick pick) {
  return static_cast<std::uint64_t>(std::count_if(journal.begin(), journal.end(), pick));
}

// Answers inside their callers' deadlines, a second.
template <class Pick = Everyone>
double goodput(const Journal& journal, Span span, Pick pick = {}) {
  const auto good =
      count(journal, [&](const Ending& e) { return e.good() && span.holds(e.ended) && pick(e); });
  return static_cast<double>(good) / seconds(span.to - span.from);
}

// The share of the server's work that was done for nobody. Work counts when it has been done.
template <class Pick = Everyone>
double waste(const Journal& journal, Span span, Pick pick = {}) {
  double all = 0;
  double wasted = 0;
  for (const Ending& e : journal) {
    if (e.fate == Fate::answered && span.holds(e.ended) && pick(e)) {
      all += seconds(e.work);
      wasted += e.good() ? 0 : seconds(e.work);
    }
  }
  return all == 0 ? 0 : wasted / all;
}

// The share of the attempts offered in `span` and picked of which `which` holds. Those that were
// still under way at the end of the run do not count.
template <class Which, class Pick = Everyone>
double share(const Journal& journal, Span span, Which which, Pick pick = {}) {
  std::uint64_t all = 0;
  std::uint64_t those = 0;
  for (const Ending& e : journal) {
    if (e.decided() && span.holds(e.offered) && pick(e)) {
      ++all;
      those += which(e) ? 1 : 0;
    }
  }
  return all == 0 ? std::numeric_limits<double>::quiet_NaN()
                  : static_cast<double>(those) / static_cast<double>(all);
}

template <class Pick = Everyone>
double admitted(const Journal& journal, Span span, Pick pick = {}) {
  return share(
      journal, span, [](const Ending& e) { return e.admitted(); }, pick);
}

template <class Pick = Everyone>
double in_time(const Journal& journal, Span span, Pick pick = {}) {
  return share(
      journal, span, [](const Ending& e) { return e.good(); }, pick);
}

// From the offer to the answer, in seconds, of those admitted and offered in `span`; at quantile q.
template <class Pick = Everyone>
double latency(const Journal& journal, Span span, double q, Pick pick = {}) {
  std::vector<double> all;
  for (const Ending& e : journal) {
    if (e.fate == Fate::answered && span.holds(e.offered) && pick(e)) {
      all.push_back(seconds(e.ended - e.offered));
    }
  }
  if (all.empty()) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  // The smallest value that a share of q does not exceed.
  const auto rank = static_cast<std::size_t>(std::ceil(q * static_cast<double>(all.size())));
  const auto nth = all.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(rank, 1) - 1);
  std::nth_element(all.begin(), nth, all.end());
  return *nth;
}

// Counts by reason of those refused that were offered in `span`.
template <class Pick = Everyone>
std::array<std::uint64_t, kReasons> refused(const Journal& journal, Span span, Pick pick = {}) {
  std::array<std::uint64_t, kReasons> counts{};
  for (const Ending& e : journal) {
    if (e.fate == Fate::refused && span.holds(e.offered) && pick(e)) {
      ++counts[static_cast<std::size_t>(e.reason)];
    }
  }
  return counts;
}

// How many fall into each slice of `width`, by the instant that `when` names (never: into none).
template <class When>
std::vector<std::uint64_t> slices(const Journal& journal, Span span, Duration width, When when) {
  const std::int64_t n = ((span.to - span.from).ns + width.ns - 1) / width.ns;
  std::vector<std::uint64_t> counts(static_cast<std::size_t>(n));
  for (const Ending& e : journal) {
    if (const Instant t = when(e); span.holds(t)) {
      ++counts[static_cast<std::size_t>((t - span.from).ns / width.ns)];
    }
  }
  return counts;
}

}  // namespace loadline::sim
