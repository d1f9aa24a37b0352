#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include "sim/python_random.h"
#include "sim/seconds.h"
#include "sim_file_spec.h"
#include "sim_file_values.h"
#include "sim_trace.h"
#include "yaml_file.h"

namespace loadline::tools {
namespace {

using Rates = sim::Steps<double>;

constexpr std::size_t kMostChanges = 20'000;  // each policy keeps them
constexpr int kStepsOfARamp = 100;
// Of one kind of callers in a run: each call is recorded. Less, where they are drawn beforehand.
constexpr double kMostCalls = 100'000'000;
constexpr double kMostDrawn = 1'000'000;
constexpr double kMostBursts = 100'000;
constexpr double kMostPauses = 20'000;
constexpr std::uint32_t kMostAtOnce = 1'000'000;

// With what others have written in it.
std::string on_one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(),
      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, '?');
  return text;
}

struct Ramp {
  double from = 0;
  double to = 0;
};

std::optional<Ramp> ramp_of(const YamlValue& value) {
  const std::string_view text = value.text();
  constexpr std::string_view kTo = " to ";
  const auto split = text.find(kTo);
  if (split != std::string_view::npos) {
    const auto from = parse_sim_rate(text.substr(0, split));
    const auto to = parse_sim_rate(text.substr(split + kTo.size()));
    if (from && to && *from <= kHighestSimRate && *to <= kHighestSimRate) {
      return Ramp{*from, *to};
    }
  }
  value.refuse("two rates up to 1000000/s, as in 100/s to 600/s");
  return std::nullopt;
}

// Rates that change: {from: TIME, rate: RATE}, or {from: TIME, until: TIME, ramp: RATE to RATE}.
class RateList {
 public:
  std::optional<Rates> read(const YamlValue& list) {
    for (const YamlValue& item : list.items()) {
      read_step(item);
    }
    return Rates(0.0, std::move(changes_));
  }

 private:
  void read_step(const YamlValue& item) {
    YamlMap map(item, "a map of from and rate, or of from, until and ramp");
    const YamlValue* const from = map.need("from", "from: 0s");
    const YamlValue* const until = map.find("until");
    const YamlValue* const rate = map.find("rate");
    const YamlValue* const ramp = map.find("ramp");
    map.refuse_others();
    if (item.is_map() &&
        ((rate != nullptr) == (ramp != nullptr) || (until != nullptr) != (ramp != nullptr))) {
      item.fault("allowed is from and rate, or from, until and ramp");
      return;
    }
    const auto begin = from != nullptr ? moment_of(*from) : std::nullopt;
    if (rate != nullptr) {
      add_rate(*rate, from, begin);
    } else if (ramp != nullptr) {
      add_ramp(*ramp, *until, from, begin);
    }
  }

  void add_rate(const YamlValue& value, const YamlValue* from, std::optional<Instant> begin) {
    const auto rate = rate_of(value);
    if (rate && begin && comes_after(*from, *begin, last_, may_touch_)) {
      changes_.push_back({*begin, *rate});
      last_ = begin;
      may_touch_ = false;
    }
  }

  // A ramp is a staircase: each step has the rate of its middle, so that no caller is lost.
  void add_ramp(const YamlValue& value, const YamlValue& until, const YamlValue* from,
                std::optional<Instant> begin) {
    const auto ramp = ramp_of(value);
    const auto end = moment_of(until);
    if (!ramp || !begin || !end || !comes_after(*from, *begin, last_, may_touch_) ||
        !comes_after(until, *end, begin)) {
      return;
    }
    if (changes_.size() > kMostChanges) {
      until.fault(fmt::format("too many ramps: allowed are up to {} in a list",
                              kMostChanges / kStepsOfARamp));
      return;
    }
    const double length = sim::seconds(*end - *begin);
    for (int i = 0; i < kStepsOfARamp; ++i) {
      changes_.push_back({*begin + sim::duration(length * i / kStepsOfARamp),
                          ramp->from + (ramp->to - ramp->from) * (i + 0.5) / kStepsOfARamp});
    }
    changes_.push_back({*end, ramp->to});
    last_ = end;
    may_touch_ = true;
  }

