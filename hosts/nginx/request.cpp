#include "request.h"

#include "hold.h"
#include "streams.h"
#include "watch.h"
#include "worker.h"

namespace loadline::ngx {
namespace {

RequestState* context(ngx_http_request_t* r) noexcept {
  return static_cast<RequestState*>(ngx_http_get_module_ctx(r, ngx_http_loadline_module));
}

// A response without a body never passes the body filters, so its end is seen only here; and here
// is the end where the configuration wants it.
Outcome outcome_at_cleanup(const RequestState& state) noexcept {
  const ngx_http_request_t* r = state.request;
  const bool over = r->header_only || state.release_at == ReleaseAt::end;
  return r->header_sent && over ? outcome_of(r) : Outcome::ignored;
}

// The net under every request that was admitted or waits: runs when nginx frees the request.
void clean_up(void* data) noexcept {
  auto& state = *static_cast<RequestState*>(data);
  if (state.standing == Standing::waiting) {
    cancel(state);
  }
  release(state, outcome_at_cleanup(state));
  leave_streams(state);
}

RequestState* recover(ngx_http_request_t* r) noexcept {
  for (ngx_pool_cleanup_t* c = r->pool->cleanup; c != nullptr; c = c->next) {
    if (c->handler == clean_up) {
      auto* state = static_cast<RequestState*>(c->data);
      ngx_http_set_ctx(r, state, ngx_http_loadline_module);
      return state;
    }
  }
  return nullptr;
}

}  // namespace

RequestState* make_state(ngx_http_request_t* r, std::size_t passes, Keep keep) noexcept {
  static_assert(sizeof(RequestState) % alignof(Pass) == 0);
  const std::size_t bytes = sizeof(RequestState) + passes * sizeof(Pass);
  void* memory = nullptr;
  if (keep == Keep::until_the_end) {
    ngx_pool_cleanup_t* cleanup = ngx_pool_cleanup_add(r->pool, bytes);
    if (cleanup == nullptr) {
      return nullptr;
    }
    cleanup->handler = clean_up;
    memory = cleanup->data;
  } else {
    memory = ngx_palloc(r->pool, bytes);
  }
  if (memory == nullptr) {
    return nullptr;
  }
  auto* state = new (memory) RequestState{};
  auto* first = reinterpret_cast<Pass*>(state + 1);
  for (std::size_t i = 0; i < passes; ++i) {
    new (first + i) Pass{};
  }
  state->passes = {first, passes};
  state->request = r;
  ngx_http_set_ctx(r, state, ngx_http_loadline_module);
  return state;
}

RequestState* find_state(ngx_http_request_t* r) noexcept {
  RequestState* state = context(r);
  // Internal redirects clear the contexts, and so does a filter that ends the request in its own
  // way.
  return state == nullptr && (r->internal || r->filter_finalize) ? recover(r) : state;
}

void stand_admitted(RequestState& state) noexcept {
  if (state.observed) {
    state.standing = Standing::observed;
  } else if (state.has_waited) {
    state.standing = Standing::admitted_after_wait;
  } else {
    state.standing = state.passed_ungated ? Standing::failed_open : Standing::admitted;
  }
}

void release(RequestState& state, Outcome outcome) noexcept {
  stop_watching(state);
  for (Pass& pass : state.taken()) {
    HostedGate& hosted = *pass.hosted;
    if (pass.permit.held() && hosted.seat.valid()) {
      wake(hosted, hosted.gate.release(hosted.seat, pass.permit, outcome, monotonic_now()));
    }
  }
}

Outcome outcome_of(const ngx_http_request_t* r) noexcept {
  const ngx_uint_t status = r->headers_out.status;
  if (status == 0) {
    return Outcome::ignored;
  }
  return status < NGX_HTTP_INTERNAL_SERVER_ERROR ? Outcome::success : Outcome::failure;
}

}  // namespace loadline::ngx
