// Traces: what callers came and how long their work took, from the logs that people have.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config_file.h"
#include "sim/arrivals.h"

namespace loadline::tools {

enum class TraceFormat : std::uint8_t {
  automatic,  // known by the first lines
  nginx,      // access log in the combined format, with or without $request_time at the end
  apache,     // common or combined, with or without %D (microseconds) or %T (seconds) at the end
  csv,        // arrival,service in seconds, with a header line
  azure_llm,  // TIMESTAMP,ContextTokens,GeneratedTokens
};

struct Trace {
  TraceFormat format = TraceFormat::automatic;  // which it was
  std::vector<sim::Listed> callers;             // in order of arrival, the first at 0
  std::uint64_t without_time = 0;               // of them, whose work is not known
  std::uint64_t skipped = 0;                    // lines that are no requests: empty, or comments
  std::vector<FileFault> faults;  // at most 20; `more_faults` says how many there were
  std::uint64_t more_faults = 0;
};

struct TraceOptions {
  TraceFormat format = TraceFormat::automatic;
  // Azure's traces have tokens for time: what a context token and a generated one take.
  double context_token_seconds = 0;
  double generated_token_seconds = 0;
};

// Reads a file, however long, line by line; gzipped ones as well. Throws std::runtime_error with a
// one-line message if it cannot be read.
Trace read_trace(const std::string& path, const TraceOptions& options);
Trace read_trace_text(std::string_view text, const TraceOptions& options);

}  // namespace loadline::tools
