// The state of all gates as JSON. Names hold no character that would need escaping
// (gate_directive.cpp sees to that).
#include "pages.h"
#include "zone.h"

namespace loadline::ngx {
namespace {

constexpr unsigned kNanoInMilli = 6;  // decimals: nanoseconds shown as milliseconds

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

void write_class(Text& out, std::string_view name, const Snapshot::Class& c) noexcept {
  out << "{\"name\":\"" << name << "\",\"threshold\":" << std::uint64_t{c.threshold}
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
    write_class(out, policy.classes[i].name_view(), s.classes[i]);
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

void write_snapshot(Text& out, const HostedGate& hosted, const Snapshot& s) noexcept {
  out << ",\"mode\":\"" << name_of(s.mode) << "\",\"draining\":" << (s.draining ? "true" : "false")
      << ",\"limit\":" << std::uint64_t{s.limit} << ",\"in_flight\":" << std::uint64_t{s.in_flight}
      << ",\"waiting\":" << std::uint64_t{s.waiting}
      << ",\"queue_limit\":" << std::uint64_t{s.queue_limit} << ",\"queue\":\""
      << kind_name(s.queue_kind) << "\",\"wait_budget_ms\":";
  out.decimal(positive(s.wait_budget), kNanoInMilli) << ",\"service_mean_ms\":";
  out.decimal(positive(s.service_mean), kNanoInMilli);
  write_classes(out, hosted.policy, s);
  out << ",\"workers\":" << std::uint64_t{s.participants} << ",\"reclaimed\":" << s.reclaimed
      << ",\"repairs\":" << s.repairs;
}

void write_gate(Text& out, const HostedGate& hosted) noexcept {
  const ZoneHead& shared = *hosted.shared;
  out << "{\"name\":\"" << view(hosted.name) << "\"";
  if (hosted.gate.valid()) {
    write_snapshot(out, hosted, hosted.gate.snapshot());
  } else {
    out << ",\"mode\":\"failed\"";
  }
  out << ",\"faults\":" << shared.faults.load(std::memory_order_relaxed)
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
