// loadline burst: n requests at the same instant.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "burst.h"
#include "command.h"
#include "text_options.h"

namespace loadline::tools {
namespace {

using Json = nlohmann::ordered_json;

struct BurstCommand {
  BurstOptions burst;
  bool json = false;
};

double ms(std::chrono::nanoseconds time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

Json to_json(const BurstReport& report) {
  Json groups = Json::array();
  for (const auto& [group, count] : report.groups()) {
    groups.push_back({{"status", group.first}, {"slice", group.second}, {"count", count}});
  }
  Json answers = Json::array();
  Json failures = Json::object();
  for (const auto& answer : report.answers) {
    if (answer.status == 0) {
      failures[answer.failure] = failures.value(answer.failure, 0) + 1;
      continue;
    }
    answers.push_back(
        {{"status", answer.status},
         {"ms", ms(answer.time)},
         {"body_bytes", answer.body_bytes},
         {"retry_after", answer.retry_after ? Json(*answer.retry_after) : Json(nullptr)}});
  }
  return {{"groups", groups},
          {"answers", answers},
          {"failures", failures},
          {"write_ms", ms(report.write_time)}};
}

void print_table(const BurstReport& report) {
  for (const auto& [group, count] : report.groups()) {
    fmt::print("{:>4} status={}  slice={:>2}\n", count, group.first, group.second);
  }
  std::map<std::string, std::uint64_t> failures;
  for (const auto& answer : report.answers) {
    if (answer.status == 0) {
      ++failures[answer.failure];
    }
  }
  for (const auto& [failure, count] : failures) {
    fmt::print("{:>4} no answer ({})\n", count, failure);
  }
  fmt::print("{}", failures_table(report));
}

int run(const BurstCommand& command) {
  const auto report = run_burst(command.burst);
  if (command.json) {
    fmt::print("{}\n", to_json(report).dump(2));
  } else {
    print_table(report);
  }
  if (const auto count = report.not_connected()) {
    fmt::print(stderr, "loadline burst: {} of {} could not connect to {}: {}\n", count,
               report.answers.size(), command.burst.url.text(), report.first_connect_failure());
    return kFailed;
  }
  return kOk;
}

}  // namespace

void add_burst(CLI::App& app, Action& chosen) {
  auto* command = app.add_subcommand(
      "burst",
      "Send n requests at the same instant, and show when they were answered and how.\n"
      "Answers are grouped by status and by the 100 ms slice in which they came.");
  const auto options = std::make_shared<BurstCommand>();
  auto& burst = options->burst;
  add_url(*command, burst.url, "Where to, as in http://127.0.0.1:8080/");
  command->add_option("-n,--count", burst.count, "How many requests")
      ->type_name("N")
      ->check(CLI::Range(1u, 15'000u))
      ->capture_default_str();
  add_time(*command, "--timeout", burst.timeout, "How long to wait for connections and for answers",
           ZeroTime::refused);
  add_headers(*command, burst.headers);
  add_method(*command, burst.method);
  command->add_flag("--json", options->json, "Print one JSON object instead of the table");
  command->add_flag("--allow-remote", burst.allow_remote,
                    "Allow a target other than this machine's loopback");
  command->callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace loadline::tools
