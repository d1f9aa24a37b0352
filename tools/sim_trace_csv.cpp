#include "sim_trace_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "config_values.h"
#include "sim/seconds.h"

namespace loadline::tools {
namespace {

constexpr double kLatestArrival = 7e9;  // seconds: what is counted from 1970 fits, up to 2191
constexpr std::int64_t kMostTokens = 1'000'000'000;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) {
    text.remove_prefix(1);
  }
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) {
    text.remove_suffix(1);
  }
  return text;
}

// A plain or scientific number from 0 to `most`: not nan, inf, -1 or 0x10.
std::optional<double> parse_number(std::string_view text, double most) {
  if (text.empty() || !(is_trace_digit(text.front()) || text.front() == '.')) {
    return std::nullopt;
  }
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !(value >= 0 && value <= most)) {
    return std::nullopt;
  }
  return value;
}

struct Moment {
  std::int64_t second = 0;
  std::int64_t ns = 0;
};

// 2023-11-16 18:15:46.6805900, with T for the blank, with fewer digits or none, and with a zone
// (+00:00, Z) or none, which is Greenwich.
std::optional<Moment> parse_timestamp(std::string_view text) {
  CivilTime t;
  t.year = take_digits(text, 4);
  bool fits = take_char(text, '-');
  t.month = take_digits(text, 2);
  fits = fits && take_char(text, '-');
  t.day = take_digits(text, 2);
  fits = fits && (take_char(text, ' ') || take_char(text, 'T'));
  t.hour = take_digits(text, 2);
  fits = fits && take_char(text, ':');
  t.minute = take_digits(text, 2);
  fits = fits && take_char(text, ':');
  t.second = take_digits(text, 2);
  const auto second = unix_second(t);
  if (!fits || !second) {
    return std::nullopt;
  }
  Moment moment{*second, 0};
  if (take_char(text, '.')) {
    std::size_t digits = 0;
    for (; digits < text.size() && is_trace_digit(text[digits]); ++digits) {
      moment.ns = digits < 9 ? moment.ns * 10 + (text[digits] - '0') : moment.ns;
    }
    if (digits == 0 || digits > 12) {
      return std::nullopt;
    }
    text.remove_prefix(digits);
    for (; digits < 9; ++digits) {
      moment.ns *= 10;
    }
  }
  if (!text.empty() && text != "Z") {
    const auto zone = take_zone(text, true);
    if (!zone || !text.empty()) {
      return std::nullopt;
    }
    moment.second -= *zone;
  }
  return moment;
}

}  // namespace

// RFC 4180, but for a line that ends within quotes.
std::optional<LineFault> CsvReader::split(std::string_view line, std::vector<Cell>& cells) {
  cells.clear();
  std::size_t at = 0;
  while (true) {
    const auto column = static_cast<int>(at) + 1;
    if (at < line.size() && line[at] == '"') {
      std::size_t end = line.find('"', at + 1);
      while (end != std::string_view::npos && end + 1 < line.size() && line[end + 1] == '"') {
        end = line.find('"', end + 2);
      }
      if (end == std::string_view::npos) {
        return LineFault{column, "a quote that nothing closes on its line"};
      }
      if (end + 1 < line.size() && line[end + 1] != ',') {
        return LineFault{static_cast<int>(end) + 2, "after a closing quote: allowed is a comma"};
      }
      cells.push_back({line.substr(at + 1, end - at - 1), column});
      at = end + 1;
    } else {
      const std::size_t end = std::min(line.find(',', at), line.size());
      cells.push_back({trimmed(line.substr(at, end - at)), column});
      at = end;
    }
    if (at == line.size()) {
      return std::nullopt;
    }
    ++at;
  }
}

std::optional<TraceFormat> CsvReader::format_of(std::string_view header) {
  std::vector<Cell> cells;
  if (split(header, cells)) {
    return std::nullopt;
  }
  const auto has = [&](std::string_view name) {
    return std::any_of(cells.begin(), cells.end(),
                       [&](const Cell& c) { return lower_case(c.text) == name; });
  };
  if (has("arrival")) {
    return TraceFormat::csv;
  }
  return has("timestamp") && has("contexttokens") ? std::optional(TraceFormat::azure_llm)
                                                  : std::nullopt;
}

