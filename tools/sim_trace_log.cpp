#include "sim_trace_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace loadline::tools {
namespace {

constexpr std::string_view kTimeForm = "[16/Nov/2023:18:15:46 +0000]";

// Where we are in a line.
class Scan {
 public:
  explicit Scan(std::string_view line) : line_(line) {}

  [[nodiscard]] std::string_view rest() const { return line_.substr(at_); }
  [[nodiscard]] bool ended() const { return at_ == line_.size(); }
  void skip(std::size_t bytes) { at_ += bytes; }
  void skip_blanks() {
    while (!ended() && line_[at_] == ' ') {
      ++at_;
    }
  }
  // Up to the next blank.
  std::string_view word() {
    const std::string_view found = rest().substr(0, rest().find(' '));
    at_ += found.size();
    return found;
  }
  // What stands in quotes from here on. Quotes within are escaped as \" or \x22; where a server was
  // told to escape nothing, the end is still the one that a blank follows.
  std::optional<std::string_view> in_quotes() {
    const std::size_t begin = at_ + 1;
    for (std::size_t end = line_.find('"', begin); end != std::string_view::npos;
         end = line_.find('"', end + 1)) {
      const bool outside = end + 1 == line_.size() || line_[end + 1] == ' ';
      if (outside && !is_escaped(begin, end)) {
        at_ = end + 1;
        return line_.substr(begin, end - begin);
      }
    }
    return std::nullopt;
  }
  [[nodiscard]] LineFault fault(std::string text) const {
    return {static_cast<int>(at_) + 1, std::move(text)};
  }

 private:
  [[nodiscard]] bool is_escaped(std::size_t begin, std::size_t at) const {
    std::size_t backslashes = 0;
    while (at - backslashes > begin && line_[at - backslashes - 1] == '\\') {
      ++backslashes;
    }
    return backslashes % 2 == 1;
  }

  std::string_view line_;
  std::size_t at_ = 0;
};

int month_of(std::string_view name) {
  constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
  const std::size_t at = kMonths.find(name);
  return name.size() == 3 && at != std::string_view::npos && at % 3 == 0
             ? static_cast<int>(at / 3) + 1
             : 0;
}

// 16/Nov/2023:18:15:46 +0000
std::optional<std::int64_t> parse_log_time(std::string_view text) {
  CivilTime t;
  t.day = take_digits(text, 2);
  bool fits = take_char(text, '/') && text.size() > 3;
  if (!fits) {
    return std::nullopt;
  }
  t.month = month_of(text.substr(0, 3));
  text.remove_prefix(3);
  fits = take_char(text, '/');
  t.year = take_digits(text, 4);
  fits = fits && take_char(text, ':');
  t.hour = take_digits(text, 2);
  fits = fits && take_char(text, ':');
  t.minute = take_digits(text, 2);
  fits = fits && take_char(text, ':');
  t.second = take_digits(text, 2);
  fits = fits && take_char(text, ' ');
  const auto zone = take_zone(text, false);
  const auto local = unix_second(t);
  if (!fits || !zone || !local || !text.empty()) {
    return std::nullopt;
  }
  return *local - *zone;
}

// The bracket that a time follows: a user's name may have others.
std::size_t find_time(std::string_view line) {
  const auto looks_like_one = [&](std::size_t at) {
    const std::string_view rest = line.substr(at);
    return rest.size() > 7 && is_trace_digit(rest[1]) && rest[3] == '/' && rest[7] == '/';
  };
  std::size_t at = line.find('[');
  while (at != std::string_view::npos && !looks_like_one(at)) {
    at = line.find('[', at + 1);
  }
  return at;
}

// A request begins with a method and a blank. What else there may be ("", "-", the bytes of a TLS
// greeting) the server has answered by itself.
bool is_request(std::string_view request) {
  const std::size_t blank = request.find(' ');
  return blank != 0 && blank != std::string_view::npos &&
         std::all_of(request.begin(), request.begin() + static_cast<std::ptrdiff_t>(blank),
                     [](char c) { return (c >= 'A' && c <= 'Z') || c == '-' || c == '_'; });
}

// Too many, gone meanwhile, not available, too late.
bool is_refusal(std::string_view status) {
  return status == "429" || status == "499" || status == "503" || status == "504";
}

bool is_number_or_dash(std::string_view text) {
  return text == "-" || (!text.empty() && std::all_of(text.begin(), text.end(), is_trace_digit));
}

// What a bare word is, if it is to be a time.
struct Number {
  LogLine::Took kind = LogLine::Took::unknown;
  std::int64_t value = 0;
  bool too_long = false;
};

// nginx writes milliseconds, so three digits behind the point: what has another number of them is
// something else (a compression ratio), unless it says by name that it is a time.
Number parse_number(std::string_view text, bool named) {
  const std::size_t point = text.find('.');
  const std::string_view before = text.substr(0, point);
  if (before.empty() || !std::all_of(before.begin(), before.end(), is_trace_digit)) {
    return {};
  }
  if (point == std::string_view::npos) {
    const auto value = whole_number(text, kLongestTook / 1000);  // if it is microseconds
    return {named || !value ? LogLine::Took::unknown : LogLine::Took::whole, value.value_or(0)};
  }
  std::string_view after = text.substr(point + 1);
  if (after.empty() || after.size() > 9 || (!named && after.size() != 3) ||
      !std::all_of(after.begin(), after.end(), is_trace_digit)) {
    return {};
  }
  const auto seconds = whole_number(before, kLongestTookSeconds - 1);
  if (!seconds) {
    return {LogLine::Took::decimal, 0, true};
  }
  std::int64_t ns = 0;
  for (std::size_t i = 0; i < 9; ++i) {
    ns = ns * 10 + (i < after.size() ? after[i] - '0' : 0);
  }
  return {LogLine::Took::decimal, *seconds * kSecond + ns, false};
}

// rt=0.123 or request_time="0.123": what follows the sign.
std::optional<std::string_view> named_time(std::string_view word) {
  for (const std::string_view name : {"rt=", "request_time="}) {
    if (word.starts_with(name)) {
      word.remove_prefix(name.size());
      const bool in_quotes = word.size() >= 2 && word.front() == '"' && word.back() == '"';
      return in_quotes ? word.substr(1, word.size() - 2) : word;
    }
  }
  return std::nullopt;
}

// The time that the request took: by name wherever it stands, else the last word of the line.
std::optional<LineFault> read_took(Scan scan, LogLine& line) {
  std::string_view last;
  Number before;
  Number number;
  bool named = false;
  Scan at_last = scan;
  for (scan.skip_blanks(); !scan.ended() && !named; scan.skip_blanks()) {
    at_last = scan;
    before = number;
    number = {};
    if (scan.rest().front() == '"') {
      if (!scan.in_quotes()) {
        return scan.fault("a quote that nothing closes");
      }
      last = {};
      continue;
    }
    last = scan.word();
    const auto value = named_time(last);
    named = value.has_value();
    number = parse_number(value.value_or(last), named);
    if (named && number.kind != LogLine::Took::decimal && *value != "-") {
      return at_last.fault(fmt::format(
          "{}: allowed is a time in seconds with a point, as in rt=0.123", quoted_piece(last)));
    }
  }
  if (number.too_long) {
    return at_last.fault(
        fmt::format("{}: allowed is a time up to {}", quoted_piece(last), kLongestTookText));
  }
  const bool either = number.kind == LogLine::Took::decimal || last == "-";
  if (!named && either && before.kind == LogLine::Took::decimal) {
    return at_last.fault(
        "two times at the end, and none says which it is: write the request's as rt=$request_time");
  }
  line.kind = number.kind;
  line.took = number.value;
  return std::nullopt;
}

}  // namespace

