// Takes a trace in pieces, as they come from a file, and makes of it what it says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim_trace.h"
#include "sim_trace_csv.h"
#include "sim_trace_log.h"
#include "sim_trace_records.h"

namespace loadline::tools {

class TraceReader {
 public:
  explicit TraceReader(const TraceOptions& options);

  // The next bytes. False once no more of them are wanted: nothing can come of it.
  bool feed(std::string_view piece);
  [[nodiscard]] std::uint64_t lines() const noexcept { return trace_.lines; }
  // No more will come.
  Trace finish();

 private:
  void take_piece_of_line(std::string_view piece);
  void end_line();
  void take_line(std::string_view line);
  void take_first(std::string_view line);
  void take_record(std::string_view line);
  void add_log_line(LogLine line);
  void add_fault(LineFault fault);
  void judge();
  [[nodiscard]] bool is_log() const noexcept;
  [[nodiscard]] std::uint64_t callers() const noexcept;

  TraceOptions options_;
  Trace trace_;
  std::string carry_;      // of a line that a piece ended in
  bool too_long_ = false;  // that line is; what remains of it is dropped
  bool begun_ = false;     // the first line that says anything has been seen
  std::uint64_t tried_ = 0;
  LogLineReader log_;
  LogRecords records_;
  CsvReader csv_;
};

}  // namespace loadline::tools
