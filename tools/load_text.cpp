#include "load_text.h"

#include <string>

#include <fmt/format.h>

#include "client_settings.h"
#include "config_values.h"

namespace loadline::tools {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(end + 1);
  }
}

std::optional<RateStep> parse_step(std::string_view text, bool first) {
  const auto at = text.find('@');
  const auto rate = parse_decimal(text.substr(0, at));
  if (!rate || (at == std::string_view::npos && !first)) {
    return std::nullopt;
  }
  if (at == std::string_view::npos) {
    return RateStep{.per_second = *rate};
  }
  const auto from = parse_time(text.substr(at + 1));
  return from ? std::optional{RateStep{*from, *rate}} : std::nullopt;
}

std::string set_setting(LoadOptions& options, std::string_view setting) {
  const auto equals = setting.find('=');
  const auto name = setting.substr(0, equals);
  const auto value = equals == setting.npos ? std::string_view{} : setting.substr(equals + 1);
  if (name == "processes") {
    const auto count = parse_count(value, 1, 10'000);
    options.programs = count.value_or(options.programs);
    return count ? std::string{} : "for processes a whole number from 1 to 10000";
  }
  const auto allowed = set_client_setting(options.client, name, value);
  options.attempts = name == "attempts" ? options.client.retry.attempts : options.attempts;
  return allowed.empty() ? allowed : fmt::format("for {} {}", name, allowed);
}

}  // namespace

std::optional<std::vector<RateStep>> parse_rate(std::string_view text) {
  std::vector<RateStep> steps;
  for (const auto part : split(text, ',')) {
    const auto step = parse_step(part, steps.empty());
    if (!step || (!steps.empty() && step->from <= steps.back().from)) {
      return std::nullopt;
    }
    steps.push_back(*step);
  }
  return steps;
}

std::optional<BurstForm> parse_burst(std::string_view text) {
  const auto at = text.find('@');
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  const auto size = parse_count(text.substr(0, at), 1, 100'000);
  const auto every = parse_time(text.substr(at + 1));
  if (!size || !every || every->count() == 0) {
    return std::nullopt;
  }
  return BurstForm{*size, *every};
}

std::string set_retries(LoadOptions& options, std::string_view text) {
  constexpr std::string_view kLed = "loadline";
  constexpr std::pair<std::string_view, Retries> kWords[] = {{"off", Retries::off},
                                                             {"now", Retries::now},
                                                             {"backoff", Retries::backoff},
                                                             {kLed, Retries::loadline}};
  for (const auto& [word, retries] : kWords) {
    if (text == word) {
      options.retries = retries;
      return {};
    }
  }
  if (!text.starts_with(kLed) || text.substr(kLed.size(), 1) != ":") {
    return "off, now, backoff, loadline, or loadline:NAME=VALUE,... as in loadline:attempts=3";
  }
  options.retries = Retries::loadline;
  for (const auto setting : split(text.substr(kLed.size() + 1), ',')) {
    if (auto fault = set_setting(options, setting); !fault.empty()) {
      return fault;
    }
  }
  return {};
}

std::optional<std::vector<ClassShare>> parse_classes(std::string_view text) {
  std::vector<ClassShare> classes;
  for (const auto part : split(text, ',')) {
    const auto equals = part.find('=');
    const auto weight =
        equals == std::string_view::npos ? std::nullopt : parse_decimal(part.substr(equals + 1));
    if (equals == 0 || !weight || *weight == 0 || *weight > kMostWeight) {
      return std::nullopt;
    }
    classes.push_back({std::string(part.substr(0, equals)), *weight});
  }
  return classes;
}

}  // namespace loadline::tools
