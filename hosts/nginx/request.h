// What is remembered of one request, from the gate's answer to its release.
#pragma once

#include "conf.h"
#include "loadline/decision.h"
#include "short_answer.h"

namespace loadline::ngx {

enum class Standing : std::uint8_t {
  waiting,
  admitted,
  admitted_after_wait,
  observed,  // admitted, but would have been rejected
  rejected,
  failed_open,
};

struct RequestState {
  ngx_http_request_t* request = nullptr;
  HostedGate* hosted = nullptr;
  Standing standing = Standing::failed_open;
  Reason reason = Reason::none;
  std::uint8_t importance = 0;
  std::uint16_t retry_after = 0;
  bool answered = false;  // the rejection has been handed to nginx
  ShortAnswer short_answer;
  Permit permit;
  Ticket ticket;
  Instant deadline = Instant::never();
  Instant asked_at{};
  Duration waited{};
};

// How long a state must live. A rejection that we answer ourselves is the end of its request, so
// its state needs no more than the request's memory; everything else must survive internal
// redirects, which clear the request's contexts, and must be cleaned up whatever happens.
enum class Keep : std::uint8_t { for_this_pass, until_the_end };

// Null if there is no memory.
RequestState* make_state(ngx_http_request_t* r, HostedGate& hosted, Keep keep) noexcept;

// The state of this main request, found again after an internal redirect; null if no gate was
// asked.
RequestState* find_state(ngx_http_request_t* r) noexcept;

// Gives the permit back, once. Does nothing without one.
void release(RequestState& state, Outcome outcome) noexcept;

// How a request ended whose response is complete.
Outcome outcome_of(const ngx_http_request_t* r) noexcept;

}  // namespace loadline::ngx
