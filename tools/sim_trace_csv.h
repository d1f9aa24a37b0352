// A trace as CSV: ours (arrival,service) and Azure's of language models.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim_trace.h"
#include "sim_trace_scan.h"

namespace loadline::tools {

class CsvReader {
 public:
  // Which of the two a header line is of; nothing if of neither.
  static std::optional<TraceFormat> format_of(std::string_view header);

  explicit CsvReader(TraceOptions options) : options_(std::move(options)) {}

  // Takes the header. What is wrong with it, or nothing.
  std::optional<LineFault> read_header(TraceFormat format, std::string_view header);
  // Takes a line behind it: a fault, or a caller.
  std::optional<LineFault> read(std::string_view line, sim::Listed& caller);

 private:
  struct Cell {
    std::string_view text;  // without quotes; what is doubled within them still is
    int column = 1;
  };

  static std::optional<LineFault> split(std::string_view line, std::vector<Cell>& cells);
  std::optional<LineFault> read_ours(sim::Listed& caller);
  std::optional<LineFault> read_azure(sim::Listed& caller);
  std::optional<LineFault> keep_order(const Cell& cell, std::int64_t second, std::int64_t ns,
                                      sim::Listed& caller);

  TraceOptions options_;
  TraceFormat format_ = TraceFormat::csv;
  std::vector<Cell> cells_;
  std::size_t columns_ = 0;
  std::size_t time_ = 0;
  std::size_t first_ = 0;   // service, or context tokens; if there is none, `columns_`
  std::size_t second_ = 0;  // generated tokens
  std::optional<std::int64_t> first_second_;
  std::int64_t latest_ = 0;  // since then, in nanoseconds
};

}  // namespace loadline::tools
