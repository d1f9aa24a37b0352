#include "request.h"

#include <utility>

#include "hold.h"
#include "streams.h"
#include "watch.h"
#include "worker.h"

namespace loadline::ngx {
namespace {

RequestState* context(ngx_http_request_t* r) noexcept {
  return static_cast<RequestState*>(ngx_http_get_module_ctx(r, ngx_http_loadline_module));
}

// A response without a body never passes the body filters, so its end is seen only at the clean-up;
// and that is the end where the configuration wants it.
bool ends_at_clean_up(const RequestState& state) noexcept {
  const ngx_http_request_t* r = state.request;
  const bool over = r->header_only || state.release_at == ReleaseAt::end;
  const bool given_up = r->headers_out.status == NGX_HTTP_CLIENT_CLOSED_REQUEST;
  return given_up || (r->header_sent && over);
}

// Late is whatever its caller can have had no use for: the upstream took too long for us or for the
// caller, who may have left meanwhile.
Outcome outcome_of(const RequestState& state, Instant now) noexcept {
  const ngx_uint_t status = state.request->headers_out.status;
  switch (status) {
    case 0:
      return Outcome::ignored;
    case NGX_HTTP_GATEWAY_TIME_OUT:
    case NGX_HTTP_CLIENT_CLOSED_REQUEST:
      return Outcome::late;
    default:
      break;
  }
  if (status >= NGX_HTTP_INTERNAL_SERVER_ERROR) {
    return Outcome::failure;
  }
  return now > state.deadline ? Outcome::late : Outcome::success;
}

void give_back(RequestState& state, Outcome outcome, Instant now) noexcept {
  for (Pass& pass : state.taken()) {
    HostedGate& hosted = *pass.hosted;
    if (pass.permit.held() && hosted.seat.valid()) {
      wake(hosted, hosted.gate.release(hosted.seat, pass.permit, outcome, now));
    }
  }
}

// ---- The memory of states
//
// What has ended leaves its memory to who comes next, so that states are few and mostly still in
// the processor's caches. In the pools of their requests, which are all built alike, they would lie
// at one place of as many pages, for which a cache has room for a few only.

constexpr std::size_t bytes_for(std::size_t passes) noexcept {
  static_assert(sizeof(RequestState) % alignof(Pass) == 0);
  return sizeof(RequestState) + passes * sizeof(Pass);
}

struct Spare {
  Spare* next;
};

// This worker's. As many are ever made as requests have been there at once.
Spare* spares = nullptr;

void* take_spare() noexcept {
  if (spares == nullptr) {
    return ngx_alloc(bytes_for(kMaxAsks), ngx_cycle->log);
  }
  return std::exchange(spares, spares->next);
}

void put_back(RequestState& state) noexcept {
  spares = new (&state) Spare{spares};
}

// The net under every request that was admitted or waits: runs when nginx frees the request.
void clean_up(void* data) noexcept {
  auto& state = *static_cast<RequestState*>(data);
  if (state.standing == Standing::waiting) {
    cancel(state);
  }
  if (ends_at_clean_up(state)) {
    release_at_end(state);
  } else {
    release(state, Outcome::ignored);
  }
  leave_streams(state);
  put_back(state);
}

// Memory that is put back when nginx frees the request.
void* take_until_the_end(ngx_http_request_t* r) noexcept {
  ngx_pool_cleanup_t* cleanup = ngx_pool_cleanup_add(r->pool, 0);
  void* memory = cleanup == nullptr ? nullptr : take_spare();
  if (memory != nullptr) {
    cleanup->handler = clean_up;
    cleanup->data = memory;
  }
  return memory;
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
  void* memory =
      keep == Keep::until_the_end ? take_until_the_end(r) : ngx_palloc(r->pool, bytes_for(passes));
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
  if (state.holds()) {
    give_back(state, outcome, monotonic_now());
  }
}

void release_at_end(RequestState& state) noexcept {
  stop_watching(state);
  if (state.holds()) {
    const Instant now = monotonic_now();
    give_back(state, outcome_of(state, now), now);
  }
}

}  // namespace loadline::ngx
