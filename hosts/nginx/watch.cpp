#include "watch.h"

#include "fault.h"
#include "streams.h"
#include "zone.h"

namespace loadline::ngx {

// One timer does for both times, the nearer first.
struct Watch {
  ngx_event_t event{};
  RequestState* state = nullptr;
  ngx_msec_t stream_after = 0;  // 0: done with, or not asked for
  ngx_msec_t lease = 0;
};

namespace {

// The work goes on, only nobody counts it any more: it is said who it is, but never often.
void take_back(RequestState& state) noexcept {
  constexpr Duration kBetweenLines = Duration::seconds(1);
  const ngx_http_request_t* r = state.request;
  for (const Pass& pass : state.taken()) {
    if (!pass.permit.held()) {
      continue;
    }
    ZoneHead& shared = *pass.hosted->shared;
    shared.leases_expired.fetch_add(1, std::memory_order_relaxed);
    if (is_due(shared.next_lease_line, monotonic_now(), kBetweenLines)) {
      ngx_log_error(
          NGX_LOG_WARN, r->connection->log, 0,
          "loadline_gate \"%V\": a permit was not given back within its lease and has been "
          "taken back; its request goes on uncounted",
          &pass.hosted->name);
    }
  }
  release(state, Outcome::ignored);
}

bool becomes_a_stream_first(const Watch& watch) noexcept {
  return watch.stream_after != 0 && (watch.lease == 0 || watch.stream_after < watch.lease);
}

void arm(Watch& watch, ngx_msec_t gone) noexcept {
  const ngx_msec_t next = becomes_a_stream_first(watch) ? watch.stream_after : watch.lease;
  if (next != 0) {
    ngx_add_timer(&watch.event, next > gone ? next - gone : 1);
  }
}

void on_timer(ngx_event_t* event) noexcept {
  auto& watch = *static_cast<Watch*>(event->data);
  RequestState& state = *watch.state;
  if (becomes_a_stream_first(watch)) {
    const ngx_msec_t gone = watch.stream_after;
    watch.stream_after = 0;
    // Without a place among the streams it keeps its permit: it runs, and may be just slow.
    if (!enter_streams(state)) {
      arm(watch, gone);
    }
    return;
  }
  take_back(state);
}

}  // namespace

void start_watching(RequestState& state, const LocationConf& conf) noexcept {
  if ((conf.stream_after == 0 && conf.lease == 0) || !state.holds()) {
    return;
  }
  auto* watch = allocate<Watch>(state.request->pool);
  if (watch == nullptr) {
    return;
  }
  watch->state = &state;
  watch->stream_after = conf.stream_after;
  watch->lease = conf.lease;
  watch->event.data = watch;
  watch->event.handler = on_timer;
  watch->event.log = state.request->connection->log;
  watch->event.cancelable = 1;  // a worker that is to exit does not wait for it
  state.watch = watch;
  arm(*watch, 0);
}

void stop_watching(RequestState& state) noexcept {
  if (state.watch != nullptr && state.watch->event.timer_set) {
    ngx_del_timer(&state.watch->event);
  }
  state.watch = nullptr;
}

}  // namespace loadline::ngx
