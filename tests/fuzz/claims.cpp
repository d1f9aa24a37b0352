// What a request claims in its headers: whatever a stranger sends.
#include "nginx/claims_parse.h"

#include <string>

#include "fuzz.h"

namespace loadline::fuzz {
namespace {

Policy usual_policy() {
  Policy policy;
  fill_defaults(policy);
  return policy;
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// The same by other means: 128 bits, in which nothing overflows.
void check_grpc_timeout(std::string_view text) {
  const auto time = ngx::parse_grpc_timeout(text);
  constexpr std::string_view kUnits = "numSMH";
  constexpr std::int64_t kNanoseconds[] = {1,          1000,        1000000,
                                           1000000000, 60000000000, 3600000000000};
  const bool shaped = text.size() >= 2 && text.size() <= 9 &&
                      kUnits.find(text.back()) != std::string_view::npos &&
                      is_number(text.substr(0, text.size() - 1));
  if (!shaped) {
    FUZZ_EXPECT(!time);
    return;
  }
  __extension__ using Wide = __int128;
  const Wide product = Wide{std::strtoll(std::string(text).c_str(), nullptr, 10)} *
                       kNanoseconds[kUnits.find(text.back())];
  FUZZ_EXPECT(time.has_value() == (product != 0));
  FUZZ_EXPECT(!time || Wide{time->ns} == (product > Wide{INT64_MAX} ? Wide{INT64_MAX} : product));
}

void check_milliseconds(std::string_view text) {
  const auto time = ngx::parse_milliseconds(text);
  const bool negative = !text.empty() && text.front() == '-';
  const std::string_view digits = negative ? text.substr(1) : text;
  FUZZ_EXPECT(time.has_value() == (is_number(digits) && digits.size() <= 18));
  FUZZ_EXPECT(!time || time->ns >= 0);
  if (time && !negative && time->ns != INT64_MAX) {
    FUZZ_EXPECT(time->ns == std::strtoll(std::string(digits).c_str(), nullptr, 10) * 1'000'000);
  }
}

// One header after the other, apart by newlines: more of them never claim more.
void check_claims(std::string_view text) {
  static const Policy kPolicy = usual_policy();
  ngx::HeaderClaims claims;
  std::uint32_t seen = 0;
  while (!text.empty()) {
    const auto end = text.find('\n');
    const std::string_view value = text.substr(1 < text.size() ? 1 : text.size());
    const std::string_view line = value.substr(0, end == text.npos || end == 0 ? end : end - 1);
    const int before = claims.importance();
    const auto time_before = claims.time_left();
    switch (text.front() % 3) {
      case 0:
        claims.see_class(kPolicy, line);
        break;
      case 1:
        claims.see_grpc_timeout(line);
        break;
      default:
        claims.see_milliseconds(line);
    }
    ++seen;
    FUZZ_EXPECT(claims.importance() >= before && claims.importance() < kPolicy.class_count);
    FUZZ_EXPECT(!time_before || (claims.time_left() && *claims.time_left() <= *time_before));
    FUZZ_EXPECT(claims.malformed() <= seen);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  for (std::uint8_t own = 0; own < kPolicy.class_count; ++own) {
    FUZZ_EXPECT(ngx::believed_class(own, claims, false) >= own);
    FUZZ_EXPECT(ngx::believed_class(own, claims, true) < kPolicy.class_count);
  }
  const std::optional<Duration> own = Duration::seconds(1);
  FUZZ_EXPECT(*ngx::believed_time(own, claims, false) <= *own);
}

}  // namespace
}  // namespace loadline::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const loadline::fuzz::Bytes bytes(data, size);
  loadline::fuzz::check_grpc_timeout(bytes.rest());
  loadline::fuzz::check_milliseconds(bytes.rest());
  loadline::fuzz::check_claims(bytes.rest());
  return 0;
}
