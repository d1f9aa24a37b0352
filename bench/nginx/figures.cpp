#include "nginx/figures.h"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>

#include "statistics.h"

namespace loadline::bench {
namespace {

using Json = nlohmann::ordered_json;

std::vector<double> costs(const Samples& samples, const std::string& variant) {
  std::vector<double> result;
  for (const Sample& sample : samples.at(variant)) {
    result.push_back(sample.us_per_request);
  }
  return result;
}

// Round by round, so that what slows a whole round down does not count.
std::vector<double> ratios(const Samples& samples, const std::string& ours,
                           const std::string& base) {
  std::vector<double> result = costs(samples, ours);
  const std::vector<double> below = costs(samples, base);
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i] /= below[i];
  }
  return result;
}

std::vector<double> differences(std::vector<double> left, const std::vector<double>& right) {
  for (std::size_t i = 0; i < left.size(); ++i) {
    left[i] -= right[i];
  }
  return left;
}

// Medians of what one variant cost, and how much of it was done.
Json describe(const Samples& samples, const std::string& variant) {
  std::vector<double> rates;
  std::vector<double> shares;
  std::uint64_t requests = 0;
  for (const Sample& sample : samples.at(variant)) {
    rates.push_back(sample.requests_per_second);
    shares.push_back(sample.server_share);
    requests += sample.requests;
  }
  return {{"variant", variant},
          {"us_per_request", rounded(spread_of(costs(samples, variant)).median)},
          {"requests", requests},
          {"requests_per_second", std::round(spread_of(rates).median)},
          {"server_share", rounded(spread_of(shares).median)}};
}

Json with_spread(const std::string& name, const std::string& key, const Spread& spread) {
  Json line{{"name", name}, {key, rounded(spread.median)}};
  line.update(to_json(spread));
  line["repetitions"] = spread.count;
  return line;
}

void add_variants(Json& line, const Samples& samples, const std::vector<std::string>& variants) {
  for (const std::string& variant : variants) {
    line["variants"].push_back(describe(samples, variant));
  }
}

// A figure with a goal: the median of ours to base, at most `goal`. `certain` says whether the
// interval around the median lies on one side of the goal.
Figure goal(const std::string& name, const std::string& ours, const std::string& base,
            double at_most) {
  return {name, {ours, base}, [=](const Samples& samples) {
            const Spread spread = spread_of(ratios(samples, ours, base));
            Json line = with_spread(name, "ratio", spread);
            const bool holds = spread.median <= at_most;
            line["goal"] = at_most;
            line["holds"] = holds;
            line["certain"] = spread.has_interval() &&
                              (holds ? spread.median_high <= at_most : spread.median_low > at_most);
            add_variants(line, samples, {ours, base});
            return Verdict{.line = line, .missed = !holds};
          }};
}

// A figure for information only.
Figure comparison(const std::string& name, const std::string& ours, const std::string& base) {
  return {name, {ours, base}, [=](const Samples& samples) {
            Json line = with_spread(name, "cpu_ratio", spread_of(ratios(samples, ours, base)));
            add_variants(line, samples, {ours, base});
            return Verdict{.line = line};
          }};
}

Json microseconds(const Spread& spread) {
  Json json{{"median", rounded(spread.median)}};
  json.update(to_json(spread));
  return json;
}

