// A client, with a service that is only made up: it refuses twice, then answers.
#include <loadline/client/caller.h>

#include <cstdio>
#include <string_view>
#include <utility>
#include <vector>

using loadline::Duration;
using loadline::Instant;
namespace client = loadline::client;

namespace {

// ---- What a program has anyway: a clock, a way to sleep, a way to send ----

struct Response {
  unsigned status = 0;
  std::vector<std::pair<std::string_view, std::string_view>> headers;
};

Instant clock_now{1'000'000'000};
int refusals = 2;

Instant now() {
  clock_now = clock_now + Duration::millis(1);
  return clock_now;
}

void sleep_until(Instant then) {
  clock_now = then > clock_now ? then : clock_now;
}

client::WallTime wall_now() {
  return client::WallTime::seconds(1'735'689'600);
}

Response send(const client::Attempt& attempt) {
  std::printf("attempt %d, %lld ms left\n", attempt.number(),
              static_cast<long long>(attempt.hand_on().ns / 1'000'000));
  if (refusals-- > 0) {
    return {503, {{"retry-after", "1"}}};
  }
  return {200, {}};
}

// ---- How it is told ----

client::Answer answer_of(const Response& response) {
  client::Signs signs;
  for (const auto& [name, value] : response.headers) {
    signs.see(name, value, wall_now());
  }
  client::Answer answer = client::answer_of_http(response.status, signs);
  answer.another_instance = false;  // we know of one address only
  return answer;
}

bool call(client::Caller& caller, Duration patience) {
  client::Call call(now() + patience, client::Call::idempotent);
  client::Start start = caller.begin(call, now());
  while (start.send()) {
    const Response response = send(start.attempt);  // until start.attempt.cut_off()
    const client::Next next = caller.ended(call, start.attempt, answer_of(response), now());
    if (!next.retry()) {
      return next.kind == client::Next::Kind::done;
    }
    sleep_until(next.at);
    start = caller.retry(call, now());
  }
  return false;  // start.reason says why
}

void tell(const client::Caller& caller) {
  const client::Snapshot seen = caller.snapshot(now());
  std::printf("%llu calls, %llu attempts, %llu of them retries; the breaker is %s\n",
              static_cast<unsigned long long>(seen.counts.begun),
              static_cast<unsigned long long>(seen.counts.sent),
              static_cast<unsigned long long>(seen.counts.retries), name(seen.breaker).data());
  std::array<client::Event, client::EventRing::kEvents> events;
  for (std::size_t i = 0, n = caller.events(events); i < n; ++i) {
    std::array<char, 160> text;
    std::printf("%s\n", describe(events[i], text).data());
  }
}

}  // namespace

int main() {
  client::Policy policy;
  policy.retry.attempts = 4;
  policy.deadline.attempt = Duration::millis(500);
  if (const loadline::PolicyError error = validate(policy); error.refused()) {
    std::printf("%s\n", error.text.data());
    return 1;
  }
  client::Caller caller(policy, now());
  const bool answered = call(caller, Duration::seconds(10));
  tell(caller);
  return answered && caller.snapshot(now()).counts.sent == 3 ? 0 : 1;
}