  std::vector<Rates::Change> changes_;
  std::optional<Instant> last_;
  bool may_touch_ = false;  // after a ramp, another step may begin where it ends
};

std::optional<Rates> rates_of(const YamlValue& value) {
  if (value.is_list() || value.is_map()) {
    return RateList().read(value);
  }
  const auto rate = rate_of(value);
  if (rate == 0.0) {
    value.refuse("a rate above 0, or steps");
    return std::nullopt;
  }
  return rate ? std::optional(Rates(*rate)) : std::nullopt;
}

// The map of a kind of callers' arrivals.
class ArrivalsMap {
 public:
  ArrivalsMap(const YamlValue& value, const SimFileSpec& file)
      : map_(value, "a map of how they come, as in {poisson: 100/s}"), file_(file) {}

  ReadArrivals read() {
    const struct {
      std::string_view name;
      std::vector<std::string_view> others;  // keys that go with it
      sim::Arrivals (ArrivalsMap::*read)(const YamlValue&);
    } kinds[] = {
        {"poisson", {"from", "until", "on", "off"}, &ArrivalsMap::poisson},
        {"even", {"from", "until", "on", "off"}, &ArrivalsMap::even},
        {"python", {"seed", "from", "until"}, &ArrivalsMap::python},
        {"bursts", {"every", "at", "from", "until"}, &ArrivalsMap::bursts},
        {"closed", {"think"}, &ArrivalsMap::closed},
        {"trace", {"format", "context_token", "generated_token"}, &ArrivalsMap::trace},
    };
    sim::Arrivals found = sim::Arrivals::listed({});
    int given = 0;
    for (const auto& kind : kinds) {
      const YamlValue* const value = map_.find(kind.name);
      if (value != nullptr && ++given == 1) {
        found = (this->*kind.read)(*value);
        refuse_what_does_not_go_with(kind.name, kind.others);
      }
    }
    for (const auto& kind : kinds) {
      for (const std::string_view other : kind.others) {
        map_.find(other);
      }
    }
    if (map_.refuse_others() && given != 1 && map_.whole().is_map()) {
      map_.whole().fault("allowed is exactly one of poisson, even, python, bursts, closed, trace");
    }
    return {std::move(found), bring_work_};
  }

 private:
  struct Window {
    Instant from{};
    Instant until{};
  };

  void refuse_what_does_not_go_with(std::string_view kind,
                                    const std::vector<std::string_view>& others) {
    static constexpr std::string_view kAll[] = {
        "from", "until", "on",     "off",           "seed",           "every",
        "at",   "think", "format", "context_token", "generated_token"};
    for (const std::string_view key : kAll) {
      const bool fits = std::find(others.begin(), others.end(), key) != others.end();
      if (!fits && map_.find(key) != nullptr) {
        map_.fault(key, fmt::format("does not go with {}", kind));
      }
    }
  }

  // When they come at all: from `from` until `until`, or the whole run.
  // Not asked where the duration itself is a fault.
  [[nodiscard]] bool over_by(Instant moment) const {
    return file_.duration > Duration{} && moment >= Instant{} + file_.duration;
  }

  Window window() {
    Window window{Instant{}, Instant{} + file_.duration};
    take(map_, "from", window.from, moment_of);
    take(map_, "until", window.until, moment_of);
    if (map_.find("until") != nullptr) {
      comes_after(*map_.find("until"), window.until, window.from);
    }
    if (over_by(window.from)) {
      map_.fault("from", "nobody comes: the run is over by then");
    }
    return window;
  }

  sim::Arrivals poisson(const YamlValue& value) {
    return sim::Arrivals::poisson(open_rates(value));
  }
  sim::Arrivals even(const YamlValue& value) { return sim::Arrivals::even(open_rates(value)); }

