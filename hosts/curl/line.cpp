// One call after the other, each to its end.
#include <algorithm>
#include <chrono>
#include <new>

#include "loadline/curl.h"

namespace loadline::curl {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000;
// libcurl has timers of its own, so this is only how often it is asked for nothing.
constexpr int kLongestPoll = 1000;

// Rounded up, so that nobody looks again and again within the last millisecond.
int poll_time(Duration left) noexcept {
  const std::int64_t ms = left.ns / kMillisecond + 1;
  return static_cast<int>(std::clamp<std::int64_t>(ms, 1, kLongestPoll));
}

std::uint32_t status_of(CURL* easy) noexcept {
  long status = 0;
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
  return static_cast<std::uint32_t>(status);
}

void start_over(const Ask& ask) {
  if (ask.start_over) {
    ask.start_over();
  }
}

// A call that is stopped, or left by an exception, is over, too.
class Counted {
 public:
  Counted(client::Caller& caller, client::Call& call) noexcept : caller_(caller), call_(call) {}
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { caller_.abandon(call_, now()); }

 private:
  client::Caller& caller_;
  client::Call& call_;
};

}  // namespace

Instant now() noexcept {
  return {std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1)};
}

Line::Line(client::Caller& caller) : caller_(caller), multi_(curl_multi_init()) {
  if (multi_ == nullptr) {
    throw std::bad_alloc();
  }
}

Line::~Line() {
  curl_multi_cleanup(multi_);
}

Outcome Line::perform(CURL* easy, const Ask& ask, const std::stop_token& stop) {
  const std::stop_callback wake(stop, [this] { curl_multi_wakeup(multi_); });
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);  // which other threads would not bear
  client::Call call(ask.deadline, ask.kind);
  const Counted counted(caller_, call);
  Outcome outcome;
  start_over(ask);
  client::Start start = caller_.begin(call, now());
  while (start.send()) {
    const client::Next next = attempt(easy, ask, call, start.attempt, outcome, stop);
    if (next.retry()) {
      wait_until(next.at, stop);
    }
    if (next.kind == client::Next::Kind::done) {
      outcome.kind = Outcome::Kind::answered;
      return outcome;
    }
    if (stop.stop_requested()) {
      outcome.kind = Outcome::Kind::stopped;
      return outcome;
    }
    if (!next.retry()) {
      outcome.kind = Outcome::Kind::gave_up;
      outcome.reason = next.reason;
      return outcome;
    }
    start_over(ask);
    start = caller_.retry(call, now());
  }
  outcome.kind = outcome.attempts == 0 ? Outcome::Kind::refused : Outcome::Kind::gave_up;
  outcome.reason = start.reason;
  outcome.come_back = start.come_back;
  return outcome;
}

client::Next Line::attempt(CURL* easy, const Ask& ask, client::Call& call, client::Attempt attempt,
                           Outcome& outcome, const std::stop_token& stop) noexcept {
  RequestHeaders headers(attempt, ask.headers);
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers.list());
  limit_time(easy, attempt.cut_off(), now());
  outcome.code = transfer(easy, stop);
  client::Answer answer = answer_of(easy, outcome.code);
  answer.another_instance = ask.another_instance;
  outcome.ended = answer.ended;
  outcome.status = status_of(easy);
  outcome.further_down = answer.further_down;
  outcome.attempts = call.attempts();
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, ask.headers);  // ours end here
  return caller_.ended(call, attempt, answer, now());
}

CURLcode Line::transfer(CURL* easy, const std::stop_token& stop) noexcept {
  if (stop.stop_requested()) {
    return CURLE_ABORTED_BY_CALLBACK;
  }
  if (curl_multi_add_handle(multi_, easy) != CURLM_OK) {
    return CURLE_FAILED_INIT;
  }
  CURLcode code = CURLE_ABORTED_BY_CALLBACK;
  int running = 1;
  while (running != 0 && !stop.stop_requested()) {
    if (curl_multi_perform(multi_, &running) != CURLM_OK) {
      break;
    }
    if (running != 0) {
      curl_multi_poll(multi_, nullptr, 0, kLongestPoll, nullptr);
    }
  }
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
    code = message->data.result;
  }
  curl_multi_remove_handle(multi_, easy);
  return code;
}

void Line::wait_until(Instant then, const std::stop_token& stop) noexcept {
  for (Instant at = now(); at < then && !stop.stop_requested(); at = now()) {
    curl_multi_poll(multi_, nullptr, 0, poll_time(then - at), nullptr);
  }
}

}  // namespace loadline::curl
