// The state of all gates in the text format of Prometheus. All samples of a metric stand together,
// as the format wants it, so each metric is one walk over the gates.
#include "caller_pages.h"
#include "pages.h"
#include "streams.h"
#include "zone.h"

namespace loadline::ngx {
namespace {

constexpr unsigned kNanoInSecond = 9;  // decimals: nanoseconds shown as seconds

struct Sample {
  const HostedGate* hosted;
  Snapshot snapshot;
};

struct Samples {
  Sample* first = nullptr;
  Sample* last = nullptr;

  [[nodiscard]] const Sample* begin() const noexcept { return first; }
  [[nodiscard]] const Sample* end() const noexcept { return last; }
};

// Of gates whose zone is of use; one moment for all metrics.
Samples take_samples(ngx_http_request_t* r) noexcept {
  const Gates gates = gates_of(main_conf(r));
  auto* memory = static_cast<Sample*>(ngx_palloc(r->pool, (gates.size() + 1) * sizeof(Sample)));
  if (memory == nullptr) {
    return {};
  }
  Samples samples{memory, memory};
  for (const HostedGate* hosted : gates) {
    if (hosted->gate.valid()) {
      new (samples.last++) Sample{hosted, hosted->gate.snapshot()};
    }
  }
  return samples;
}

std::string_view class_name(const Sample& sample, std::uint32_t index) noexcept {
  return sample.hosted->policy.classes[index].name_view();
}

class Page {
 public:
  Page(Text& out, Samples samples, Gates gates) noexcept
      : out_(out), samples_(samples), gates_(gates) {}

  void write() noexcept {
    write_states();
    write_counters();
    write_histograms();
    write_modes();
    write_signals();
  }

 private:
  void head(std::string_view metric, std::string_view type, std::string_view help) noexcept {
    out_ << "# HELP " << metric << " " << help << "\n# TYPE " << metric << " " << type << "\n";
  }

  // One sample a gate.
  template <class Value>
  void per_gate(std::string_view metric, std::string_view type, std::string_view help,
                Value value) noexcept {
    head(metric, type, help);
    for (const Sample& sample : samples_) {
      out_ << metric << "{gate=\"" << view(sample.hosted->name) << "\"} "
           << std::uint64_t{value(sample.snapshot)} << "\n";
    }
  }

  // One of the host's own counts a gate, even where its zone is of no use.
  template <class Value>
  void per_zone(std::string_view metric, std::string_view help, Value value) noexcept {
    head(metric, "counter", help);
    for (const HostedGate* hosted : gates_) {
      out_ << metric << "{gate=\"" << view(hosted->name) << "\"} "
           << value(*hosted->shared).load(std::memory_order_relaxed) << "\n";
    }
  }

  // One sample a gate and class.
  template <class Value>
  void per_class(std::string_view metric, std::string_view type, std::string_view help,
                 Value value) noexcept {
    head(metric, type, help);
    for (const Sample& sample : samples_) {
      for (std::uint32_t i = 0; i < sample.hosted->policy.class_count; ++i) {
        out_ << metric << "{gate=\"" << view(sample.hosted->name) << "\",class=\""
             << class_name(sample, i) << "\"} " << std::uint64_t{value(sample.snapshot.classes[i])}
             << "\n";
      }
    }
  }

  // One sample a gate, class and reason; all reasons, so that a rate can be taken from the first.
  template <class Value>
  void per_reason(std::string_view metric, std::string_view help, Value value) noexcept {
    head(metric, "counter", help);
    for (const Sample& sample : samples_) {
      for (std::uint32_t i = 0; i < sample.hosted->policy.class_count; ++i) {
        write_reasons(metric, sample, i, value(sample.snapshot.classes[i]));
      }
    }
  }

  void write_reasons(std::string_view metric, const Sample& sample, std::uint32_t index,
                     const std::array<std::uint64_t, kReasons>& counts) noexcept {
    for (std::uint32_t reason = 1; reason < kReasons; ++reason) {
      out_ << metric << "{gate=\"" << view(sample.hosted->name) << "\",class=\""
           << class_name(sample, index) << "\",reason=\"" << name(static_cast<Reason>(reason))
           << "\"} " << counts[reason] << "\n";
    }
  }

  // `labels` without braces.
  void histogram_of(std::string_view metric, std::string_view gate, std::string_view class_label,
                    const HistogramView& view) noexcept {
    std::uint64_t total = 0;
    for (std::uint32_t i = 0; i < kBuckets; ++i) {
      total += view.counts[i];
      open(metric, "_bucket", gate, class_label) << ",le=\"";
      if (i + 1 < kBuckets) {
        out_.decimal(static_cast<std::uint64_t>(bucket_bound(i).ns), kNanoInSecond);
      } else {
        out_ << "+Inf";
      }
      out_ << "\"} " << total << "\n";
    }
    open(metric, "_sum", gate, class_label) << "} ";
    out_.decimal(view.sum_ns, kNanoInSecond) << "\n";
    open(metric, "_count", gate, class_label) << "} " << total << "\n";
  }

