// What is remembered of one request, from the gate's answer to its release.
#pragma once

#include <algorithm>

#include "conf.h"
#include "loadline/decision.h"
#include "short_answer.h"
#include "wheel.h"

namespace loadline::ngx {

enum class Standing : std::uint8_t {
  waiting,
  admitted,
  admitted_after_wait,
  observed,  // admitted, but would have been rejected
  rejected,
  failed_open,
};

// A request at one of its gates.
struct Pass {
  HostedGate* hosted = nullptr;
  Permit permit;
  bool streams = false;  // has a place among the streams there
};

struct RequestState;

// Until when a request may hold its permits (watch.h), in nginx's milliseconds.
struct Watch : Spoke<Watch> {
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};

  RequestState* state = nullptr;
  std::uint64_t stream_due = kNever;
  std::uint64_t lease_due = kNever;
};

struct RequestState {
  ngx_http_request_t* request = nullptr;
  HostedGate* hosted = nullptr;  // the gate that was asked last, and so speaks for all
  std::span<Pass> passes;        // room for all gates of the request
  std::uint8_t asked = 0;        // how many of them have answered
  Standing standing = Standing::failed_open;
  Reason reason = Reason::none;
  std::uint8_t importance = 0;
  std::uint16_t retry_after = 0;
  bool observed = false;    // a gate would have refused it
  bool has_waited = false;  // at a gate that let it in
  bool passed_ungated = false;
  bool under_way = false;  // all its gates have let it in
  bool answered = false;   // the rejection has been handed to nginx
  ShortAnswer short_answer;
  Ticket ticket;  // at `hosted`
  Instant deadline = Instant::never();
  Instant asked_at{};
  Duration waited{};
  ReleaseAt release_at = ReleaseAt::last;
  Watch watch;

  // Those that may hold something.
  [[nodiscard]] std::span<Pass> taken() const noexcept { return passes.first(asked); }
  [[nodiscard]] bool holds() const noexcept {
    return std::ranges::any_of(taken(), [](const Pass& pass) { return pass.permit.held(); });
  }
};

// How long a state must live. A rejection that we answer ourselves is the end of its request, so
// its state needs no more than the request's memory; everything else must survive internal
// redirects, which clear the request's contexts, and must be cleaned up whatever happens.
enum class Keep : std::uint8_t { for_this_pass, until_the_end };

// With room for `passes` gates. Null if there is no memory.
RequestState* make_state(ngx_http_request_t* r, std::size_t passes, Keep keep) noexcept;

// The state of this main request, found again after an internal redirect; null if no gate was
// asked.
RequestState* find_state(ngx_http_request_t* r) noexcept;

// How a request stands that has been let in: what the gate that was asked last has said is not all.
void stand_admitted(RequestState& state) noexcept;

// Gives back all that the request holds of limits, once. Does nothing without.
void release(RequestState& state, Outcome outcome) noexcept;

// The same for a request whose response is complete, or which was given up; that says the outcome.
void release_at_end(RequestState& state) noexcept;

}  // namespace loadline::ngx
