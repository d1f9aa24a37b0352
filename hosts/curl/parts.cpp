// What an attempt sends on, and what its end means.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>
#include <limits>
#include <string_view>

#include "loadline/client/deadline.h"
#include "loadline/curl.h"

namespace loadline::curl {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000;

// "name: value", ended by 0. Everything here fits: the names are constants, the values numbers.
template <std::size_t N>
char* write_field(std::array<char, N>& out, std::string_view name,
                  std::string_view value) noexcept {
  char* end = std::copy(name.begin(), name.end(), out.data());
  *end++ = ':';
  *end++ = ' ';
  end = std::copy(value.begin(), value.end(), end);
  *end = '\0';
  return out.data();
}

client::WallTime wall_now() noexcept {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::nanoseconds>(since).count()};
}

client::Signs signs_of(CURL* easy) noexcept {
  constexpr unsigned kOrigins = CURLH_HEADER | CURLH_TRAILER;
  constexpr int kLastRequest = -1;
  client::Signs signs;
  const client::WallTime wall = wall_now();
  for (curl_header* field = curl_easy_nextheader(easy, kOrigins, kLastRequest, nullptr);
       field != nullptr; field = curl_easy_nextheader(easy, kOrigins, kLastRequest, field)) {
    signs.see(field->name, field->value, wall);
  }
  return signs;
}

// Was nothing sent? Only then can nothing have been done.
bool is_before_sending(CURL* easy) noexcept {
  curl_off_t before_transfer = 0;
  curl_easy_getinfo(easy, CURLINFO_PRETRANSFER_TIME_T, &before_transfer);
  return before_transfer == 0;
}

// The program's own doing, that says nothing about the service.
bool is_our_own(CURLcode code) noexcept {
  switch (code) {
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_FAILED_INIT:
    case CURLE_URL_MALFORMAT:
    case CURLE_NOT_BUILT_IN:
    case CURLE_WRITE_ERROR:
    case CURLE_READ_ERROR:
    case CURLE_OUT_OF_MEMORY:
    case CURLE_ABORTED_BY_CALLBACK:
    case CURLE_BAD_FUNCTION_ARGUMENT:
    case CURLE_INTERFACE_FAILED:
    case CURLE_UNKNOWN_OPTION:
    case CURLE_SSL_ENGINE_NOTFOUND:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_FILESIZE_EXCEEDED:
    case CURLE_SEND_FAIL_REWIND:
      return true;
    default:
      return false;
  }
}

client::Ended ended_without_answer(CURL* easy, CURLcode code) noexcept {
  if (is_our_own(code)) {
    return client::Ended::cancelled;
  }
  if (is_before_sending(easy)) {
    return client::Ended::unreached;
  }
  return code == CURLE_OPERATION_TIMEDOUT ? client::Ended::timed_out : client::Ended::lost;
}

}  // namespace

RequestHeaders::RequestHeaders(const client::Attempt& attempt, const curl_slist* own) noexcept
    : first_(const_cast<curl_slist*>(own)) {  // libcurl only reads it
  std::array<char, 4> number{};
  const auto [end, fault] =
      std::to_chars(number.data(), number.data() + number.size(), attempt.number());
  const auto length = static_cast<std::size_t>(end - number.data());
  prepend(attempt_, write_field(attempt_text_, kAttemptHeader, {number.data(), length}));
  if (attempt.hand_on() != Duration::max()) {
    // At least 1: some who read it take 0 for "no timeout".
    const Duration left = std::max(attempt.hand_on(), Duration::millis(1));
    std::array<char, 20> ms{};
    prepend(deadline_,
            write_field(deadline_text_, kDeadlineHeader, client::write_milliseconds(left, ms)));
  }
}

void RequestHeaders::prepend(curl_slist& node, char* text) noexcept {
  node = {.data = text, .next = first_};
  first_ = &node;
}

void limit_time(CURL* easy, Instant cut_off, Instant now) noexcept {
  long ms = 0;  // none
  if (cut_off != Instant::never()) {
    constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
    ms = static_cast<long>(std::clamp<std::int64_t>((cut_off - now).ns / kMillisecond, 1, kMost));
  }
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, ms);
}

client::Answer answer_of(CURL* easy, CURLcode code) noexcept {
  if (code == CURLE_OK || code == CURLE_HTTP_RETURNED_ERROR) {
    long status = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    return client::answer_of_http(static_cast<std::uint32_t>(status), signs_of(easy));
  }
  client::Answer answer;
  answer.ended = ended_without_answer(easy, code);
  return answer;
}

}  // namespace loadline::curl
