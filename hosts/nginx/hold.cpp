#include "hold.h"

#include <algorithm>

#include "fault.h"
#include "worker.h"

namespace loadline::ngx {
namespace {

// Up, and never zero: a timer that fires early only asks again.
ngx_msec_t milliseconds_until(Instant when, Instant now) noexcept {
  constexpr std::int64_t kLongest = 3'600'000;
  constexpr std::int64_t kMillisecond = 1'000'000;
  const std::int64_t ns = std::max<std::int64_t>((when - now).ns, 0);
  return static_cast<ngx_msec_t>(std::clamp(ns / kMillisecond + 1, std::int64_t{1}, kLongest));
}

RequestState*& place(const RequestState& state) noexcept {
  return state.hosted->held[state.ticket.index];
}

void forget(RequestState& state) noexcept {
  if (place(state) == &state) {
    place(state) = nullptr;
  }
  state.ticket = Ticket{};
}

// Writes down what became of a waiting request.
void settle(RequestState& state, Settled& settled) noexcept {
  forget(state);
  state.waited = state.waited + settled.waited;
  switch (settled.kind) {
    case Settled::Kind::admit:
      state.has_waited = true;
      stand_admitted(state);
      state.taken().back().permit = static_cast<Permit&&>(settled.permit);
      return;
    case Settled::Kind::reject:
      state.standing = Standing::rejected;
      state.reason = settled.reason;
      state.retry_after = settled.retry_after;
      release(state, Outcome::ignored);  // what earlier gates have given
      return;
    case Settled::Kind::waiting:
    case Settled::Kind::unknown:
      break;
  }
  // The gate does not know it any more. That is our fault and not the caller's.
  state.passed_ungated = true;
  stand_admitted(state);
  report_fault(*state.hosted, "a waiting request was lost");
}

// The request goes on in a turn of its own: its phases must not run on another's stack. nginx drops
// the posted event if the connection is closed first.
void let_go_on(RequestState& state) noexcept {
  ngx_event_t* event = state.request->connection->write;
  event->delayed = 0;
  if (event->timer_set) {
    ngx_del_timer(event);
  }
  ngx_post_event(event, &ngx_posted_events);
}

// The timer has fired: the time to start has passed, or nearly.
void ask_again(RequestState& state) noexcept {
  HostedGate& hosted = *state.hosted;
  Signals signals;
  Settled settled = hosted.gate.settle(hosted.seat, state.ticket, monotonic_now(), signals);
  wake(hosted, signals);
  if (settled.kind == Settled::Kind::waiting) {
    ngx_event_t* event = state.request->connection->write;
    event->delayed = 1;
    ngx_add_timer(event, 1);
    return;
  }
  settle(state, settled);
}

// The write handler of a held request, called for its timer, for a post of ours, and whenever the
// socket happens to be writable.
void go_on(ngx_http_request_t* r) noexcept {
  ngx_event_t* event = r->connection->write;
  RequestState* state = find_state(r);
  if (!event->delayed && state != nullptr && state->standing == Standing::waiting) {
    ask_again(*state);
  }
  if (event->delayed) {
    if (ngx_handle_write_event(event, 0) != NGX_OK) {
      ngx_http_finalize_request(r, NGX_HTTP_INTERNAL_SERVER_ERROR);
    }
    return;
  }
  if (ngx_handle_read_event(r->connection->read, 0) != NGX_OK) {
    ngx_http_finalize_request(r, NGX_HTTP_INTERNAL_SERVER_ERROR);
    return;
  }
  r->read_event_handler = ngx_http_block_reading;
  r->write_event_handler = ngx_http_core_run_phases;
  ngx_http_core_run_phases(r);
}

void take(HostedGate& hosted, Settled& settled, Instant now) noexcept {
  RequestState* state = hosted.held[settled.ticket.index];
  if (state != nullptr && state->ticket == settled.ticket) {
    settle(*state, settled);
    let_go_on(*state);
    return;
  }
  // Nobody waits with this ticket. Whatever it won is given back.
  if (settled.permit.held()) {
    wake(hosted, hosted.gate.release(hosted.seat, settled.permit, Outcome::ignored, now));
  }
}

}  // namespace

ngx_int_t hold(RequestState& state, Instant start_by, Instant now) noexcept {
  ngx_http_request_t* r = state.request;
  ngx_event_t* event = r->connection->write;
  place(state) = &state;
  if (r->connection->read->pending_eof) {
    return NGX_HTTP_CLIENT_CLOSED_REQUEST;  // already gone, and no further event will say so
  }
  if (ngx_handle_read_event(r->connection->read, 0) != NGX_OK) {
    cancel(state);  // now: an error_page may still keep the request for a while
    return NGX_HTTP_INTERNAL_SERVER_ERROR;
  }
  r->read_event_handler = ngx_http_test_reading;
  r->write_event_handler = go_on;
  event->delayed = 1;
  // Not cancelable: a worker that is to exit waits for it, so that a reload drops nobody.
  ngx_add_timer(event, milliseconds_until(start_by, now));
  return NGX_AGAIN;
}

void cancel(RequestState& state) noexcept {
  HostedGate& hosted = *state.hosted;
  const Ticket ticket = state.ticket;
  const Instant now = monotonic_now();
  forget(state);
  state.waited = now - state.asked_at;
  release(state, Outcome::ignored);
  if (hosted.seat.valid()) {
    wake(hosted, hosted.gate.cancel(hosted.seat, ticket, now));
  }
}

void collect(HostedGate& hosted, Instant now) noexcept {
  constexpr std::size_t kBatch = 32;
  std::array<Settled, kBatch> batch;
  std::size_t count = kBatch;
  while (count == kBatch) {
    Signals signals;
    count = hosted.gate.collect(hosted.seat, batch, now, signals);
    wake(hosted, signals);
    for (std::size_t i = 0; i < count; ++i) {
      take(hosted, batch[i], now);
    }
  }
}

}  // namespace loadline::ngx