std::optional<LineFault> CsvReader::read_header(TraceFormat format, std::string_view header) {
  format_ = format;
  if (auto fault = split(header, cells_)) {
    return fault;
  }
  columns_ = cells_.size();
  const auto find = [&](std::string_view name) {
    const auto cell = std::find_if(cells_.begin(), cells_.end(),
                                   [&](const Cell& c) { return lower_case(c.text) == name; });
    return static_cast<std::size_t>(cell - cells_.begin());
  };
  const auto missing = [&](std::string_view name, std::string_view example) {
    return LineFault{
        1, fmt::format("no column '{}' in the first line: allowed is a header, as in {}", name,
                       example)};
  };
  if (format == TraceFormat::csv) {
    time_ = find("arrival");
    first_ = find("service");
    return time_ == columns_ ? std::optional(missing("arrival", "arrival,service")) : std::nullopt;
  }
  constexpr std::string_view kExample = "TIMESTAMP,ContextTokens,GeneratedTokens";
  time_ = find("timestamp");
  first_ = find("contexttokens");
  second_ = find("generatedtokens");
  if (time_ == columns_) {
    return missing("TIMESTAMP", kExample);
  }
  if (first_ == columns_) {
    return missing("ContextTokens", kExample);
  }
  return second_ == columns_ ? std::optional(missing("GeneratedTokens", kExample)) : std::nullopt;
}

std::optional<LineFault> CsvReader::read(std::string_view line, sim::Listed& caller) {
  if (auto fault = split(line, cells_)) {
    return fault;
  }
  if (cells_.size() != columns_) {
    return LineFault{cells_.back().column,
                     fmt::format("{} fields: the header has {}", cells_.size(), columns_)};
  }
  return format_ == TraceFormat::csv ? read_ours(caller) : read_azure(caller);
}

std::optional<LineFault> CsvReader::read_ours(sim::Listed& caller) {
  const Cell& arrival = cells_[time_];
  const auto at = parse_number(arrival.text, kLatestArrival);
  if (!at) {
    return LineFault{
        arrival.column,
        fmt::format("arrival {}: allowed is a number of seconds from 0 to {}",
                    quoted_piece(arrival.text), static_cast<std::int64_t>(kLatestArrival))};
  }
  caller.work = sim::Listed::kUnknown;
  if (first_ < columns_ && !cells_[first_].text.empty()) {
    const Cell& service = cells_[first_];
    const auto took = parse_number(service.text, static_cast<double>(kLongestTookSeconds));
    if (!took) {
      return LineFault{
          service.column,
          fmt::format("service {}: allowed is a number of seconds from 0 to {}, or nothing",
                      quoted_piece(service.text), kLongestTookSeconds)};
    }
    caller.work = sim::duration(*took);
  }
  const double second = std::floor(*at);
  return keep_order(arrival, static_cast<std::int64_t>(second),
                    std::llround((*at - second) * static_cast<double>(kSecond)), caller);
}

std::optional<LineFault> CsvReader::read_azure(sim::Listed& caller) {
  const Cell& time = cells_[time_];
  const auto at = parse_timestamp(time.text);
  if (!at) {
    return LineFault{time.column,
                     fmt::format("TIMESTAMP {}: allowed is a date from {} to {}, as in "
                                 "2023-11-16 18:15:46.6805900",
                                 quoted_piece(time.text), kFirstYear, kLastYear)};
  }
  std::array<std::int64_t, 2> tokens{};
  const std::array<const Cell*, 2> cells{&cells_[first_], &cells_[second_]};
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const auto number = whole_number(cells[i]->text, kMostTokens);
    if (!number) {
      return LineFault{cells[i]->column, fmt::format("{} {}: allowed is a whole number up to {}",
                                                     i == 0 ? "ContextTokens" : "GeneratedTokens",
                                                     quoted_piece(cells[i]->text), kMostTokens)};
    }
    tokens[i] = *number;
  }
  const double took = static_cast<double>(tokens[0]) * options_.context_token_seconds +
                      static_cast<double>(tokens[1]) * options_.generated_token_seconds;
  if (took > static_cast<double>(kLongestTookSeconds)) {
    return LineFault{
        cells[0]->column,
        fmt::format("takes {:.0f} s by its tokens: allowed is up to {}", took, kLongestTookText)};
  }
  const bool known = options_.context_token_seconds > 0 || options_.generated_token_seconds > 0;
  caller.work = known ? sim::duration(took) : sim::Listed::kUnknown;
  return keep_order(time, at->second, at->ns, caller);
}

// Nobody writes such a file from several buffers: what is out of order is a mistake.
std::optional<LineFault> CsvReader::keep_order(const Cell& cell, std::int64_t second,
                                               std::int64_t ns, sim::Listed& caller) {
  const std::int64_t first = first_second_.value_or(second);
  const std::int64_t since = (second - first) * kSecond + ns;
  if (first_second_ && since < latest_) {
    return LineFault{
        cell.column,
        fmt::format(
            "{} comes {:.6f} s before a line above it: allowed is rising order, so sort the "
            "file",
            quoted_piece(cell.text), static_cast<double>(latest_ - since) * 1e-9)};
  }
  first_second_ = first;
  latest_ = since;
  caller.at = Instant{since};
  return std::nullopt;
}

}  // namespace loadline::tools
