#include <algorithm>

#include "config.h"
#include "sim_figure.h"
#include "sim_file_spec.h"
#include "sim_file_values.h"
#include "text.h"

namespace loadline::tools {
namespace {

using Kind = SimBound::Kind;
using Unit = SimFigure::Unit;

constexpr double kMostCount = 1e12;
constexpr double kMostOfAnother = 1000;
constexpr std::uint32_t kMostAttempts = 100;
constexpr Duration kShortestPiece = Duration::millis(1);
constexpr std::int64_t kMostPieces = 100'000;

// A value as the figure's unit is written.
std::optional<double> figure_value_of(const YamlValue& value, const SimFigure& figure) {
  switch (figure.unit) {
    case Unit::count:
      return number_of(value, 0.0, kMostCount);
    case Unit::per_second:
      return rate_of(value);
    case Unit::share:
      return share_of(value, 0.0, 1.0);
    case Unit::seconds:
      break;
  }
  const auto time = time_of(value, Duration{});
  return time ? std::optional(static_cast<double>(time->ns) * 1e-9) : std::nullopt;
}

// From the beginning of the run until some time before its end: "end-5m".
constexpr std::string_view kFromTheEnd = "end-";

std::optional<Instant> moment_of_run(const YamlValue& value, Instant end) {
  if (!value.text().starts_with(kFromTheEnd)) {
    return moment_of(value);
  }
  const auto time = parse_time(std::string_view(value.text()).substr(kFromTheEnd.size()));
  if (!time || end == Instant::never()) {
    value.refuse("a time since the beginning, as in 5s, or before the end, as in end-5m");
    return std::nullopt;
  }
  return end - Duration{time->count()};
}

// A part of the run, which is all that is measured where nothing else is said.
struct SpanRead {
  sim::Span span;
  std::string text;       // " from 5s to 65s"
  bool cut_away = false;  // by a run that was shortened
};

SpanRead read_span(YamlMap& map, const SimFile& file) {
  SpanRead read{file.measured, ""};
  const auto take_end = [&](std::string_view key, Instant& end) {
    if (const YamlValue* const value = map.find(key)) {
      end = moment_of_run(*value, file.end).value_or(end);
      read.text += fmt::format(" {} {}", key, value->text());
    }
  };
  take_end("from", read.span.from);
  take_end("to", read.span.to);
  if (file.length < file.longest) {
    read.span.to = std::min(read.span.to, file.end);
    read.cut_away = file.end <= read.span.from || read.span.from < Instant{};
  }
  const bool has_length = file.length > Duration{};  // else its fault is named already
  if (has_length && !read.cut_away && read.span.from >= read.span.to) {
    map.fault(map.find("to") != nullptr ? "to" : "from",
              "nothing is left to look at: from is not before to");
  }
  return read;
}

// The bounds of one figure: a value alone, or a map of at_least, at_most, is.
class BoundsReader {
 public:
  BoundsReader(const SimFigure& figure, const SimFile& file, bool in_pieces)
      : figure_(figure), file_(file), in_pieces_(in_pieces) {}

  struct Bound {
    SimBound bound;
    std::string text;  // "at most 110ms"
  };

  std::vector<Bound> read(const YamlValue& value) {
    if (!value.is_map()) {
      if (const auto exact = figure_value_of(value, figure_)) {
        add({Kind::is, *exact, 0, {}, {}}, value.text());
      }
      return std::move(bounds_);
    }
    YamlMap map(value, "");
    const YamlValue* const least = map.find("at_least");
    const YamlValue* const most = map.find("at_most");
    const YamlValue* const is = map.find("is");
    read_another(map);
    if (is != nullptr ? least != nullptr || most != nullptr : least == nullptr && most == nullptr) {
      value.fault("allowed is at_least and at_most, either or both, or is");
    } else if (is != nullptr) {
      read_is(map, *is);
    } else {
      read_end(least, Kind::at_least, "at least");
      read_end(most, Kind::at_most, "at most");
    }
    for (const std::string_view key : {"within", "errors"}) {
      if (map.find(key) != nullptr && is == nullptr) {
        map.fault(key, "goes only with is");
      }
    }
    map.refuse_others();
    return cut_away_ ? std::vector<Bound>() : std::move(bounds_);
  }