  Text& open(std::string_view metric, std::string_view suffix, std::string_view gate,
             std::string_view class_label) noexcept {
    out_ << metric << suffix << "{gate=\"" << gate << "\"";
    if (!class_label.empty()) {
      out_ << ",class=\"" << class_label << "\"";
    }
    return out_;
  }

  void write_states() noexcept {
    per_gate("loadline_limit", "gauge", "Units of work that may be in flight.",
             [](const Snapshot& s) { return s.limit; });
    per_gate("loadline_searching", "gauge",
             "1 while a law looks for the limit and what it has found is a guess.",
             [](const Snapshot& s) { return std::uint64_t{s.searching}; });
    per_gate("loadline_in_flight", "gauge", "Units of work in flight.",
             [](const Snapshot& s) { return s.in_flight; });
    per_gate("loadline_queue_limit", "gauge", "Requests that may wait.",
             [](const Snapshot& s) { return s.queue_limit; });
    per_class("loadline_waiting", "gauge", "Requests that wait.",
              [](const Snapshot::Class& c) { return c.waiting; });
    per_class("loadline_newest_first", "gauge",
              "1 while the newest of the class are served first, since its queue stands.",
              [](const Snapshot::Class& c) { return std::uint64_t{c.newest_first}; });
    per_gate("loadline_heavy_limit", "gauge",
             "Units of work that requests of a weight above 1 may hold together.",
             [](const Snapshot& s) { return s.heavy_limit; });
    per_gate("loadline_heavy_in_flight", "gauge",
             "Units of work that requests of a weight above 1 hold.",
             [](const Snapshot& s) { return s.heavy_in_flight; });
    per_gate("loadline_exempt_in_flight", "gauge", "Exempt requests in flight, beside the limit.",
             [](const Snapshot& s) { return s.exempt_in_flight; });
    per_gate("loadline_workers", "gauge", "Workers that have a seat at the gate.",
             [](const Snapshot& s) { return s.participants; });
    per_gate("loadline_draining", "gauge", "1 while the gate takes no more.",
             [](const Snapshot& s) { return std::uint64_t{s.draining}; });
  }

  void write_counters() noexcept {
    per_class("loadline_admitted_total", "counter", "Requests admitted, at once or after a wait.",
              [](const Snapshot::Class& c) { return c.admitted; });
    per_reason("loadline_rejected_total", "Requests turned away.",
               [](const Snapshot::Class& c) { return c.rejected; });
    per_class("loadline_cancelled_total", "counter",
              "Requests whose caller left while they waited.",
              [](const Snapshot::Class& c) { return c.cancelled; });
    per_reason("loadline_observed_total", "Requests admitted that would have been turned away.",
               [](const Snapshot::Class& c) { return c.observed; });
    per_gate("loadline_reclaimed_total", "counter", "Workers that died and were cleaned up after.",
             [](const Snapshot& s) { return s.reclaimed; });
    per_gate("loadline_reclaimed_units_total", "counter", "Units of work that those had held.",
             [](const Snapshot& s) { return s.reclaimed_units; });
    per_gate("loadline_taken_back_total", "counter",
             "Slots given to who waited and did not come for them.",
             [](const Snapshot& s) { return s.taken_back; });
    per_gate("loadline_released_twice_total", "counter",
             "Slots given back that had been given back before.",
             [](const Snapshot& s) { return s.released_twice; });
    per_gate("loadline_repairs_total", "counter",
             "Times that the gate was put right after a death in its midst.",
             [](const Snapshot& s) { return s.repairs; });
    per_gate("loadline_corruptions_total", "counter",
             "Entries of the gate's memory that could not be right and were left alone.",
             [](const Snapshot& s) { return s.corruptions; });
    per_gate("loadline_limit_events_total", "counter", "Steps of the law that finds the limit.",
             [](const Snapshot& s) { return s.limit_events; });
    per_gate("loadline_samples_left_out_total", "counter",
             "Ended requests that the law could not use.",
             [](const Snapshot& s) { return s.left_out; });
    head("loadline_streams_open", "gauge", "Connections that stay open, beside the limit.");
    for (const HostedGate* hosted : gates_) {
      out_ << "loadline_streams_open{gate=\"" << view(hosted->name) << "\"} "
           << std::uint64_t{open_streams(*hosted)} << "\n";
    }
    per_zone(
        "loadline_streams_refused_total", "Times that the pool of streams had no place.",
        [](const ZoneHead& z) -> const auto& { return z.streams_refused; });
    per_zone(
        "loadline_leases_expired_total", "Permits that were not given back in time.",
        [](const ZoneHead& z) -> const auto& { return z.leases_expired; });
    per_zone(
        "loadline_faults_total", "Requests that passed ungated for a fault of Loadline's own.",
        [](const ZoneHead& z) -> const auto& { return z.faults; });
    per_zone(
        "loadline_malformed_headers_total", "Claims of requests that were malformed and ignored.",
        [](const ZoneHead& z) -> const auto& { return z.malformed_headers; });
  }

