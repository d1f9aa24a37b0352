#include "admission.h"

#include "claims.h"
#include "fault.h"
#include "hold.h"
#include "reject.h"
#include "request.h"
#include "unread_body.h"
#include "watch.h"
#include "worker.h"
#include "zone.h"

namespace loadline::ngx {
namespace {

// A request on its way through its gates. There is no state before the first of them has let it in
// or told it to wait, so that one that is turned away at once costs least.
struct Way {
  ngx_http_request_t* request;
  const LocationConf& conf;
  RequestState* state;
};

// One question to a gate, as far as its answer needs it.
struct Question {
  const Ask& ask;
  const Request& request;
  Instant now;
};

// The state in which this gate's answer is to be written down. Null if there is no memory.
RequestState* state_at(Way& way, const Question& question, Keep keep) noexcept {
  if (way.state == nullptr) {
    way.state = make_state(way.request, way.conf.gates().size(), keep);
  }
  RequestState* state = way.state;
  if (state == nullptr) {
    report_fault(*question.ask.gate, "no memory");
    return nullptr;
  }
  if (state->asked == 0) {
    state->asked_at = question.now;
    state->release_at = static_cast<ReleaseAt>(way.conf.release_at);
  }
  state->hosted = question.ask.gate;
  state->importance = question.request.importance;
  state->deadline = std::min(state->deadline, question.request.deadline);
  return state;
}

Pass& next_pass(RequestState& state) noexcept {
  Pass& pass = state.passes[state.asked++];
  pass.hosted = state.hosted;
  return pass;
}

enum class Go : std::uint8_t { on, no_further };
struct Step {
  Go go;
  ngx_int_t rc;  // of the phase handler, where it goes no further
};
constexpr Step kOn{Go::on, NGX_DECLINED};

Step fail_open(Way& way, const Question& question, const char* what) noexcept {
  report_fault(*question.ask.gate, what);
  if (RequestState* state = state_at(way, question, Keep::until_the_end)) {
    state->passed_ungated = true;
    stand_admitted(*state);
    next_pass(*state);
  }
  return kOn;
}

Step enter(Way& way, const Question& question, Offer& offer) noexcept {
  RequestState* state = state_at(way, question, Keep::until_the_end);
  HostedGate& hosted = *question.ask.gate;
  if (state == nullptr) {
    wake(hosted, hosted.gate.release(hosted.seat, offer.permit, Outcome::ignored, question.now));
    return {Go::no_further, NGX_DECLINED};
  }
  if (offer.reason != Reason::none) {
    state->observed = true;
    state->reason = offer.reason;
  }
  stand_admitted(*state);
  next_pass(*state).permit = static_cast<Permit&&>(offer.permit);
  return kOn;
}

Step wait(Way& way, const Question& question, const Offer& offer) noexcept {
  RequestState* state = state_at(way, question, Keep::until_the_end);
  if (state == nullptr) {
    HostedGate& hosted = *question.ask.gate;
    wake(hosted, hosted.gate.cancel(hosted.seat, offer.ticket, question.now));
    return {Go::no_further, NGX_DECLINED};
  }
  state->standing = Standing::waiting;
  state->ticket = offer.ticket;
  next_pass(*state);
  return {Go::no_further, hold(*state, offer.start_by, question.now)};
}

Step turn_away(Way& way, const Question& question, const Offer& offer) noexcept {
  // error_page may send the request through here once more.
  const Keep keep = way.conf.error_page ? Keep::until_the_end : Keep::for_this_pass;
  RequestState* state = state_at(way, question, keep);
  if (state == nullptr) {
    return {Go::no_further, NGX_DECLINED};
  }
  state->standing = Standing::rejected;
  state->reason = offer.reason;
  state->retry_after = offer.retry_after;
  release(*state, Outcome::ignored);  // what earlier gates have given
  return {Go::no_further, reject(*state, way.conf)};
}

Step ask_one(Way& way, const Ask& ask) noexcept {
  HostedGate& hosted = *ask.gate;
  const Instant now = monotonic_now();
  const Claims claims = read_claims(way.request, way.conf, ask, now);
  if (claims.malformed != 0) {
    hosted.shared->malformed_headers.fetch_add(claims.malformed, std::memory_order_relaxed);
  }
  const Question question{ask, claims.request, now};
  if (!hosted.seat.valid()) {
    return fail_open(way, question,
                     hosted.gate.valid() ? "this worker has no seat" : "its zone is of no use");
  }
  Offer offer = hosted.gate.offer(hosted.seat, question.request, now);
  wake(hosted, offer.signals);
  switch (offer.kind) {
    case Offer::Kind::admit:
      return enter(way, question, offer);
    case Offer::Kind::wait:
      return wait(way, question, offer);
    case Offer::Kind::reject:
      return turn_away(way, question, offer);
  }
  return kOn;
}

// It has the permits of all its gates, and goes to the service.
void set_out(const Way& way) noexcept {
  if (way.state == nullptr) {
    return;
  }
  way.state->under_way = true;
  if (way.conf.rewrite != 0) {
    rewrite_claims(*way.state, way.conf);
  }
  start_watching(*way.state, way.conf);
}

// The gates that have not answered yet, one after the other.
ngx_int_t ask(Way way) noexcept {
  const std::span<const Ask> gates = way.conf.gates();
  for (std::size_t i = way.state == nullptr ? 0 : way.state->asked; i < gates.size(); ++i) {
    const Step step = ask_one(way, gates[i]);
    if (step.go == Go::no_further) {
      return step.rc;
    }
  }
  set_out(way);
  return NGX_DECLINED;
}

// Would it be turned away if it were asked now? Without any effect.
bool is_hopeless(ngx_http_request_t* r, const LocationConf& conf) noexcept {
  const Instant now = monotonic_now();
  for (const Ask& ask : conf.gates()) {
    const HostedGate& hosted = *ask.gate;
    if (hosted.seat.valid() &&
        hosted.gate.preview(read_claims(r, conf, ask, now).request, now) != Reason::none) {
      return true;
    }
  }
  return false;
}

// The request has been here before: after a wait, or before an internal redirect.
ngx_int_t go_on(RequestState& state, const LocationConf& conf) noexcept {
  if (state.standing == Standing::rejected) {
    return state.answered ? NGX_DECLINED : reject(state, conf);
  }
  // Under way it comes here by an internal redirect. Still waiting, its connection is ending.
  if (state.under_way || state.standing == Standing::waiting) {
    return NGX_DECLINED;
  }
  return ask({state.request, conf, &state});
}

ngx_int_t admit(ngx_http_request_t* r, Phase phase) noexcept {
  if (r != r->main || r->post_action) {
    return NGX_DECLINED;
  }
  const LocationConf& conf = location_conf(r);
  if (conf.phase != static_cast<ngx_uint_t>(phase)) {
    return NGX_DECLINED;
  }
  if (RequestState* state = find_state(r)) {
    return go_on(*state, conf);
  }
  if (conf.gates().empty() || any_holds(r, conf.bypass)) {
    return NGX_DECLINED;
  }
  if (is_yet_to_come(r, conf) && !is_hopeless(r, conf)) {
    return read_body_first(r);
  }
  return ask({r, conf, nullptr});
}

}  // namespace

ngx_int_t admit_before_access(ngx_http_request_t* r) noexcept {
  return admit(r, Phase::preaccess);
}

ngx_int_t admit_before_content(ngx_http_request_t* r) noexcept {
  return admit(r, Phase::precontent);
}

}  // namespace loadline::ngx
