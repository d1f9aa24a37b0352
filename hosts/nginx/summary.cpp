#include "summary.h"

#include <algorithm>

#include "fault.h"
#include "zone.h"

namespace loadline::ngx {
namespace {

constexpr std::size_t kLongestList = 512;

// "queue_full 12, wait_budget 3": what grew, and by how much.
class List {
 public:
  void add(std::string_view name, std::uint64_t count) noexcept {
    if (count == 0) {
      return;
    }
    const ngx_str_t words = constant(name);
    end_ = ngx_slprintf(end_, text_ + sizeof text_, "%s%V %uL", end_ == text_ ? "" : ", ", &words,
                        count);
  }
  [[nodiscard]] ngx_str_t text() noexcept {
    return {static_cast<std::size_t>(end_ - text_), text_};
  }

 private:
  u_char text_[kLongestList];
  u_char* end_ = text_;
};

std::uint64_t grown(std::atomic<std::uint64_t>& seen, std::uint64_t now) noexcept {
  return now - seen.exchange(now, std::memory_order_relaxed);
}

// What was rejected (or would have been) since the last summary.
struct Growth {
  std::uint64_t total = 0;
  List reasons;
  List classes;
};

using Counts = std::array<std::uint64_t, kReasons>;

void take_growth(const Policy& policy, const Snapshot& s, const Counts Snapshot::Class::*counts,
                 std::atomic<std::uint64_t> (&seen)[kMaxClasses][kReasons],
                 Growth& growth) noexcept {
  Counts by_reason{};
  for (std::uint32_t c = 0; c < policy.class_count; ++c) {
    std::uint64_t of_class = 0;
    for (std::uint32_t reason = 1; reason < kReasons; ++reason) {
      const std::uint64_t count = grown(seen[c][reason], (s.classes[c].*counts)[reason]);
      by_reason[reason] += count;
      of_class += count;
    }
    growth.classes.add(policy.classes[c].name_view(), of_class);
    growth.total += of_class;
  }
  for (std::uint32_t reason = 1; reason < kReasons; ++reason) {
    growth.reasons.add(name(static_cast<Reason>(reason)), by_reason[reason]);
  }
}

std::uint64_t offered(const Policy& policy, const Snapshot& s) noexcept {
  std::uint64_t sum = 0;
  for (std::uint32_t c = 0; c < policy.class_count; ++c) {
    sum += s.classes[c].admitted + s.classes[c].cancelled;
    for (const std::uint64_t count : s.classes[c].rejected) {
      sum += count;
    }
  }
  return sum;
}

std::int64_t seconds_of(Duration span) noexcept {
  return (span.ns + 999'999'999) / 1'000'000'000;
}

void write_line(const MainConf& conf, HostedGate& hosted, const Snapshot& s, std::uint64_t asked,
                Duration span, const char* verb, Growth& growth) noexcept {
  if (growth.total == 0) {
    return;
  }
  ngx_str_t reasons = growth.reasons.text();
  ngx_str_t classes = growth.classes.text();
  ngx_log_error(
      conf.log_level, ngx_cycle->log, 0,
      "loadline_gate \"%V\": %s %uL of %uL in %Ls (%V; by class: %V); limit %uD, in flight "
      "%uD, waiting %uD",
      &hosted.name, verb, growth.total, asked, seconds_of(span), &reasons, &classes, s.limit,
      s.in_flight, s.waiting);
}

// Of the last events that are still known; a limit that only wavers is none of a log's concern.
void write_limit(const MainConf& conf, const HostedGate& hosted, const Snapshot& s,
                 Duration span) noexcept {
  std::uint64_t next = hosted.shared->summed_events.exchange(s.limit_events);
  std::array<LimitEvent, LimitEvents::kKept> events;
  const std::size_t count = hosted.gate.limit_events(next, events);
  std::array<std::uint64_t, kLimitCauses> by_cause{};
  for (const LimitEvent& event : std::span(events).first(count)) {
    const auto cause = static_cast<std::uint32_t>(event.reason.cause);
    by_cause[cause < kLimitCauses ? cause : 0] += 1;
  }
  if (count == 0 || events[0].from == s.limit) {
    return;
  }
  List list;
  for (std::uint32_t i = 1; i < kLimitCauses; ++i) {
    list.add(name(static_cast<LimitCause>(i)), by_cause[i]);
  }
  ngx_str_t causes = list.text();
  const ngx_str_t law = constant(name(s.law));
  ngx_log_error(conf.log_level, ngx_cycle->log, 0,
                "loadline_gate \"%V\": limit from %uD to %uD in %Ls (%V: %V)%s", &hosted.name,
                events[0].from, s.limit, seconds_of(span), &law, &causes,
                s.searching ? ", still searching" : "");
}

void write_summary(const MainConf& conf, HostedGate& hosted, Duration span) noexcept {
  ZoneHead& shared = *hosted.shared;
  const Snapshot s = hosted.gate.snapshot();
  const std::uint64_t asked = grown(shared.summed_offered, offered(hosted.policy, s));
  Growth rejected;
  take_growth(hosted.policy, s, &Snapshot::Class::rejected, shared.summed_rejected, rejected);
  write_line(conf, hosted, s, asked, span, "rejected", rejected);
  Growth observed;
  take_growth(hosted.policy, s, &Snapshot::Class::observed, shared.summed_observed, observed);
  write_line(conf, hosted, s, asked, span, "would have rejected", observed);
  write_limit(conf, hosted, s, span);
}

Duration interval_of(const MainConf& conf) noexcept {
  return Duration::millis(static_cast<std::int64_t>(conf.log_interval));
}

}  // namespace

void summarize(HostedGate& hosted, Instant now) noexcept {
  const MainConf& conf = *main_conf(const_cast<const ngx_cycle_t*>(ngx_cycle));
  if (conf.log_level != 0 && is_due(hosted.shared->next_summary, now, interval_of(conf))) {
    write_summary(conf, hosted, interval_of(conf));
  }
}

void summarize_rest(HostedGate& hosted, Instant now) noexcept {
  const MainConf& conf = *main_conf(const_cast<const ngx_cycle_t*>(ngx_cycle));
  if (conf.log_level == 0) {
    return;
  }
  const Instant next{hosted.shared->next_summary.load(std::memory_order_relaxed)};
  const Duration since = interval_of(conf) - (next - now);
  write_summary(conf, hosted, std::clamp(since, Duration{}, interval_of(conf)));
}

}  // namespace loadline::ngx
