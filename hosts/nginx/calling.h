// One request's call of its upstream, over all its attempts: the Call of a client::Caller, and what
// it takes to have nginx do as the Caller says.
//
// nginx tries the next peer by itself (proxy_next_upstream), and asks nobody. What it looks at is
// how many tries are left, and it does so at two moments, each of which we have the word before:
//
//  - when a header has come, before it is decided whether the answer is kept or another peer tried.
//    We see it first since we stand around the upstream's process_header. With one try left it is
//    kept, and the client gets it as it is.
//  - when an attempt ended without a header. nginx gives the peer back first (peer.free); with no
//    try left the call ends there.
//
// A peer is chosen by peer.get: there a call or a retry that may not be made is refused, before
// there is a connection. nginx knows no refusal but 502 there; caller_answer.cpp makes of it what
// it is.
#pragma once

#include "callers.h"

namespace loadline::ngx {

struct Calling {
  ngx_http_request_t* request = nullptr;
  HostedCaller* hosted = nullptr;
  client::Call call;
  client::Attempt attempt;
  client::Reason reason = client::Reason::none;  // why it was not sent, or not sent again
  bool refused = false;                          // not sent at all: the answer is ours
  bool failed = false;                           // the last attempt did not get what was asked for
  bool retrying = false;                         // nginx has been let go on to another peer
  bool malformed = false;                        // the attempt's answer has no header that is one
  bool body_is_ours = false;                     // the answer's, which caller_answer.cpp replaces
  std::uint16_t retry_after = 0;                 // with refused: seconds, 0: not known
  ngx_event_t cut_off{};                         // fires when the attempt has had its time

  // Whom we stand before.
  void* data = nullptr;
  ngx_event_get_peer_pt get = nullptr;
  ngx_event_free_peer_pt free = nullptr;
  ngx_event_notify_peer_pt notify = nullptr;
#if (NGX_SSL || NGX_COMPAT)
  ngx_event_set_peer_session_pt set_session = nullptr;
  ngx_event_save_peer_session_pt save_session = nullptr;
#endif
  ngx_int_t (*process_header)(ngx_http_request_t*) = nullptr;
  ngx_int_t (*reinit)(ngx_http_request_t*) = nullptr;
  void (*finalize)(ngx_http_request_t*, ngx_int_t) = nullptr;
};

// The call that this request makes or has made; null: none that goes through a caller.
Calling* calling_of(const ngx_http_request_t* r) noexcept;

}  // namespace loadline::ngx