 private:
  // A name, or a map of policy, from and to.
  void read_another(YamlMap& map) {
    const YamlValue* const of = map.find("of");
    if (of == nullptr) {
      return;
    }
    if (of->is_map()) {
      YamlMap another(*of, "");
      const SpanRead read = read_span(another, file_);
      of_span_ = read.span;
      cut_away_ = read.cut_away;
      if (const YamlValue* const policy = another.find("policy")) {
        read_name(*policy);
      }
      another.refuse_others();
      of_text_ = (of_.empty() ? "that" : name_of(of_)) + read.text;
      return;
    }
    read_name(*of);
    of_text_ = name_of(of_);
    if (in_pieces_) {
      of->fault("with each, allowed is a map of from, to and policy: what is a piece a share of?");
    }
  }

  void read_name(const YamlValue& of) {
    std::vector<std::string> names{std::string(kOracle)};
    for (const SimPolicy& policy : file_.policies) {
      names.push_back(policy.name);
    }
    if (index_of(of, names)) {
      of_ = of.text();
    }
    if (of_ == kOracle && !file_.oracle) {
      of.fault("there is no oracle; write 'oracle: {limits: 1-64}'");
    }
  }

  static std::string name_of(const std::string& another) {
    return another == kOracle ? "the oracle's" : another + "'s";
  }

  [[nodiscard]] bool compares() const { return !of_.empty() || of_span_; }

  // A value of the figure, or a share of another's.
  [[nodiscard]] std::optional<double> value_of(const YamlValue& value) const {
    return compares() ? share_of(value, 0.0, kMostOfAnother) : figure_value_of(value, figure_);
  }

  void read_end(const YamlValue* value, Kind kind, std::string_view words) {
    if (value == nullptr) {
      return;
    }
    if (const auto read = value_of(*value)) {
      add({kind, *read, 0, of_, of_span_},
          fmt::format("{} {}{}", words, value->text(), compares() ? " of " + of_text_ : ""));
    }
  }

  void read_is(YamlMap& map, const YamlValue& is) {
    const auto value = value_of(is);
    const YamlValue* const within = map.find("within");
    const YamlValue* const errors = map.find("errors");
    if (within != nullptr && errors != nullptr) {
      map.fault("errors", "does not go with within");
    } else if (errors != nullptr) {
      const auto count = number_of(*errors, 0.1, 100.0);
      if (compares()) {
        map.fault("errors", "does not go with of");
      }
      if (file_.seeds < 2) {
        errors->fault("needs at least 2 seeds: a standard error is taken over them");
      }
      if (value && count) {
        add({Kind::errors, *value, *count, {}, {}},
            fmt::format("{} within {} standard errors", is.text(), errors->text()));
      }
    } else if (within != nullptr) {
      const auto share = share_of(*within, 0.0, 1.0);
      if (value && share) {
        add({Kind::is, *value, *share, of_, of_span_},
            fmt::format("{} within {}{}", is.text(), within->text(),
                        compares() ? " of " + of_text_ : ""));
      }
    } else if (value) {
      add({Kind::is, *value, 0, of_, of_span_}, is.text() + (compares() ? " of " + of_text_ : ""));
    }
  }

  void add(SimBound bound, std::string text) {
    bounds_.push_back({std::move(bound), std::move(text)});
  }

  const SimFigure& figure_;
  const SimFile& file_;
  bool in_pieces_;
  std::string of_;  // empty: the policy itself
  std::optional<sim::Span> of_span_;
  std::string of_text_;
  bool cut_away_ = false;
  std::vector<Bound> bounds_;
};

class ExpectationReader {
 public:
  ExpectationReader(const YamlValue& value, SimFile& file)
      : map_(value, "a map of a figure and what it must be, as in {policy: a, p99: 40ms}"),
        file_(file) {}

  void read() {
    read_policies();
    read_selection();
    for (const SimFigure& figure : sim_figures()) {
      if (const YamlValue* const value = map_.find(figure.name)) {
        read_figure(figure, *value);
      }
    }
    if (map_.refuse_others() && !any_ && map_.whole().is_map()) {
      refuse_nothing();
    }
  }

 private:
  void read_figure(const SimFigure& figure, const YamlValue& value) {
    any_ = true;
    const auto bounds = BoundsReader(figure, file_, each_ > Duration{}).read(value);
    for (const auto& [bound, text] : bounds) {
      for (const std::string& policy : cut_away_ ? std::vector<std::string>() : policies_) {
        SimExpectation expectation{map_.place_of_key(figure.name),
                                   policy,
                                   std::string(figure.name),
                                   selection_,
                                   each_,
                                   every_,
                                   bound,
                                   fmt::format("{}{}", figure.name, of_whom_),
                                   fmt::format("{}{} {}", figure.name, of_whom_, text)};
        if (bound.of_span && bound.of.empty()) {
          expectation.bound.of = policy;
        }
        file_.expectations.push_back(std::move(expectation));
      }
    }
  }

