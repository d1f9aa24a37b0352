#include "limit_status.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

namespace loadline::tools {
namespace {

LimitCause cause_named(const std::string& text) {
  for (std::uint32_t i = 0; i < kLimitCauses; ++i) {
    if (name(static_cast<LimitCause>(i)) == text) {
      return static_cast<LimitCause>(i);
    }
  }
  return LimitCause::none;  // a newer version's
}

Duration of_ms(const nlohmann::json& number) {
  return Duration{std::llround(number.get<double>() * 1e6)};
}

// Where a signal from outside had a say.
SignalReading signal_of(const nlohmann::json& step) {
  SignalReading signal;
  if (step.contains("signal")) {
    const std::string name = step.at("signal").get<std::string>();
    name.copy(signal.name.data(), signal.name.size() - 1);
    signal.value = step.at("value").get<double>();
    signal.at_most = step.at("at_most").get<double>();
  }
  return signal;
}

LimitEvent event_of(const nlohmann::json& step) {
  const auto units = [&step](const char* key) { return step.at(key).get<std::uint32_t>(); };
  return {.at = Instant{} - of_ms(step.at("ago_ms")),
          .from = units("from"),
          .to = units("to"),
          .reason = {.cause = cause_named(step.at("cause").get<std::string>()),
                     .inputs = {.low = units("low"),
                                .high = units("high"),
                                .time_low = of_ms(step.at("time_low_ms")),
                                .time_high = of_ms(step.at("time_high_ms")),
                                .samples = units("samples"),
                                .rate = step.at("rate").get<double>(),
                                .slope = step.at("slope").get<double>(),
                                .share = step.at("share").get<double>(),
                                .signal = signal_of(step)}}};
}

}  // namespace

std::vector<LimitEvent> limit_events_of(const nlohmann::json& gate) {
  std::vector<LimitEvent> events;
  if (!gate.contains("limit_events")) {
    return events;
  }
  const auto& last = gate.at("limit_events").at("last");
  for (auto step = last.rbegin(); step != last.rend(); ++step) {
    events.push_back(event_of(*step));
  }
  return events;
}

}  // namespace loadline::tools