  void write_histograms() noexcept {
    constexpr std::string_view kWait = "loadline_queue_wait_seconds";
    constexpr std::string_view kService = "loadline_service_seconds";
    head(kWait, "histogram", "How long those waited who were then admitted.");
    for (const Sample& sample : samples_) {
      for (std::uint32_t i = 0; i < sample.hosted->policy.class_count; ++i) {
        histogram_of(kWait, view(sample.hosted->name), class_name(sample, i),
                     sample.snapshot.classes[i].wait);
      }
    }
    head(kService, "histogram", "How long admitted requests took that ended well.");
    for (const Sample& sample : samples_) {
      histogram_of(kService, view(sample.hosted->name), {}, sample.snapshot.service);
    }
  }

  void write_modes() noexcept {
    head("loadline_law", "gauge", "1 for who finds the limit.");
    for (const Sample& sample : samples_) {
      for (std::uint32_t i = 0; i < kLaws; ++i) {
        const auto law = static_cast<Law>(i);
        out_ << "loadline_law{gate=\"" << view(sample.hosted->name) << "\",law=\"" << name(law)
             << "\"} " << std::uint64_t{sample.snapshot.law == law} << "\n";
      }
    }
    head("loadline_mode", "gauge", "1 for the mode the gate is in.");
    for (const Sample& sample : samples_) {
      for (const Mode mode : {Mode::on, Mode::observe, Mode::off}) {
        out_ << "loadline_mode{gate=\"" << view(sample.hosted->name) << "\",mode=\""
             << name_of(mode) << "\"} " << std::uint64_t{sample.snapshot.mode == mode} << "\n";
      }
    }
  }

  // What is no longer believed is no longer there.
  void write_signals() noexcept {
    bool any = false;
    each_signal([&any](const HostedGate&, const SignalPolicy&) { any = true; });
    if (!any) {
      return;
    }
    const Instant now = monotonic_now();
    head("loadline_signal", "gauge", "What was reported of a signal from outside.");
    each_signal([&](const HostedGate& hosted, const SignalPolicy& signal) {
      const SignalReport last = hosted.gate.reported(signal.name_view());
      if (last.at != Instant::never() && now - last.at <= Pressure::kStale) {
        signal_line("loadline_signal", hosted, signal, last.value);
      }
    });
    head("loadline_signal_at_most", "gauge", "What is right of it at most.");
    each_signal([&](const HostedGate& hosted, const SignalPolicy& signal) {
      signal_line("loadline_signal_at_most", hosted, signal, signal.at_most);
    });
  }
  template <class Visit>
  void each_signal(Visit visit) noexcept {
    for (const Sample& sample : samples_) {
      for (std::uint32_t i = 0; i < sample.hosted->policy.signal_count; ++i) {
        visit(*sample.hosted, sample.hosted->policy.signals[i]);
      }
    }
  }
  void signal_line(std::string_view metric, const HostedGate& hosted, const SignalPolicy& signal,
                   double value) noexcept {
    constexpr double kMost = 1e12;
    out_ << metric << "{gate=\"" << view(hosted.name) << "\",signal=\"" << signal.name_view()
         << "\"} ";
    out_.decimal(static_cast<std::uint64_t>(std::min(value, kMost) * 1e6), 6) << "\n";
  }

  Text& out_;
  Samples samples_;
  Gates gates_;
};

}  // namespace

ngx_int_t show_metrics(ngx_http_request_t* r) noexcept {
  const ngx_int_t accepted = accept_reading(r);
  if (accepted != NGX_OK) {
    return accepted;
  }
  const Samples samples = take_samples(r);
  if (samples.first == nullptr) {
    return NGX_HTTP_INTERNAL_SERVER_ERROR;
  }
  Text out(r->pool);
  Page(out, samples, gates_of(main_conf(r))).write();
  write_caller_metrics(out);
  return out.send(r, NGX_HTTP_OK, "text/plain; version=0.0.4");
}

}  // namespace loadline::ngx
