#include "request.h"

#include "hold.h"
#include "worker.h"

namespace loadline::ngx {
namespace {

RequestState* context(ngx_http_request_t* r) noexcept {
  return static_cast<RequestState*>(ngx_http_get_module_ctx(r, ngx_http_loadline_module));
}

// A response without a body never passes the body filters, so its end is seen only here.
Outcome outcome_at_cleanup(const ngx_http_request_t* r) noexcept {
  return r->header_sent && r->header_only ? outcome_of(r) : Outcome::ignored;
}

// The net under every request that was admitted or waits: runs when nginx frees the request.
void clean_up(void* data) noexcept {
  auto& state = *static_cast<RequestState*>(data);
  if (state.standing == Standing::waiting) {
    cancel(state);
  }
  release(state, outcome_at_cleanup(state.request));
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

RequestState* make_state(ngx_http_request_t* r, HostedGate& hosted, Keep keep) noexcept {
  void* memory = nullptr;
  if (keep == Keep::until_the_end) {
    ngx_pool_cleanup_t* cleanup = ngx_pool_cleanup_add(r->pool, sizeof(RequestState));
    if (cleanup == nullptr) {
      return nullptr;
    }
    cleanup->handler = clean_up;
    memory = cleanup->data;
  } else {
    memory = ngx_palloc(r->pool, sizeof(RequestState));
  }
  if (memory == nullptr) {
    return nullptr;
  }
  auto* state = new (memory) RequestState{};
  state->request = r;
  state->hosted = &hosted;
  ngx_http_set_ctx(r, state, ngx_http_loadline_module);
  return state;
}

RequestState* find_state(ngx_http_request_t* r) noexcept {
  RequestState* state = context(r);
  // Internal redirects clear the contexts, and so does a filter that ends the request in its own
  // way.
  return state == nullptr && (r->internal || r->filter_finalize) ? recover(r) : state;
}

void release(RequestState& state, Outcome outcome) noexcept {
  HostedGate& hosted = *state.hosted;
  if (!state.permit.held() || !hosted.seat.valid()) {
    return;
  }
  wake(hosted, hosted.gate.release(hosted.seat, state.permit, outcome, monotonic_now()));
}

Outcome outcome_of(const ngx_http_request_t* r) noexcept {
  const ngx_uint_t status = r->headers_out.status;
  if (status == 0) {
    return Outcome::ignored;
  }
  return status < NGX_HTTP_INTERNAL_SERVER_ERROR ? Outcome::success : Outcome::failure;
}

}  // namespace loadline::ngx
