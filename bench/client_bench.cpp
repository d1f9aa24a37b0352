// What a decision of the client half costs, beside the least that any counter of work in flight
// must do (as in decision_bench.cpp): one JSON object a line, each ratio the median over pairs of
// slices that are timed in turn. The exit code judges nothing; `holds` says whether a goal is met.
#include <CLI/CLI.hpp>
#include <array>
#include <stdexcept>
#include <string>
#include <vector>

#include "command.h"
#include "decision/compared.h"
#include "decision/operations.h"
#include "decision/timing.h"
#include "loadline/client/caller.h"
#include "report.h"

namespace loadline::bench {
namespace {

using client::Answer;
using client::Call;
using client::Caller;
using client::Ended;
using client::Next;
using client::Start;

constexpr Duration kApart = Duration::micros(100);  // one call after the other

Answer answer_of(Ended ended) {
  Answer answer;
  answer.ended = ended;
  return answer;
}

// A call that goes well: leave to send it, and what its success tells.
class GoodCall {
 public:
  static constexpr std::uint64_t kSteps = 20'000;
  explicit GoodCall(const client::Policy& policy = {}) : caller_(policy, kBegin) {}
  [[gnu::always_inline]] void step() noexcept {
    Call call(now_ + Duration::seconds(1), Call::idempotent);
    Start start = caller_.begin(call, now_);
    benchmark::DoNotOptimize(caller_.ended(call, start.attempt, success_, now_ + kService));
    now_ = now_ + kApart;
  }

 private:
  Caller caller_;
  Answer success_ = answer_of(Ended::success);
  Instant now_ = kBegin;
};

class GoodCallThrottled : public GoodCall {
 public:
  GoodCallThrottled() : GoodCall(policy()) {}

 private:
  static client::Policy policy() {
    client::Policy policy;
    policy.throttle.on = true;
    return policy;
  }
};

// How many calls are made ready before the slice in which each is decided: few enough to stay in
// the cache, where a call that has just been answered is, too.
constexpr std::uint64_t kReady = 1'000;

// An attempt has failed: whether, and when, to try again.
class Decision {
 public:
  static constexpr std::uint64_t kSteps = kReady;
  Decision(const client::Policy& policy, Ended ended, Next::Kind expected)
      : caller_(policy, kBegin), answer_(answer_of(ended)) {
    answer_.told = client::Told::wait(Duration::millis(100));
    expect(expected);
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      calls_[i] = Call(kBegin + Duration::seconds(3600));
      starts_[i] = caller_.begin(calls_[i], kBegin);
    }
  }
  [[gnu::always_inline]] void step() noexcept {
    benchmark::DoNotOptimize(caller_.ended(calls_[next_], starts_[next_].attempt, answer_, now_));
    ++next_;
    now_ = now_ + kApart;
  }

 protected:
  static client::Policy policy_with_budget(std::uint32_t cap) {
    client::Policy policy;
    policy.budget.cap = cap;
    return policy;
  }

 private:
  // Throws unless that is what is decided: else something else would be measured.
  void expect(Next::Kind expected) {
    Next next;
    for (int i = 0; i < 2; ++i) {
      Call call;
      Start start = caller_.begin(call, kBegin);
      next = caller_.ended(call, start.attempt, answer_, kBegin);
    }
    if (next.kind != expected) {
      throw std::runtime_error("expected another decision");
    }
  }

