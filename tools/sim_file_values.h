// The kinds of value of a scenario file. Each reader returns the value, or nothing after it has
// said what is allowed.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "loadline/time.h"
#include "sim/distribution.h"
#include "sim/steps.h"
#include "sim_yaml.h"

namespace loadline::tools {

inline constexpr Duration kLongestSimTime = Duration::seconds(30 * std::int64_t{86'400});
inline constexpr double kHighestSimRate = 1'000'000;  // a second

std::optional<Duration> time_of(const YamlValue& value, Duration least,
                                Duration most = kLongestSimTime);
std::optional<Instant> moment_of(const YamlValue& value);  // since the beginning of the run
std::optional<std::uint32_t> count_of(const YamlValue& value, std::uint32_t low,
                                      std::uint32_t high);
std::optional<double> number_of(const YamlValue& value, double low, double high);
std::optional<double> share_of(const YamlValue& value, double low, double high);  // of 1
std::optional<double> rate_of(const YamlValue& value);  // a second; 0 is one
std::optional<bool> switch_of(const YamlValue& value);
// One of these words: its index.
std::optional<std::size_t> word_of(const YamlValue& value,
                                   const std::vector<std::string_view>& words);
// A name that people choose: letters, digits, '_' and '-'.
bool is_name(const YamlValue& value, std::string_view name);
std::optional<sim::Distribution> distribution_of(const YamlValue& value);
// The same written on one line, as on a command line; `fault` is then what is wrong with it.
std::optional<sim::Distribution> parse_distribution(const std::string& text, std::string& fault);
// Of the key `work`. One that is at fault counts as there.
void read_work(YamlMap& map, std::optional<sim::Distribution>& work);

// RATE as a number a second, and PERCENT% as a share of 1.
std::optional<double> parse_sim_rate(std::string_view text);
std::optional<double> parse_share(std::string_view text);

// Gives `field` what `of(value, limits...)` reads from the key, if it is there and allowed.
template <class Field, class Of, class... Limits>
void take(YamlMap& map, std::string_view key, Field& field, Of of, Limits... limits) {
  if (const YamlValue* const value = map.find(key)) {
    if (auto read = of(*value, limits...)) {
      field = std::move(*read);
    }
  }
}

// Says so, and returns false, where `next` does not come after `last`, or at the same time if it
// `may_touch` it.
bool comes_after(const YamlValue& at, Instant next, std::optional<Instant> last,
                 bool may_touch = false);

// [{from: TIME, WHAT: VALUE}, ...], in order of time.
template <class T, class Of, class... Limits>
std::vector<typename sim::Steps<T>::Change> changes_of(const YamlValue& list, std::string_view what,
                                                       Of of, Limits... limits) {
  std::vector<typename sim::Steps<T>::Change> changes;
  const std::string shape = fmt::format("a map of from and {}", what);
  for (const YamlValue& item : list.items()) {
    YamlMap map(item, shape);
    const YamlValue* const from = map.need("from", "from: 0s");
    const YamlValue* const value = map.need(what, fmt::format("{}: VALUE", what));
    map.refuse_others();
    const auto when = from != nullptr ? moment_of(*from) : std::nullopt;
    const auto read = value != nullptr ? of(*value, limits...) : std::nullopt;
    const auto last = changes.empty() ? std::nullopt : std::optional(changes.back().from);
    if (when && read && comes_after(*from, *when, last)) {
      changes.push_back({*when, *read});
    }
  }
  return changes;
}

// A single value, which holds throughout, or changes as above. `before` the first of them.
template <class T, class Of, class... Limits>
std::optional<sim::Steps<T>> steps_of(const YamlValue& value, std::string_view what, T before,
                                      Of of, Limits... limits) {
  if (!value.is_list() && !value.is_map()) {
    const auto always = of(value, limits...);
    return always ? std::optional(sim::Steps<T>(*always)) : std::nullopt;
  }
  return sim::Steps<T>(before, changes_of<T>(value, what, of, limits...));
}

}  // namespace loadline::tools