  Rates open_rates(const YamlValue& value) {
    const Window open = window();
    std::optional<Duration> on;
    std::optional<Duration> off;
    take(map_, "on", on, time_of, Duration::micros(1), kLongestSimTime);
    take(map_, "off", off, time_of, Duration::micros(1), kLongestSimTime);
    if ((map_.find("on") == nullptr) != (map_.find("off") == nullptr)) {
      map_.fault(map_.find("on") != nullptr ? "on" : "off", "on and off go together");
    }
    const auto rates = rates_of(value);
    if (!rates) {
      return 0.0;
    }
    Rates result = 0.0;
    if (!on || !off) {
      result = within(*rates, {open});
    } else if (const auto windows = alternating(open, *on, *off)) {
      result = within(*rates, *windows);
    }
    refuse_too_many(value, sim::gathered(result, Instant{}, Instant{} + file_.duration));
    return result;
  }

  std::optional<std::vector<Window>> alternating(Window open, Duration on, Duration off) {
    const double pieces = sim::seconds(open.until - open.from) / sim::seconds(on + off);
    if (pieces > kMostPauses) {
      map_.fault("on", fmt::format("about {:.0f} times in the run: allowed are up to {:.0f}",
                                   pieces, kMostPauses));
      return std::nullopt;
    }
    std::vector<Window> windows;
    for (Instant from = open.from; from < open.until; from = from + on + off) {
      windows.push_back({from, std::min(from + on, open.until)});
    }
    return windows;
  }

  // The rates inside of the windows, which are in order, and 0 outside of them.
  static Rates within(const Rates& rates, const std::vector<Window>& windows) {
    std::vector<Rates::Change> changes;
    for (const Window& window : windows) {
      for (Instant t = window.from; t < window.until; t = rates.next_change(t)) {
        changes.push_back({t, rates.at(t)});
      }
      changes.push_back({window.until, 0.0});
    }
    return {0.0, std::move(changes)};
  }

  // All of them are drawn beforehand.
  sim::Arrivals python(const YamlValue& value) {
    const Window open = window();
    std::uint32_t seed = 1;
    take(map_, "seed", seed, count_of, 0U, 0xffffffffU);
    const auto rate = rates_of(value);
    if (!rate || rate->changes().size() != 1) {
      if (rate) {
        value.fault("allowed is one rate: a Python program's does not change");
      }
      return sim::Arrivals::listed({});
    }
    const Duration length = open.until - open.from;
    if (length <= Duration{} ||
        refuse_too_many(value, rate->at({}) * sim::seconds(length), kMostDrawn)) {
      return sim::Arrivals::listed({});
    }
    std::vector<sim::Listed> callers = sim::python_poisson(seed, rate->at({}), length);
    if (map_.find("until") != nullptr) {
      std::erase_if(callers, [&](const sim::Listed& one) { return Instant{} + length <= one.at; });
    }
    for (sim::Listed& one : callers) {
      one.at = one.at + (open.from - Instant{});
    }
    return sim::Arrivals::listed(std::move(callers));
  }

  sim::Arrivals bursts(const YamlValue& value) {
    const auto size = count_of(value, 1U, kMostAtOnce);
    const YamlValue* const every = map_.find("every");
    const YamlValue* const at = map_.find("at");
    if ((every != nullptr) == (at != nullptr)) {
      map_.whole().fault("bursts need either every or at");
      return sim::Arrivals::listed({});
    }
    const std::vector<Instant> times = every != nullptr ? regular_times(*every) : times_of(*at);
    const double calls = static_cast<double>(times.size()) * size.value_or(0);
    if (!size || refuse_too_many(value, calls)) {
      return sim::Arrivals::listed({});
    }
    return sim::Arrivals::bursts(times, *size);
  }

