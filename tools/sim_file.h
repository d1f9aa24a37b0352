// A scenario file of `loadline sim`: read whole, with every fault in it, each at its line and
// column.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "file_fault.h"
#include "sim/scenario.h"
#include "sim/summary.h"

namespace loadline::tools {

// A policy of the file: the whole scenario under it.
struct SimPolicy {
  std::string name;
  sim::Scenario scenario;
};

// What the best fixed limit is called beside the policies' names.
inline constexpr std::string_view kOracle = "oracle";

// What must hold of a figure.
struct SimBound {
  enum class Kind : std::uint8_t {
    at_least,
    at_most,
    is,      // within `tolerance` of it, a share of it; exactly for 0
    errors,  // is, within so many standard errors of the mean over the seeds
  };
  Kind kind = Kind::is;
  double value = 0;  // seconds, a second, a share of 1, or a count: as Summary has it
  double tolerance = 0;
  // Where it is not empty, `value` is a share of what another reached with the same seed: a policy
  // (this one too, at another time), or kOracle.
  std::string of{};
  std::optional<sim::Span> of_span{};  // when; nothing: at the same time
};

struct SimExpectation {
  FilePlace place;      // of the figure
  std::string policy;   // its name; where several are meant, there is an expectation for each
  std::string figure;   // a name that find_sim_figure knows
  sim::Selection from;  // which attempts, and when
  // It must hold of each piece of that time that is so long, and begins so long after the one
  // before; 0: of all of it.
  Duration each{};
  Duration every{};
  SimBound bound;
  std::string what;  // as a person reads it: "p99 of critical from 5s to 65s"
  std::string text;  // the same with what it must be: "... at most 110ms"
};

// The best fixed limit is looked for among these, for each phase of the run that begins at one of
// `phases`.
struct SimOracle {
  std::vector<std::uint32_t> limits;  // rising
  std::vector<Instant> phases;        // the first is the beginning
};

// A file may say `lengths`: how long a run is where time is short, or where there is much of it.
enum class SimLength : std::uint8_t { usual, shortened, full };

struct SimFile {
  std::string about;
  std::vector<SimPolicy> policies;
  // Names, by index of population, class and service.
  std::vector<std::string> callers;
  std::vector<std::string> classes;
  std::vector<std::string> services;
  // What the table and, unless they say otherwise, the expectations are of. It ends never where the
  // run drains and nothing else is said: at the end of the run, whenever that is.
  sim::Span measured;
  Instant end = Instant::never();  // of the run; never where it drains
  Duration length{};               // how long callers come
  Duration longest{};              // and in the longest of its forms
  std::uint64_t seeds = 1;
  std::optional<SimOracle> oracle;
  std::vector<SimExpectation> expectations;
  std::vector<FileFault> faults;  // in the order of their places; the rest is of use without any
};

// `folder`: what relative paths of traces and of times are relative to. Where the run is not as
// long as in the longest of its forms, what is expected ends with it, and what is expected of a
// later time is left out.
SimFile read_sim_text(const std::string& text, const std::string& folder,
                      SimLength length = SimLength::usual);

// Reads a regular file of at most 1 MiB; throws std::runtime_error with a one-line message if it is
// none or cannot be read.
SimFile read_sim_file(const std::string& path, SimLength length = SimLength::usual);

}  // namespace loadline::tools
