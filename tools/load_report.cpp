#include "load_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace loadline::tools {
namespace {

using Json = nlohmann::ordered_json;

double ms(Histogram::Time time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

double per_second(std::uint64_t count, double seconds) {
  return seconds > 0 ? static_cast<double>(count) / seconds : 0;
}

// null where there was nothing to measure: 0 ms would be a claim.
Json latency(const Histogram& histogram) {
  const auto at = [&](double percent) {
    return histogram.count() == 0 ? Json(nullptr) : Json(ms(histogram.percentile(percent)));
  };
  return {{"count", histogram.count()},
          {"mean", histogram.count() == 0 ? Json(nullptr) : Json(ms(histogram.mean()))},
          {"p50", at(50)},
          {"p90", at(90)},
          {"p99", at(99)},
          {"p99.9", at(99.9)},
          {"max", at(100)}};
}

Json by_status(const std::map<int, std::uint64_t>& answered) {
  Json result = Json::object();
  for (const auto& [status, count] : answered) {
    result[std::to_string(status)] = count;
  }
  return result;
}

Json rejected_by_status(const Tally& tally) {
  Json result = Json::object();
  for (const int status : {429, 503, 504}) {
    const auto found = tally.answered.find(status);
    if (found != tally.answered.end()) {
      result[std::to_string(status)] = found->second;
    }
  }
  return result;
}

Json errors_json(const Tally& tally) {
  Json result = Json::object();
  for (const auto& [kind, count] : tally.errors) {
    result[kind] = count;
  }
  return result;
}

Json tally_json(const Tally& tally, double seconds) {
  return {{"calls", tally.calls},
          {"attempts", tally.offered},
          {"offered", tally.offered},
          {"offered_per_second", per_second(tally.offered, seconds)},
          {"sent", tally.sent},
          {"answered", by_status(tally.answered)},
          {"good", tally.good()},
          {"goodput_per_second", per_second(tally.good(), seconds)},
          {"rejected", rejected_by_status(tally)},
          {"rejected_total", tally.rejected()},
          {"share_rejected", share(tally.rejected(), tally.offered)},
          {"timeouts", tally.timeouts},
          {"errors", errors_json(tally)},
          {"errors_total", tally.failures()},
          {"accepted_ms", latency(tally.accepted_latency)},
          {"rejection_ms", latency(tally.rejection_latency)}};
}

Json seconds_json(const LoadReport& report) {
  Json result = Json::array();
  for (const auto& second : report.per_second) {
    result.push_back({{"offered", second.offered},
                      {"good", second.good},
                      {"rejected", second.rejected},
                      {"timeouts", second.timeouts},
                      {"errors", second.errors}});
  }
  return result;
}

std::string counts_text(const Tally& tally) {
  std::string result;
  for (const auto& [status, count] : tally.answered) {
    result += fmt::format("  {}: {}", status, count);
  }
  return result.empty() ? "  none" : result;
}

std::string errors_text(const Tally& tally) {
  std::string result;
  for (const auto& [kind, count] : tally.errors) {
    result += fmt::format("{} {}: {}", result.empty() ? " " : ",", kind, count);
  }
  return result.empty() ? "  none" : result;
}

std::string latency_text(const Histogram& histogram) {
  if (histogram.count() == 0) {
    return "  none";
  }
  return fmt::format("  p50 {:.1f}  p90 {:.1f}  p99 {:.1f}  p99.9 {:.1f}  max {:.1f}",
                     ms(histogram.percentile(50)), ms(histogram.percentile(90)),
                     ms(histogram.percentile(99)), ms(histogram.percentile(99.9)),
                     ms(histogram.max()));
}

std::string classes_text(const LoadReport& report) {
  if (report.by_class.empty()) {
    return {};
  }
  auto result = fmt::format("{:<18}{:>10}{:>10}{:>10}{:>10}{:>10}{:>12}\n", "class", "offered",
                            "good", "rejected", "timeouts", "errors", "p99 ms");
  for (const auto& [name, tally] : report.by_class) {
    const auto p99 = tally.good() == 0
                         ? std::string("-")
                         : fmt::format("{:.1f}", ms(tally.accepted_latency.percentile(99)));
    result += fmt::format("{:<18}{:>10}{:>10}{:>10}{:>10}{:>10}{:>12}\n", name, tally.offered,
                          tally.good(), tally.rejected(), tally.timeouts, tally.failures(), p99);
  }
  return result;
}

std::string generator_text(const LoadReport& report) {
  if (report.starved) {
    return "generator          COULD NOT KEEP UP, do not trust these figures: " + report.why + "\n";
  }
  return fmt::format("generator          kept up: {:.1f} ms late at p99\n",
                     ms(report.lateness.percentile(99)));
}

std::string reasons_text(const std::map<std::string, std::uint64_t>& counts) {
  std::string result;
  for (const auto& [reason, count] : counts) {
    result += fmt::format("{}{} {}", result.empty() ? "" : ", ", reason, count);
  }
  return result.empty() ? "none" : result;
}

std::string client_text(const LoadReport& report) {
  if (!report.client) {
    return {};
  }
  const ClientHalfReport& client = *report.client;
  return fmt::format(
      "client half        {:.3f} attempts a call; held back: {}\n"
      "                   not tried again: {}\n"
      "                   breaker opened {} times, for {:.1f} s\n",
      client.attempts_per_call(), reasons_text(client.held_back), reasons_text(client.gave_up),
      client.breaker_opened, std::chrono::duration<double>(client.breaker_open).count());
}

Json client_json(const ClientHalfReport& client) {
  return {{"calls", client.calls},
          {"attempts", client.attempts},
          {"attempts_per_call", client.attempts_per_call()},
          {"held_back", client.held_back},
          {"gave_up", client.gave_up},
          {"breaker_opened", client.breaker_opened},
          {"breaker_open_seconds", std::chrono::duration<double>(client.breaker_open).count()}};
}

// Timeouts are the callers' doing, which looks like the service's.
std::string patience_text(const Tally& tally, const LoadOptions& options) {
  if (tally.timeouts <= tally.offered / 2) {
    return {};
  }
  return fmt::format("most callers gave up after {}: --timeout sets their patience\n",
                     format_time(options.timeout));
}

}  // namespace

Json to_json(const LoadReport& report, const LoadOptions& options) {
  Json json{{"url", options.url.text()}, {"window_seconds", report.window_seconds}};
  json.update(tally_json(report.window, report.window_seconds));
  Json classes = Json::object();
  for (const auto& [name, tally] : report.by_class) {
    classes[name] = tally_json(tally, report.window_seconds);
  }
  json["by_class"] = classes;
  if (report.corrected_latency) {
    json["accepted_corrected_ms"] = latency(*report.corrected_latency);
  }
  json["total"] = {
      {"calls", report.total.calls},       {"offered", report.total.offered},
      {"sent", report.total.sent},         {"answered", by_status(report.total.answered)},
      {"timeouts", report.total.timeouts}, {"errors", errors_json(report.total)}};
  if (report.client) {
    json["client_half"] = client_json(*report.client);
  }
  json["stale_retries"] = report.stale_retries;
  json["generator"] = {{"late_p99_ms", ms(report.lateness.percentile(99))},
                       {"late_max_ms", ms(report.lateness.max())},
                       {"starved", report.starved},
                       {"why", report.why}};
  json["per_second"] = seconds_json(report);
  return json;
}

std::string to_table(const LoadReport& report, const LoadOptions& options) {
  const auto& window = report.window;
  const double seconds = report.window_seconds;
  auto text =
      fmt::format("{} for {:.1f} s{}\n", options.url.text(), seconds,
                  options.warmup.count() > 0 ? " after a warm-up of " + format_time(options.warmup)
                                             : std::string{});
  text += fmt::format("offered            {:.1f}/s  ({} requests of {} calls)\n",
                      per_second(window.offered, seconds), window.offered, window.calls);
  text += fmt::format("goodput            {:.1f}/s  ({} answered 2xx within {})\n",
                      report.goodput_per_second(), window.good(), format_time(options.timeout));
  text += fmt::format("rejected           {:.1f} %  ({} answered 429, 503 or 504)\n",
                      100 * share(window.rejected(), window.offered), window.rejected());
  text += fmt::format("timeouts           {:.1f} %  ({})\n",
                      100 * share(window.timeouts, window.offered), window.timeouts);
  text += fmt::format("answers          {}\n", counts_text(window));
  text += fmt::format("errors           {}\n", errors_text(window));
  text += fmt::format("accepted ms      {}\n", latency_text(window.accepted_latency));
  if (report.corrected_latency) {
    text += fmt::format("  had callers asked every {}:{}\n", format_time(options.expected_interval),
                        latency_text(*report.corrected_latency));
  }
  text += fmt::format("rejected ms      {}\n", latency_text(window.rejection_latency));
  text += classes_text(report);
  if (options.closed > 0) {
    text += fmt::format(
        "closed loop        {} callers who wait for their answers: good for a capacity, but these\n"
        "                   times leave out what a stall would have held up\n",
        options.closed);
  }
  if (report.stale_retries > 0) {
    text += fmt::format("sent again         {} on connections that the server had just closed\n",
                        report.stale_retries);
  }
  return text + client_text(report) + generator_text(report) + patience_text(window, options);
}

}  // namespace loadline::tools
