// From what the lines of an access log say to who came when.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim_trace.h"
#include "sim_trace_log.h"

namespace loadline::tools {

class LogRecords {
 public:
  void add(const LogLine& line, std::uint64_t number);
  [[nodiscard]] std::size_t size() const noexcept { return records_.size(); }

  // Which times the lines have; of one file all are of one kind.
  [[nodiscard]] LogLine::Took kind() const noexcept { return kind_; }

  // Takes the records: sorts them, spreads each second's over it, and fills in the trace's callers,
  // its format, its faults of order, or why it cannot be told what the numbers mean.
  void arrange(TraceFormat asked, Trace& trace);

 private:
  struct Record {
    std::int64_t second;     // since 1970
    std::int64_t took : 63;  // nanoseconds; until the unit is known, of a whole number that;
                             // negative: not known
    std::uint64_t refused : 1;
  };
  static_assert(sizeof(Record) == 16, "there are up to 50 million");

  [[nodiscard]] std::uint64_t line_of(std::size_t index) const;
  [[nodiscard]] std::optional<std::int64_t> tell_unit(std::string& refusal) const;
  [[nodiscard]] double share_out_of_order(std::int64_t unit) const;
  void drop_misplaced(bool at_start, std::int64_t unit, Trace& trace);
  void spread(bool at_start, Trace& trace);

  std::vector<Record> records_;  // in the file's order
  // Where the distance between a record's index and its line changes: from this index on.
  std::vector<std::pair<std::size_t, std::uint64_t>> line_steps_;
  LogLine::Took kind_ = LogLine::Took::unknown;
};

// Puts faults that are in order among those of a trace that are, and keeps the first.
void merge_faults(Trace& trace, std::vector<FileFault> faults, std::uint64_t more);

// 2 h 3 min: the two largest units that are not 0.
std::string describe_span(std::int64_t seconds);

}  // namespace loadline::tools
