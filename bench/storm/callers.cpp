#include "callers.h"

#include <curl/curl.h>

#include <deque>
#include <thread>
#include <vector>

#include "loadline/curl.h"

namespace loadline::bench::storm {
namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned kThreadsOfAProgram = 10;

std::size_t ignore(const char*, std::size_t, std::size_t size, void*) {
  return size;
}

class Easy {
 public:
  explicit Easy(const std::string& url) : handle_(curl_easy_init()) {
    curl_easy_setopt(handle_, CURLOPT_URL, url.c_str());
    curl_easy_setopt(handle_, CURLOPT_PROXY, "");
    curl_easy_setopt(handle_, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(handle_, CURLOPT_WRITEFUNCTION, ignore);
  }
  ~Easy() { curl_easy_cleanup(handle_); }
  Easy(const Easy&) = delete;
  Easy& operator=(const Easy&) = delete;
  [[nodiscard]] CURL* get() const { return handle_; }

 private:
  CURL* handle_;
};

struct Result {
  bool good = false;
  unsigned attempts = 0;
};

// What is written in many programs.
Result call_naively(CURL* easy) {
  Result result;
  const Clock::time_point deadline = Clock::now() + kPatience;
  while (!result.good && result.attempts < kAttempts && Clock::now() < deadline) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    const auto time = static_cast<long>(std::min<std::int64_t>(left, kAttemptTime.count()));
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, time);
    ++result.attempts;
    long status = 0;
    if (curl_easy_perform(easy) == CURLE_OK) {
      curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    }
    result.good = status == 200;
  }
  return result;
}

Result call_with(curl::Line& line, CURL* easy) {
  curl::Ask ask;
  ask.deadline = curl::now() + Duration::millis(kPatience.count());
  ask.kind = client::Call::idempotent;
  const curl::Outcome outcome = line.perform(easy, ask);
  return {.good = outcome.answered() && outcome.status == 200, .attempts = outcome.attempts};
}

// The programs' own: each has its budget and its breaker.
class Programs {
 public:
  explicit Programs(unsigned threads) {
    client::Policy policy;
    policy.retry.attempts = kAttempts;
    policy.deadline.attempt = Duration::millis(kAttemptTime.count());
    for (unsigned i = 0; i < threads; i += kThreadsOfAProgram) {
      policy.seed += 1;
      callers_.emplace_back(policy, curl::now());
    }
  }
  client::Caller& of_thread(unsigned index) { return callers_[index / kThreadsOfAProgram]; }

 private:
  std::deque<client::Caller> callers_;
};

// `call` at `first` and then in every interval.
template <class Call>
void keep_calling(Clock::time_point begin, std::chrono::nanoseconds first,
                  std::chrono::nanoseconds length, Journal& journal, Call call) {
  for (std::chrono::nanoseconds due = first; due < length; due += kInterval) {
    std::this_thread::sleep_until(begin + due);
    const Result result = call();
    journal.note(due, result.good, result.attempts);
  }
}

}  // namespace

void run_callers(const CallerOptions& options, std::chrono::milliseconds length, Journal& journal) {
  Programs programs(options.callers);
  const Clock::time_point begin = Clock::now();
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < options.callers; ++i) {
    threads.emplace_back([&, i] {
      const Easy easy(options.url);
      const std::chrono::nanoseconds first =
          std::chrono::nanoseconds(kInterval) * i / options.callers;
      if (options.manners == Manners::naive) {
        keep_calling(begin, first, length, journal, [&] { return call_naively(easy.get()); });
        return;
      }
      curl::Line line(programs.of_thread(i));
      keep_calling(begin, first, length, journal, [&] { return call_with(line, easy.get()); });
    });
  }
}

}  // namespace loadline::bench::storm
