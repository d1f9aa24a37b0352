// A suite of scenario files: each row's figures beside what the best fixed limits reach, and beside
// what other laws make of it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "loadline/policy.h"
#include "sim_file.h"

namespace loadline::tools {

struct SuiteOptions {
  std::uint64_t first_seed = 1;
  std::uint64_t seeds = 5;
  unsigned threads = 1;   // each runs a row
  std::vector<Law> laws;  // in place of the rows' own, with the first seed
};

// A scenario file of a suite. Its name is "l2_3x" for l2_3x.yaml; `l2` names it, too.
struct SuiteRow {
  std::string name;
  SimFile file;
};

// The files of a folder, in the order in which people count: l2 before l10. Throws
// std::runtime_error with what is wrong.
std::vector<SuiteRow> read_suite(const std::string& folder, SimLength length);
// Those that one of `wanted` names; all, if there are none. Throws std::runtime_error where one
// names nothing.
std::vector<SuiteRow> named_rows(std::vector<SuiteRow> rows,
                                 const std::vector<std::string>& wanted);

// One expectation.
struct SuiteFigure {
  std::string row;
  SimExpectation expectation;
  double wanted = 0;       // what the bound asks for, or else a share of what the oracle reaches
  bool by_oracle = false;  // the oracle misses the bound, which is therefore not asked for
  double worst = 0;        // of the seeds
  double spread = 0;       // between the worst and the best of them
  double oracle = 0;       // its worst; NaN: none was looked for
  std::map<Law, double> laws;
  bool holds = false;
};

struct SuiteRowOutcome {
  std::string name;
  std::string about;
  std::vector<SuiteFigure> figures;
  std::vector<std::uint32_t> limits;  // the oracle's, one a phase
  std::vector<std::string> broken;    // what must hold of any run, and did not
  Duration length{};
  Duration longest{};  // of its forms
  double wall_seconds = 0;
};

// Of the oracle's figure, where that is what is asked for.
inline constexpr double kOfOracle = 0.97;

// Called when a row is done, one at a time.
using SuiteProgress = std::function<void(const SuiteRowOutcome& row, std::size_t done)>;

// In the order of `rows`. Throws SimStopped.
std::vector<SuiteRowOutcome> run_suite(const std::vector<SuiteRow>& rows,
                                       const SuiteOptions& options, const SuiteProgress& progress,
                                       const std::stop_token& stop);

// A file of another folder, with its gates' fixed limits left to `auto`: what it expects of the
// right limit, it expects of the one that is found.
struct SuiteAgain {
  std::string name;  // "queue/q1"
  std::size_t expected = 0;
  std::vector<std::string> missed;  // each with what was seen
  double wall_seconds = 0;
};

using SuiteAgainProgress = std::function<void(const SuiteAgain& file, std::size_t done)>;

// Each with the seeds that it says itself. Throws SimStopped.
std::vector<SuiteAgain> run_again(const std::vector<SuiteRow>& rows, const SuiteOptions& options,
                                  const SuiteAgainProgress& progress, const std::stop_token& stop);

// Of several seeds, the worst for a bound, NaN being worst of all; and whether a value is worse
// than another, by more than `margin`.
double worst_for(const SimBound& bound, const std::vector<double>& values);
bool is_worse(const SimBound& bound, double value, double than, double margin = 0);

// The scenario with a law in place of those that find limits in it; Law::automatic where `fixed`
// limits, too, are to be found.
sim::Scenario with_law(sim::Scenario scenario, Law law, bool of_fixed);

// As people read it: "97.2 %", "48".
std::string suite_value(const SimExpectation& expectation, double value);

}  // namespace loadline::tools
