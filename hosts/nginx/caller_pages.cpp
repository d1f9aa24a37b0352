#include "caller_pages.h"

#include "callers.h"

namespace loadline::ngx {
namespace {

using client::BreakerState;
using client::Ended;
using client::Reason;
using client::Snapshot;

constexpr unsigned kMilliInOne = 3;  // decimals: thousandths shown as ones

// {"budget":2}: only what has happened.
template <class Enum, std::size_t N>
void write_counts(Text& out, const std::array<std::uint64_t, N>& counts) noexcept {
  std::string_view separator;
  out << "{";
  for (std::size_t i = 0; i < N; ++i) {
    if (counts[i] != 0) {
      out << separator << "\"" << name(static_cast<Enum>(i)) << "\":" << counts[i];
      separator = ",";
    }
  }
  out << "}";
}

void write_caller(Text& out, const HostedCaller& hosted, const Snapshot& s) noexcept {
  const client::Counts& counts = s.counts;
  out << "{\"name\":\"" << view(hosted.name) << "\",\"calls\":" << counts.begun
      << ",\"active\":" << std::uint64_t{s.active} << ",\"answered\":" << counts.done
      << ",\"attempts\":" << counts.sent << ",\"retries\":" << counts.retries
      << ",\"elsewhere\":" << counts.elsewhere << ",\"refused\":";
  write_counts<Reason>(out, counts.refused_by);
  out << ",\"gave_up\":";
  write_counts<Reason>(out, counts.gave_up_by);
  out << ",\"not_made\":" << counts.abandoned << ",\"ended\":";
  write_counts<Ended>(out, counts.ended);
  out << ",\"further_down\":" << counts.further_down << ",\"malformed\":" << counts.malformed
      << ",\"budget\":";
  out.decimal(s.budget, kMilliInOne) << ",\"breaker\":\"" << name(s.breaker) << "\"}";
}

// All samples of a metric stand together, so each is one walk over the callers.
class Page {
 public:
  Page(Text& out, Callers callers, Instant now) noexcept
      : out_(out), callers_(callers), now_(now) {}

  void write() noexcept {
    per_caller("loadline_call_active", "gauge", "Calls that are not over.",
               [](const Snapshot& s) { return std::uint64_t{s.active}; });
    per_caller("loadline_calls_total", "counter", "Calls that were to be made.",
               [](const Snapshot& s) { return s.counts.begun; });
    per_caller("loadline_call_attempts_total", "counter", "Attempts that were sent.",
               [](const Snapshot& s) { return s.counts.sent; });
    per_caller("loadline_call_retries_total", "counter", "Attempts that were not a call's first.",
               [](const Snapshot& s) { return s.counts.retries; });
    per_name<Reason>(
        "loadline_call_refused_total", "reason", "Calls that were not made.",
        [](const Snapshot& s) -> const auto& { return s.counts.refused_by; });
    per_name<Reason>(
        "loadline_call_gave_up_total", "reason", "Calls that failed and were not tried again.",
        [](const Snapshot& s) -> const auto& { return s.counts.gave_up_by; });
    per_name<Ended>(
        "loadline_call_ended_total", "ended", "Attempts, by how they ended.",
        [](const Snapshot& s) -> const auto& { return s.counts.ended; });
    write_budget();
    write_breaker();
  }

 private:
  void head(std::string_view metric, std::string_view type, std::string_view help) noexcept {
    out_ << "# HELP " << metric << " " << help << "\n# TYPE " << metric << " " << type << "\n";
  }
  Text& sample(std::string_view metric, const HostedCaller& hosted) noexcept {
    return out_ << metric << "{caller=\"" << view(hosted.name) << "\"";
  }

  template <class Value>
  void per_caller(std::string_view metric, std::string_view type, std::string_view help,
                  Value value) noexcept {
    head(metric, type, help);
    for (const HostedCaller* hosted : callers_) {
      sample(metric, *hosted) << "} " << value(hosted->caller().snapshot(now_)) << "\n";
    }
  }

  // Every name, so that a rate can be taken from the first.
  template <class Enum, class Values>
  void per_name(std::string_view metric, std::string_view label, std::string_view help,
                Values values) noexcept {
    head(metric, "counter", help);
    for (const HostedCaller* hosted : callers_) {
      const Snapshot s = hosted->caller().snapshot(now_);
      const auto& counts = values(s);
      for (std::size_t i = 0; i < counts.size(); ++i) {
        const std::string_view word = name(static_cast<Enum>(i));
        if (word != "none") {
          sample(metric, *hosted) << "," << label << "=\"" << word << "\"} " << counts[i] << "\n";
        }
      }
    }
  }

  void write_budget() noexcept {
    constexpr std::string_view kMetric = "loadline_call_budget";
    head(kMetric, "gauge", "Retries that there is leave for.");
    for (const HostedCaller* hosted : callers_) {
      sample(kMetric, *hosted) << "} ";
      out_.decimal(hosted->caller().snapshot(now_).budget, kMilliInOne) << "\n";
    }
  }

  void write_breaker() noexcept {
    constexpr std::string_view kMetric = "loadline_call_breaker";
    head(kMetric, "gauge", "1 for the state that the breaker is in.");
    for (const HostedCaller* hosted : callers_) {
      const BreakerState now = hosted->caller().snapshot(now_).breaker;
      for (const auto state : {BreakerState::closed, BreakerState::open, BreakerState::half_open}) {
        sample(kMetric, *hosted) << ",state=\"" << name(state) << "\"} "
                                 << std::uint64_t{state == now} << "\n";
      }
    }
  }

  Text& out_;
  Callers callers_;
  Instant now_;
};

}  // namespace

void write_caller_status(Text& out) noexcept {
  const Callers callers = callers_of_this_process();
  if (callers.size() == 0) {
    return;
  }
  const Instant now = monotonic_now();
  std::string_view separator;
  out << ",\"callers\":[";
  for (const HostedCaller* hosted : callers) {
    out << separator;
    write_caller(out, *hosted, hosted->caller().snapshot(now));
    separator = ",";
  }
  out << "]";
}

void write_caller_metrics(Text& out) noexcept {
  const Callers callers = callers_of_this_process();
  if (callers.size() != 0) {
    Page(out, callers, monotonic_now()).write();
  }
}

}  // namespace loadline::ngx