  std::vector<Instant> regular_times(const YamlValue& every) {
    const Window open = window();
    const auto gap = time_of(every, Duration::micros(1));
    std::vector<Instant> times;
    const double bursts = gap ? sim::seconds(open.until - open.from) / sim::seconds(*gap) : 0;
    if (bursts > kMostBursts) {
      every.fault(fmt::format("about {:.0f} bursts in the run: allowed are up to {:.0f}", bursts,
                              kMostBursts));
    }
    if (!gap || bursts > kMostBursts) {
      return times;
    }
    for (Instant t = open.from; t < open.until; t = t + *gap) {
      times.push_back(t);
    }
    return times;
  }

  std::vector<Instant> times_of(const YamlValue& at) {
    for (const std::string_view key : {"from", "until"}) {
      if (map_.find(key) != nullptr) {
        map_.fault(key, "does not go with at");
      }
    }
    std::vector<Instant> times;
    for (const YamlValue& item : at.items()) {
      const auto time = moment_of(item);
      if (time && over_by(*time)) {
        item.fault("nobody comes: the run is over by then");
      }
      if (time &&
          comes_after(item, *time, times.empty() ? std::nullopt : std::optional(times.back()))) {
        times.push_back(*time);
      }
    }
    return times;
  }

  // Without a time to think, a user who is refused at once would call for ever in one instant.
  sim::Arrivals closed(const YamlValue& value) {
    const auto users = count_of(value, 1U, kMostAtOnce);
    const YamlValue* const think = map_.need("think", "think: 1s");
    const auto time = think != nullptr ? distribution_of(*think) : std::nullopt;
    if (time && time->mean() < Duration::micros(1)) {
      think->fault("allowed is a mean of at least 1us: a user who is refused calls again after it");
      return sim::Arrivals::listed({});
    }
    return users && time ? sim::Arrivals::closed(*users, *time) : sim::Arrivals::listed({});
  }

  sim::Arrivals trace(const YamlValue& value) {
    bring_work_ = true;  // unless it is read and says otherwise
    TraceOptions options;
    if (const YamlValue* const format = map_.find("format")) {
      options.format = parse_trace_format(format->text()).value_or(TraceFormat::automatic);
      if (!parse_trace_format(format->text())) {
        format->refuse(kTraceFormatForm);
      }
    }
    options.context_token_seconds = token_seconds("context_token");
    options.generated_token_seconds = token_seconds("generated_token");
    if (value.text().empty()) {
      value.refuse("the path of a file");
      return sim::Arrivals::listed({});
    }
    const auto path = std::filesystem::path(file_.folder) / value.text();
    try {
      return sim::Arrivals::listed(read_callers_of(path.string(), options, value));
    } catch (const std::runtime_error& error) {
      value.fault(on_one_line(error.what()));
      return sim::Arrivals::listed({});
    }
  }

  std::vector<sim::Listed> read_callers_of(const std::string& path, const TraceOptions& options,
                                           const YamlValue& value) {
    require_regular_file(path);
    Trace trace = read_trace(path, options);
    if (!trace.refusal.empty()) {
      std::string text = fmt::format("{}: {}", value.text(), trace.refusal);
      if (!trace.faults.empty()) {
        const FileFault& first = trace.faults.front();
        text += fmt::format("; {}:{}: {}", first.place.line, first.place.column, first.text);
      }
      value.fault(on_one_line(std::move(text)));
      return {};
    }
    bring_work_ = trace.without_time == 0;
    return std::move(trace.callers);
  }

  double token_seconds(std::string_view key) {
    Duration time{};
    take(map_, key, time, time_of, Duration{}, kLongestSimTime);
    return sim::seconds(time);
  }

  static bool refuse_too_many(const YamlValue& value, double calls, double most = kMostCalls) {
    if (calls <= most) {
      return false;
    }
    value.fault(
        fmt::format("about {:.0f} calls in the run: allowed are up to {:.0f}", calls, most));
    return true;
  }

  YamlMap map_;
  const SimFileSpec& file_;
  bool bring_work_ = false;
};

}  // namespace

ReadArrivals read_arrivals(const YamlValue& value, const SimFileSpec& file) {
  return ArrivalsMap(value, file).read();
}

}  // namespace loadline::tools
