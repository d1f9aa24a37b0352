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

std::string name_of(const std::string& another) {
  return another == kOracle ? "the oracle's" : another + "'s";
}

// The bounds of one figure: a value alone, or a map of at_least, at_most, is.
class BoundsReader {
 public:
  BoundsReader(const SimFigure& figure, const SimFile& file) : figure_(figure), file_(file) {}

  struct Bound {
    SimBound bound;
    std::string text;  // "at most 110ms"
  };

  std::vector<Bound> read(const YamlValue& value) {
    if (!value.is_map()) {
      if (const auto exact = figure_value_of(value, figure_)) {
        add({Kind::is, *exact, 0, {}}, value.text());
      }
      return std::move(bounds_);
    }
    YamlMap map(value, "");
    const YamlValue* const least = map.find("at_least");
    const YamlValue* const most = map.find("at_most");
    const YamlValue* const is = map.find("is");
    read_another(map);
    if (is != nullptr ? least != nullptr || most != nullptr || !of_.empty()
                      : least == nullptr && most == nullptr) {
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
    return std::move(bounds_);
  }

 private:
  void read_another(YamlMap& map) {
    const YamlValue* const of = map.find("of");
    if (of == nullptr) {
      return;
    }
    std::vector<std::string> names{std::string(kOracle)};
    for (const SimPolicy& policy : file_.policies) {
      names.push_back(policy.name);
    }
    if (index_of(*of, names)) {
      of_ = of->text();
    }
    if (of_ == kOracle && !file_.oracle) {
      of->fault("there is no oracle; write 'oracle: {limits: 1-64}'");
    }
  }

  void read_end(const YamlValue* value, Kind kind, std::string_view words) {
    if (value == nullptr) {
      return;
    }
    const auto read =
        of_.empty() ? figure_value_of(*value, figure_) : share_of(*value, 0.0, kMostOfAnother);
    if (read) {
      add({kind, *read, 0, of_},
          fmt::format("{} {}{}", words, value->text(), of_.empty() ? "" : " of " + name_of(of_)));
    }
  }

  void read_is(YamlMap& map, const YamlValue& is) {
    const auto value = figure_value_of(is, figure_);
    const YamlValue* const within = map.find("within");
    const YamlValue* const errors = map.find("errors");
    if (within != nullptr && errors != nullptr) {
      map.fault("errors", "does not go with within");
    } else if (errors != nullptr) {
      const auto count = number_of(*errors, 0.1, 100.0);
      if (file_.seeds < 2) {
        errors->fault("needs at least 2 seeds: a standard error is taken over them");
      }
      if (value && count) {
        add({Kind::errors, *value, *count, {}},
            fmt::format("{} within {} standard errors", is.text(), errors->text()));
      }
    } else if (within != nullptr) {
      const auto share = share_of(*within, 0.0, 1.0);
      if (value && share) {
        add({Kind::is, *value, *share, {}}, fmt::format("{} within {}", is.text(), within->text()));
      }
    } else if (value) {
      add({Kind::is, *value, 0, {}}, is.text());
    }
  }

  void add(SimBound bound, std::string text) { bounds_.push_back({bound, std::move(text)}); }

  const SimFigure& figure_;
  const SimFile& file_;
  std::string of_;
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
    for (const auto& [bound, text] : BoundsReader(figure, file_).read(value)) {
      for (const std::string& policy : policies_) {
        file_.expectations.push_back({map_.place_of_key(figure.name), policy,
                                      std::string(figure.name), selection_, bound,
                                      fmt::format("{}{} {}", figure.name, of_whom_, text)});
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
    selection_.span = file_.measured;
    const YamlValue* const from = map_.find("from");
    const YamlValue* const to = map_.find("to");
    if (from != nullptr) {
      selection_.span.from = moment_of(*from).value_or(selection_.span.from);
      of_whom_ += " from " + from->text();
    }
    if (to != nullptr) {
      selection_.span.to = moment_of(*to).value_or(selection_.span.to);
      of_whom_ += " to " + to->text();
    }
    if (selection_.span.from >= selection_.span.to) {
      map_.fault(to != nullptr ? "to" : "from",
                 "nothing is left to look at: from is not before to");
    }
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
  bool any_ = false;
};

}  // namespace

void read_expectations(const YamlValue& value, SimFile& file) {
  for (const YamlValue& item : value.items()) {
    ExpectationReader(item, file).read();
  }
}

}  // namespace loadline::tools
