#include "sim_trace_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "config.h"

namespace loadline::tools {
namespace {

// Lines after which, if none could be read, the rest is not worth looking at.
constexpr std::uint64_t kEnoughTried = 100;

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

std::string_view took_form(LogLine::Took kind) {
  return kind == LogLine::Took::decimal ? "seconds with a point" : "a whole number";
}

}  // namespace

TraceReader::TraceReader(const TraceOptions& options) : options_(options), csv_(options) {
  trace_.format = options.format;
}

bool TraceReader::feed(std::string_view piece) {
  while (trace_.refusal.empty() && !piece.empty()) {
    const std::size_t end = piece.find('\n');
    if (end == std::string_view::npos) {
      take_piece_of_line(piece);
      break;
    }
    if (carry_.empty() && !too_long_ && end <= kLongestTraceLine) {
      take_line(piece.substr(0, end));  // as most are, without a copy
    } else {
      take_piece_of_line(piece.substr(0, end));
      end_line();
    }
    piece.remove_prefix(end + 1);
  }
  return trace_.refusal.empty();
}

void TraceReader::take_piece_of_line(std::string_view piece) {
  too_long_ = too_long_ || carry_.size() + piece.size() > kLongestTraceLine;
  if (too_long_) {
    carry_.clear();
  } else {
    carry_ += piece;
  }
}

void TraceReader::end_line() {
  if (too_long_) {
    ++trace_.lines;
    add_fault({static_cast<int>(kLongestTraceLine) + 1,
               fmt::format("a line of more than {} bytes", kLongestTraceLine)});
  } else {
    take_line(carry_);
  }
  too_long_ = false;
  carry_.clear();
}

void TraceReader::take_line(std::string_view line) {
  ++trace_.lines;
  if (trace_.lines == 1 && line.starts_with(kByteOrderMark)) {
    line.remove_prefix(kByteOrderMark.size());
  }
  if (line.ends_with('\r')) {
    line.remove_suffix(1);
  }
  if (line.empty() || line.front() == '#') {
    ++trace_.skipped;
    return;
  }
  if (!begun_) {
    begun_ = true;
    take_first(line);
  } else {
    take_record(line);
  }
}

// What the file is, if nobody has said so: a header names the columns of its own, all else is a
// log.
void TraceReader::take_first(std::string_view line) {
  TraceFormat& format = trace_.format;
  if (format == TraceFormat::automatic) {
    format = CsvReader::format_of(line).value_or(TraceFormat::automatic);
  }
  if (is_log()) {
    take_record(line);
    return;
  }
  ++trace_.skipped;
  if (const auto fault = csv_.read_header(format, line)) {
    trace_.refusal = fault->text;
  }
}

bool TraceReader::is_log() const noexcept {
  return trace_.format != TraceFormat::csv && trace_.format != TraceFormat::azure_llm;
}

std::uint64_t TraceReader::callers() const noexcept {
  return records_.size() + trace_.callers.size();
}

void TraceReader::take_record(std::string_view line) {
  ++tried_;
  if (!is_log()) {
    sim::Listed caller;
    if (auto fault = csv_.read(line, caller)) {
      add_fault(std::move(*fault));
    } else {
      trace_.callers.push_back(caller);
    }
  } else {
    LogLine read;
    if (auto fault = log_.read(line, read)) {
      add_fault(std::move(*fault));
    } else {
      add_log_line(read);
    }
  }
  if (callers() > options_.most_callers) {
    trace_.refusal = fmt::format("more than {} requests: cut it, or take a part of the time",
                                 options_.most_callers);
  } else if (tried_ == kEnoughTried && trace_.unreadable() == tried_) {
    trace_.refusal = fmt::format("none of the first {} lines can be read", kEnoughTried);
  }
}

// Of one file all times are of one kind: which, is told by the format, or else by the first.
void TraceReader::add_log_line(LogLine line) {
  using Took = LogLine::Took;
  if (!line.calls) {
    ++trace_.no_calls;
    return;
  }
  const TraceFormat format = trace_.format;
  Took wanted = records_.kind();
  if (format != TraceFormat::automatic) {
    wanted = format == TraceFormat::nginx ? Took::decimal : Took::whole;
  }
  if (format == TraceFormat::nginx && line.kind == Took::whole) {
    line.kind = Took::unknown;  // a length, the number of a connection
  }
  if (line.kind != Took::unknown && wanted != Took::unknown && line.kind != wanted) {
    add_fault({1, fmt::format("the time at its end is {}: allowed is {}, as {}",
                              took_form(line.kind), took_form(wanted),
                              format == TraceFormat::automatic ? "above" : "the format has it")});
    return;
  }
  records_.add(line, trace_.lines);
}

void TraceReader::add_fault(LineFault fault) {
  if (trace_.faults.size() == kMostTraceFaults) {
    ++trace_.more_faults;
    return;
  }
  const auto line = std::min<std::uint64_t>(trace_.lines, std::numeric_limits<int>::max());
  trace_.faults.push_back({{static_cast<int>(line), fault.column}, std::move(fault.text)});
}

Trace TraceReader::finish() {
  if (trace_.refusal.empty() && (too_long_ || !carry_.empty())) {
    end_line();
  }
  if (trace_.refusal.empty() && is_log()) {
    records_.arrange(trace_.format, trace_);
  }
  auto& callers = trace_.callers;
  const auto earlier = [](const sim::Listed& a, const sim::Listed& b) { return a.at < b.at; };
  if (!std::is_sorted(callers.begin(), callers.end(), earlier)) {
    std::stable_sort(callers.begin(), callers.end(), earlier);
  }
  const Instant first = callers.empty() ? Instant{} : callers.front().at;
  for (sim::Listed& caller : callers) {
    caller.at = Instant{} + (caller.at - first);
    trace_.without_time += caller.work == sim::Listed::kUnknown ? 1 : 0;
  }
  judge();
  return std::move(trace_);
}

// Why it is of no use, if that has not been said.
void TraceReader::judge() {
  if (!trace_.refusal.empty()) {
    return;
  }
  if (trace_.unreadable() * 100 > trace_.lines) {
    trace_.refusal = fmt::format("{} of {} lines cannot be read: allowed is 1 %",
                                 trace_.unreadable(), trace_.lines);
  } else if (trace_.callers.empty()) {
    trace_.refusal = "no requests in it";
  }
}

Trace read_trace_text(std::string_view text, const TraceOptions& options) {
  TraceReader reader(options);
  reader.feed(text);
  return reader.finish();
}

}  // namespace loadline::tools
