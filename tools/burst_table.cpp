// What a burst's table says of answers that were not good.
#include <fmt/format.h>

#include <algorithm>

#include "burst.h"

namespace loadline::tools {
namespace {

// Bodies and Retry-After of one status.
struct StatusDetails {
  std::uint64_t count = 0;
  std::uint64_t smallest_body = UINT64_MAX;
  std::uint64_t largest_body = 0;
  std::uint32_t soonest = UINT32_MAX;
  std::uint32_t latest = 0;

  void add(const BurstAnswer& answer) {
    ++count;
    smallest_body = std::min(smallest_body, answer.body_bytes);
    largest_body = std::max(largest_body, answer.body_bytes);
    if (answer.retry_after) {
      soonest = std::min(soonest, *answer.retry_after);
      latest = std::max(latest, *answer.retry_after);
    }
  }
};

std::string range(std::uint64_t low, std::uint64_t high) {
  return low == high ? fmt::format("{}", low) : fmt::format("{} to {}", low, high);
}

std::string table(std::string_view heading, const std::map<int, StatusDetails>& by_status) {
  if (by_status.empty()) {
    return "";
  }
  auto text = fmt::format("\n{:<8}  count  body bytes    retry-after s\n", heading);
  for (const auto& [status, details] : by_status) {
    text += fmt::format(
        "{:<8}  {:>5}  {:<12}  {}\n", status, details.count,
        range(details.smallest_body, details.largest_body),
        details.soonest > details.latest ? "none" : range(details.soonest, details.latest));
  }
  return text;
}

}  // namespace

std::string failures_table(const BurstReport& report) {
  std::map<int, StatusDetails> rejected;
  std::map<int, StatusDetails> failed;
  for (const auto& answer : report.answers) {
    if (is_rejection(answer.status)) {
      rejected[answer.status].add(answer);
    } else if (answer.status >= 400) {
      failed[answer.status].add(answer);
    }
  }
  return table("rejected", rejected) + table("failed", failed);
}

}  // namespace loadline::tools
