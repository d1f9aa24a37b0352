// curl_ask URL PATIENCE_MS: one call with the client half; prints how it went, and the answer.
// For tests/e2e.
#include <cstdio>
#include <cstdlib>

#include "easy.h"

int main(int argc, char** argv) {
  using namespace loadline;
  if (argc != 3) {
    return 2;
  }
  client::Caller caller(client::Policy{}, curl::now());
  curl::Line line(caller);
  curl::test::Easy easy(argv[1]);
  curl::Ask ask;
  ask.deadline = curl::now() + Duration::millis(std::atol(argv[2]));
  ask.kind = client::Call::idempotent;
  ask.start_over = [&] { easy.clear(); };
  const curl::Outcome outcome = line.perform(easy.get(), ask);
  std::printf("%u %s %d %s\n%s\n", outcome.status, name(outcome.ended).data(), outcome.attempts,
              name(outcome.reason).data(), easy.body().c_str());
  return outcome.answered() ? 0 : 1;
}
