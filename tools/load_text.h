// How loads are written on the command line.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "load.h"

namespace loadline::tools {

// 100, or 100,300@5s,50@10s: 100 a second from the start, 300 from 5 s on, 50 from 10 s on.
std::optional<std::vector<RateStep>> parse_rate(std::string_view text);
inline constexpr const char* kRateForm =
    "a rate per second, or steps as in 100,300@5s (100 from the start, 300 from 5 s on)";

// 50@2s: 50 at once, every 2 s.
struct BurstForm {
  std::uint64_t size = 0;
  std::chrono::nanoseconds every{};
};
std::optional<BurstForm> parse_burst(std::string_view text);
inline constexpr const char* kBurstForm = "N@TIME, as in 50@2s (50 at once, every 2 s)";

// off, now, backoff, loadline, or loadline:NAME=VALUE,... with settings of the client half, and
// processes=N. Sets what they say; or else what is allowed, as in "one of off, now, ...".
std::string set_retries(LoadOptions& options, std::string_view text);
inline constexpr const char* kRetriesForm = "off|now|backoff|loadline[:NAME=VALUE,...]";

// critical=8,sheddable=2
std::optional<std::vector<ClassShare>> parse_classes(std::string_view text);
inline constexpr const char* kClassesForm =
    "NAME=WEIGHT,... with weights above 0, at most 1000000, as in critical=8,sheddable=2";

}  // namespace loadline::tools
