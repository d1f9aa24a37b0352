// ./dev demo storm: a service stands still for a while. What becomes of it with callers who try
// again at once, and with callers that use the client half; without and with a gate in front.
#include <curl/curl.h>
#include <fmt/format.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "storm/callers.h"
#include "storm/stage.h"

namespace loadline::bench::storm {
namespace {

using std::chrono::milliseconds;

struct Options {
  std::string command = "build/bin/loadline";
  std::string module;
  std::string json_file;
  unsigned callers = 200;
  double stall_s = 5;
  double watch_s = 10;
  double before_s = 4;
};

struct Row {
  bool gate = false;
  Manners manners = Manners::naive;
  Figures figures;
  double waste = 0;  // share of the service's work that was for callers who had left
};

// What is promised of callers that use the client half, with a gate and without.
constexpr double kNormalWithin = 5;
constexpr double kAttemptsAtMost = 1.5;

milliseconds in_ms(double seconds) {
  return milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

const char* name(Manners manners) {
  return manners == Manners::naive ? "naive" : "ours";
}

Row run(const Options& options, bool gate, Manners manners) {
  fmt::print(stderr, "gate {}, callers: {}\n", gate ? "on" : "off", name(manners));
  Stage stage({.command = options.command, .module = options.module, .gate = gate});
  const milliseconds stall = in_ms(options.before_s);
  const milliseconds back = stall + in_ms(options.stall_s);
  const Times times{
      .begun = in_ms(1), .stall = stall, .back = back, .end = back + in_ms(options.watch_s)};
  Journal journal(times.end);
  const auto begin = std::chrono::steady_clock::now();
  std::jthread weather([&] {
    std::this_thread::sleep_until(begin + times.stall);
    stage.stand_still();
    std::this_thread::sleep_until(begin + times.back);
    stage.go_on();
  });
  run_callers({.url = stage.url(), .manners = manners, .callers = options.callers}, times.end,
              journal);
  weather.join();
  const ServiceCounts counts = stage.counts();
  Row row{.gate = gate, .manners = manners, .figures = conclude(journal.read(), times)};
  if (counts.completed != 0) {
    row.waste = static_cast<double>(counts.abandoned) / static_cast<double>(counts.completed);
  }
  return row;
}

std::string table(const std::vector<Row>& rows) {
  std::string text =
      fmt::format("{:>5} {:>8} {:>20} {:>16} {:>16} {:>15} {:>8}\n", "gate", "callers",
                  "normal after", "attempts, stall", "attempts, after", "answered after", "waste");
  for (const Row& row : rows) {
    const Figures& f = row.figures;
    text +=
        fmt::format("{:>5} {:>8} {:>20} {:>16.2f} {:>16.2f} {:>13.1f} % {:>6.1f} %\n",
                    row.gate ? "on" : "off", name(row.manners),
                    f.normal_after_s ? fmt::format("{:.1f} s", *f.normal_after_s) : "not at all",
                    f.attempts_stall, f.attempts_after, f.good_after * 100, row.waste * 100);
  }
  return text;
}

nlohmann::ordered_json json(const Row& row) {
  const Figures& f = row.figures;
  return {
      {"gate", row.gate},
      {"callers", name(row.manners)},
      {"answered_before", f.good_before},
      {"normal_after_s", f.normal_after_s ? nlohmann::ordered_json(*f.normal_after_s) : nullptr},
      {"attempts_per_call_stall", f.attempts_stall},
      {"attempts_per_call_after", f.attempts_after},
      {"answered_after", f.good_after},
      {"waste", row.waste}};
}

std::vector<std::string> faults_of(const std::vector<Row>& rows) {
  std::vector<std::string> faults;
  for (const Row& row : rows) {
    const Figures& f = row.figures;
    const std::string who = fmt::format("gate {}, {}", row.gate ? "on" : "off", name(row.manners));
    if (f.good_before < kNormal) {
      faults.push_back(
          fmt::format("{}: only {:.1f} % were answered before the stall; this machine "
                      "is too busy to show anything",
                      who, f.good_before * 100));
    }
    if (row.manners != Manners::ours) {
      continue;
    }
    if (!f.normal_after_s || *f.normal_after_s > kNormalWithin) {
      faults.push_back(fmt::format("{}: not normal within {} s", who, kNormalWithin));
    }
    if (f.attempts_stall > kAttemptsAtMost) {
      faults.push_back(fmt::format("{}: {:.2f} attempts per call in the stall, more than {}", who,
                                   f.attempts_stall, kAttemptsAtMost));
    }
  }
  return faults;
}

void raise_descriptor_limit() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

int storm(const Options& options) {
  raise_descriptor_limit();
  std::vector<Row> rows;
  for (const bool gate : {false, true}) {
    for (const Manners manners : {Manners::naive, Manners::ours}) {
      rows.push_back(run(options, gate, manners));
    }
  }
  const std::vector<std::string> faults = faults_of(rows);
  fmt::print(
      "\nA service of {} workers x {} ms (400/s), asked by {} callers once a second each, who wait "
      "a "
      "second.\nIt stands still for {:.0f} s. Up to {} attempts of {} ms each: naive ones try "
      "again at "
      "once, ours as\nthe client half says (programs of ten threads). A gate has limit {}.\n\n{}\n"
      "normal: a whole second's calls answered as well as before the stall. attempts: per call "
      "that "
      "was due\nin the stall, and in the {:.0f} s after it. waste: work for callers who had "
      "left.\n",
      kWorkers, kServiceMs, options.callers, options.stall_s, kAttempts, kAttemptTime.count(),
      kLimit, table(rows), options.watch_s);
  if (!options.json_file.empty()) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const Row& row : rows) {
      list.push_back(json(row));
    }
    std::ofstream(options.json_file)
        << nlohmann::ordered_json{{"callers", options.callers}, {"stall_s", options.stall_s},
                                  {"watch_s", options.watch_s}, {"rows", list},
                                  {"held", faults.empty()},     {"faults", faults}}
               .dump(2)
        << '\n';
  }
  for (const std::string& fault : faults) {
    fmt::print(stderr, "storm: {}\n", fault);
  }
  return faults.empty() ? 0 : 1;
}

}  // namespace
}  // namespace loadline::bench::storm

int main(int argc, char** argv) {
  loadline::bench::storm::Options options;
  CLI::App app{"A service stands still; callers who try again at once, and callers that do not"};
  app.add_option("--command", options.command, "The loadline command")->capture_default_str();
  app.add_option("--module", options.module, "The nginx module, if not beside the command");
  app.add_option("--callers", options.callers, "Threads that call")
      ->check(CLI::Range(10, 2000))
      ->capture_default_str();
  app.add_option("--stall", options.stall_s, "Seconds that it stands still")
      ->check(CLI::Range(1, 60))
      ->capture_default_str();
  app.add_option("--watch", options.watch_s, "Seconds that are watched afterwards")
      ->check(CLI::Range(2, 600))
      ->capture_default_str();
  app.add_option("--json", options.json_file, "Write the same numbers to FILE")
      ->option_text("FILE");
  CLI11_PARSE(app, argc, argv);
  try {
    curl_global_init(CURL_GLOBAL_DEFAULT);
    return loadline::bench::storm::storm(options);
  } catch (const std::exception& fault) {
    fmt::print(stderr, "storm: {}\n", fault.what());
    return 1;
  }
}
