#include "sim_file_values.h"

#include <cmath>

#include "config.h"
#include "config_values.h"
#include "text.h"
#include "yaml_file.h"

namespace loadline::tools {
namespace {

constexpr double kLeastCv = 0.01;
constexpr double kMostCv = 100;
constexpr std::size_t kMostValues = 100'000;  // of an empirical distribution

std::string plain(Duration d) {
  return format_time(std::chrono::nanoseconds(d.ns));
}

template <class Read>
std::optional<Read> or_refuse(const YamlValue& value, std::optional<Read> read,
                              std::string_view allowed) {
  if (!read) {
    value.refuse(allowed);
  }
  return read;
}

std::string percent(double share) {
  return fmt::format("{:g}%", share * 100);
}

// A distribution is a map of its kind, which says its mean, and of what else it has.
class DistributionMap {
 public:
  explicit DistributionMap(const YamlValue& value)
      : map_(value, "a time as in 10ms, or a map as in {exponential: 10ms}") {}

  std::optional<sim::Distribution> read() {
    std::optional<sim::Distribution> found;
    const auto kind = [&](std::string_view name, auto of) {
      if (const YamlValue* const value = map_.find(name)) {
        ++kinds_;
        found = of(*value);
      }
    };
    kind("exponential", [&](const YamlValue& v) { return exponential(v); });
    kind("lognormal",
         [&](const YamlValue& v) { return with_cv(v, &sim::Distribution::lognormal); });
    kind("gamma", [&](const YamlValue& v) { return with_cv(v, &sim::Distribution::gamma); });
    kind("bimodal", [&](const YamlValue& v) { return bimodal(v); });
    kind("pareto", [&](const YamlValue& v) { return pareto(v); });
    kind("empirical", [&](const YamlValue& v) { return empirical(v); });
    if (map_.refuse_others() && kinds_ != 1 && map_.whole().is_map()) {
      map_.whole().fault(
          "allowed is exactly one of exponential, lognormal, gamma, bimodal, pareto, empirical");
    }
    return kinds_ == 1 ? found : std::nullopt;
  }

 private:
  using Found = std::optional<sim::Distribution>;

  static std::optional<Duration> mean_of(const YamlValue& value) {
    return time_of(value, Duration{1});
  }

  static Found exponential(const YamlValue& value) {
    const auto mean = mean_of(value);
    return mean ? Found(sim::Distribution::exponential(*mean)) : std::nullopt;
  }

  Found with_cv(const YamlValue& value, sim::Distribution (*make)(Duration, double) noexcept) {
    const auto mean = mean_of(value);
    const YamlValue* const cv = map_.need("cv", "cv: 1");
    const auto read = cv != nullptr ? number_of(*cv, kLeastCv, kMostCv) : std::nullopt;
    return mean && read ? Found(make(*mean, *read)) : std::nullopt;
  }

  Found pareto(const YamlValue& value) {
    const auto mean = mean_of(value);
    const YamlValue* const shape = map_.need("shape", "shape: 2.5");
    const auto read = shape != nullptr ? number_of(*shape, 1.01, 100) : std::nullopt;
    return mean && read ? Found(sim::Distribution::pareto(*mean, *read)) : std::nullopt;
  }

  static Found bimodal(const YamlValue& value) {
    YamlMap map(value, "a map of short, long and share_long");
    std::optional<Duration> shorter;
    std::optional<Duration> longer;
    std::optional<double> share;
    map.need("short", "short: 2ms");
    map.need("long", "long: 200ms");
    map.need("share_long", "share_long: 5%");
    take(map, "short", shorter, time_of, Duration{}, kLongestSimTime);
    take(map, "long", longer, time_of, Duration{}, kLongestSimTime);
    take(map, "share_long", share, share_of, 0.0, 1.0);
    map.refuse_others();
    if (!shorter || !longer || !share) {
      return std::nullopt;
    }
    if (*longer < *shorter) {
      map.fault("long",
                fmt::format("{} is shorter than the short {}", plain(*longer), plain(*shorter)));
      return std::nullopt;
    }
    return sim::Distribution::bimodal(*shorter, *longer, *share);
  }

  static Found empirical(const YamlValue& value) {
    std::vector<Duration> values;
    for (const YamlValue& item : value.items()) {
      if (const auto time = time_of(item, Duration{})) {
        values.push_back(*time);
      }
    }
    if (values.size() > kMostValues) {
      value.fault(fmt::format("{} values: allowed are up to {}", values.size(), kMostValues));
      return std::nullopt;
    }
    return values.empty() ? std::nullopt : Found(sim::Distribution::empirical(std::move(values)));
  }

