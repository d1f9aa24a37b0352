// The state of all gates as JSON. Names hold no character that would need escaping
// (gate_directive.cpp sees to that).
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

void write_snapshot(Text& out, const HostedGate& hosted, const Snapshot& s) noexcept {
  out << ",\"mode\":\"" << name_of(s.mode) << "\",\"draining\":" << boolean(s.draining)
      << ",\"limit\":" << std::uint64_t{s.limit} << ",\"in_flight\":" << std::uint64_t{s.in_flight}
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
  out << "]}\n";
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
