#include "set_change.h"

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "config.h"
#include "config_values.h"
#include "limit_status.h"
#include "limit_words.h"
#include "text.h"

namespace loadline::tools {
namespace {

constexpr const char* kAllowed =
    "allowed is limit=N with N from 1 to 1000000, limit=auto, on, observe, off, draining=on or "
    "draining=off";

// "limit=20", "mode=on": as the module wants it; empty when the word is not known.
std::string parameter(std::string_view change) {
  if (change == "on" || change == "observe" || change == "off") {
    return fmt::format("mode={}", change);
  }
  if (change == "draining=on" || change == "draining=off") {
    return std::string(change);
  }
  constexpr std::string_view kLimit = "limit=";
  if (change.starts_with(kLimit)) {
    const std::string_view limit = change.substr(kLimit.size());
    const bool law = law_of(limit).value_or(Law::fixed) != Law::fixed;
    return law || parse_count(limit, 1, kMaxLimit) ? std::string(change) : "";
  }
  return "";
}

// The module counts by class and, in each, by reason.
struct Reasons {
  std::uint64_t total = 0;
  std::map<std::string, std::uint64_t> counts;

  void add(const nlohmann::json& of_class) {
    for (const auto& [reason, count] : of_class.items()) {
      counts[reason] += count.get<std::uint64_t>();
      total += count.get<std::uint64_t>();
    }
  }

  // " (queue_full 30, queue_timeout 4)"
  std::string text() const {
    std::string parts;
    for (const auto& [reason, count] : counts) {
      parts += fmt::format("{}{} {}", parts.empty() ? " (" : ", ", reason, count);
    }
    return parts.empty() ? "" : parts + ")";
  }
};

std::string describe_counts(const nlohmann::json& gate, bool observes) {
  std::uint64_t admitted = 0;
  Reasons rejected;
  Reasons observed;
  for (const auto& each : gate.at("classes")) {
    admitted += each.at("admitted").get<std::uint64_t>();
    rejected.add(each.at("rejected"));
    observed.add(each.at("observed"));
  }
  const std::string text =
      fmt::format("{} admitted, {} rejected{}", admitted, rejected.total, rejected.text());
  return observes
             ? fmt::format("{}, would have rejected {}{}", text, observed.total, observed.text())
             : text;
}

// " (auto, still searching)"; nothing for a limit that somebody chose.
std::string describe_law(const nlohmann::json& gate) {
  const auto law = gate.value("law", std::string(name(Law::fixed)));
  if (law == name(Law::fixed)) {
    return "";
  }
  return fmt::format(" ({}{})", law, gate.value("searching", false) ? ", still searching" : "");
}

std::string describe_gate(const nlohmann::json& gate) {
  const auto mode = gate.at("mode").get<std::string>();
  const std::string text =
      fmt::format("mode {}, limit {}{}, {} in flight, {} waiting, {}", mode,
                  gate.at("limit").get<int>(), describe_law(gate), gate.at("in_flight").get<int>(),
                  gate.at("waiting").get<int>(), describe_counts(gate, mode == "observe"));
  return gate.at("draining").get<bool>() ? text + ", draining: new requests are refused" : text;
}

}  // namespace

SetRequest set_request(const std::vector<std::string>& changes) {
  SetRequest request{"/set", ""};
  std::set<std::string> names;
  for (const std::string& change : changes) {
    const std::string wanted = parameter(change);
    if (wanted.empty()) {
      return {"", fmt::format("'{}': {}", printable(change), kAllowed)};
    }
    if (!names.insert(wanted.substr(0, wanted.find('='))).second) {
      return {"", fmt::format("'{}': contradicts a word before it", change)};
    }
    request.target += (names.size() == 1 ? "?" : "&") + wanted;
  }
  return request;
}

std::string describe_state(std::string_view json) {
  try {
    const auto state = nlohmann::json::parse(json);
    const auto& gates = state.at("gates");
    if (gates.empty()) {
      throw std::runtime_error("there is no gate");
    }
    return describe_gate(gates.at(0));
  } catch (const nlohmann::json::exception& error) {
    throw std::runtime_error(fmt::format("the answer cannot be read: {}", error.what()));
  }
}

std::string describe_limit_steps(std::string_view json) {
  std::string text;
  try {
    const auto state = nlohmann::json::parse(json);
    for (const LimitLine& line :
         explain(limit_events_of(state.at("gates").at(0)), Probes::folded)) {
      text +=
          fmt::format("  {:.1f} s ago: {}\n", static_cast<double>(-line.at.ns) * 1e-9, line.text);
    }
  } catch (const nlohmann::json::exception& error) {
    throw std::runtime_error(fmt::format("the answer cannot be read: {}", error.what()));
  }
  return text;
}

std::string why_nobody_answers(std::string_view name, std::string_view folder, const RunSeen& seen,
                               std::string_view fault) {
  if (seen.forbidden) {
    return fmt::format("'{}' belongs to another user, who alone may enter {}", name, folder);
  }
  if (seen.pid != 0) {
    return fmt::format("'{}' is draining or starting (pid {})", name, seen.pid);
  }
  return fmt::format(
      "'{}' does not run: looked for {}/control.sock ({}); --name and --runtime must be those of "
      "`loadline run`",
      name, folder, fault);
}

}  // namespace loadline::tools