  YamlMap map_;
  int kinds_ = 0;
};

}  // namespace

std::optional<double> parse_sim_rate(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos || text.size() != slash + 2) {
    return std::nullopt;
  }
  const char unit = text.back();
  const double period = unit == 's' ? 1 : unit == 'm' ? 60 : unit == 'h' ? 3600 : 0;
  const auto number = parse_decimal(text.substr(0, slash));
  return number && period != 0 ? std::optional(*number / period) : std::nullopt;
}

std::optional<double> parse_share(std::string_view text) {
  if (!text.ends_with('%')) {
    return std::nullopt;
  }
  const auto number = parse_decimal(text.substr(0, text.size() - 1));
  return number ? std::optional(*number / 100) : std::nullopt;
}

std::optional<Duration> time_of(const YamlValue& value, Duration least, Duration most) {
  const auto time = parse_time(value.text());
  const bool allowed = time && time->count() >= least.ns && time->count() <= most.ns;
  return or_refuse(
      value, allowed ? std::optional(Duration{time->count()}) : std::nullopt,
      fmt::format("a time from {} to {}, with a unit as in 10ms", plain(least), plain(most)));
}

std::optional<Instant> moment_of(const YamlValue& value) {
  const auto time = time_of(value, Duration{});
  return time ? std::optional(Instant{} + *time) : std::nullopt;
}

std::optional<std::uint32_t> count_of(const YamlValue& value, std::uint32_t low,
                                      std::uint32_t high) {
  return or_refuse(value, parse_count(value.text(), low, high),
                   fmt::format("a whole number from {} to {}", low, high));
}

std::optional<double> number_of(const YamlValue& value, double low, double high) {
  const auto number = parse_decimal(value.text());
  return or_refuse(value, number && *number >= low && *number <= high ? number : std::nullopt,
                   fmt::format("a number from {} to {}", low, high));
}

std::optional<double> share_of(const YamlValue& value, double low, double high) {
  const auto share = parse_share(value.text());
  return or_refuse(value, share && *share >= low && *share <= high ? share : std::nullopt,
                   fmt::format("a share from {} to {}", percent(low), percent(high)));
}

std::optional<double> rate_of(const YamlValue& value) {
  const auto rate = parse_sim_rate(value.text());
  return or_refuse(value, rate && *rate <= kHighestSimRate ? rate : std::nullopt,
                   "a rate up to 1000000/s, as in 120/s, 30/m or 5/h");
}

std::optional<bool> switch_of(const YamlValue& value) {
  return or_refuse(value, parse_switch(value.text()), "on or off");
}

std::optional<std::size_t> word_of(const YamlValue& value,
                                   const std::vector<std::string_view>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (value.text() == words[i]) {
      return i;
    }
  }
  value.refuse(words.size() == 1 ? std::string(words[0])
                                 : fmt::format("one of {}", fmt::join(words, ", ")));
  return std::nullopt;
}

bool is_name(const YamlValue& value, std::string_view name) {
  if (is_run_name(name)) {
    return true;
  }
  value.fault("a name is up to 32 letters, digits, '_' and '-'");
  return false;
}

std::optional<sim::Distribution> distribution_of(const YamlValue& value) {
  if (value.is_map()) {
    return DistributionMap(value).read();
  }
  const auto time = parse_time(value.text());
  if (!time || time->count() > kLongestSimTime.ns) {
    value.refuse("a time with a unit as in 10ms, or a map as in {exponential: 10ms}");
    return std::nullopt;
  }
  return sim::Distribution::fixed(Duration{time->count()});
}

std::optional<sim::Distribution> parse_distribution(const std::string& text, std::string& fault) {
  FileFaults faults;
  const YAML::Node node = load_yaml(text, faults);
  std::optional<sim::Distribution> found;
  if (faults.empty() && !is_walkable(node)) {
    fault = "more than a time or a distribution";
    return found;
  }
  if (faults.empty()) {
    found = distribution_of(YamlValue(node, "", {}, faults));
  }
  if (!faults.empty()) {
    fault = faults.front().text;
    found.reset();
  }
  return found;
}

void read_work(YamlMap& map, std::optional<sim::Distribution>& work) {
  if (const YamlValue* const value = map.find("work")) {
    work = distribution_of(*value).value_or(sim::Distribution::fixed({}));
  }
}

bool comes_after(const YamlValue& at, Instant next, std::optional<Instant> last, bool may_touch) {
  if (!last || *last < next || (may_touch && *last == next)) {
    return true;
  }
  at.fault(fmt::format("value '{}': allowed is a time {} {}", printable(at.text()),
                       may_touch ? "not before" : "after", plain(*last - Instant{})));
  return false;
}

}  // namespace loadline::tools
