#include "limit_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "loadline/limit/auto_tuning.h"

namespace loadline::tools {
namespace {

constexpr std::size_t kFewProbes = 2;  // are told one by one

// "20.3 ms": three digits, in the unit that fits.
std::string time_text(Duration time) {
  const auto ns = static_cast<double>(time.ns);
  if (ns < 1e6) {
    return fmt::format("{:.3g} us", ns / 1e3);
  }
  return ns < 1e9 ? fmt::format("{:.3g} ms", ns / 1e6) : fmt::format("{:.4g} s", ns / 1e9);
}

std::string rate_text(double rate) {
  return rate < 100 ? fmt::format("{:.3g} answers a second", rate)
                    : fmt::format("{:.0f} answers a second", std::min(rate, 1e12));
}

// It may come out below 0 or above 1 where times waver.
std::string percent(double share) {
  return fmt::format("{:.0f} %", std::clamp(std::isnan(share) ? 0 : share, 0.0, 1.0) * 100);
}

std::string from_to(const LimitEvent& event) {
  return event.from == event.to ? fmt::format("the limit stays at {}", event.to)
                                : fmt::format("the limit goes from {} to {}", event.from, event.to);
}

bool has_pair(const LimitInputs& in) {
  return in.low != 0 && in.high > in.low;
}

// "20.1 ms at 12"; not every law knows at how many. Empty: no time is known.
std::string time_at(Duration time, std::uint32_t limit) {
  if (time.ns <= 0) {
    return "";
  }
  return limit == 0 ? time_text(time) : fmt::format("{} at {}", time_text(time), limit);
}

// "20.1 ms at 12 and 20.4 ms at 24, 96 requests": what is known of it.
std::string measured(const LimitInputs& in) {
  std::string text;
  const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  const std::string low = time_at(in.time_low, in.low);
  const std::string high = time_at(in.time_high, in.high);
  if (!low.empty() || !high.empty()) {
    add(low + (low.empty() || high.empty() ? "" : " and ") + high);
  }
  if (in.samples != 0) {
    add(fmt::format("{} requests", in.samples));
  }
  if (in.rate > 0) {
    add(rate_text(in.rate));
  }
  return text.empty() ? "" : " (" + text + ")";
}

// "of what 24 in flight bring beyond 12, 7 % is mere waiting".
std::string waiting_share(const LimitInputs& in) {
  return fmt::format("of what {} in flight bring beyond {}, {} is mere waiting", in.high, in.low,
                     percent(in.slope));
}

std::string compared(const LimitEvent& event, const char* conclusion) {
  const LimitInputs& in = event.reason.inputs;
  if (!has_pair(in)) {
    return fmt::format("{}{}: {}", conclusion, measured(in), from_to(event));
  }
  return fmt::format("{}: {}{}, so {}", conclusion, waiting_share(in), measured(in),
                     from_to(event));
}

std::string doubled(const LimitEvent& event) {
  const LimitInputs& in = event.reason.inputs;
  if (!has_pair(in)) {
    return fmt::format("the limit was full{}, and to see whether more bring more, {}", measured(in),
                       from_to(event));
  }
  return compared(event, "the limit was full, and more bring more");
}

// On the way up it has gone too far, and on the way down as well.
std::string settled(const LimitEvent& event) {
  const LimitInputs& in = event.reason.inputs;
  const bool too_far_down = has_pair(in) && in.slope < AutoTuning{}.more;
  return compared(event, too_far_down ? "less brings less" : "more no longer brings more");
}

std::string late(const LimitEvent& event) {
  const LimitInputs& in = event.reason.inputs;
  return fmt::format("only {} of the last {} answers were in time, so {}", percent(in.share),
                     in.samples, from_to(event));
}

std::string failing(const LimitEvent& event) {
  const LimitInputs& in = event.reason.inputs;
  const std::string of =
      in.samples == 0 ? "" : fmt::format(", {} of the last {}", percent(1 - in.share), in.samples);
  return fmt::format("requests failed{}, so {}", of, from_to(event));
}

// Of a baseline, whose number is a factor.
std::string by_factor(const LimitEvent& event, const char* cause) {
  const LimitInputs& in = event.reason.inputs;
  const std::string factor =
      in.slope == 0 || std::isnan(in.slope) ? "" : fmt::format(", times {:.3g}", in.slope);
  return fmt::format("{}{}, so {}{}", cause, measured(in), from_to(event), factor);
}

// As it was reported: only who did knows what it is.
std::string pressed(const LimitEvent& event) {
  const SignalReading& signal = event.reason.inputs.signal;
  if (signal.name_view().empty()) {
    return fmt::format("a signal from outside is above its set-point, so {}", from_to(event));
  }
  return fmt::format("the signal {} is {:.3g} and is to be {:.3g} at most, so {}",
                     signal.name_view(), signal.value, signal.at_most, from_to(event));
}

std::string relieved(const LimitEvent& event) {
  const SignalReading& signal = event.reason.inputs.signal;
  if (signal.name_view().empty()) {
    return fmt::format("no signal from outside says anything any more, so {}", from_to(event));
  }
  return fmt::format("the signal {} is {:.3g} and may be {:.3g}, so {}", signal.name_view(),
                     signal.value, signal.at_most, from_to(event));
}

std::string sentence(const LimitEvent& event) {
  const LimitInputs& in = event.reason.inputs;
  switch (event.reason.cause) {
    case LimitCause::none:
      break;
    case LimitCause::began:
      return fmt::format("the limit begins at {}", event.to);
    case LimitCause::doubled:
      return doubled(event);
    case LimitCause::settled:
      return settled(event);
    case LimitCause::looked_up:
      return fmt::format("to see what some more in flight bring{}, {}", measured(in),
                         from_to(event));
    case LimitCause::looked_down:
      return fmt::format("to see what some less in flight bring{}, {}", measured(in),
                         from_to(event));
    case LimitCause::moved:
      return compared(event, "the knee was looked for again");
    case LimitCause::late:
      return late(event);
    case LimitCause::healthy:
      return by_factor(event, "the service is well");
    case LimitCause::slow:
      return by_factor(event, "the service has become slow");
    case LimitCause::failing:
      return failing(event);
    case LimitCause::probing:
      return fmt::format("to measure the service with few in flight{}, {}", measured(in),
                         from_to(event));
    case LimitCause::disturbed:
      return fmt::format(
          "the clock jumped, nobody looked for a while or a worker died, so what was being "
          "measured is given up "
          "and {}",
          from_to(event));
    case LimitCause::pressed:
      return pressed(event);
    case LimitCause::relieved:
      return relieved(event);
    case LimitCause::repaired:
      return fmt::format("the law's memory was found damaged, so it starts anew from {}", event.to);
    case LimitCause::emptied:
      return fmt::format("fewer come now than were let in to see what less bring, so {}",
                         from_to(event));
  }
  return fmt::format("{}, and nothing is known of why", from_to(event));
}

bool is_probe(const LimitEvent& event) {
  const LimitCause cause = event.reason.cause;
  return cause == LimitCause::looked_up || cause == LimitCause::looked_down ||
         cause == LimitCause::moved;
}

std::string folded(std::span<const LimitEvent> run) {
  std::uint32_t least = run.front().from;
  std::uint32_t most = least;
  for (const LimitEvent& event : run) {
    least = std::min(least, event.to);
    most = std::max(most, event.to);
  }
  return fmt::format(
      "In {} steps of looking around, between {} and {}, the limit goes from {} to {}.", run.size(),
      least, most, run.front().from, run.back().to);
}

}  // namespace

std::string explain(const LimitEvent& event) {
  std::string text = sentence(event) + ".";
  text.front() = static_cast<char>(text.front() - 'a' + 'A');
  return text;
}

std::vector<LimitLine> explain(std::span<const LimitEvent> events, Probes probes) {
  std::vector<LimitLine> lines;
  while (!events.empty()) {
    const auto end = std::find_if_not(events.begin(), events.end(), is_probe);
    const auto run = static_cast<std::size_t>(end - events.begin());
    const bool folds = probes == Probes::folded && run > kFewProbes;
    const std::size_t taken = folds ? run : 1;
    lines.push_back(
        {events.front().at, folds ? folded(events.first(run)) : explain(events.front())});
    events = events.subspan(taken);
  }
  return lines;
}

}  // namespace loadline::tools
