// What an answer says about coming back: whatever a stranger sends.
#include "loadline/client/told.h"

#include <time.h>

#include <string>

#include "fuzz.h"
#include "loadline/client/answer.h"

namespace loadline::fuzz {
namespace {

using client::Signs;
using client::Told;
using client::WallTime;

constexpr std::int64_t kNow = 1'735'689'600;  // 2025-01-01

bool has_digits_alone(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// The same by the C library, which takes more for a date than we do.
void check_date(const std::string& text, Duration told) {
  tm parts{};
  const char* end = nullptr;
  for (const char* format :
       {"%a, %d %b %Y %H:%M:%S GMT ", "%a, %d-%b-%y %H:%M:%S GMT ", "%a %b %e %H:%M:%S %Y "}) {
    parts = {};
    end = strptime(text.c_str() + text.find_first_not_of(" \t"), format, &parts);
    if (end != nullptr && *end == '\0') {
      break;
    }
    end = nullptr;
  }
  FUZZ_EXPECT(end != nullptr);
  const std::int64_t then = timegm(&parts);
  // Two digits of a year mean another century to it.
  if (text.find('-') == std::string::npos) {
    FUZZ_EXPECT(told == Duration::seconds(then > kNow ? then - kNow : 0));
  }
}

void check_retry_after(std::string_view text) {
  const auto told = client::parse_retry_after(text, WallTime::seconds(kNow));
  if (!told) {
    FUZZ_EXPECT(!has_digits_alone(text));
    return;
  }
  FUZZ_EXPECT(told->ns >= 0);
  if (has_digits_alone(text)) {
    const bool fits = text.size() <= 9;
    const std::int64_t seconds = std::strtoll(std::string(text).c_str(), nullptr, 10);
    FUZZ_EXPECT(!fits || *told == Duration::seconds(seconds));
  } else if (text.find(':') != std::string_view::npos) {
    check_date(std::string(text), *told);
  }
}

void check_pushback(std::string_view text) {
  const Told told = client::parse_pushback(text);
  FUZZ_EXPECT(told.kind == Told::Kind::never || told.after.ns >= 0);
  FUZZ_EXPECT((told.kind == Told::Kind::wait) || !has_digits_alone(text));
}

// One field a line: more of them never bring anybody back earlier.
void check_signs(std::string_view text) {
  Signs signs;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(line.size() < text.size() ? line.size() + 1 : line.size());
    const std::size_t colon = line.find(':');
    const Told before = signs.told();
    signs.see(line.substr(0, colon),
              colon == line.npos ? std::string_view{} : line.substr(colon + 1),
              WallTime::seconds(kNow));
    const Told after = signs.told();
    FUZZ_EXPECT(after.kind >= before.kind);
    FUZZ_EXPECT(after.kind != before.kind || after.after >= before.after);
  }
  for (const std::uint32_t status : {200U, 429U, 503U, 504U}) {
    const client::Answer answer = client::answer_of_http(status, signs);
    FUZZ_EXPECT(answer.further_down == signs.further_down());
  }
}

}  // namespace
}  // namespace loadline::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const loadline::fuzz::Bytes bytes(data, size);
  loadline::fuzz::check_retry_after(bytes.rest());
  loadline::fuzz::check_pushback(bytes.rest());
  loadline::fuzz::check_signs(bytes.rest());
  return 0;
}
