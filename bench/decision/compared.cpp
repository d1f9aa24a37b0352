#include "decision/compared.h"

#include <algorithm>
#include <map>
#include <random>

#include "statistics.h"

namespace loadline::bench {
namespace {

using Samples = std::map<std::string, std::vector<Pair>>;

Samples measure(std::vector<Compared> order, int repetitions) {
  std::mt19937_64 random(std::random_device{}());
  Samples samples;
  for (int i = 0; i < repetitions; ++i) {
    std::ranges::shuffle(order, random);
    for (const Compared& compared : order) {
      samples[compared.name].push_back(compared.sample(random() % 2 == 0));
    }
  }
  return samples;
}

nlohmann::ordered_json describe(const Compared& compared, const std::vector<Pair>& samples) {
  std::vector<double> ratios;
  std::vector<double> ours;
  std::vector<double> base;
  for (const Pair& pair : samples) {
    ratios.push_back(pair.ours / pair.base);
    ours.push_back(pair.ours);
    base.push_back(pair.base);
  }
  const Spread spread = spread_of(ratios);
  nlohmann::ordered_json line{{"name", compared.name}, {"ratio", rounded(spread.median)}};
  line.update(to_json(spread));
  if (compared.goal) {
    line["goal"] = *compared.goal;
    line["holds"] = spread.median <= *compared.goal;
  }
  line["ns"] = rounded(spread_of(ours).median);
  line["base_ns"] = rounded(spread_of(base).median);
  line["repetitions"] = spread.count;
  return line;
}

}  // namespace

void measure_and_report(const std::vector<Compared>& compared, int repetitions, Report& report) {
  const Samples samples = measure(compared, repetitions);
  for (const Compared& one : compared) {
    report.add(describe(one, samples.at(one.name)));
  }
}

}  // namespace loadline::bench
