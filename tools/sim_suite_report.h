// What a suite of scenario files came to: a table for people, JSON for programs, a page.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "sim_suite.h"
#include "sim_suite_open.h"

namespace loadline::tools {

// With what is open of it.
struct SuiteReport {
  std::string title;
  SuiteOptions options;
  std::vector<SuiteRowOutcome> rows;  // none: only the others were run
  std::vector<SuiteAgain> again;
  OpenList::Part open;
};

// Of the rows' figures; what is run again is only told.
struct SuiteCount {
  std::size_t held = 0;
  std::size_t open = 0;
  std::size_t failed = 0;
};
SuiteCount count(const SuiteReport& report);

std::string suite_table(const SuiteReport& report);
nlohmann::json suite_json(const SuiteReport& report);
std::string suite_page(const SuiteReport& report, const std::string& command);  // Markdown

}  // namespace loadline::tools
