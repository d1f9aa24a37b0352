#include "loadline/client/told.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "loadline/pieces.h"

namespace loadline::client {
namespace {

using detail::trimmed;

bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// `known` is in lower case.
bool is_named(std::string_view name, std::string_view known) noexcept {
  return name.size() == known.size() &&
         std::equal(name.begin(), name.end(), known.begin(),
                    [](char given, char wanted) { return lower(given) == wanted; });
}

// All of `text` as a number, if it is nothing but digits; the largest there is, if it is larger.
std::optional<std::int64_t> parse_digits(std::string_view text) noexcept {
  if (text.empty() || !std::all_of(text.begin(), text.end(), is_digit)) {
    return std::nullopt;
  }
  std::int64_t number = 0;
  for (const char digit : text) {
    if (__builtin_mul_overflow(number, 10, &number) ||
        __builtin_add_overflow(number, digit - '0', &number)) {
      return Duration::max().ns;
    }
  }
  return number;
}

// "10", and "1.5" as 2.
std::optional<Duration> parse_seconds(std::string_view text) noexcept {
  const std::size_t point = std::min(text.find('.'), text.size());
  const auto whole = parse_digits(text.substr(0, point));
  if (!whole) {
    return std::nullopt;
  }
  if (point == text.size()) {
    return Duration::seconds(*whole);
  }
  text.remove_prefix(point + 1);  // substr() would bring in libstdc++'s out_of_range
  const auto fraction = parse_digits(text);
  if (!fraction) {
    return std::nullopt;
  }
  return Duration::seconds(*whole) + Duration::seconds(*fraction == 0 ? 0 : 1);
}

// Takes a date apart, from the front; once something does not fit, nothing does.
class DateReader {
 public:
  explicit DateReader(std::string_view text) noexcept : text_(text) {}

  void expect(std::string_view wanted) noexcept {
    if (text_.starts_with(wanted)) {
      text_.remove_prefix(wanted.size());
    } else {
      fits_ = false;
    }
  }

  // One of the names; its index.
  template <std::size_t N>
  unsigned one_of(const std::array<std::string_view, N>& names) noexcept {
    for (unsigned i = 0; i < N; ++i) {
      if (text_.starts_with(names[i])) {
        text_.remove_prefix(names[i].size());
        return i;
      }
    }
    fits_ = false;
    return 0;
  }

  int digits(std::size_t count) noexcept {
    const auto number = parse_digits(text_.substr(0, count));
    if (!number || text_.size() < count) {
      fits_ = false;
      return 0;
    }
    text_.remove_prefix(count);
    return static_cast<int>(*number);
  }

  // asctime writes " 1" for the first of a month.
  int padded_day() noexcept {
    if (!text_.starts_with(' ')) {
      return digits(2);
    }
    text_.remove_prefix(1);
    return digits(1);
  }

  [[nodiscard]] bool read_all() const noexcept { return fits_ && text_.empty(); }

