// Traces: what callers came and how long their work took, from the logs that people have.
// docs/traces.md says what is read, what is guessed and what is not.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "file_fault.h"
#include "sim/arrivals.h"

namespace loadline::tools {

enum class TraceFormat : std::uint8_t {
  automatic,  // known by the first lines
  nginx,      // access log in the combined format, with or without $request_time at the end
  apache,     // common or combined; a whole number at the end is a time, its unit told by the lines
  apache_us,  // the same with %D
  apache_ms,  // with %{ms}T
  apache_s,   // with %T
  csv,        // arrival,service in seconds, with a header line
  azure_llm,  // TIMESTAMP,ContextTokens,GeneratedTokens
};

// auto, nginx, apache, apache-us, apache-ms, apache-s, csv, azure-llm
std::optional<TraceFormat> parse_trace_format(std::string_view text);
std::string_view trace_format_name(TraceFormat format);
inline constexpr const char* kTraceFormatForm =
    "auto, nginx, apache, apache-us, apache-ms, apache-s, csv or azure-llm";

struct Trace {
  TraceFormat format = TraceFormat::automatic;  // which it was
  std::vector<sim::Listed> callers;             // in order of arrival, the first at 0
  std::uint64_t without_time = 0;               // of them, whose work is not known
  std::uint64_t refused = 0;   // of those: answered 429, 499, 503 or 504, so that none was done
  std::uint64_t lines = 0;     // all there are
  std::uint64_t skipped = 0;   // of them: empty, comments, the header
  std::uint64_t no_calls = 0;  // of them: connections that made no request (-, TLS to a plain port)
  std::vector<FileFault> faults;  // at most 20, one a line, each of which is left out
  std::uint64_t more_faults = 0;  // how many there were beside those
  // Why nothing should be concluded from it, in a line: more than 1 % of the lines cannot be read,
  // nobody came, too many did, what the numbers mean cannot be told. Empty: it can be used.
  std::string refusal;

  [[nodiscard]] std::uint64_t unreadable() const noexcept { return faults.size() + more_faults; }
};

inline constexpr std::size_t kMostTraceFaults = 20;
inline constexpr std::uint64_t kMostTraceCallers = 50'000'000;
inline constexpr std::size_t kLongestTraceLine = 65'536;

struct TraceProgress {
  std::optional<double> done;  // 0 to 1; not known of a pipe
  std::uint64_t lines = 0;     // read so far
};

struct TraceOptions {
  TraceFormat format = TraceFormat::automatic;
  // Azure's traces have tokens for time: what a context token and a generated one take. With
  // neither the time is not known.
  double context_token_seconds = 0;
  double generated_token_seconds = 0;
  std::uint64_t most_callers = kMostTraceCallers;
  // Told every few hundred kilobytes of a file.
  std::function<void(const TraceProgress&)> progress{};
};

// Reads a file or a pipe, however long, line by line; gzipped ones as well. Throws
// std::runtime_error with a one-line message if it cannot be read.
Trace read_trace(const std::string& path, const TraceOptions& options);
Trace read_trace_text(std::string_view text, const TraceOptions& options);

}  // namespace loadline::tools
