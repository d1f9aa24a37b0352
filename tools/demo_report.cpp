#include "demo_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace loadline::tools {
namespace {

// "-" where there was none to measure.
std::string milliseconds(double ms) {
  if (ms <= 0) {
    return "-";
  }
  return ms < 10 ? fmt::format("{:.1f} ms", ms) : fmt::format("{:.0f} ms", ms);
}

std::string percent(double share) {
  return fmt::format("{:.1f} %", share * 100);
}

std::string row_text(const DemoReport& report, const DemoRow& row, const DemoRun& run,
                     bool guarded) {
  return fmt::format("{:>6} {:>10} {:>10} {:>14} {:>9} {:>9} {:>9} {:>14} {:>8}\n",
                     guarded ? "" : fmt::format("{}x", row.load), guarded ? "on" : "off",
                     fmt::format("{:.0f}/s", run.goodput), percent(run.goodput / report.capacity),
                     milliseconds(run.p50_ms), milliseconds(run.p99_ms), percent(run.rejected),
                     milliseconds(run.p99_rejection_ms), percent(run.waste));
}

nlohmann::ordered_json run_json(const DemoReport& report, const DemoRun& run) {
  return {{"goodput", run.goodput},         {"goodput_of_capacity", run.goodput / report.capacity},
          {"accepted_p50_ms", run.p50_ms},  {"accepted_p99_ms", run.p99_ms},
          {"rejected_share", run.rejected}, {"rejection_p99_ms", run.p99_rejection_ms},
          {"waste_share", run.waste},       {"generator_fault", run.generator_fault}};
}

void find_run_faults(const DemoRow& row, const DemoRun& run, const char* which,
                     std::vector<std::string>& faults) {
  if (!run.generator_fault.empty()) {
    faults.push_back(
        fmt::format("{}x {}: the generator could not keep up, so the figures are about "
                    "it: {}",
                    row.load, which, run.generator_fault));
  }
}

}  // namespace

std::vector<std::string> demo_faults(const DemoReport& report) {
  std::vector<std::string> faults;
  for (const DemoRow& row : report.rows) {
    find_run_faults(row, row.bare, "gate off", faults);
    find_run_faults(row, row.guarded, "gate on", faults);
    if (row.load <= 1) {
      continue;
    }
    const double guarded = row.guarded.goodput / report.capacity;
    const double bare = row.bare.goodput / report.capacity;
    if (guarded < kGuardedAtLeast) {
      faults.push_back(fmt::format("{}x gate on: goodput {:.3f} of capacity, less than {:.2f}",
                                   row.load, guarded, kGuardedAtLeast));
    }
    if (bare > kBareAtMost) {
      faults.push_back(
          fmt::format("{}x gate off: goodput {:.3f} of capacity, more than {:.2f}: it did "
                      "not collapse",
                      row.load, bare, kBareAtMost));
    }
  }
  return faults;
}

std::string demo_table(const DemoReport& report) {
  std::string table =
      fmt::format("{:>6} {:>10} {:>10} {:>14} {:>9} {:>9} {:>9} {:>14} {:>8}\n", "load", "gate",
                  "goodput", "of capacity", "p50", "p99", "rejected", "p99 of a no", "waste");
  for (const DemoRow& row : report.rows) {
    table += row_text(report, row, row.bare, false);
    table += row_text(report, row, row.guarded, true);
  }
  return table;
}

nlohmann::ordered_json demo_json(const DemoReport& report) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const DemoRow& row : report.rows) {
    rows.push_back({{"load", row.load},
                    {"offered_per_second", row.rate},
                    {"unprotected", run_json(report, row.bare)},
                    {"protected", run_json(report, row.guarded)}});
  }
  const std::vector<std::string> faults = demo_faults(report);
  return {{"service", {{"workers", report.workers}, {"service_ms", report.service_ms}}},
          {"limit", report.limit},
          {"capacity_per_second", report.capacity},
          {"rows", rows},
          {"held", faults.empty()},
          {"faults", faults}};
}

}  // namespace loadline::tools
