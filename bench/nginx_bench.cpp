// What the nginx module costs: CPU time per request, beside nginx's own `return 503`, HAProxy's,
// and nginx without the module.
//
// Real servers on loopback, loaded by wrk. The server has one processor and wrk another; per
// repetition every variant runs once, in random order, and only ratios within a repetition count.
// Requests per second are shown but not judged: wrk is nearly as busy as the server.
//
// Prints one JSON object a line; how it gets on goes to stderr.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "command.h"
#include "cpus.h"
#include "nginx/figures.h"
#include "nginx/http_probe.h"
#include "nginx/measurement.h"
#include "nginx/process.h"
#include "nginx/stop.h"
#include "nginx/variants.h"
#include "report.h"
#include "statistics.h"

namespace loadline::bench {
namespace {

struct Options {
  std::string module;
  bool quick = false;
  bool self_test = false;
  int repetitions = 0;
  std::vector<std::string> only;
  std::string json_file;
  std::uint64_t seed = std::random_device{}();
};

std::vector<Figure> chosen_figures(const Options& options) {
  std::vector<Figure> all = options.self_test ? self_test_figures() : module_figures();
  if (options.only.empty()) {
    return all;
  }
  std::vector<Figure> chosen;
  for (const std::string& name : options.only) {
    const auto found = std::ranges::find(all, name, &Figure::name);
    if (found == all.end()) {
      throw BadUsage("there is no figure " + name);
    }
    chosen.push_back(*found);
  }
  return chosen;
}

std::vector<Variant> needed_variants(const std::vector<Figure>& figures,
                                     const Surroundings& around) {
  std::set<std::string> names;
  for (const Figure& figure : figures) {
    names.insert(figure.variants.begin(), figure.variants.end());
  }
  std::vector<Variant> needed;
  for (Variant& variant : make_variants(around)) {
    if (names.contains(variant.name)) {
      needed.push_back(std::move(variant));
    }
  }
  return needed;
}

void require_program(const std::string& program, const std::string& package) {
  if (!is_installed(program)) {
    throw BadUsage(fmt::format("needs {}: apt-get install {}", program, package));
  }
}

void require_programs(const std::vector<Variant>& variants) {
  require_program("nginx", "nginx");
  require_program("wrk", "wrk");
  for (const Variant& variant : variants) {
    if (variant.software == Variant::Software::haproxy) {
      require_program("haproxy", "haproxy");
    }
  }
}

std::string module_path(const Options& options) {
  if (options.self_test) {
    return {};
  }
  if (options.module.empty()) {
    throw BadUsage("--module is required");
  }
  if (!std::filesystem::is_regular_file(options.module)) {
    throw BadUsage("there is no module " + options.module);
  }
  return std::filesystem::absolute(options.module);
}

Placement place() {
  const std::vector<int> cpus = allowed_cpus();
  if (cpus.size() < 2) {
    throw BadUsage("needs two processors: one for the server and one for the load");
  }
  return {.server = cpus[0], .load = cpus[1], .upstream = cpus.size() > 2 ? cpus[2] : cpus[1]};
}

int repetitions(const Options& options) {
  constexpr int kUsual = 15;
  constexpr int kQuick = 7;
  if (options.repetitions != 0) {
    return options.repetitions;
  }
  return options.quick ? kQuick : kUsual;
}

// What the figures must be read with: how long, how often, and what else ran on the machine.
nlohmann::ordered_json conditions(const Options& options, std::chrono::seconds time,
                                  const Samples& samples) {
  std::vector<double> others;
  for (const auto& [name, of_variant] : samples) {
    for (const Sample& sample : of_variant) {
      others.push_back(sample.others_share);
    }
  }
  const Spread spread = spread_of(others);
  return {{"name", "conditions"},
          {"seconds_per_sample", time.count()},
          {"repetitions", repetitions(options)},
          {"seed", options.seed},
          {"others_cpu_share", {{"median", rounded(spread.median)}, {"max", rounded(spread.max)}}}};
}

// Nothing is hung up on for ever: twice what the samples take, and a minute to start.
void limit_time(std::size_t samples, std::chrono::seconds time) {
  constexpr std::chrono::seconds kStarting{1};
  constexpr std::chrono::seconds kGrace{60};
  stop_after(2 * static_cast<int>(samples) * (time + kStarting) + kGrace);
}

ExitCode measure(const Options& options) {
  const std::vector<Figure> figures = chosen_figures(options);
  Surroundings around{.module = module_path(options)};
  const Placement placement = place();
  const Blackhole blackhole;
  around.blackhole_port = blackhole.port();
  require_programs(needed_variants(figures, around));
  Report report(options.json_file);

  pin_this_process(placement.load);
  Server upstream(upstream_variant(), placement.upstream);
  around.upstream_port = upstream.port();
  const std::vector<Variant> variants = needed_variants(figures, around);
  const std::chrono::seconds time(options.quick ? 1 : 2);
  const int rounds = repetitions(options);
  limit_time(variants.size() * static_cast<std::size_t>(rounds), time);

  Measurement measurement(placement, upstream, time, options.seed);
  Samples samples;
  for (int round = 1; round <= rounds; ++round) {
    fmt::print(stderr, "repetition {} of {}\n", round, rounds);
    measurement.add_round(variants, samples);
  }

  report.add(conditions(options, time, samples));
  ExitCode code = kHolds;
  for (const Figure& figure : figures) {
    const Verdict verdict = figure.judge(samples);
    report.add(verdict.line);
    if (verdict.missed) {
      fmt::print(stderr, "nginx_bench: {} misses its goal\n", figure.name);
      code = kMissed;
    }
  }
  return code;
}

int read_and_measure(int argc, char** argv) {
  constexpr int kMostRepetitions = 500;  // what hangs in the blackhole must fit its backlog
  CLI::App app{"Measures what the nginx module costs beside nginx's own answers and HAProxy's."};
  Options options;
  app.add_option("--module", options.module, "ngx_http_loadline_module.so");
  app.add_flag("--short", options.quick, "1 s a sample instead of 2, and fewer of them");
  app.add_option("--repetitions", options.repetitions, "how often each variant runs")
      ->check(CLI::Range(1, kMostRepetitions));
  app.add_option("--only", options.only, "only this figure; may be given again");
  app.add_option("--json-file", options.json_file, "write the JSON lines here, too");
  app.add_option("--seed", options.seed, "of the order in which variants run");
  app.add_flag("--self-test", options.self_test,
               "check the method instead: equal servers must come out equal");
  return run_command(app, argc, argv, [&options] { return measure(options); });
}

}  // namespace
}  // namespace loadline::bench

int main(int argc, char** argv) {
  loadline::bench::stop_on_signals();
  return loadline::bench::run_main("nginx_bench", argc, argv, loadline::bench::read_and_measure);
}
