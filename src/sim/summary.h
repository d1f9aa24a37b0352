// What a run amounts to, in figures that people and tests name.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "loadline/decision.h"
#include "sim/door.h"
#include "sim/journal.h"
#include "sim/measures.h"

namespace loadline::sim {

// Which attempts. Without a service: those that callers made, wherever; with one: all that it was
// asked for, by whomever.
struct Selection {
  Span span{};  // rates and work count by when an attempt ended, shares by when it was offered
  std::vector<std::uint16_t> populations{};  // empty: all
  std::vector<std::uint8_t> classes{};       // empty: all
  std::vector<std::uint32_t> attempts{};     // of a call, 1 is the first; empty: all
  std::optional<std::uint16_t> service{};
  std::optional<std::uint32_t> instance{};

  friend bool operator==(const Selection&, const Selection&) = default;

  // Whether it is one of them, at whatever time; or of all those that the chosen are a part of.
  [[nodiscard]] bool picks(const Ending& e) const noexcept;
  [[nodiscard]] bool surrounds(const Ending& e) const noexcept;
};

struct Summary {
  static constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();  // none to measure

  // Of the attempts offered in the span.
  std::uint64_t calls = 0;      // first attempts, and those that were held back
  std::uint64_t attempts = 0;   // all
  std::uint64_t useful = 0;     // answered while somebody waited
  std::uint64_t wasted = 0;     // worked on, and answered when nobody waited any more or given up
  std::uint64_t rejected = 0;   // refused on arrival
  std::uint64_t expired = 0;    // refused after a wait
  std::uint64_t left = 0;       // given up by the gate before work began, since the caller had gone
  std::uint64_t failed = 0;     // an error came back
  std::uint64_t open = 0;       // under way when the run ended
  std::uint64_t held_back = 0;  // calls that the client half did not let go: no attempts
  std::array<std::uint64_t, kReasons> refused{};  // rejected and expired, by reason

  // A second, by when they ended or were offered in the span.
  double offered_per_second = 0;
  double goodput = 0;  // useful answers

  double waste = kNothing;          // the share of the work done that was done for nobody
  double admitted = kNothing;       // the share of the attempts that the gate let through
  double in_time = kNothing;        // the share of the attempts that were useful
  double refused_share = kNothing;  // of the attempts
  double late_share = kNothing;     // of the useful and the wasted, the wasted
  double served = kNothing;         // the share of the calls of which one attempt was
  double of_starts = kNothing;      // their share of all starts in the span, whoever's

  double in_flight = 0;       // units of work let through and not ended, the mean over the span
  double in_flight_peak = 0;  // and the most at any time in it
  double useful_work = 0;     // seconds of it a second: how many workers it kept busy
  // Of all gates together, in the span; without a gate, none.
  double limit_mean = kNothing;
  double limit_peak = kNothing;
  // How much the refusals of all instances together vary from one second to the next, against how
  // much they would if none knew of the others: the variance of the sum over the sum of the
  // variances.
  double unison = kNothing;
  // Seconds, at worst: what was left until the deadline when the gate let one through, and how long
  // one had to wait for a refusal.
  double least_left = kNothing;
  double refusal = kNothing;

  // Seconds. Latency is from the offer to the answer, of the useful ones; answered: of all that
  // were answered. A wait is from the offer to the start, of those let through.
  struct Times {
    double mean = kNothing;
    double p50 = kNothing;
    double p95 = kNothing;
    double p99 = kNothing;
    double p999 = kNothing;
    double most = kNothing;
  };
  Times latency;
  Times answered;
  Times wait;
};

// `selection.span` must be finite. `limits`: of all gates together.
Summary summarize(const Journal& journal, const Selection& selection,
                  const std::vector<LimitChange>& limits = {});

// The same of each `length` of the span, from one to the next `step` apart; what is left at the end
// and is shorter than that does not count.
std::vector<Summary> summarize_each(const Journal& journal, const Selection& selection,
                                    Duration length, Duration step,
                                    const std::vector<LimitChange>& limits = {});

}  // namespace loadline::sim
