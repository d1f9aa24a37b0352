// What a suite does not reach yet: a list beside the rows that only becomes shorter.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim_suite.h"

namespace loadline::tools {

// A figure that is missed, as it was when it was listed.
struct OpenFigure {
  std::string row;
  std::string figure;  // SimExpectation::text
  double worst = 0;
  double spread = 0;
};

// By SimLength: the figures of a shortened run are others. What was found with some seeds is asked
// of the same ones; with others, chance decides what is just missed and what just held.
struct OpenList {
  struct Part {
    std::uint64_t seed = 0;  // the first; 0: nothing has been listed
    std::uint64_t seeds = 0;
    std::vector<OpenFigure> figures;
  };
  Part parts[3];

  [[nodiscard]] Part& of(SimLength length) { return parts[static_cast<std::size_t>(length)]; }
  [[nodiscard]] const Part& of(SimLength length) const {
    return parts[static_cast<std::size_t>(length)];
  }
};

// Where there is no file, nothing is listed. Throws std::runtime_error with what is wrong in it.
OpenList read_open_list(const std::string& path);
std::string write_open_list(const OpenList& list);

enum class SuiteVerdict : std::uint8_t {
  held,
  open,    // missed, and listed
  missed,  // and not listed
  worse,   // than when it was listed, by more than the seeds differ
  closed,  // listed, and held: to be taken off the list
};
std::string_view name(SuiteVerdict verdict);
// Whether a run may go through with it.
bool passes(SuiteVerdict verdict);

SuiteVerdict verdict_on(const SuiteFigure& figure, const OpenList::Part& open,
                        const SuiteOptions& options);

// Figures that are listed and not in a row that was run whole: renamed or taken away.
std::vector<std::string> listed_for_nothing(const std::vector<SuiteRowOutcome>& rows,
                                            const OpenList::Part& open);

// The list with what these rows miss now in place of what was listed of them.
OpenList::Part listed_anew(const std::vector<SuiteRowOutcome>& rows, const OpenList::Part& open,
                           const SuiteOptions& options);

}  // namespace loadline::tools
