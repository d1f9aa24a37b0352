#include "sim_trace_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

namespace loadline::tools {
namespace {

// Workers write from buffers of their own, so lines are a little out of order.
constexpr std::int64_t kMostDisorder = 60;  // seconds

// What a whole number at the end of a line may count.
struct Unit {
  std::int64_t ns;
  TraceFormat format;
  std::string_view name;
};
constexpr std::array<Unit, 3> kUnits{{{1'000, TraceFormat::apache_us, "microseconds"},
                                      {1'000'000, TraceFormat::apache_ms, "milliseconds"},
                                      {kSecond, TraceFormat::apache_s, "seconds"}}};

// No server reads, answers and logs a request in less, and no service that anybody calls takes more
// for every second one.
constexpr std::int64_t kShortestMedian = 20'000;
constexpr std::int64_t kLongestMedian = 600 * kSecond;

// A request that began within its second and a line that was written within a moment of its end.
constexpr std::int64_t kSlack = 2 * kSecond;
constexpr double kFittingDisorder = 0.01;  // shares of the lines
constexpr double kPlainDisorder = 0.05;

FilePlace place_of(std::uint64_t line) {
  return {static_cast<int>(std::min<std::uint64_t>(line, std::numeric_limits<int>::max())), 1};
}

}  // namespace

std::string describe_span(std::int64_t seconds) {
  constexpr std::array<std::pair<std::int64_t, std::string_view>, 4> kParts{
      {{86'400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}}};
  const auto* part = std::find_if(kParts.begin(), kParts.end() - 1,
                                  [&](const auto& p) { return seconds >= p.first; });
  std::string text = fmt::format("{} {}", seconds / part->first, part->second);
  seconds %= part->first;
  if (const auto* next = part + 1; next != kParts.end() && seconds >= next->first) {
    text += fmt::format(" {} {}", seconds / next->first, next->second);
  }
  return text;
}

void merge_faults(Trace& trace, std::vector<FileFault> faults, std::uint64_t more) {
  const auto earlier = [](const FileFault& a, const FileFault& b) { return a.place < b.place; };
  auto& all = trace.faults;
  const auto middle = static_cast<std::ptrdiff_t>(all.size());
  all.insert(all.end(), std::make_move_iterator(faults.begin()),
             std::make_move_iterator(faults.end()));
  std::inplace_merge(all.begin(), all.begin() + middle, all.end(), earlier);
  trace.more_faults += more;
  if (all.size() > kMostTraceFaults) {
    trace.more_faults += all.size() - kMostTraceFaults;
    all.resize(kMostTraceFaults);
  }
}

void LogRecords::add(const LogLine& line, std::uint64_t number) {
  const std::uint64_t distance = number - records_.size();
  if (line_steps_.empty() || line_steps_.back().second != distance) {
    line_steps_.emplace_back(records_.size(), distance);
  }
  const bool known = line.kind != LogLine::Took::unknown;
  records_.push_back({line.second, known ? line.took : -1, line.refused});
  if (known) {
    kind_ = line.kind;
  }
}

std::uint64_t LogRecords::line_of(std::size_t index) const {
  const auto after =
      std::upper_bound(line_steps_.begin(), line_steps_.end(), index,
                       [](std::size_t i, const auto& step) { return i < step.first; });
  return index + std::prev(after)->second;
}

void LogRecords::arrange(TraceFormat asked, Trace& trace) {
  const bool whole = kind_ == LogLine::Took::whole;
  // Apache writes down when a request came, nginx when it ended.
  const bool at_start = whole || (asked != TraceFormat::automatic && asked != TraceFormat::nginx);
  std::int64_t unit = 1;
  trace.format = asked == TraceFormat::automatic
                     ? (at_start ? TraceFormat::apache : TraceFormat::nginx)
                     : asked;
  if (whole) {
    const auto* known = std::find_if(kUnits.begin(), kUnits.end(),
                                     [&](const Unit& u) { return u.format == asked; });
    const auto told = known != kUnits.end() ? known->ns : tell_unit(trace.refusal);
    if (!told) {
      return;
    }
    unit = *told;
    trace.format = std::find_if(kUnits.begin(), kUnits.end(), [&](const Unit& u) {
                     return u.ns == unit;
                   })->format;
  }
  drop_misplaced(at_start, unit, trace);
  spread(at_start, trace);
}

double LogRecords::share_out_of_order(std::int64_t unit) const {
  Instant latest{std::numeric_limits<std::int64_t>::min()};
  std::size_t late = 0;
  for (const Record& r : records_) {
    if (r.took < 0) {
      continue;
    }
    const Instant end = Instant{} + Duration::seconds(r.second) + Duration{r.took} * unit;
    late += end < latest - Duration{kSlack} ? 1 : 0;
    latest = std::max(latest, end);
  }
  return static_cast<double>(late) / static_cast<double>(records_.size());
}

// Lines are written as requests end. With the right unit, beginning plus time taken is therefore in
// order, and a unit a thousand times too long or too short throws it into disorder as soon as some
// requests take seconds by it. A wrong answer is worse than none: one unit must fit, and every
// other must plainly not.
std::optional<std::int64_t> LogRecords::tell_unit(std::string& refusal) const {
  std::vector<std::int64_t> known;
  for (const Record& r : records_) {
    if (r.took >= 0 && !r.refused) {
      known.push_back(r.took);
    }
  }
  std::int64_t median = 0;
  if (!known.empty()) {
    const auto middle = known.begin() + static_cast<std::ptrdiff_t>(known.size() / 2);
    std::nth_element(known.begin(), middle, known.end());
    median = *middle;
  }
  std::vector<const Unit*> left;
  bool fits = true;
  for (const Unit& unit : kUnits) {
    const Duration usual = Duration{median} * unit.ns;
    const bool believable =
        usual.ns <= kLongestMedian && (unit.ns > 1'000 || usual.ns >= kShortestMedian);
    const double disorder = believable ? share_out_of_order(unit.ns) : 1;
    if (disorder <= kPlainDisorder) {
      left.push_back(&unit);
      fits = fits && disorder <= kFittingDisorder;
    }
  }
  if (left.size() == 1 && fits) {
    return left.front()->ns;
  }
  std::string which = "microseconds, milliseconds or seconds";
  if (left.size() == 2) {
    which = fmt::format("{} or {}", left[0]->name, left[1]->name);
  }
  refusal = fmt::format(
      "the numbers at the ends of the lines (median {}) may be {}: say which, as the format "
      "apache-us, apache-ms or apache-s, or nginx if they are no times",
      median, which);
  return std::nullopt;
}

// Those whose place in the file cannot be a matter of buffers, and those that took too long.
void LogRecords::drop_misplaced(bool at_start, std::int64_t unit, Trace& trace) {
  std::vector<FileFault> faults;
  std::uint64_t more = 0;
  const auto refuse = [&](std::size_t index, auto text) {
    if (faults.size() < kMostTraceFaults) {
      faults.push_back({place_of(line_of(index)), text()});
    } else {
      ++more;
    }
  };
  std::int64_t latest = std::numeric_limits<std::int64_t>::min() / 2;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < records_.size(); ++i) {
    Record& r = records_[i];
    const Duration took = r.took < 0 ? Duration{-1} : Duration{r.took} * unit;
    const std::int64_t written = r.second + (at_start && r.took >= 0 ? took.ns / kSecond : 0);
    if (took.ns > kLongestTook) {
      refuse(i, [&] {
        return fmt::format("took {}: allowed is up to {}", describe_span(took.ns / kSecond),
                           kLongestTookText);
      });
      continue;
    }
    if (written < latest - kMostDisorder) {
      refuse(i, [&] {
        return fmt::format(
            "goes back {}: allowed is {}, so sort the file by time, or cut it where it was rotated",
            describe_span(latest - written), describe_span(kMostDisorder));
      });
      continue;
    }
    latest = std::max(latest, written);
    r.took = took.ns;
    records_[kept++] = r;
  }
  records_.resize(kept);
  merge_faults(trace, std::move(faults), more);
}

// A log has whole seconds. The n lines of one are taken to be evenly spread over it, in the file's
// order.
void LogRecords::spread(bool at_start, Trace& trace) {
  const auto by_second = [](const Record& a, const Record& b) { return a.second < b.second; };
  if (!std::is_sorted(records_.begin(), records_.end(), by_second)) {
    std::stable_sort(records_.begin(), records_.end(), by_second);
  }
  trace.callers.reserve(records_.size());
  for (std::size_t i = 0; i < records_.size();) {
    std::size_t end = i;
    while (end < records_.size() && records_[end].second == records_[i].second) {
      ++end;
    }
    const auto n = static_cast<std::int64_t>(end - i);
    const std::int64_t second = (records_[i].second - records_.front().second) * kSecond;
    for (std::int64_t k = 0; k < n; ++k, ++i) {
      const Record& r = records_[i];
      const std::int64_t moment = second + (2 * k + 1) * (kSecond / 2) / n;
      const bool has_time = r.took >= 0;
      const bool known = has_time && !r.refused;
      trace.callers.push_back({Instant{moment - (has_time && !at_start ? r.took : 0)},
                               known ? Duration{r.took} : sim::Listed::kUnknown});
      trace.refused += r.refused;
    }
  }
  std::vector<Record>().swap(records_);
}

}  // namespace loadline::tools
