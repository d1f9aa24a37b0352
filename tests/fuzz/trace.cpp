// A trace of any format: whatever it holds, the answer is callers in order or a refusal, every line
// is accounted for, and the pieces that it comes in make no difference.
#include <algorithm>
#include <string>

#include "fuzz.h"
#include "sim_trace.h"
#include "sim_trace_reader.h"

namespace loadline::tools {
namespace {

bool is_printable(const std::string& text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

void check_callers(const Trace& trace) {
  std::uint64_t unknown = 0;
  Instant latest{};
  for (const sim::Listed& caller : trace.callers) {
    FUZZ_EXPECT(caller.at >= latest);
    latest = caller.at;
    FUZZ_EXPECT(caller.work == sim::Listed::kUnknown || caller.work >= Duration{});
    unknown += caller.work == sim::Listed::kUnknown ? 1 : 0;
  }
  FUZZ_EXPECT(trace.callers.empty() || trace.callers.front().at == Instant{});
  FUZZ_EXPECT(trace.without_time == unknown && trace.refused <= unknown);
}

void check_faults(const Trace& trace) {
  FUZZ_EXPECT(trace.faults.size() <= kMostTraceFaults);
  FUZZ_EXPECT(trace.more_faults == 0 || trace.faults.size() == kMostTraceFaults);
  for (std::size_t i = 0; i < trace.faults.size(); ++i) {
    const FileFault& fault = trace.faults[i];
    FUZZ_EXPECT(fault.place.line >= 1 &&
                static_cast<std::uint64_t>(fault.place.line) <= trace.lines);
    FUZZ_EXPECT(fault.place.column >= 1 && !fault.text.empty() && is_printable(fault.text));
    FUZZ_EXPECT(i == 0 || trace.faults[i - 1].place.line < fault.place.line);
  }
  FUZZ_EXPECT(is_printable(trace.refusal));
}

void check(std::string_view text, std::size_t piece, const TraceOptions& options) {
  const Trace trace = read_trace_text(text, options);
  check_callers(trace);
  check_faults(trace);
  FUZZ_EXPECT(!trace.refusal.empty() || !trace.callers.empty());
  if (trace.refusal.empty()) {
    FUZZ_EXPECT(trace.lines ==
                trace.callers.size() + trace.skipped + trace.no_calls + trace.unreadable());
    FUZZ_EXPECT(trace.unreadable() * 100 <= trace.lines);
  }

  TraceReader reader(options);
  for (std::size_t from = 0; from < text.size(); from += piece) {
    reader.feed(text.substr(from, piece));
  }
  const Trace again = reader.finish();
  FUZZ_EXPECT(again.refusal == trace.refusal && again.lines == trace.lines);
  FUZZ_EXPECT(describe_faults("", again.faults) == describe_faults("", trace.faults));
  FUZZ_EXPECT(std::equal(
      again.callers.begin(), again.callers.end(), trace.callers.begin(), trace.callers.end(),
      [](const auto& a, const auto& b) { return a.at == b.at && a.work == b.work; }));
}

}  // namespace
}  // namespace loadline::tools

// The first byte chooses the format, and how large the pieces are.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using loadline::tools::TraceFormat;
  loadline::fuzz::Bytes bytes(data, size);
  const auto choice = bytes.take<std::uint8_t>();
  const auto format = static_cast<TraceFormat>((choice & 0xf) % 8);
  loadline::tools::check(bytes.rest(), 1 + (choice >> 4),
                         {.format = format,
                          .context_token_seconds = 0.001,
                          .generated_token_seconds = 0.02,
                          .most_callers = 200});
  return 0;
}