 private:
  std::string_view text_;
  bool fits_ = true;
};

constexpr std::array<std::string_view, 7> kDays = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};
constexpr std::array<std::string_view, 7> kLongDays = {
    "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"};
constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

struct Date {
  int year = 0;
  unsigned month = 0;  // 0 is January
  int day = 0;
  int hour = 0;
  int minute = 0;
  int second = 0;
};

void read_time(DateReader& reader, Date& date) noexcept {
  date.hour = reader.digits(2);
  reader.expect(":");
  date.minute = reader.digits(2);
  reader.expect(":");
  date.second = reader.digits(2);
}

// Wed, 01 Jan 2025 00:00:10 GMT
bool read_imf_date(std::string_view text, Date& date) noexcept {
  DateReader reader(text);
  reader.one_of(kDays);
  reader.expect(", ");
  date.day = reader.digits(2);
  reader.expect(" ");
  date.month = reader.one_of(kMonths);
  reader.expect(" ");
  date.year = reader.digits(4);
  reader.expect(" ");
  read_time(reader, date);
  reader.expect(" GMT");
  return reader.read_all();
}

int year_of(WallTime now) noexcept {
  using std::chrono::days;
  using std::chrono::duration_cast;
  using std::chrono::nanoseconds;
  const auto today = std::chrono::floor<days>(nanoseconds(now.ns));
  return static_cast<int>(std::chrono::year_month_day(std::chrono::sys_days(today)).year());
}

// Wednesday, 01-Jan-25 00:00:10 GMT
bool read_rfc850_date(std::string_view text, WallTime now, Date& date) noexcept {
  DateReader reader(text);
  reader.one_of(kLongDays);
  reader.expect(", ");
  date.day = reader.digits(2);
  reader.expect("-");
  date.month = reader.one_of(kMonths);
  reader.expect("-");
  const int two_digits = reader.digits(2);
  reader.expect(" ");
  read_time(reader, date);
  reader.expect(" GMT");
  const int latest = year_of(now) + 50;
  date.year = latest - (latest - two_digits) % 100;
  return reader.read_all();
}

// Wed Jan  1 00:00:10 2025
bool read_asctime_date(std::string_view text, Date& date) noexcept {
  DateReader reader(text);
  reader.one_of(kDays);
  reader.expect(" ");
  date.month = reader.one_of(kMonths);
  reader.expect(" ");
  date.day = reader.padded_day();
  reader.expect(" ");
  read_time(reader, date);
  reader.expect(" ");
  date.year = reader.digits(4);
  return reader.read_all();
}

// Since 1970. None where there is no such day or time. A leap second is one.
std::optional<std::int64_t> seconds_of(const Date& date) noexcept {
  const std::chrono::year_month_day day(std::chrono::year(date.year),
                                        std::chrono::month(date.month + 1),
                                        std::chrono::day(static_cast<unsigned>(date.day)));
  if (!day.ok() || date.hour > 23 || date.minute > 59 || date.second > 60) {
    return std::nullopt;
  }
  const std::int64_t days = std::chrono::sys_days(day).time_since_epoch().count();
  return ((days * 24 + date.hour) * 60 + date.minute) * 60 + date.second;
}

std::optional<Duration> parse_date(std::string_view text, WallTime now) noexcept {
  Date date;
  if (!read_imf_date(text, date) && !read_rfc850_date(text, now, date) &&
      !read_asctime_date(text, date)) {
    return std::nullopt;
  }
  const auto then = seconds_of(date);
  if (!then) {
    return std::nullopt;
  }
  // In whole seconds first: a date may lie further ahead than nanoseconds reach, and be told so.
  constexpr std::int64_t kSecond = 1'000'000'000;
  const std::int64_t rest = now.ns % kSecond;
  const std::int64_t began = now.ns / kSecond - (rest < 0 ? 1 : 0);
  const Duration since_began{rest < 0 ? rest + kSecond : rest};
  const Duration ahead = Duration::seconds(*then - began);
  return ahead == Duration::max() ? ahead : std::max(ahead - since_began, Duration{});
}

// None: not a number.
std::optional<Told> parse_whole_pushback(std::string_view text) noexcept {
  text = trimmed(text);
  const bool negative = text.starts_with('-');
  const auto millis = parse_digits(text.substr(negative ? 1 : 0));
  if (!millis) {
    return std::nullopt;
  }
  return negative ? Told::never() : Told::wait(Duration::millis(*millis));
}

}  // namespace

std::optional<Duration> parse_retry_after(std::string_view text, WallTime now) noexcept {
  text = trimmed(text);
  const auto seconds = parse_seconds(text);
  return seconds ? seconds : parse_date(text, now);
}

Told parse_pushback(std::string_view text) noexcept {
  return parse_whole_pushback(text).value_or(Told::never());
}

void Signs::see(std::string_view name, std::string_view value, WallTime now) noexcept {
  if (is_named(name, kRetryAfterHeader)) {
    see_retry_after(value, now);
  } else if (is_named(name, kPushbackHeader)) {
    see_pushback(value);
  } else if (is_named(name, kFurtherDownHeader)) {
    see_further_down();
  } else if (is_named(name, kRefusedHeader) || is_named(name, kEnvoyOverloadedHeader)) {
    see_refused();
  }
}

void Signs::see_retry_after(std::string_view value, WallTime now) noexcept {
  if (const auto after = parse_retry_after(value, now)) {
    take(Told::wait(*after));
  } else {
    note_malformed();
  }
}

void Signs::see_pushback(std::string_view value) noexcept {
  const auto told = parse_whole_pushback(value);
  if (!told) {
    note_malformed();
  }
  take(told.value_or(Told::never()));
}

void Signs::take(Told told) noexcept {
  if (told_.kind == Told::Kind::never) {
    return;
  }
  if (told.kind == Told::Kind::never || told_.kind == Told::Kind::nothing) {
    told_ = told;
    return;
  }
  told_.after = std::max(told_.after, told.after);
}

void Signs::note_malformed() noexcept {
  if (malformed_ < 0xff) {
    ++malformed_;
  }
}

}  // namespace loadline::client