std::optional<std::int64_t> LogLineReader::second_of(std::string_view time) {
  if (time.size() == kTimeBytes && std::memcmp(time.data(), last_time_.data(), kTimeBytes) == 0) {
    return last_second_;
  }
  const auto second = parse_log_time(time);
  if (second) {
    std::copy(time.begin(), time.end(), last_time_.begin());
    last_second_ = *second;
  }
  return second;
}

// ADDRESS - USER [TIME] "REQUEST" STATUS BYTES, then whatever the server was told to add.
std::optional<LineFault> LogLineReader::read(std::string_view text, LogLine& line) {
  Scan scan(text);
  const std::size_t bracket = find_time(text);
  if (bracket == std::string_view::npos) {
    return scan.fault(
        fmt::format("no line of an access log: allowed has a time as in {}", kTimeForm));
  }
  scan.skip(bracket);
  const std::size_t close = scan.rest().find(']');
  const std::string_view time =
      close == std::string_view::npos ? std::string_view() : scan.rest().substr(1, close - 1);
  const auto second = second_of(time);
  if (!second) {
    return scan.fault(fmt::format("time {}: allowed is a date from {} to {}, as in {}",
                                  quoted_piece(time), kFirstYear, kLastYear, kTimeForm));
  }
  scan.skip(time.size() + 2);
  scan.skip_blanks();
  if (scan.ended() || scan.rest().front() != '"') {
    return scan.fault("no request in quotes after the time");
  }
  const auto request = scan.in_quotes();
  if (!request) {
    return scan.fault("the request has no closing quote");
  }
  scan.skip_blanks();
  const std::string_view status = scan.rest().substr(0, scan.rest().find(' '));
  if (!is_number_or_dash(status) || (status.size() != 3 && status != "-")) {
    return scan.fault(fmt::format("status {}: allowed are 3 digits or -", quoted_piece(status)));
  }
  scan.skip(status.size());
  scan.skip_blanks();
  const std::string_view bytes = scan.rest().substr(0, scan.rest().find(' '));
  if (!is_number_or_dash(bytes)) {
    return scan.fault(fmt::format("bytes {}: allowed is a whole number or -", quoted_piece(bytes)));
  }
  scan.skip(bytes.size());
  line.second = *second;
  line.calls = is_request(*request);
  line.refused = is_refusal(status);
  return read_took(scan, line);
}

}  // namespace loadline::tools
