#include "limit/random_study.h"

#include <algorithm>
#include <atomic>
#include <chrono>

#include "limit/each.h"
#include "report.h"
#include "statistics.h"

namespace loadline::bench {
namespace {

constexpr double kBounds[] = {0, 0.5, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98, 1};

}  // namespace

RandomStudy study_at_random(const Family& family, std::size_t workloads, const Done& done) {
  const auto begun = std::chrono::steady_clock::now();
  RandomStudy study{.family = family, .matches = std::vector<Match>(workloads)};
  std::atomic<std::size_t> ready = 0;
  for_each_at_once(workloads, [&](std::size_t i) {
    study.matches[i] = match(draw_workload(family, i));
    done(++ready);
  });
  std::ranges::stable_sort(study.matches, {}, [](const Match& m) { return m.ratio(); });
  study.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  return study;
}

double RandomStudy::quantile(double part) const {
  std::vector<double> ratios;
  for (const Match& match : matches) {
    ratios.push_back(match.ratio());
  }
  return bench::quantile(ratios, part);
}

double RandomStudy::mean() const {
  double sum = 0;
  for (const Match& match : matches) {
    sum += match.ratio();
  }
  return sum / static_cast<double>(matches.size());
}

std::size_t RandomStudy::shortened() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(matches, [](const Match& m) { return m.workload.shortened; }));
}

std::vector<Bar> histogram_of(const RandomStudy& study) {
  std::vector<Bar> bars;
  for (const double from : kBounds) {
    bars.push_back({from, 0});
  }
  for (const Match& match : study.matches) {
    const auto above = std::ranges::find_if(
        bars.rbegin(), bars.rend(), [&](const Bar& bar) { return match.ratio() >= bar.from; });
    ++above->count;
  }
  return bars;
}

nlohmann::ordered_json to_json(const RandomStudy& study) {
  nlohmann::ordered_json json = {{"name", "random"},
                                 {"seed", study.family.seed},
                                 {"workloads", study.matches.size()},
                                 {"shortened", study.shortened()},
                                 {"mean", rounded(study.mean())},
                                 {"p50", rounded(study.quantile(0.5))},
                                 {"p10", rounded(study.quantile(0.1))},
                                 {"p5", rounded(study.quantile(0.05))},
                                 {"min", rounded(study.quantile(0))},
                                 {"seconds", rounded(study.seconds)}};
  for (const Bar& bar : histogram_of(study)) {
    json["histogram"].push_back({{"from", bar.from}, {"count", bar.count}});
  }
  return json;
}

}  // namespace loadline::bench
