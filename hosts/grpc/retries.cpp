// Unary calls, made again.
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>

#include "loadline/grpc.h"
#include "words.h"

namespace loadline::grpc {
namespace {

constexpr const char* kAttemptKey = "x-envoy-attempt-count";

void wait_until(Instant then, const std::stop_token& stop) {
  const std::chrono::steady_clock::time_point time{std::chrono::nanoseconds(then.ns)};
  std::mutex mutex;
  std::condition_variable_any nobody;
  std::unique_lock lock(mutex);
  nobody.wait_until(lock, stop, time, [&] { return now() >= then; });
}

// gRPC sends three digits of what is left, rounded up, and may take the time of a little before for
// now. So that nobody is promised more than this, it is rounded down, and a little below that.
Duration in_three_digits(Duration left) noexcept {
  constexpr std::int64_t kMillisecond = 1'000'000;
  std::int64_t unit = kMillisecond;
  while (left.ns / unit >= 1000) {
    unit *= 10;
  }
  const std::int64_t below = (unit - kMillisecond) / 2;
  return Duration{std::max(left.ns - left.ns % unit - below, std::int64_t{1})};
}

// Not in grpc-previous-rpc-attempts, which gRPC keeps to itself and takes away from others.
void tell(::grpc::ClientContext& context, const client::Attempt& attempt) {
  if (attempt.hand_on() != Duration::max()) {
    context.set_deadline(wall_time_after(in_three_digits(attempt.hand_on())));
  }
  context.AddMetadata(kAttemptKey, std::to_string(attempt.number()));
}

client::Next make_attempt(client::Caller& caller, const Ask& ask, client::Call& call,
                          client::Attempt attempt, const UnaryCall& send, Outcome& outcome,
                          const std::stop_token& stop) {
  ::grpc::ClientContext context;
  tell(context, attempt);
  {
    const std::stop_callback cancel(stop, [&context] { context.TryCancel(); });
    outcome.status = send(context);
  }
  client::Answer answer = answer_of(outcome.status, context.GetServerTrailingMetadata());
  answer.another_instance = ask.another_instance;
  outcome.ended = answer.ended;
  outcome.further_down = answer.further_down;
  outcome.attempts = call.attempts();
  return caller.ended(call, attempt, answer, now());
}

}  // namespace

Outcome call_with_retries(client::Caller& caller, const Ask& ask, const UnaryCall& send,
                          const std::stop_token& stop) {
  client::Call call(ask.deadline, ask.kind);
  Outcome outcome;
  client::Start start = caller.begin(call, now());
  while (start.send()) {
    const client::Next next = make_attempt(caller, ask, call, start.attempt, send, outcome, stop);
    if (next.retry()) {
      wait_until(next.at, stop);
    }
    if (next.kind == client::Next::Kind::done) {
      outcome.kind = Outcome::Kind::answered;
      return outcome;
    }
    if (stop.stop_requested()) {
      caller.abandon(call, now());
      outcome.kind = Outcome::Kind::stopped;
      return outcome;
    }
    if (!next.retry()) {
      outcome.kind = Outcome::Kind::gave_up;
      outcome.reason = next.reason;
      return outcome;
    }
    start = caller.retry(call, now());
  }
  outcome.reason = start.reason;
  outcome.come_back = start.come_back;
  if (outcome.attempts != 0) {
    outcome.kind = Outcome::Kind::gave_up;
    return outcome;
  }
  outcome.status = status_of(start.reason);
  return outcome;
}

}  // namespace loadline::grpc
