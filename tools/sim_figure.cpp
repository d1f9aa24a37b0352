#include "sim_figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "loadline/decision.h"

namespace loadline::tools {
namespace {

using sim::Summary;
using Unit = SimFigure::Unit;
using Better = SimFigure::Better;

template <auto Member>
double member(const Summary& s) {
  return static_cast<double>(s.*Member);
}

template <auto Times, auto Member>
double time(const Summary& s) {
  return (s.*Times).*Member;
}

template <Reason Why>
double refused(const Summary& s) {
  return static_cast<double>(s.refused[static_cast<std::size_t>(Why)]);
}

double refused_in_all(const Summary& s) {
  return static_cast<double>(s.rejected + s.expired);
}

double attempts_per_call(const Summary& s) {
  return s.calls == 0 ? Summary::kNothing
                      : static_cast<double>(s.attempts) / static_cast<double>(s.calls);
}

constexpr auto kLatency = &Summary::latency;
constexpr auto kAnswered = &Summary::answered;
constexpr auto kWait = &Summary::wait;
using Times = Summary::Times;

constexpr SimFigure kFigures[] = {
    {"useful", Unit::count, Better::more, "answered while somebody waited",
     member<&Summary::useful>},
    {"wasted", Unit::count, Better::less, "worked on, and answered when nobody waited any more",
     member<&Summary::wasted>},
    {"rejected", Unit::count, Better::neither, "refused on arrival", member<&Summary::rejected>},
    {"expired", Unit::count, Better::less, "refused after a wait", member<&Summary::expired>},
    {"refused", Unit::count, Better::neither, "on arrival or after a wait", refused_in_all},
    {"left", Unit::count, Better::neither, "given up before work began: the caller had gone",
     member<&Summary::left>},
    {"failed", Unit::count, Better::less, "an error came back", member<&Summary::failed>},
    {"open", Unit::count, Better::less, "under way when the run ended", member<&Summary::open>},
    {"calls", Unit::count, Better::neither, "first attempts", member<&Summary::calls>},
    {"attempts", Unit::count, Better::neither, "all attempts", member<&Summary::attempts>},
    {"held_back", Unit::count, Better::neither, "calls that the client half did not let go",
     member<&Summary::held_back>},
    {"attempts_per_call", Unit::count, Better::less, "how many attempts a call made",
     attempts_per_call},
    {"offered", Unit::per_second, Better::neither, "attempts a second",
     member<&Summary::offered_per_second>},
    {"goodput", Unit::per_second, Better::more, "useful answers a second",
     member<&Summary::goodput>},
    {"admitted", Unit::share, Better::more, "of the attempts, let through by the gate",
     member<&Summary::admitted>},
    {"in_time", Unit::share, Better::more, "of the attempts, useful", member<&Summary::in_time>},
    {"refused_share", Unit::share, Better::less, "of the attempts, refused",
     member<&Summary::refused_share>},
    {"late_share", Unit::share, Better::less, "of the useful and the wasted, the wasted",
     member<&Summary::late_share>},
    {"served", Unit::share, Better::more, "of the calls, with one useful attempt",
     member<&Summary::served>},
    {"of_starts", Unit::share, Better::neither, "of all starts, whoever's",
     member<&Summary::of_starts>},
    {"in_flight", Unit::count, Better::neither, "let through and not ended, mean, in units of work",
     member<&Summary::in_flight>},
    {"in_flight_peak", Unit::count, Better::less, "the same, the most at any time",
     member<&Summary::in_flight_peak>},
    {"limit_mean", Unit::count, Better::neither, "the limit of all gates together, mean over time",
     member<&Summary::limit_mean>},
    {"limit_peak", Unit::count, Better::less, "the same, the highest",
     member<&Summary::limit_peak>},
    {"useful_work", Unit::count, Better::more, "seconds of useful work a second",
     member<&Summary::useful_work>},
    {"unison", Unit::count, Better::less,
     "variance of all instances' refusals a second, over the sum of each one's",
     member<&Summary::unison>},
    {"waste", Unit::share, Better::less, "of the work done, done for nobody",
     member<&Summary::waste>},
    {"p50", Unit::seconds, Better::less, "latency of the useful, median",
     time<kLatency, &Times::p50>},
    {"p95", Unit::seconds, Better::less, "the same, 95th percentile", time<kLatency, &Times::p95>},
    {"p99", Unit::seconds, Better::less, "the same, 99th percentile", time<kLatency, &Times::p99>},
    {"p999", Unit::seconds, Better::less, "the same, 99.9th percentile",
     time<kLatency, &Times::p999>},
    {"max", Unit::seconds, Better::less, "the same, longest", time<kLatency, &Times::most>},
    {"mean", Unit::seconds, Better::less, "the same, mean", time<kLatency, &Times::mean>},
    {"answered_p50", Unit::seconds, Better::less, "latency of all answered, in time or not, median",
     time<kAnswered, &Times::p50>},
    {"answered_p95", Unit::seconds, Better::less, "the same, 95th percentile",
     time<kAnswered, &Times::p95>},
    {"answered_p99", Unit::seconds, Better::less, "the same, 99th percentile",
     time<kAnswered, &Times::p99>},
    {"answered_max", Unit::seconds, Better::less, "the same, longest",
     time<kAnswered, &Times::most>},
    {"answered_mean", Unit::seconds, Better::less, "the same, mean", time<kAnswered, &Times::mean>},
    {"wait_mean", Unit::seconds, Better::less, "from the offer to the start, mean",
     time<kWait, &Times::mean>},
    {"wait_p50", Unit::seconds, Better::less, "the same, median", time<kWait, &Times::p50>},
    {"wait_p95", Unit::seconds, Better::less, "the same, 95th percentile",
     time<kWait, &Times::p95>},
    {"wait_p99", Unit::seconds, Better::less, "the same, 99th percentile",
     time<kWait, &Times::p99>},
    {"wait_max", Unit::seconds, Better::less, "the same, longest", time<kWait, &Times::most>},
    {"least_left", Unit::seconds, Better::more, "left until the deadline at a start, least",
     member<&Summary::least_left>},
    {"refusal", Unit::seconds, Better::less, "from the offer to a refusal, longest",
     member<&Summary::refusal>},
};

// Function pointers need one function a reason; names need somewhere to stay.
template <std::size_t... I>
std::array<SimFigure, sizeof...(I)> reason_figures(std::index_sequence<I...>) {
  static const std::array<std::string, sizeof...(I)> kNames = {
      "rejected_" + std::string(name(static_cast<Reason>(I + 1)))...};
  return {SimFigure{kNames[I], Unit::count, Better::neither,
                    "refused, on arrival or after a wait, for this reason",
                    refused<static_cast<Reason>(I + 1)>}...};
}

std::vector<SimFigure> all_figures() {
  std::vector<SimFigure> figures(std::begin(kFigures), std::end(kFigures));
  const auto reasons = reason_figures(std::make_index_sequence<kReasons - 1>());
  figures.insert(figures.end(), reasons.begin(), reasons.end());
  return figures;
}

// Four digits are as many as a person reads.
std::string format_seconds(double seconds) {
  const double size = std::abs(seconds);
  if (size >= 1) {
    return fmt::format("{:.4g} s", seconds);
  }
  return size >= 0.001 || size == 0 ? fmt::format("{:.4g} ms", seconds * 1e3)
                                    : fmt::format("{:.4g} us", seconds * 1e6);
}

// Whole where it is a count, and never with an exponent.
std::string format_number(double value) {
  if (value == std::floor(value)) {
    return fmt::format("{:.0f}", value);
  }
  return std::abs(value) >= 1000 ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
}

}  // namespace

std::span<const SimFigure> sim_figures() {
  static const std::vector<SimFigure> kAll = all_figures();
  return kAll;
}

const SimFigure* find_sim_figure(std::string_view name) {
  const auto all = sim_figures();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [name](const SimFigure& figure) { return figure.name == name; });
  return found == all.end() ? nullptr : &*found;
}

std::string format_figure(const SimFigure& figure, double value) {
  if (std::isnan(value)) {
    return "-";
  }
  switch (figure.unit) {
    case Unit::count:
      return format_number(value);
    case Unit::per_second:
      return format_number(value) + "/s";
    case Unit::share:
      return format_number(value * 100) + " %";
    case Unit::seconds:
      break;
  }
  return format_seconds(value);
}

}  // namespace loadline::tools
