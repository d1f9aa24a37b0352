// The client half for programs that ask with libcurl.
//
//   client::Caller caller(policy, curl::now());     // one for each service, of all threads
//   curl::Line line(caller);                        // one for each thread: it keeps connections
//
//   CURL* easy = curl_easy_init();                  // yours: URL, method, body, where the answer
//   goes
//   ...
//   curl::Ask ask;
//   ask.deadline = curl::now() + Duration::seconds(2);
//   ask.kind = client::Call::idempotent;
//   ask.start_over = [&] { body.clear(); };         // before each attempt
//   const curl::Outcome outcome = line.perform(easy, ask, caller_has_left);
//   if (outcome.answered()) { ... }                 // outcome.status, body
//
// Each attempt carries what is left of the deadline and which attempt it is, in the headers that
// every gate of Loadline's reads, is cut off when its time is over, and is told to the Caller with
// all that the answer says about coming back. Between two of them the thread waits as long as the
// Caller says. A stop token ends both the transfer and the wait at once.
//
// What it leaves alone: redirects are libcurl's (all answers but the last are not looked at); a
// request that went out on a connection which the server had just closed is sent again by libcurl
// itself, once, whatever its method (set CURLOPT_FRESH_CONNECT where that matters); policies with
// `hedge` work as without, since one thread makes one transfer at a time.
//
// For a program with an event loop of its own, the parts: RequestHeaders, limit_time, answer_of.
//
// Needs libcurl 7.84 (the header API). Links with Loadline::curl.
#pragma once

#include <curl/curl.h>

#include <array>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string_view>

#include "loadline/client/caller.h"
#include "loadline/time.h"

namespace loadline::curl {

// CLOCK_MONOTONIC, which is std::chrono::steady_clock: what a Caller that is used here counts by.
Instant now() noexcept;

// Both are read by every gate of Loadline's, whatever its configuration (and by Envoy).
inline constexpr std::string_view kDeadlineHeader = "x-envoy-expected-rq-timeout-ms";
inline constexpr std::string_view kAttemptHeader = "x-envoy-attempt-count";

// ---- The whole -------------------------------------------------------------------------------

// What is asked for, beside what the easy handle says.
struct Ask {
  Instant deadline = Instant::never();  // of the call, over all its attempts
  client::Call::Kind kind = client::Call::once;
  // What you would give to CURLOPT_HTTPHEADER, which is set here; it is yours, and stays set when
  // perform() returns. Null: none.
  const curl_slist* headers = nullptr;
  // Has the service other instances, among which each attempt may find another (a balancer in
  // front of it)? See client::Answer::another_instance.
  bool another_instance = false;
  // Called before each attempt is asked for: empty what the last one has left of its answer, rewind
  // what is uploaded. May be empty.
  std::function<void()> start_over{};
};

// How a call went.
struct Outcome {
  enum class Kind : std::uint8_t {
    answered,  // there is an answer that is about the request: 2xx, 3xx, most 4xx
    gave_up,   // there is none; `ended` and `reason` say why, `status` and `code` what came last
    refused,   // nothing was sent; `reason`
    stopped,   // the stop token said so
  };

  Kind kind = Kind::refused;
  client::Reason reason = client::Reason::none;    // with gave_up and refused
  client::Ended ended = client::Ended::cancelled;  // of the last attempt
  CURLcode code = CURLE_OK;                        // of the last attempt
  std::uint32_t status = 0;                        // of the last attempt; 0: none
  // The one we asked says that it is not its own failure. A server that answers a request of its
  // own with any Outcome that is not answered() says the same (client::kFurtherDownHeader).
  bool further_down = false;
  std::uint8_t attempts = 0;  // that were sent
  // With refused by an open breaker: when a new call may fare better; else Instant{}.
  Instant come_back{};

  [[nodiscard]] bool answered() const noexcept { return kind == Kind::answered; }
};

// Makes calls one after the other, and keeps the connections in between. One thread at a time;
// several of them may share the Caller, which must outlive them.
class Line {
 public:
  // Throws std::bad_alloc if libcurl has no memory. curl_global_init is the program's.
  explicit Line(client::Caller& caller);
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;
  ~Line();

  // Blocks until the call is over. `easy` must not be in use. Sets CURLOPT_HTTPHEADER,
  // CURLOPT_TIMEOUT_MS and CURLOPT_NOSIGNAL. Throws only what `start_over` throws, and then the
  // call is abandoned.
  Outcome perform(CURL* easy, const Ask& ask, const std::stop_token& stop = {});

 private:
  [[nodiscard]] client::Next attempt(CURL* easy, const Ask& ask, client::Call& call,
                                     client::Attempt attempt, Outcome& outcome,
                                     const std::stop_token& stop) noexcept;
  [[nodiscard]] CURLcode transfer(CURL* easy, const std::stop_token& stop) noexcept;
  void wait_until(Instant then, const std::stop_token& stop) noexcept;

  client::Caller& caller_;
  CURLM* multi_;
};

// ---- The parts -------------------------------------------------------------------------------

// The header fields of one attempt, followed by your own. Must live until the transfer is over;
// allocates nothing.
class RequestHeaders {
 public:
  RequestHeaders(const client::Attempt& attempt, const curl_slist* own) noexcept;
  RequestHeaders(const RequestHeaders&) = delete;
  RequestHeaders& operator=(const RequestHeaders&) = delete;
  ~RequestHeaders() = default;

  // For CURLOPT_HTTPHEADER.
  [[nodiscard]] curl_slist* list() noexcept { return first_; }

 private:
  void prepend(curl_slist& node, char* text) noexcept;

  std::array<char, 64> deadline_text_{};
  std::array<char, 32> attempt_text_{};
  curl_slist deadline_{};
  curl_slist attempt_{};
  curl_slist* first_;
};

// CURLOPT_TIMEOUT_MS until `cut_off`; at least a millisecond, since 0 means none to libcurl.
void limit_time(CURL* easy, Instant cut_off, Instant now) noexcept;

// How a transfer ended that has run to its end with `code`, or was taken out of its multi handle
// with CURLE_ABORTED_BY_CALLBACK. Of a failure before anything was sent it says `unreached`; of
// one of the program's own (a bad URL, its write function) `cancelled`, which counts for nobody.
client::Answer answer_of(CURL* easy, CURLcode code) noexcept;

}  // namespace loadline::curl
