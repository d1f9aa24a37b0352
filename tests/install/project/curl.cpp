// Asks with libcurl for something that nobody serves, or for the URL that is given.
#include <loadline/curl.h>

#include <cstdio>
#include <string>

using loadline::Duration;
namespace client = loadline::client;
namespace curl = loadline::curl;

namespace {

std::size_t take(const char* data, std::size_t, std::size_t size, void* body) {
  static_cast<std::string*>(body)->append(data, size);
  return size;
}

bool ask(curl::Line& line, CURL* easy, std::stop_token caller_has_left) {
  std::string body;
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &body);

  curl::Ask ask;
  ask.deadline = curl::now() + Duration::seconds(2);
  ask.kind = client::Call::idempotent;
  ask.start_over = [&] { body.clear(); };  // before each attempt
  const curl::Outcome outcome = line.perform(easy, ask, caller_has_left);
  if (!outcome.answered()) {
    std::printf("%s after %d attempts: %s\n", name(outcome.ended).data(), outcome.attempts,
                name(outcome.reason).data());
    return false;
  }
  std::printf("%u: %zu bytes\n", outcome.status, body.size());
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  curl_global_init(CURL_GLOBAL_DEFAULT);
  client::Policy policy;
  policy.backoff.base = Duration::millis(10);
  client::Caller caller(policy, curl::now());  // one for each service, of all threads
  curl::Line line(caller);                     // one for each thread: it keeps connections
  CURL* easy = curl_easy_init();
  curl_easy_setopt(easy, CURLOPT_URL, argc > 1 ? argv[1] : "http://127.0.0.1:1/");
  const bool answered = ask(line, easy, {});
  curl_easy_cleanup(easy);
  return answered == (argc > 1) ? 0 : 1;
}
