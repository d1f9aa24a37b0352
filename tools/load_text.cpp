#include "load_text.h"

#include <string>

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
