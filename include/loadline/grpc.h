// The client half for programs that call with gRPC C++. Two ways; a channel takes one of them:
//
//   call_with_retries   makes a unary call, and makes it again: deadline, breaker, throttle,
//   budget,
//                       backoff, pushback, all that a Caller does
//   Watch               an interceptor for a channel: counts how every call on it ends, of any
//   kind,
//                       and ends at once what the Caller refuses. It cannot send a call again, nor
//                       change its deadline: gRPC has fixed that before it is asked
//
//   client::Caller caller(policy, grpc::now());      // one for each target, of all threads
//
//   grpc::Ask ask;
//   ask.deadline = grpc::now() + Duration::seconds(2);
//   ask.kind = client::Call::idempotent;
//   const grpc::Outcome outcome = grpc::call_with_retries(
//       caller, ask, [&](::grpc::ClientContext& context) {
//         return stub->Get(&context, request, &reply);
//       }, caller_has_left);
//
// One layer retries: give the channel no retryPolicy in its service config.
//
// Needs gRPC C++ 1.51. Links with Loadline::grpc.
#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/support/client_interceptor.h>
#include <grpcpp/support/status.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>

#include "loadline/client/caller.h"
#include "loadline/time.h"

namespace loadline::grpc {

// CLOCK_MONOTONIC: what a Caller that is used here counts by.
Instant now() noexcept;

// ---- Calls that are made again -----------------------------------------------------------------

struct Ask {
  Instant deadline = Instant::never();  // of the call, over all its attempts
  client::Call::Kind kind = client::Call::once;
  // Does the channel balance among several instances, so that another attempt may find another?
  bool another_instance = false;
};

// How a call went. A server that answers a request of its own with any Outcome that is not
// answered() says so in its trailing metadata (client::kFurtherDownHeader).
struct Outcome {
  enum class Kind : std::uint8_t {
    answered,  // there is an answer that is about the request: OK, NOT_FOUND, ...
    gave_up,   // there is none; `reason` says why not again
    refused,   // nothing was sent; `reason`
    stopped,   // the stop token said so
  };

  Kind kind = Kind::refused;
  client::Reason reason = client::Reason::none;    // with gave_up and refused
  client::Ended ended = client::Ended::cancelled;  // of the last attempt
  // Of the last attempt; with refused one of our own (UNAVAILABLE or DEADLINE_EXCEEDED).
  ::grpc::Status status{};
  bool further_down = false;  // says the one we asked
  std::uint8_t attempts = 0;  // that were sent
  Instant come_back{};        // with refused by an open breaker

  [[nodiscard]] bool answered() const noexcept { return kind == Kind::answered; }
};

// Sends one attempt, blocking, with this context: a new one for each. It may add metadata and
// credentials; the deadline is set.
using UnaryCall = std::function<::grpc::Status(::grpc::ClientContext&)>;

// Blocks until the call is over. Each attempt has a deadline of what there is to hand on, in three
// digits, which gRPC sends as grpc-timeout and at which it cuts off itself, and says in
// x-envoy-attempt-count which one it is: every gate of Loadline's reads both. `stop` cancels the
// attempt that runs, and ends a wait. `send` must not throw.
Outcome call_with_retries(client::Caller& caller, const Ask& ask, const UnaryCall& send,
                          const std::stop_token& stop = {});

// ---- Calls that are watched
// ----------------------------------------------------------------------

// An interceptor for each call on a channel, which tells `caller` about it:
//
//   std::vector<std::unique_ptr<::grpc::experimental::ClientInterceptorFactoryInterface>> watch;
//   watch.push_back(std::make_unique<grpc::Watch>(caller));
//   channel = ::grpc::experimental::CreateCustomChannelWithInterceptors(target, credentials, {},
//                                                                       std::move(watch));
//
// A call that the Caller refuses (its deadline is too near, the breaker is open, it is throttled)
// never leaves: it ends with DEADLINE_EXCEEDED or UNAVAILABLE and the reason in words. Every other
// one counts by its status and pushback; one that is dropped before it has a status counts as
// cancelled. Give that Caller a policy with `retry.attempts` = 1, since nothing is retried here.
class Watch final : public ::grpc::experimental::ClientInterceptorFactoryInterface {
 public:
  // Not owned; must outlive the channel.
  explicit Watch(client::Caller& caller) noexcept : caller_(caller) {}
  ::grpc::experimental::Interceptor* CreateClientInterceptor(
      ::grpc::experimental::ClientRpcInfo* info) override;

 private:
  client::Caller& caller_;
};

}  // namespace loadline::grpc
