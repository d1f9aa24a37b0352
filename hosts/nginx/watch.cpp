#include "watch.h"

#include <algorithm>

#include "fault.h"
#include "streams.h"
#include "zone.h"

namespace loadline::ngx {
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

Wheel<Watch> wheel;

std::uint64_t moment_after(ngx_msec_t time) noexcept {
  return time == 0 ? Watch::kNever : ngx_current_msec + time;
}

void enter(Watch& watch) noexcept {
  wheel.enter(watch, std::min(watch.stream_due, watch.lease_due));
}

void time_is_over(Watch& watch) noexcept {
  if (watch.stream_due < watch.lease_due) {
    watch.stream_due = Watch::kNever;
    // Without a place among the streams it keeps its permit: it runs, and may be just slow.
    if (enter_streams(*watch.state)) {
      return;
    }
  }
  if (watch.lease_due <= ngx_current_msec) {
    take_back(*watch.state);
  } else if (watch.lease_due != Watch::kNever) {
    enter(watch);
  }
}

}  // namespace

void start_watching(RequestState& state, const LocationConf& conf) noexcept {
  if ((conf.stream_after == 0 && conf.lease == 0) || !state.holds()) {
    return;
  }
  state.watch.state = &state;
  state.watch.stream_due = moment_after(conf.stream_after);
  state.watch.lease_due = moment_after(conf.lease);
  enter(state.watch);
}

void stop_watching(RequestState& state) noexcept {
  Wheel<Watch>::leave(state.watch);
}

void look_at_watched() noexcept {
  wheel.turn(ngx_current_msec, time_is_over);
}

}  // namespace loadline::ngx
