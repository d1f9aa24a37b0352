// A load report as JSON for programs and as a table for people.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "load.h"

namespace loadline::tools {

nlohmann::ordered_json to_json(const LoadReport& report, const LoadOptions& options);
std::string to_table(const LoadReport& report, const LoadOptions& options);

}  // namespace loadline::tools
