#include "sim_trace.h"

#include <algorithm>
#include <array>
#include <utility>

namespace loadline::tools {
namespace {

constexpr std::array<std::pair<TraceFormat, std::string_view>, 8> kNames{{
    {TraceFormat::automatic, "auto"},
    {TraceFormat::nginx, "nginx"},
    {TraceFormat::apache, "apache"},
    {TraceFormat::apache_us, "apache-us"},
    {TraceFormat::apache_ms, "apache-ms"},
    {TraceFormat::apache_s, "apache-s"},
    {TraceFormat::csv, "csv"},
    {TraceFormat::azure_llm, "azure-llm"},
}};

}  // namespace

std::optional<TraceFormat> parse_trace_format(std::string_view text) {
  const auto* named = std::find_if(kNames.begin(), kNames.end(),
                                   [&](const auto& name) { return name.second == text; });
  return named == kNames.end() ? std::nullopt : std::optional(named->first);
}

std::string_view trace_format_name(TraceFormat format) {
  return std::find_if(kNames.begin(), kNames.end(),
                      [&](const auto& name) { return name.first == format; })
      ->second;
}

}  // namespace loadline::tools