// Does logging a rejection cost less than logging an admission? Differences of small differences
// are noisy, so "less" and "more" are only said where the interval around the median is clear of
// zero.
Verdict judge_logging(const Samples& samples) {
  const auto cost_of_logging = [&](const std::string& variant) {
    return differences(costs(samples, variant + "_logged"), costs(samples, variant));
  };
  const std::vector<double> rejection = cost_of_logging("module_reject");
  const std::vector<double> admission = cost_of_logging("module_proxy");
  const Spread difference = spread_of(differences(rejection, admission));
  const char* verdict = "not told apart";
  if (difference.has_interval() && difference.median_high < 0) {
    verdict = "less";
  } else if (difference.has_interval() && difference.median_low > 0) {
    verdict = "more";
  }
  Json line{{"name", "logging_cost"},
            {"rejection_us", microseconds(spread_of(rejection))},
            {"admission_us", microseconds(spread_of(admission))},
            {"rejection_minus_admission_us", microseconds(difference)},
            {"logging_a_rejection_costs", verdict},
            {"repetitions", difference.count}};
  add_variants(line, samples,
               {"module_reject", "module_reject_logged", "module_proxy", "module_proxy_logged"});
  return {.line = line};
}

// Equal within their spread: 1 lies between the quartiles, or within a hundredth of the median.
Figure equality(const std::string& name, const std::string& ours, const std::string& base) {
  return {name, {ours, base}, [=](const Samples& samples) {
            constexpr double kTolerance = 0.01;
            const Spread spread = spread_of(ratios(samples, ours, base));
            const bool equal =
                (spread.q1 <= 1 && 1 <= spread.q3) || std::abs(spread.median - 1) <= kTolerance;
            Json line = with_spread(name, "cpu_ratio", spread);
            line["holds"] = equal;
            add_variants(line, samples, {ours, base});
            return Verdict{.line = line, .missed = !equal};
          }};
}

Figure difference(const std::string& name, const std::string& dearer, const std::string& base) {
  return {name, {dearer, base}, [=](const Samples& samples) {
            const Spread spread = spread_of(ratios(samples, dearer, base));
            const bool seen = spread.median_low > 1;
            Json line = with_spread(name, "cpu_ratio", spread);
            line["holds"] = seen;
            add_variants(line, samples, {dearer, base});
            return Verdict{.line = line, .missed = !seen};
          }};
}

// Both clocks count the same; the coarse one may be off by a hundredth of a second at each end, for
// user and system time each.
Figure clocks_agree(const std::string& name, const std::string& variant) {
  return {name, {variant}, [=](const Samples& samples) {
            constexpr double kTolerance = 0.02;
            std::vector<double> quotients;
            for (const Sample& sample : samples.at(variant)) {
              quotients.push_back(sample.us_per_request_in_ticks / sample.us_per_request);
            }
            const Spread spread = spread_of(quotients);
            Json line = with_spread(name, "ticks_to_clock", spread);
            const bool agree = std::abs(spread.median - 1) <= kTolerance;
            line["holds"] = agree;
            return Verdict{.line = line, .missed = !agree};
          }};
}

}  // namespace

std::vector<Figure> module_figures() {
  return {goal("nginx_rejection", "module_reject", "return_503", 1.05),
          goal("haproxy_rejection", "module_reject", "haproxy_return", 0.9),
          goal("nginx_proxied", "module_proxy", "plain_proxy", 1.05),
          goal("nginx_rejection_everything", "module_reject_everything", "return_503", 1.1),
          goal("nginx_proxied_everything", "module_proxy_everything", "plain_proxy", 1.07),
          comparison("haproxy_rejection_64_callers", "module_reject_64", "haproxy_return_64"),
          // What nginx itself comes to beside HAProxy: no module of nginx's gets far below it.
          comparison("nginx_return_to_haproxy", "return_503", "haproxy_return"),
          comparison("rejection_logged_to_unlogged", "module_reject_logged", "module_reject"),
          {"logging_cost",
           {"module_reject", "module_reject_logged", "module_proxy", "module_proxy_logged"},
           judge_logging},
          comparison("off_location", "module_off", "no_module")};
}

std::vector<Figure> self_test_figures() {
  return {equality("same_return", "return_503_again", "return_503"),
          equality("same_proxy", "plain_proxy_again", "plain_proxy"),
          difference("logging_is_seen", "return_503_logged", "return_503"),
          clocks_agree("clocks_agree", "return_503")};
}

}  // namespace loadline::bench