  void refuse_nothing() {
    std::vector<std::string_view> names;
    for (const SimFigure& figure : sim_figures()) {
      names.push_back(figure.name);
    }
    map_.whole().fault(fmt::format("no figure: allowed are {}", fmt::join(names, ", ")));
  }

  void read_policies() {
    std::vector<std::string> all;
    for (const SimPolicy& policy : file_.policies) {
      all.push_back(policy.name);
    }
    const YamlValue* const value = map_.find("policy");
    if (value == nullptr) {
      policies_ = all;
      return;
    }
    for (const YamlValue& item : value->items()) {
      if (const auto index = index_of(item, all)) {
        policies_.push_back(all[*index]);
      }
    }
  }

  void read_selection() {
    for (const std::size_t index : read_names("class", file_.classes, index_of_class)) {
      selection_.classes.push_back(static_cast<std::uint8_t>(index));
    }
    for (const std::size_t index : read_names("callers", file_.callers, index_of)) {
      selection_.populations.push_back(static_cast<std::uint16_t>(index));
    }
    read_attempts();
    if (const YamlValue* const service = map_.find("service")) {
      if (const auto index = index_of(*service, file_.services)) {
        selection_.service = static_cast<std::uint16_t>(*index);
        add_whom({service->text()});
      }
    }
    const SpanRead read = read_span(map_, file_);
    selection_.span = read.span;
    cut_away_ = read.cut_away;
    of_whom_ += read.text;
    read_pieces();
  }

  void read_pieces() {
    const YamlValue* const each = map_.find("each");
    const YamlValue* const every = map_.find("every");
    take(map_, "each", each_, time_of, kShortestPiece, kLongestSimTime);
    every_ = each_;
    take(map_, "every", every_, time_of, kShortestPiece, kLongestSimTime);
    if (each == nullptr) {
      if (every != nullptr) {
        map_.fault("every", "goes only with each");
      }
      return;
    }
    if (each_ == Duration{}) {
      return;  // refused: there is no length to hold against the others
    }
    const sim::Span span = selection_.span;
    if (every_ < each_) {
      map_.fault("every", "is less than each: pieces do not overlap");
    } else if (span.to == Instant::never()) {
      map_.fault("each", "needs 'to': the run drains, and ends who knows when");
    } else if (!cut_away_ && span.from < span.to && span.to - span.from < each_) {
      map_.fault("each", "is longer than the time that is looked at");
    } else if ((span.to - span.from).ns / every_.ns > kMostPieces) {
      map_.fault("each", fmt::format("more than {} pieces", kMostPieces));
    }
    of_whom_ += " in each " + each->text() + (every != nullptr ? " of " + every->text() : "");
  }

  void read_attempts() {
    const YamlValue* const value = map_.find("attempt");
    if (value == nullptr) {
      return;
    }
    std::vector<std::string> texts;
    for (const YamlValue& item : value->items()) {
      if (const auto attempt = count_of(item, 1U, kMostAttempts)) {
        selection_.attempts.push_back(*attempt);
        texts.push_back("attempt " + item.text());
      }
    }
    add_whom(texts);
  }

  using Find = std::optional<std::size_t> (*)(const YamlValue&, const std::vector<std::string>&);

  std::vector<std::size_t> read_names(std::string_view key, const std::vector<std::string>& names,
                                      Find find) {
    std::vector<std::size_t> found;
    std::vector<std::string> texts;
    const YamlValue* const value = map_.find(key);
    for (const YamlValue& item : value == nullptr ? std::vector<YamlValue>() : value->items()) {
      if (const auto index = find(item, names)) {
        found.push_back(*index);
        texts.push_back(item.text());
      }
    }
    add_whom(texts);
    return found;
  }

  void add_whom(const std::vector<std::string>& names) {
    if (!names.empty()) {
      of_whom_ +=
          fmt::format("{}{}", of_whom_.empty() ? " of " : " at ", fmt::join(names, " and "));
    }
  }

  YamlMap map_;
  SimFile& file_;
  std::vector<std::string> policies_;
  sim::Selection selection_;
  std::string of_whom_;
  Duration each_{};
  Duration every_{};
  bool cut_away_ = false;
  bool any_ = false;
};

}  // namespace

void read_expectations(const YamlValue& value, SimFile& file) {
  for (const YamlValue& item : value.items()) {
    ExpectationReader(item, file).read();
  }
}

}  // namespace loadline::tools
