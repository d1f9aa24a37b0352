// The state of all gates as JSON. Names hold no character that would need escaping
// (gate_directive.cpp sees to that).
#include <algorithm>

#include "caller_pages.h"
#include "pages.h"
#include "streams.h"
#include "zone.h"

namespace loadline::ngx {
namespace {

constexpr unsigned kNanoInMilli = 6;  // decimals: nanoseconds shown as milliseconds
constexpr unsigned kNanoInSecond = 9;
constexpr unsigned kPerMilleInPercent = 1;

std::uint64_t positive(Duration duration) noexcept {
  return duration.ns > 0 ? static_cast<std::uint64_t>(duration.ns) : 0;
}

// {"queue_full":2}: only what has happened.
void write_reasons(Text& out, const std::array<std::uint64_t, kReasons>& counts) noexcept {
  std::string_view separator;
  out << "{";
  for (std::uint32_t i = 1; i < kReasons; ++i) {
    if (counts[i] != 0) {
      out << separator << "\"" << name(static_cast<Reason>(i)) << "\":" << counts[i];
      separator = ",";
    }
  }
  out << "}";
}

std::string_view boolean(bool value) noexcept {
  return value ? "true" : "false";
}

void write_class(Text& out, const ClassPolicy& rules, const Snapshot::Class& c) noexcept {
  out << "{\"name\":\"" << rules.name_view() << "\",\"threshold\":" << std::uint64_t{c.threshold}
      << ",\"guarantee_percent\":";
  out.decimal(rules.guarantee, kPerMilleInPercent)
      << ",\"newest_first\":" << boolean(c.newest_first)
      << ",\"waiting\":" << std::uint64_t{c.waiting} << ",\"admitted\":" << c.admitted
      << ",\"cancelled\":" << c.cancelled << ",\"rejected\":";
  write_reasons(out, c.rejected);
  out << ",\"observed\":";
  write_reasons(out, c.observed);
  out << "}";
}

void write_classes(Text& out, const Policy& policy, const Snapshot& s) noexcept {
  out << ",\"classes\":[";
  for (std::uint32_t i = 0; i < policy.class_count; ++i) {
    out << (i == 0 ? "" : ",");
    write_class(out, policy.classes[i], s.classes[i]);
  }
  out << "]";
}

std::string_view kind_name(QueueSize::Kind kind) noexcept {
  switch (kind) {
    case QueueSize::Kind::off:
      return "off";
    case QueueSize::Kind::fixed:
      return "fixed";
    case QueueSize::Kind::automatic:
      return "auto";
  }
  return "";
}

// {"free":5}
void write_groups(Text& out, const Policy& policy) noexcept {
  out << "{";
  for (std::uint32_t i = 0; i < policy.group_count; ++i) {
    out << (i == 0 ? "\"" : ",\"") << policy.groups[i].name_view()
        << "\":" << std::uint64_t{policy.groups[i].tenants};
  }
  out << "}";
}

// The rules beside the limit and the queue, and what is held under them. They change with the file
// alone, so that what it says is what the gate goes by.
void write_rules(Text& out, const Policy& policy, const Snapshot& s) noexcept {
  out << ",\"order\":\"" << name_of(s.discipline)
      << "\",\"heavy\":{\"limit\":" << std::uint64_t{s.heavy_limit}
      << ",\"in_flight\":" << std::uint64_t{s.heavy_in_flight}
      << "},\"exempt\":{\"limit_per_worker\":" << std::uint64_t{policy.exempt}
      << ",\"in_flight\":" << std::uint64_t{s.exempt_in_flight}
      << "},\"tenants\":" << std::uint64_t{policy.tenants} << ",\"groups\":";
  write_groups(out, policy);
  out << ",\"quota\":";
  if (policy.quota.any()) {
    out << "{\"requests\":" << std::uint64_t{policy.quota.requests} << ",\"per_s\":";
    out.decimal(positive(policy.quota.per), kNanoInSecond)
        << ",\"burst\":" << std::uint64_t{policy.quota.burst}
        << ",\"keys\":" << std::uint64_t{policy.quota.keys} << "}";
  } else {
    out << "null";
  }
  out << ",\"retry_after\":[" << std::uint64_t{policy.retry_after_min} << ","
      << std::uint64_t{policy.retry_after_max} << "]";
}

// Three decimals; what is no number, or out of all proportion, is what a law left unsaid.
void write_number(Text& out, double number, unsigned decimals = 3, double in_one = 1e3) noexcept {
  constexpr double kMost = 1e12;
  if (!(number > -kMost && number < kMost)) {
    number = 0;
  }
  const auto units = static_cast<std::int64_t>(number * in_one);
  out << (units < 0 ? "-" : "");
  out.decimal(static_cast<std::uint64_t>(units < 0 ? -units : units), decimals);
}

// Of signals, which may be seconds: to the millionth.
void write_value(Text& out, double number) noexcept {
  write_number(out, number, 6, 1e6);
}

// Where one had a say.
void write_signal(Text& out, const SignalReading& signal) noexcept {
  if (signal.name_view().empty()) {
    return;
  }
  out << ",\"signal\":\"" << signal.name_view() << "\",\"value\":";
  write_value(out, signal.value);
  out << ",\"at_most\":";
  write_value(out, signal.at_most);
}

// [{"name":"cpu_pressure","at_most":0.2,"value":0.07,"ago_ms":312}]; null where nothing was
// reported.
void write_signals(Text& out, const HostedGate& hosted, Instant now) noexcept {
  out << ",\"signals\":[";
  for (std::uint32_t i = 0; i < hosted.policy.signal_count; ++i) {
    const SignalPolicy& signal = hosted.policy.signals[i];
    const SignalReport last = hosted.gate.reported(signal.name_view());
    out << (i == 0 ? "" : ",") << "{\"name\":\"" << signal.name_view() << "\",\"at_most\":";
    write_value(out, signal.at_most);
    if (last.at == Instant::never()) {
      out << ",\"value\":null,\"ago_ms\":null}";
      continue;
    }
    out << ",\"value\":";
    write_value(out, last.value);
    out << ",\"ago_ms\":";
    out.decimal(positive(now - last.at), kNanoInMilli) << "}";
  }
  out << "]";
}

void write_event(Text& out, const LimitEvent& event, Instant now) noexcept {
  const LimitInputs& in = event.reason.inputs;
  out << "{\"ago_ms\":";
  out.decimal(positive(now - event.at), kNanoInMilli)
      << ",\"from\":" << std::uint64_t{event.from} << ",\"to\":" << std::uint64_t{event.to}
      << ",\"cause\":\"" << name(event.reason.cause) << "\",\"low\":" << std::uint64_t{in.low}
      << ",\"high\":" << std::uint64_t{in.high} << ",\"time_low_ms\":";
  out.decimal(positive(in.time_low), kNanoInMilli) << ",\"time_high_ms\":";
  out.decimal(positive(in.time_high), kNanoInMilli)
      << ",\"samples\":" << std::uint64_t{in.samples} << ",\"rate\":";
  write_number(out, in.rate);
  out << ",\"slope\":";
  write_number(out, in.slope);
  out << ",\"share\":";
  write_number(out, in.share);
  write_signal(out, in.signal);
  out << "}";
}

// Who finds the limit, and what was done last, the newest first.
void write_law(Text& out, const HostedGate& hosted, const Snapshot& s) noexcept {
  constexpr std::uint64_t kShown = 16;
  std::array<LimitEvent, kShown> events;
  std::uint64_t next = s.limit_events - std::min(s.limit_events, kShown);
  std::size_t count = hosted.gate.limit_events(next, events);
  out << ",\"law\":\"" << name(s.law) << "\",\"searching\":" << boolean(s.searching)
      << ",\"samples_left_out\":" << s.left_out << ",\"limit_events\":{\"count\":" << s.limit_events
      << ",\"last\":[";
  const Instant now = monotonic_now();
  for (std::string_view separator; count > 0; separator = ",") {
    out << separator;
    write_event(out, events[--count], now);
  }
  out << "]}";
  write_signals(out, hosted, now);
}

void write_snapshot(Text& out, const HostedGate& hosted, const Snapshot& s) noexcept {
  out << ",\"mode\":\"" << name_of(s.mode) << "\",\"draining\":" << boolean(s.draining)
      << ",\"limit\":" << std::uint64_t{s.limit};
  write_law(out, hosted, s);
  out << ",\"in_flight\":" << std::uint64_t{s.in_flight}
      << ",\"waiting\":" << std::uint64_t{s.waiting}
      << ",\"queue_limit\":" << std::uint64_t{s.queue_limit} << ",\"queue\":\""
      << kind_name(s.queue_kind) << "\",\"wait_budget_ms\":";
  out.decimal(positive(s.wait_budget), kNanoInMilli) << ",\"service_mean_ms\":";
  out.decimal(positive(s.service_mean), kNanoInMilli);
  write_rules(out, hosted.policy, s);
  write_classes(out, hosted.policy, s);
  out << ",\"workers\":" << std::uint64_t{s.participants} << ",\"reclaimed\":" << s.reclaimed
      << ",\"reclaimed_units\":" << s.reclaimed_units << ",\"taken_back\":" << s.taken_back
      << ",\"released_twice\":" << s.released_twice << ",\"repairs\":" << s.repairs
      << ",\"corruptions\":" << s.corruptions;
}

void write_gate(Text& out, const HostedGate& hosted) noexcept {
  const ZoneHead& shared = *hosted.shared;
  out << "{\"name\":\"" << view(hosted.name) << "\"";
  if (hosted.gate.valid()) {
    write_snapshot(out, hosted, hosted.gate.snapshot());
  } else {
    out << ",\"mode\":\"failed\"";
  }
  out << ",\"streams\":{\"limit\":" << std::uint64_t{hosted.streams}
      << ",\"open\":" << std::uint64_t{open_streams(hosted)}
      << ",\"refused\":" << shared.streams_refused.load(std::memory_order_relaxed)
      << "},\"leases_expired\":" << shared.leases_expired.load(std::memory_order_relaxed)
      << ",\"faults\":" << shared.faults.load(std::memory_order_relaxed)
      << ",\"malformed_headers\":" << shared.malformed_headers.load(std::memory_order_relaxed)
      << "}";
}

}  // namespace

void write_status(Text& out, const MainConf& conf) noexcept {
  std::string_view separator;
  out << "{\"version\":\"" LOADLINE_VERSION "\",\"gates\":[";
  for (const HostedGate* hosted : gates_of(conf)) {
    out << separator;
    write_gate(out, *hosted);
    separator = ",";
  }
  out << "]";
  write_caller_status(out);
  out << "}\n";
}

ngx_int_t accept_reading(ngx_http_request_t* r) noexcept {
  if ((r->method & (NGX_HTTP_GET | NGX_HTTP_HEAD)) == 0) {
    return NGX_HTTP_NOT_ALLOWED;
  }
  return ngx_http_discard_request_body(r);
}

ngx_int_t show_status(ngx_http_request_t* r) noexcept {
  const ngx_int_t accepted = accept_reading(r);
  if (accepted != NGX_OK) {
    return accepted;
  }
  Text out(r->pool);
  write_status(out, main_conf(r));
  return out.send(r, NGX_HTTP_OK, "application/json");
}

}  // namespace loadline::ngx
