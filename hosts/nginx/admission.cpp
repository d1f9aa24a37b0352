#include "admission.h"

#include "claims.h"
#include "fault.h"
#include "hold.h"
#include "reject.h"
#include "request.h"
#include "worker.h"

namespace loadline::ngx {
namespace {

// One question to a gate, as far as its answer needs it.
struct Question {
  ngx_http_request_t* request;
  HostedGate& hosted;
  Claims claims;
  Instant now;
};

RequestState* make_state(const Question& question, Keep keep, Standing standing) noexcept {
  RequestState* state = make_state(question.request, question.hosted, keep);
  if (state == nullptr) {
    report_fault(question.hosted, "no memory");
    return nullptr;
  }
  state->standing = standing;
  state->importance = question.claims.importance;
  state->deadline = question.claims.deadline;
  state->asked_at = question.now;
  return state;
}

ngx_int_t fail_open(const Question& question, const char* what) noexcept {
  report_fault(question.hosted, what);
  RequestState* state = make_state(question.request, question.hosted, Keep::until_the_end);
  if (state != nullptr) {
    state->importance = question.claims.importance;
    state->deadline = question.claims.deadline;
  }
  return NGX_DECLINED;
}

ngx_int_t enter(const Question& question, Offer& offer) noexcept {
  const bool would_reject = offer.reason != Reason::none;
  RequestState* state = make_state(question, Keep::until_the_end,
                                   would_reject ? Standing::observed : Standing::admitted);
  if (state == nullptr) {
    HostedGate& hosted = question.hosted;
    wake(hosted, hosted.gate.release(hosted.seat, offer.permit, Outcome::ignored, question.now));
    return NGX_DECLINED;
  }
  state->reason = offer.reason;
  state->permit = static_cast<Permit&&>(offer.permit);
  return NGX_DECLINED;
}

ngx_int_t wait(const Question& question, const Offer& offer) noexcept {
  RequestState* state = make_state(question, Keep::until_the_end, Standing::waiting);
  if (state == nullptr) {
    HostedGate& hosted = question.hosted;
    wake(hosted, hosted.gate.cancel(hosted.seat, offer.ticket, question.now));
    return NGX_DECLINED;
  }
  state->ticket = offer.ticket;
  return hold(*state, offer.start_by, question.now);
}

ngx_int_t turn_away(const Question& question, const Offer& offer,
                    const LocationConf& conf) noexcept {
  // error_page may send the request through here once more.
  const Keep keep = conf.error_page ? Keep::until_the_end : Keep::for_this_pass;
  RequestState* state = make_state(question, keep, Standing::rejected);
  if (state == nullptr) {
    return NGX_DECLINED;
  }
  state->reason = offer.reason;
  state->retry_after = offer.retry_after;
  return reject(*state, conf);
}

ngx_int_t ask(ngx_http_request_t* r, const LocationConf& conf) noexcept {
  HostedGate& hosted = *conf.gate;
  const Instant now = monotonic_now();
  const Question question{r, hosted, read_claims(r, conf, now), now};
  if (!hosted.seat.valid()) {
    return fail_open(question,
                     hosted.gate.valid() ? "this worker has no seat" : "its zone is of no use");
  }
  Request request;
  request.importance = question.claims.importance;
  request.observe = conf.observe != 0;
  request.deadline = question.claims.deadline;
  Offer offer = hosted.gate.offer(hosted.seat, request, now);
  wake(hosted, offer.signals);
  switch (offer.kind) {
    case Offer::Kind::admit:
      return enter(question, offer);
    case Offer::Kind::wait:
      return wait(question, offer);
    case Offer::Kind::reject:
      return turn_away(question, offer, conf);
  }
  return NGX_DECLINED;
}

// The request has been here before: after a wait, or before an internal redirect.
ngx_int_t go_on(RequestState& state, const LocationConf& conf) noexcept {
  if (state.standing == Standing::rejected && !state.answered) {
    return reject(state, conf);
  }
  return NGX_DECLINED;
}

}  // namespace

ngx_int_t admit(ngx_http_request_t* r) noexcept {
  if (r != r->main || r->post_action) {
    return NGX_DECLINED;
  }
  const LocationConf& conf = location_conf(r);
  RequestState* state = find_state(r);
  if (state != nullptr) {
    return go_on(*state, conf);
  }
  return conf.gate != nullptr && conf.asks ? ask(r, conf) : NGX_DECLINED;
}

}  // namespace loadline::ngx
