// The study as a page for people.
#pragma once

#include <optional>
#include <string>

#include "limit/random_study.h"
#include "limit/sensitivity.h"

namespace loadline::bench {

struct Page {
  std::optional<RandomStudy> random{};
  std::optional<Sensitivity> sensitivity{};
  std::string date;     // YYYY-MM-DD
  std::string machine;  // one line
  std::string command;
};

std::string to_markdown(const Page& page);

// What this one is: processors, architecture, kernel.
std::string machine_kind();

}  // namespace loadline::bench
