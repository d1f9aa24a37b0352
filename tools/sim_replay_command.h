// loadline sim --replay: a trace is read, and played against gates.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "sim_replay.h"
#include "sim_show.h"
#include "sim_trace.h"

namespace loadline::tools {

struct ReplayCommand {
  std::string trace;  // empty: none is to be replayed
  TraceOptions reading;
  ReplayOptions playing;
};

// Its options; those that say how need --replay, which is returned.
CLI::Option* add_replay(CLI::App& command, ReplayCommand& replay);

// What there is to run: one study, or none after it has said on stderr what is wrong. Throws
// std::runtime_error with a one-line message if the trace cannot be read.
std::vector<SimStudy> read_replay(const ReplayCommand& replay);

}  // namespace loadline::tools
