#include "calling.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "caller_answer.h"
#include "claims.h"
#include "request.h"

namespace loadline::ngx {
namespace {

using client::Answer;
using client::Ended;
using client::Next;
using client::Signs;
using client::Start;

// nginx goes on to another peer at once or not at all, so that a retry that is to wait for longer
// than this is not made.
constexpr Duration kAtOnce = Duration::millis(1);

// ---- Whether nginx would go on
// -------------------------------------------------------------------

// What nginx calls these endings in proxy_next_upstream.
ngx_uint_t ending_of_status(ngx_uint_t status) noexcept {
  switch (status) {
    case NGX_HTTP_BAD_GATEWAY:
      return NGX_HTTP_UPSTREAM_FT_HTTP_502;
    case NGX_HTTP_SERVICE_UNAVAILABLE:
      return NGX_HTTP_UPSTREAM_FT_HTTP_503;
    case NGX_HTTP_GATEWAY_TIME_OUT:
      return NGX_HTTP_UPSTREAM_FT_HTTP_504;
    case NGX_HTTP_TOO_MANY_REQUESTS:
      return NGX_HTTP_UPSTREAM_FT_HTTP_429;
    default:
      return 0;  // whatever else is retried in nginx is not by a Caller
  }
}

bool may_be_sent_twice(const ngx_http_request_t* r) noexcept {
  return (r->method & (NGX_HTTP_POST | NGX_HTTP_LOCK | NGX_HTTP_PATCH)) == 0;
}

// The conditions are nginx's own (ngx_http_upstream_next, ngx_http_upstream_test_next), but for the
// number of tries. A retry that it would not make is not to be paid for.
bool would_go_on(const ngx_http_request_t* r, ngx_uint_t ending) noexcept {
  const ngx_http_upstream_t& u = *r->upstream;
  if (u.request_sent && !may_be_sent_twice(r)) {
    ending |= NGX_HTTP_UPSTREAM_FT_NON_IDEMPOTENT;
  }
  const ngx_msec_t timeout = u.conf->next_upstream_timeout;
  return (ending & ~NGX_HTTP_UPSTREAM_FT_NON_IDEMPOTENT) != 0 &&
         (u.conf->next_upstream & ending) == ending &&
         !(u.request_sent && r->request_body_no_buffering) && r->connection->error == 0 &&
         (timeout == 0 || ngx_current_msec - u.peer.start_time < timeout);
}

// ---- The end of an attempt
// -----------------------------------------------------------------------

void forbid_more(Calling& calling) noexcept {
  calling.retrying = false;
  if (calling.call.active()) {
    calling.hosted->caller().abandon(calling.call, monotonic_now());
  }
}

void stop_clock(Calling& calling) noexcept {
  if (calling.cut_off.timer_set) {
    ngx_del_timer(&calling.cut_off);
  }
}

// Leaves it to `calling.retrying` whether there is to be another.
void end_attempt(Calling& calling, const Answer& answer, bool nginx_goes_on) noexcept {
  const Instant now = monotonic_now();
  stop_clock(calling);
  calling.failed = !client::is_answered(answer.ended);
  const Next next = calling.hosted->caller().ended(calling.call, calling.attempt, answer, now);
  calling.reason = next.reason;
  calling.retrying = next.retry() && nginx_goes_on && next.at - now <= kAtOnce;
  if (!calling.retrying) {
    forbid_more(calling);
  }
}

client::WallTime wall_now() noexcept {
  return client::WallTime::seconds(ngx_time());
}

std::uint32_t grpc_status_of(std::string_view text) noexcept {
  constexpr std::uint32_t kUnknown = 2;
  std::uint32_t code = 0;
  for (const char digit : text) {
    if (digit < '0' || digit > '9' || code > 100) {
      return kUnknown;
    }
    code = code * 10 + static_cast<std::uint32_t>(digit - '0');
  }
  return text.empty() ? kUnknown : code;
}

// Of the header alone: what follows it can no longer be tried again. gRPC's own status is known by
// then only where it is all there is, as in a refusal.
Answer read_answer(const ngx_http_upstream_t& u) noexcept {
  constexpr std::string_view kGrpcStatus = "grpc-status";
  Signs signs;
  ngx_str_t grpc{};
  each_header(u.headers_in.headers, [&](const ngx_table_elt_t& header) {
    signs.see(view(header.key), view(header.value), wall_now());
    if (header.key.len == kGrpcStatus.size() && header.lowcase_key != nullptr &&
        std::memcmp(header.lowcase_key, kGrpcStatus.data(), kGrpcStatus.size()) == 0) {
      grpc = header.value;
    }
  });
  const auto status = static_cast<std::uint32_t>(u.headers_in.status_n);
  if (status == NGX_HTTP_OK && grpc.data != nullptr) {
    return client::answer_of_grpc(grpc_status_of(view(grpc)), signs);
  }
  // 101, and the others that nginx takes for the answer itself.
  return client::answer_of_http(status < NGX_HTTP_OK ? NGX_HTTP_OK : status, signs);
}

void on_answer(Calling& calling) noexcept {
  ngx_http_upstream_t& u = *calling.request->upstream;
  if (!calling.attempt.running()) {
    return;  // a stale answer that the cache gives instead
  }
  Answer answer = read_answer(u);
  answer.another_instance = u.peer.tries > 1;
  end_attempt(
      calling, answer,
      u.peer.tries > 1 && would_go_on(calling.request, ending_of_status(u.headers_in.status_n)));
  if (!calling.retrying && u.peer.tries > 1) {
    u.peer.tries = 1;  // the answer is kept
  }
}

// Of an attempt without a header, when nginx gives up its peer.
Answer read_failure(const Calling& calling, ngx_uint_t state) noexcept {
  const ngx_http_upstream_t& u = *calling.request->upstream;
  const ngx_connection_t* c = u.peer.connection;
  Answer answer;
  if ((state & NGX_PEER_FAILED) == 0) {
    answer.ended = Ended::cancelled;  // nginx does not go on, and it was not the peer's fault
  } else if (!u.request_sent) {
    answer.ended = Ended::unreached;
  } else if (c != nullptr && (c->read->timedout || c->write->timedout)) {
    answer.ended = Ended::timed_out;
  } else {
    answer.ended = Ended::lost;
  }
  return answer;
}

ngx_uint_t ending_of_failure(const Calling& calling, ngx_uint_t state) noexcept {
  const ngx_connection_t* c = calling.request->upstream->peer.connection;
  if ((state & NGX_PEER_FAILED) == 0) {
    return 0;
  }
  if (c != nullptr && (c->read->timedout || c->write->timedout)) {
    return NGX_HTTP_UPSTREAM_FT_TIMEOUT;
  }
  return calling.malformed ? NGX_HTTP_UPSTREAM_FT_INVALID_HEADER : NGX_HTTP_UPSTREAM_FT_ERROR;
}

// ---- What nginx calls
// ----------------------------------------------------------------------------

Calling& of_data(void* data) noexcept {
  return *static_cast<Calling*>(data);
}

std::uint16_t seconds_until(Instant then, Instant now) noexcept {
  constexpr std::int64_t kSecond = 1'000'000'000;
  constexpr std::int64_t kMost = 3600;
  if (then == Instant{}) {
    return 0;
  }
  const std::int64_t left = (std::max(then - now, Duration{}).ns + kSecond - 1) / kSecond;
  return static_cast<std::uint16_t>(std::clamp<std::int64_t>(left, 1, kMost));
}

ngx_int_t refuse_call(ngx_peer_connection_t* pc, Calling& calling, const Start& start) noexcept {
  calling.refused = true;
  calling.reason = start.reason;
  calling.retry_after = seconds_until(start.come_back, monotonic_now());
  pc->tries = 0;
  pc->cached = 0;
  return NGX_DECLINED;
}

ngx_int_t process_header(ngx_http_request_t* r) noexcept;

// An attempt begins with nginx's first reader of headers, which may hand over to others.
void watch_header(Calling& calling) noexcept {
  ngx_http_upstream_t& u = *calling.request->upstream;
  if (u.process_header != process_header) {
    calling.process_header = u.process_header;
    u.process_header = process_header;
  }
}

ngx_int_t process_header(ngx_http_request_t* r) noexcept {
  Calling* calling = calling_of(r);
  if (calling == nullptr) {
    return NGX_ERROR;
  }
  ngx_http_upstream_t& u = *r->upstream;
  u.process_header = calling->process_header;
  const ngx_int_t rc = u.process_header(r);
  watch_header(*calling);
  calling->malformed = rc == NGX_HTTP_UPSTREAM_INVALID_HEADER;
  if (rc == NGX_OK) {
    on_answer(*calling);
  }
  return rc;
}

// Before a request is sent anew.
ngx_int_t reinit(ngx_http_request_t* r) noexcept {
  Calling* calling = calling_of(r);
  if (calling == nullptr) {
    return NGX_ERROR;
  }
  const ngx_int_t rc = calling->reinit(r);
  watch_header(*calling);
  return rc;
}

// The error page is to be that of our answer, not that of the 502 by which nginx knows it.
void finalize(ngx_http_request_t* r, ngx_int_t rc) noexcept {
  Calling* calling = calling_of(r);
  if (calling == nullptr) {
    return;
  }
  calling->finalize(r, rc);
  if (calling->refused) {
    prepare_refusal(*calling);
  }
}

// The peer has had its time: nginx sees what it sees when its own timeout is over.
void on_cut_off(ngx_event_t* event) noexcept {
  const Calling& calling = *static_cast<Calling*>(event->data);
  ngx_connection_t* c = calling.request->upstream->peer.connection;
  if (c == nullptr || !calling.attempt.running()) {
    return;
  }
  c->read->timedout = 1;
  c->write->timedout = 1;  // where it is still the connection's turn, or TLS's
  c->read->handler(c->read);
}

void start_clock(Calling& calling, Instant now) noexcept {
  constexpr std::int64_t kMillisecond = 1'000'000;
  const Instant until = calling.attempt.cut_off();
  if (until == Instant::never()) {
    return;
  }
  calling.cut_off.handler = on_cut_off;
  calling.cut_off.data = &calling;
  calling.cut_off.log = calling.request->connection->log;
  const std::int64_t ms = (std::max(until - now, Duration{}).ns + kMillisecond - 1) / kMillisecond;
  ngx_add_timer(&calling.cut_off, static_cast<ngx_msec_t>(ms));
}

Start ask(Calling& calling, Instant now) noexcept {
  client::Caller& caller = calling.hosted->caller();
  client::Call& call = calling.call;
  if (calling.retrying) {
    calling.retrying = false;
    return caller.retry(call, std::max(now, call.retry_at()));
  }
  if (call.attempts() == 0 && !call.active()) {
    return caller.begin(call, now);
  }
  Start start;  // nginx goes on by itself, which it was told not to
  start.reason = calling.reason;
  return start;
}

ngx_int_t get_peer(ngx_peer_connection_t* pc, void* data) noexcept {
  Calling& calling = of_data(data);
  const Instant now = monotonic_now();
  const Start start = ask(calling, now);
  if (!start.send()) {
    return refuse_call(pc, calling, start);
  }
  calling.attempt = start.attempt;
  calling.malformed = false;
  const ngx_int_t rc = calling.get(pc, calling.data);
  if (rc == NGX_OK || rc == NGX_DONE || rc == NGX_AGAIN) {
    watch_header(calling);
    start_clock(calling, now);
    return rc;
  }
  Answer answer;
  answer.ended = Ended::unreached;  // nginx holds none of the peers for alive
  end_attempt(calling, answer, false);
  return rc;
}

void free_peer(ngx_peer_connection_t* pc, void* data, ngx_uint_t state) noexcept {
  Calling& calling = of_data(data);
  const bool ends_here = calling.attempt.running();
  Answer answer = read_failure(calling, state);
  const ngx_uint_t ending = ending_of_failure(calling, state);
  calling.free(pc, calling.data, state);
  if (ends_here) {
    answer.another_instance = pc->tries > 0;
    // A connection that was kept open and is found closed is tried again even without a try left.
    const bool once_more = pc->tries > 0 || (pc->cached && ending == NGX_HTTP_UPSTREAM_FT_ERROR);
    end_attempt(calling, answer, once_more && would_go_on(calling.request, ending));
  }
  if (!calling.retrying) {
    pc->tries = 0;
    pc->cached = 0;
  }
}

void notify_peer(ngx_peer_connection_t* pc, void* data, ngx_uint_t type) noexcept {
  Calling& calling = of_data(data);
  calling.notify(pc, calling.data, type);
}

#if (NGX_SSL || NGX_COMPAT)
ngx_int_t set_session(ngx_peer_connection_t* pc, void* data) noexcept {
  Calling& calling = of_data(data);
  return calling.set_session(pc, calling.data);
}

void save_session(ngx_peer_connection_t* pc, void* data) noexcept {
  Calling& calling = of_data(data);
  calling.save_session(pc, calling.data);
}
#endif

// However the request ends, its call has an end.
void clean_up(void* data) noexcept {
  Calling& calling = of_data(data);
  stop_clock(calling);
  if (calling.attempt.running()) {
    Answer answer;
    answer.ended = Ended::cancelled;
    end_attempt(calling, answer, false);
  }
  forbid_more(calling);
}

void stand_before(ngx_http_upstream_t& u, Calling& calling) noexcept {
  ngx_peer_connection_t& pc = u.peer;
  calling.data = std::exchange(pc.data, &calling);
  calling.get = std::exchange(pc.get, get_peer);
  calling.free = std::exchange(pc.free, free_peer);
  if (pc.notify != nullptr) {
    calling.notify = std::exchange(pc.notify, notify_peer);
  }
#if (NGX_SSL || NGX_COMPAT)
  if (pc.set_session != nullptr) {
    calling.set_session = std::exchange(pc.set_session, set_session);
  }
  if (pc.save_session != nullptr) {
    calling.save_session = std::exchange(pc.save_session, save_session);
  }
#endif
  calling.reinit = std::exchange(u.reinit_request, reinit);
  calling.finalize = std::exchange(u.finalize_request, finalize);
}

// What the operator gave it, and what the gate goes by; the shorter.
Instant deadline_of(ngx_http_request_t* r, const CallerLocationConf& conf, Instant now) noexcept {
  const RequestState* state = find_state(r->main);
  const Instant of_gate = state == nullptr ? Instant::never() : state->deadline;
  ngx_str_t text = evaluate(r, conf.deadline);
  if (text.len == 0) {
    return of_gate;
  }
  const ngx_int_t milliseconds = ngx_parse_time(&text, 0);
  return milliseconds == NGX_ERROR || milliseconds == 0
             ? of_gate
             : std::min(of_gate, deadline_after(r, Duration::millis(milliseconds), now));
}

Calling* make_calling(ngx_http_request_t* r, const CallerLocationConf& conf) noexcept {
  ngx_pool_cleanup_t* cleanup = ngx_pool_cleanup_add(r->pool, sizeof(Calling));
  if (cleanup == nullptr) {
    return nullptr;
  }
  auto* calling = new (cleanup->data) Calling{};
  cleanup->handler = clean_up;
  calling->request = r;
  calling->hosted = conf.caller;
  calling->call =
      client::Call(deadline_of(r, conf, monotonic_now()),
                   may_be_sent_twice(r) ? client::Call::idempotent : client::Call::once);
  return calling;
}

const WrappedUpstream* find(const CallerMainConf& conf,
                            const ngx_http_upstream_srv_conf_t* upstream) noexcept {
  const auto* first = static_cast<const WrappedUpstream*>(conf.wrapped.elts);
  const auto* last = first + conf.wrapped.nelts;
  const auto* found = std::lower_bound(
      first, last, upstream, [](const WrappedUpstream& wrapped, const auto* wanted) {
        return std::less<>{}(static_cast<const ngx_http_upstream_srv_conf_t*>(wrapped.upstream),
                             wanted);
      });
  return found == last || found->upstream != upstream ? nullptr : found;
}

// In place of the upstream's own. Without memory the call is made as if we were not there.
ngx_int_t init_peer(ngx_http_request_t* r, ngx_http_upstream_srv_conf_t* upstream) noexcept {
  const WrappedUpstream* wrapped = find(caller_main_conf(r), upstream);
  if (wrapped == nullptr) {
    return NGX_ERROR;
  }
  const ngx_int_t rc = wrapped->init(r, upstream);
  const CallerLocationConf& conf = caller_conf(r);
  if (rc != NGX_OK || conf.caller == nullptr) {
    return rc;
  }
  if (Calling* calling = make_calling(r, conf); calling != nullptr) {
    stand_before(*r->upstream, *calling);
  }
  return NGX_OK;
}

}  // namespace

Calling* calling_of(const ngx_http_request_t* r) noexcept {
  const ngx_http_upstream_t* u = r->upstream;
  return u == nullptr || u->peer.get != get_peer ? nullptr : static_cast<Calling*>(u->peer.data);
}

ngx_int_t wrap_upstreams(ngx_conf_t* cf) noexcept {
  auto& conf = *static_cast<CallerMainConf*>(
      ngx_http_conf_get_module_main_conf(cf, ngx_http_loadline_caller_module));
  const auto& main = *static_cast<ngx_http_upstream_main_conf_t*>(
      ngx_http_conf_get_module_main_conf(cf, ngx_http_upstream_module));
  auto** upstreams = static_cast<ngx_http_upstream_srv_conf_t**>(main.upstreams.elts);
  const ngx_uint_t count = main.upstreams.nelts;
  if (ngx_array_init(&conf.wrapped, cf->pool, count + 1, sizeof(WrappedUpstream)) != NGX_OK) {
    return NGX_ERROR;
  }
  for (ngx_uint_t i = 0; i < count; ++i) {
    auto* wrapped = static_cast<WrappedUpstream*>(ngx_array_push(&conf.wrapped));
    *wrapped = {upstreams[i], std::exchange(upstreams[i]->peer.init, init_peer)};
  }
  auto* first = static_cast<WrappedUpstream*>(conf.wrapped.elts);
  std::sort(first, first + count, [](const WrappedUpstream& a, const WrappedUpstream& b) {
    return std::less<>{}(a.upstream, b.upstream);
  });
  return NGX_OK;
}

}  // namespace loadline::ngx
