#include "load_callers.h"

#include <algorithm>
#include <array>

namespace loadline::tools {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

Instant instant(Clock::time_point time) {
  return Instant{nanoseconds{time.time_since_epoch()}.count()};
}

Clock::time_point time_point(Instant instant) {
  return Clock::time_point{std::chrono::duration_cast<Clock::duration>(nanoseconds{instant.ns})};
}

// RFC 9110, 9.2.2.
bool is_idempotent(const std::string& method) {
  constexpr std::array kMethods{"GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"};
  return std::find(kMethods.begin(), kMethods.end(), method) != kMethods.end();
}

client::Answer answer_of(const Outcome& outcome) {
  using client::Ended;
  client::Answer answer;
  switch (outcome.ending) {
    case Ending::answered:
      return client::answer_of_http(static_cast<std::uint32_t>(outcome.status), outcome.signs);
    case Ending::timeout:
      answer.ended = Ended::timed_out;
      break;
    case Ending::reset:
    case Ending::closed_early:
    case Ending::malformed:
      answer.ended = outcome.sent ? Ended::lost : Ended::unreached;
      break;
    case Ending::stale:
    case Ending::refused:
    case Ending::connect_failed:
    case Ending::no_ports:
    case Ending::no_files:
    case Ending::held_back:
      answer.ended = Ended::unreached;
      break;
  }
  return answer;
}

client::Policy policy_of(const LoadOptions& options, std::uint64_t number) {
  client::Policy policy = options.client;
  policy.retry.attempts = static_cast<std::uint8_t>(options.attempts);
  policy.deadline.attempt = Duration{options.timeout.count()};
  policy.seed ^= (options.seed << 32U) + number;
  return policy;
}

Instant deadline_of(const LoadOptions& options, Clock::time_point due) {
  const Instant begin = instant(due);
  return options.deadline ? begin + Duration{options.deadline->count()}
                          : begin + Duration{options.timeout.count()} * options.attempts;
}

}  // namespace

std::vector<HeaderField> load_fields(const LoadOptions& options, std::size_t class_index) {
  auto fields = options.headers;
  if (!options.classes.empty()) {
    fields.push_back({options.class_header, options.classes[class_index].name});
  }
  return fields;
}

HeaderField deadline_field(const LoadOptions& options, nanoseconds left) {
  const auto ms = std::chrono::ceil<milliseconds>(left).count();
  return {options.deadline_header, std::to_string(std::max<std::int64_t>(1, ms))};
}

LedCall::LedCall(client::Caller& caller, const LoadOptions& options, std::size_t class_index,
                 Clock::time_point due)
    : caller_(caller),
      options_(options),
      class_index_(class_index),
      call_(deadline_of(options, due),
            is_idempotent(options.method) ? client::Call::idempotent : client::Call::once) {}

// What is left is said where a deadline was to be said, and which attempt it is always.
bool LedCall::send(Clock::time_point now) {
  const client::Start start =
      call_.waiting() ? caller_.retry(call_, instant(now)) : caller_.begin(call_, instant(now));
  if (!start.send()) {
    return false;
  }
  attempt_ = start.attempt;
  auto fields = load_fields(options_, class_index_);
  if (options_.deadline) {
    fields.push_back(deadline_field(options_, nanoseconds{attempt_.hand_on().ns}));
  }
  fields.push_back({"x-envoy-attempt-count", std::to_string(attempt_.number())});
  head_ = request_head(options_.url, options_.method, fields, options_.body_bytes);
  return true;
}

std::optional<Clock::time_point> LedCall::ended(const Outcome& outcome, Clock::time_point now) {
  const client::Next next = caller_.ended(call_, attempt_, answer_of(outcome), instant(now));
  return next.retry() ? std::optional(time_point(next.at)) : std::nullopt;
}

Clock::time_point LedCall::give_up() const {
  return time_point(attempt_.cut_off());
}

LoadCallers::LoadCallers(const LoadOptions& options) : options_(options) {
  const Instant now = instant(Clock::now());
  for (unsigned i = 0; i < options.programs; ++i) {
    callers_.push_back(std::make_unique<client::Caller>(policy_of(options, i), now));
  }
}

std::shared_ptr<LedCall> LoadCallers::open(std::size_t class_index, Clock::time_point due) {
  const auto turn = next_.fetch_add(1, std::memory_order_relaxed) % callers_.size();
  return std::make_shared<LedCall>(*callers_[turn], options_, class_index, due);
}

ClientHalfReport LoadCallers::report() const {
  ClientHalfReport report;
  const Instant now = instant(Clock::now());
  for (const auto& caller : callers_) {
    const client::Counts counts = caller->snapshot(now).counts;
    report.calls += counts.begun;
    report.attempts += counts.sent;
    report.breaker_opened += counts.breaker_opened;
    report.breaker_open += nanoseconds{counts.breaker_open.ns};
    for (std::uint32_t i = 0; i < client::kReasons; ++i) {
      const auto reason = std::string(name(static_cast<client::Reason>(i)));
      if (counts.refused_by[i] != 0) {
        report.held_back[reason] += counts.refused_by[i];
      }
      if (counts.gave_up_by[i] != 0) {
        report.gave_up[reason] += counts.gave_up_by[i];
      }
    }
  }
  return report;
}

}  // namespace loadline::tools
