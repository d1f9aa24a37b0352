// Values as people write them, on the command line and in configuration files. What is read keeps
// its range, and what is written from it is read back as the same.
#include <cmath>
#include <string>

#include "config_values.h"
#include "fuzz.h"
#include "load_text.h"
#include "net_http.h"
#include "nginx/rules_parse.h"
#include "nginx_conf.h"
#include "text.h"

namespace loadline::tools {
namespace {

constexpr std::chrono::hours kLongest{10 * 365 * 24};

void check_times(std::string_view text) {
  if (const auto time = parse_time(text)) {
    FUZZ_EXPECT(time->count() >= 0 && *time <= kLongest);
    FUZZ_EXPECT(parse_time(format_time(*time)) == time);
  }
  constexpr std::chrono::milliseconds kLow{1};
  constexpr std::chrono::milliseconds kHigh{3'600'000};
  if (const auto time = parse_millis(text, kLow, kHigh)) {
    FUZZ_EXPECT(*time >= kLow && *time <= kHigh && parse_time(text) == *time);
  }
}

void check_numbers(std::string_view text) {
  if (const auto number = parse_decimal(text)) {
    FUZZ_EXPECT(std::isfinite(*number) && *number >= 0);
  }
  if (const auto count = parse_count(text, 3, 70'000)) {
    FUZZ_EXPECT(*count >= 3 && *count <= 70'000);
    FUZZ_EXPECT(parse_count(std::to_string(*count), 3, 70'000) == count);
  }
  // What the command takes is handed to nginx, which must take it too.
  FUZZ_EXPECT(parse_quota_rate(text).has_value() == ngx::parse_rate(text).has_value());
  FUZZ_EXPECT(is_seconds_range(text, 3600) == ngx::parse_range(text, 3600).has_value());
  FUZZ_EXPECT(parse_count(text, 1, 60'000) == ngx::parse_whole(text, 1, 60'000));
  if (const auto rate = parse_quota_rate(text)) {
    FUZZ_EXPECT(rate->requests >= 1 && rate->requests <= 1'000'000);
    FUZZ_EXPECT(parse_quota_rate(rate->text())->text() == rate->text());
  }
  if (const auto size = parse_size(text)) {
    FUZZ_EXPECT(parse_size(std::to_string(*size)) == size);
  }
  if (const auto seconds = parse_retry_after(text, 1'700'000'000)) {
    FUZZ_EXPECT(parse_retry_after(std::to_string(*seconds), 0) == seconds);
  }
}

void check_addresses(std::string_view text) {
  if (const auto listen = parse_listen(text)) {
    const auto again = parse_listen(listen_text(*listen));
    FUZZ_EXPECT(again && again->address == listen->address && again->port == listen->port);
  }
  if (const auto url = parse_url(text)) {
    FUZZ_EXPECT(url->port != 0 && !url->host.empty() && url->target.front() == '/');
    const auto again = parse_url(url->text());
    FUZZ_EXPECT(again && again->text() == url->text());
  }
  if (const auto upstream = parse_upstream(text)) {
    const auto again = parse_upstream(upstream->text());
    FUZZ_EXPECT(again && again->text() == upstream->text());
    FUZZ_EXPECT(again->authority() == upstream->authority());
  }
  if (const auto network = parse_network(text)) {
    FUZZ_EXPECT(parse_network(*network) == network);
  }
}

void check_loads(std::string_view text) {
  if (const auto rate = parse_rate(text)) {
    FUZZ_EXPECT(!rate->empty());
    for (std::size_t i = 0; i < rate->size(); ++i) {
      FUZZ_EXPECT((*rate)[i].per_second >= 0 && std::isfinite((*rate)[i].per_second));
      FUZZ_EXPECT(i == 0 || (*rate)[i].from > (*rate)[i - 1].from);
    }
  }
  if (const auto burst = parse_burst(text)) {
    FUZZ_EXPECT(burst->size > 0 && burst->every.count() > 0);
  }
  if (const auto classes = parse_classes(text)) {
    for (const auto& one : *classes) {
      FUZZ_EXPECT(!one.name.empty() && one.weight > 0 && std::isfinite(one.weight));
    }
  }
  if (const auto header = parse_header(text)) {
    FUZZ_EXPECT(!header->name.empty());
    FUZZ_EXPECT((header->name + header->value).find_first_of("\r\n") == std::string::npos);
  }
}

// Nothing that is quoted leaves its quotes: as nginx reads it, it is one token, and the same text.
void check_quoting(std::string_view text) {
  const std::string quoted = nginx_quoted(text);
  std::string read;
  const bool in_quotes = quoted.front() == '"' || quoted.front() == '\'';
  std::size_t i = in_quotes ? 1 : 0;
  for (; i < quoted.size(); ++i) {
    if (in_quotes && quoted[i] == quoted.front()) {
      break;
    }
    if (!in_quotes) {
      FUZZ_EXPECT(std::string_view(" \t\r\n;{}#\"'\\").find(quoted[i]) == std::string_view::npos);
    }
    if (quoted[i] == '\\' && i + 1 < quoted.size()) {
      ++i;
      switch (quoted[i]) {
        case '"':
        case '\'':
        case '\\':
          read += quoted[i];
          break;
        case 't':
          read += '\t';
          break;
        case 'r':
          read += '\r';
          break;
        case 'n':
          read += '\n';
          break;
        default:
          read += '\\';
          read += quoted[i];
      }
      continue;
    }
    read += quoted[i];
  }
  FUZZ_EXPECT(!in_quotes || i + 1 == quoted.size());
  FUZZ_EXPECT(read == text);
}

}  // namespace
}  // namespace loadline::tools

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const loadline::fuzz::Bytes bytes(data, size);
  loadline::tools::check_times(bytes.rest());
  loadline::tools::check_numbers(bytes.rest());
  loadline::tools::check_addresses(bytes.rest());
  loadline::tools::check_loads(bytes.rest());
  loadline::tools::check_quoting(bytes.rest());
  return 0;
}