  Caller caller_;
  Answer answer_;
  std::array<Call, kReady + kReady / 10> calls_;
  std::array<Start, kReady + kReady / 10> starts_;
  std::size_t next_ = 0;
  Instant now_ = kBegin;
};

class DecideToRetry : public Decision {
 public:
  DecideToRetry() : Decision(policy_with_budget(10'000), Ended::refused, Next::Kind::retry) {}
};

class DecideWithoutBudget : public Decision {
 public:
  DecideWithoutBudget() : Decision(policy_with_budget(1), Ended::refused, Next::Kind::give_up) {}
};

class DecideAfterFailure : public Decision {
 public:
  DecideAfterFailure() : Decision(lasting(), Ended::failed, Next::Kind::give_up) {}

 private:
  static client::Policy lasting() {
    client::Policy policy;
    policy.breaker.consecutive = 0;
    policy.breaker.minimum = 10'000;
    return policy;
  }
};

// From a refusal to the answer: two attempts, with the decision between them.
class RetriedCall {
 public:
  static constexpr std::uint64_t kSteps = 10'000;
  RetriedCall() : caller_(policy(), kBegin) {}
  [[gnu::always_inline]] void step() noexcept {
    Call call(now_ + Duration::seconds(1), Call::idempotent);
    Start start = caller_.begin(call, now_);
    const Next next = caller_.ended(call, start.attempt, refused_, now_ + kService);
    start = caller_.retry(call, next.at);
    benchmark::DoNotOptimize(caller_.ended(call, start.attempt, success_, next.at + kService));
    now_ = now_ + kApart;
  }

 private:
  static client::Policy policy() {
    client::Policy policy;
    policy.budget.share = 1000;
    return policy;
  }

  Caller caller_;
  Answer success_ = answer_of(Ended::success);
  Answer refused_ = answer_of(Ended::refused);
  Instant now_ = kBegin;
};

// Not sent, since whom it would ask is left alone.
class BreakerOpen {
 public:
  static constexpr std::uint64_t kSteps = 50'000;
  BreakerOpen() : caller_({}, kBegin) {
    for (int i = 0; i < 10; ++i) {
      Call call;
      Start start = caller_.begin(call, kBegin);
      caller_.ended(call, start.attempt, answer_of(Ended::failed), kBegin);
    }
  }
  [[gnu::always_inline]] void step() noexcept {
    Call call;
    benchmark::DoNotOptimize(caller_.begin(call, kBegin));
  }

 private:
  Caller caller_;
};

class ParseSeconds {
 public:
  static constexpr std::uint64_t kSteps = 50'000;
  [[gnu::always_inline]] void step() noexcept {
    std::string_view text = "17";
    benchmark::DoNotOptimize(text);
    benchmark::DoNotOptimize(client::parse_retry_after(text, client::WallTime{}));
  }
};

class ParseDate {
 public:
  static constexpr std::uint64_t kSteps = 10'000;
  [[gnu::always_inline]] void step() noexcept {
    std::string_view text = "Wed, 01 Jan 2025 00:00:10 GMT";
    benchmark::DoNotOptimize(text);
    benchmark::DoNotOptimize(client::parse_retry_after(text, client::WallTime{}));
  }
};

const std::vector<Compared>& all_compared() {
  static const std::vector<Compared> kAll = {
      {"same", time_alone<BarePair, BarePair>},
      {"call", time_alone<GoodCall, BarePair>, 10.0},
      {"call_throttled", time_alone<GoodCallThrottled, BarePair>},
      {"decide_to_retry", time_alone<DecideToRetry, BarePair>, 10.0},
      {"decide_without_budget", time_alone<DecideWithoutBudget, BarePair>, 10.0},
      {"decide_after_failure", time_alone<DecideAfterFailure, BarePair>, 10.0},
      {"retried_call", time_alone<RetriedCall, BarePair>},
      {"breaker_open", time_alone<BreakerOpen, BarePair>},
      {"parse_seconds", time_alone<ParseSeconds, BarePair>},
      {"parse_date", time_alone<ParseDate, BarePair>},
  };
  return kAll;
}

struct Options {
  int repetitions = 201;
  std::string json_file;
};

int read_and_measure(int argc, char** argv) {
  CLI::App app{"Measures what a decision of the client half costs."};
  Options options;
  app.add_option("--repetitions", options.repetitions, "how often each operation is timed")
      ->check(CLI::Range(1, 10'000));
  app.add_option("--json-file", options.json_file, "write the JSON lines here, too");
  return run_command(app, argc, argv, [&options] {
    pin_to_first_cpu();
    Report report(options.json_file);
    measure_and_report(all_compared(), options.repetitions, report);
    return kHolds;
  });
}

}  // namespace
}  // namespace loadline::bench

int main(int argc, char** argv) {
  return loadline::bench::run_main("client_bench", argc, argv, loadline::bench::read_and_measure);
}
